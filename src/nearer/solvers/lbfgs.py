"""Limited-memory BFGS.

Between two gradients there is one compiled call, which reads each of the past steps twice. scipy's L-BFGS-B, which
also handles bounds, costs several times that: a third of the gradient itself on typical answers. And fits in threads
compete for Python's lock only a few times per iteration.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from nearer._utils.validation import whole
from nearer.objectives.base import WithPrecision, members
from nearer.solvers.base import Solver
from nearer.solvers.run import Run

ValueAndGradient = Callable[[np.ndarray], tuple[float, np.ndarray]]

#: a step must bring this share of the decrease that the slope promises, and leave at most the second share of the slope
_DECREASE, _SLOPE_LEFT = 1e-4, 0.9
#: length of the very first step, as a share of the length of x
_FIRST_STEP = 0.1
_MOST_TRIALS = 25
#: bounds on how much longer the next trial may be, and on how close to an end of the bracket
_LONGER, _INSIDE = (2.0, 10.0), 0.1


@dataclass(frozen=True)
class LBFGS(Solver[WithPrecision]):
    """L-BFGS with `memory` past steps; an epoch is one iteration.

    On embeddings, 5 past steps need as few evaluations as 20, and half the memory of the usual 10.
    """

    memory: int = 5
    name = "lbfgs"
    requires = members(WithPrecision)

    @property
    def default_epochs(self) -> int:
        return 500

    def __post_init__(self) -> None:
        whole("memory", self.memory)

    def solve(
        self, objective: WithPrecision, x: np.ndarray, rng: np.random.Generator, run: Run
    ) -> np.ndarray:
        def value_and_gradient(points: np.ndarray) -> tuple[float, np.ndarray]:
            run.count(objective.n_terms)
            return objective.value_and_gradient(points)

        points, finite = descend(value_and_gradient, x, run.record, self.memory, begin=run.begin)
        run.stop_reason = "tolerance" if finite else "diverged"  # no further descent
        return points


def descend(
    value_and_gradient: ValueAndGradient,
    x: np.ndarray,
    record: Callable[[np.ndarray, float, float], object],
    memory: int = 5,
    iterations: float = math.inf,
    begin: Callable[[np.ndarray, float, float], None] | None = None,
) -> tuple[np.ndarray, bool]:
    """Run L-BFGS from x until `record` raises or returns true, no step descends, or the iterations are over.

    `record` gets the points, their value and the length of the step after each iteration, and `begin` the start.
    Return the last points, and whether the value and the slope there are finite.
    """
    shape = x.shape

    def flat(at: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = value_and_gradient(at.reshape(shape))
        return value, np.ascontiguousarray(gradient.ravel(), x.dtype)

    at = _Point(x.ravel(), *flat(x.ravel()))
    if begin is not None:
        begin(x, at.value, 0.0)
    pairs, iteration = CurvaturePairs(memory, at.x), 0
    aim = pairs.aim(at)
    while iteration < iterations:
        if not aim.slope < 0 and len(pairs):  # rounding: begin again with the gradient
            aim = pairs.cleared(at)
            continue
        if not aim.slope < 0:
            break
        found = _search(flat, at, aim, 1.0 if len(pairs) else _first_step(at))
        if found is None:
            if not len(pairs):
                break
            aim = pairs.cleared(at)
            continue
        length, aim = pairs.advance(at, found)
        at = found
        if record(at.x.reshape(shape), at.value, length):
            break
        iteration += 1
    return at.x.reshape(shape), math.isfinite(at.value) and math.isfinite(aim.slope)


class _Point(NamedTuple):
    x: np.ndarray
    value: float
    gradient: np.ndarray


class _Aim(NamedTuple):
    direction: np.ndarray
    slope: float
    end: np.ndarray  # of a step of length 1


class CurvaturePairs:
    """The last steps s with the changes y of the gradient along them: an inverse of the curvature.

    Inner products among the pairs are kept, so that the recursion runs over small matrices and each vector is read
    twice per direction. The arrays are explained in `_compiled/curvature.py`.

    Parameters
    ----------
    count : int
        Pairs to keep.
    like : array of shape (N,)
        The precision and the size of the vectors.
    """

    def __init__(self, count: int, like: np.ndarray):
        from nearer._compiled import curvature  # here, because it imports numba

        self._loops: Any = curvature
        S, Y = np.empty((2, count + 1, like.size), like.dtype)
        SY, YY = np.zeros((2, count + 1, count + 1))
        self.memory = S, Y, SY, YY, np.arange(count + 1)
        self._count, self._eps = 0, float(np.finfo(like.dtype).eps)

    def __len__(self) -> int:
        return self._count

    def cleared(self, at: _Point) -> _Aim:
        """Forget all pairs and return the way down from here."""
        self._count = 0
        return self.aim(at)

    def aim(self, at: _Point) -> _Aim:
        """Return the direction of descent: minus the product of the inverse curvature with the gradient."""
        direction, end = np.empty_like(at.x), np.empty_like(at.x)
        slope = self._loops.direction(at.gradient, *self.memory, self._count, direction)
        self._loops.moved(at.x, direction, 1.0, end)
        return _Aim(direction, slope, end)

    def advance(self, before: _Point, at: _Point) -> tuple[float, _Aim]:
        """Keep the pair of a step in place of the oldest, unless its curvature is lost in rounding.

        Return the length of the step and the direction from its end.
        """
        direction, end = np.empty_like(at.x), np.empty_like(at.x)
        self._count, length, slope = self._loops.advance(
            before.x,
            before.gradient,
            at.x,
            at.gradient,
            *self.memory,
            self._count,
            self._eps,
            direction,
            end,
        )
        return length, _Aim(direction, slope, end)


def _search(value_and_gradient: ValueAndGradient, at: _Point, aim: _Aim, step: float) -> _Point | None:
    """Return where a step that fulfils Wolfe's conditions leads; None if there is none."""
    from nearer._compiled.curvature import inner, moved

    slope = aim.slope
    low, low_value, low_slope = 0.0, at.value, slope
    high, high_value, high_slope = math.inf, math.inf, math.inf
    for _ in range(_MOST_TRIALS):
        x = aim.end
        if step != 1:
            x = np.empty_like(at.x)
            moved(at.x, aim.direction, step, x)
        value, gradient = value_and_gradient(x)
        rise = inner(gradient, aim.direction)
        if not value <= at.value + _DECREASE * step * slope:
            high, high_value, high_slope = step, value, rise
        elif rise < _SLOPE_LEFT * slope:
            low, low_value, low_slope = step, value, rise
        else:
            return _Point(x, value, gradient)
        if high == math.inf:  # where a line through both slopes is zero
            share = slope / (slope - rise) if rise > slope else math.inf
            step *= min(max(share, _LONGER[0]), _LONGER[1])
        else:
            step = _between(low, low_value, low_slope, high, high_value, high_slope)
    return None


def _between(
    low: float, low_value: float, low_slope: float, high: float, high_value: float, high_slope: float
) -> float:
    """Return the minimum of the cubic through both ends of a bracket, but not too close to either."""
    width = high - low
    if not (math.isfinite(high_value) and math.isfinite(high_slope)):
        return low + _INSIDE * width
    mean = 3 * (low_value - high_value) / width + low_slope + high_slope
    root = mean * mean - low_slope * high_slope
    step = low + width / 2
    if root > 0:
        root = math.sqrt(root)
        step = high - width * (high_slope + root - mean) / (high_slope - low_slope + 2 * root)
    return min(max(step, low + _INSIDE * width), high - _INSIDE * width)


def _first_step(at: _Point) -> float:
    """Return the first step along the gradient: one that moves x by a share of its length."""
    length, size = float(np.linalg.norm(at.gradient)), float(np.linalg.norm(at.x))
    return min(1.0, 1.0 / length) if size == 0 else _FIRST_STEP * size / length
