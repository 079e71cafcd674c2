"""Limited-memory BFGS.

An iteration costs four products of a (memory, N) matrix with a vector, besides the gradient. scipy's L-BFGS-B, which
also handles bounds, costs several times that: a third of the gradient itself on typical answers. And these products
release the lock that would keep fits in threads from running at the same time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

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
    record: Callable[[np.ndarray, float, float], None],
    memory: int = 5,
    iterations: float = math.inf,
    begin: Callable[[np.ndarray, float, float], None] | None = None,
) -> tuple[np.ndarray, bool]:
    """Run L-BFGS from x until `record` raises, no step descends, or the iterations are over.

    `record` gets the points, their value and the length of the step after each iteration, and `begin` the start.
    Return the last points, and whether the value and the slope there are finite.
    """
    shape = x.shape

    def flat(at: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = value_and_gradient(at.reshape(shape))
        return value, gradient.ravel()

    at = _Point(x.ravel(), *flat(x.ravel()))
    if begin is not None:
        begin(x, at.value, 0.0)
    pairs, iteration, slope = CurvaturePairs(memory, at.x), 0, 0.0
    while iteration < iterations:
        direction = pairs.direction(at.gradient)
        slope = _inner(at.gradient, direction)
        if not slope < 0 and len(pairs):  # rounding: begin again with the gradient
            pairs.clear()
            continue
        if not slope < 0:
            break
        found = _search(flat, at, direction, slope, 1.0 if len(pairs) else _first_step(at))
        if found is None:
            if not len(pairs):
                break
            pairs.clear()
            continue
        step = np.subtract(found.x, at.x, out=direction)
        pairs.add(step, found.gradient - at.gradient)
        at = found
        record(at.x.reshape(shape), at.value, math.sqrt(_inner(step, step)))
        iteration += 1
    return at.x.reshape(shape), math.isfinite(at.value) and math.isfinite(slope)


class _Point(NamedTuple):
    x: np.ndarray
    value: float
    gradient: np.ndarray


class CurvaturePairs:
    """The last steps s with the changes y of the gradient along them: an inverse of the curvature.

    Inner products among the pairs are kept, so that the recursion runs over small matrices and each vector is read
    twice per direction.

    Parameters
    ----------
    count : int
        CurvaturePairs to keep.
    like : array of shape (N,)
        The precision and the size of the vectors.
    """

    def __init__(self, count: int, like: np.ndarray):
        self._steps = np.empty((count, like.size), like.dtype)
        self._changes = np.empty_like(self._steps)
        self._step_change = np.zeros((count, count))  # steps[i] @ changes[j]
        self._change_change = np.zeros((count, count))
        self._order: list[int] = []  # rows, the oldest first

    def __len__(self) -> int:
        return len(self._order)

    def clear(self) -> None:
        """Forget all pairs."""
        self._order.clear()

    def add(self, step: np.ndarray, change: np.ndarray) -> None:
        """Keep a pair in place of the oldest, unless its curvature is lost in rounding."""
        curvature, size = _inner(step, change), _inner(change, change)
        if not curvature > np.finfo(step.dtype).eps * math.sqrt(size * _inner(step, step)):
            return
        full = len(self._order) == len(self._steps)
        row = self._order.pop(0) if full else len(self._order)
        self._order.append(row)
        self._steps[row], self._changes[row] = step, change
        steps, changes = self._kept()
        count = len(self._order)
        self._step_change[:count, row] = steps @ change
        self._step_change[row, :count] = changes @ step
        self._change_change[:count, row] = self._change_change[row, :count] = changes @ change

    def direction(self, gradient: np.ndarray) -> np.ndarray:
        """Return minus the product of the inverse curvature with the gradient: the two-loop recursion."""
        if not self._order:
            return -gradient
        steps, changes = self._kept()
        count, newest = len(self._order), self._order[-1]
        along, by_change = steps @ gradient, changes @ gradient
        step_change, change_change = self._step_change[:count, :count], self._change_change[:count, :count]
        first = np.zeros(count)  # of the first loop: q = gradient - first @ changes
        for k in reversed(self._order):
            first[k] = (along[k] - step_change[k] @ first) / step_change[k, k]
        scale = step_change[newest, newest] / change_change[newest, newest]
        by_change = scale * (by_change - change_change @ first)
        second = np.zeros(count)  # of the second loop: r = scale * q + second @ steps
        for k in self._order:
            second[k] = first[k] - (by_change[k] + step_change[:, k] @ second) / step_change[k, k]
        direction = gradient * gradient.dtype.type(-scale)
        direction += (scale * first).astype(gradient.dtype) @ changes
        direction -= second.astype(gradient.dtype) @ steps
        return direction

    def _kept(self) -> tuple[np.ndarray, np.ndarray]:
        count = len(self._order)
        return self._steps[:count], self._changes[:count]


def _search(
    value_and_gradient: ValueAndGradient, at: _Point, direction: np.ndarray, slope: float, step: float
) -> _Point | None:
    """Return where a step that fulfils Wolfe's conditions leads; None if there is none."""
    low, low_value, low_slope = 0.0, at.value, slope
    high, high_value, high_slope = math.inf, math.inf, math.inf
    for _ in range(_MOST_TRIALS):
        x = at.x + at.x.dtype.type(step) * direction
        value, gradient = value_and_gradient(x)
        rise = _inner(gradient, direction)
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
    length, size = math.sqrt(_inner(at.gradient, at.gradient)), math.sqrt(_inner(at.x, at.x))
    return min(1.0, 1.0 / length) if size == 0 else _FIRST_STEP * size / length


def _inner(x: np.ndarray, y: np.ndarray) -> float:
    return float(x @ y)
