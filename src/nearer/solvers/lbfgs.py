"""Limited-memory BFGS.

Between two line searches there is one compiled call, which reads each of the past steps twice. scipy's L-BFGS-B, which
also handles bounds, costs several times that: a third of the gradient itself on typical answers. An objective may do a
whole line search in one call too. Then fits in threads compete for Python's lock only twice per iteration.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from nearer._compiled.line_search_reference import MOST_TRIALS, STEP
from nearer._utils.validation import whole
from nearer.objectives.base import WithPrecision, members
from nearer.solvers.base import Solver
from nearer.solvers.run import Run

ValueAndGradient = Callable[[np.ndarray], tuple[float, np.ndarray]]

#: length of the very first step, as a share of the length of x
_FIRST_STEP = 0.1


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

        def search_along(*line: Any) -> Any:
            count, *found = objective.search_along(*line)  # type: ignore[attr-defined]
            run.count(count * objective.n_terms)
            return found

        one_call = "search_along" in objective.provides
        points, finite = descend(
            value_and_gradient,
            x,
            run.record,
            self.memory,
            begin=run.begin,
            search_along=search_along if one_call else None,
        )
        run.stop_reason = "tolerance" if finite else "diverged"  # no further descent
        return points


def descend(
    value_and_gradient: ValueAndGradient,
    x: np.ndarray,
    record: Callable[[np.ndarray, float, float], object],
    memory: int = 5,
    iterations: float = math.inf,
    begin: Callable[[np.ndarray, float, float], None] | None = None,
    search_along: Callable[..., Any] | None = None,
) -> tuple[np.ndarray, bool]:
    """Run L-BFGS from x until `record` raises or returns true, no step descends, or the iterations are over.

    `record` gets the points, their value and the length of the step after each iteration, and `begin` the start.
    `search_along` does a whole line search in one call, if the objective can: see `PointObjective.search_along`.
    Return the last points, and whether the value and the slope there are finite.
    """
    last = None
    for iteration, last in enumerate(steps(value_and_gradient, x, memory, search_along)):
        if iteration == 0:
            if begin is not None:
                begin(*last[:3])
        elif record(*last[:3]):
            break
        if iteration >= iterations:
            break
    assert last is not None
    return last.x, last.finite


class Step(NamedTuple):
    """Where an iteration has led."""

    x: np.ndarray
    value: float
    #: of the step that led there
    length: float
    #: whether the value and the slope there are finite
    finite: bool


def steps(
    value_and_gradient: ValueAndGradient,
    x: np.ndarray,
    memory: int = 5,
    search_along: Callable[..., Any] | None = None,
) -> Iterator[Step]:
    """Yield the start, then where each iteration of L-BFGS leads, as long as one descends.

    Nothing is done before the next one is asked for: a descent can be continued with all that it has learned.
    """
    shape = x.shape

    def flat(at: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = value_and_gradient(at.reshape(shape))
        return value, np.ascontiguousarray(gradient.ravel(), x.dtype)

    search = partial(_search, flat) if search_along is None else partial(_search_at_once, search_along)
    at, length = _Point(x.ravel(), *flat(x.ravel())), 0.0
    pairs = CurvaturePairs(memory, at.x)
    aim = pairs.aim(at)
    yield Step(at.x.reshape(shape), at.value, length, math.isfinite(at.value) and math.isfinite(aim.slope))
    while True:
        if not aim.slope < 0 and len(pairs):  # rounding: begin again with the gradient
            aim = pairs.cleared(at)
            continue
        if not aim.slope < 0:
            return
        found = search(at, aim, 1.0 if len(pairs) else _first_step(at))
        if found is None:
            if not len(pairs):
                return
            aim = pairs.cleared(at)
            continue
        length, aim = pairs.advance(at, found)
        at = found
        yield Step(
            at.x.reshape(shape), at.value, length, math.isfinite(at.value) and math.isfinite(aim.slope)
        )


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


def new_bracket(value: float, slope: float, step: float) -> np.ndarray:
    """Return the bracket of a search that begins with this step."""
    return np.array([step, value, slope, 0.0, value, slope, math.inf, math.inf, math.inf])


def _search(value_and_gradient: ValueAndGradient, at: _Point, aim: _Aim, step: float) -> _Point | None:
    """Return where a step that fulfils the Wolfe conditions leads; None if there is none."""
    from nearer._compiled.curvature import inner, moved
    from nearer._compiled.line_search import judge

    bracket = new_bracket(at.value, aim.slope, step)
    for _ in range(MOST_TRIALS):
        x, step = aim.end, bracket[STEP]
        if step != 1:
            x = np.empty_like(at.x)
            moved(at.x, aim.direction, step, x)
        value, gradient = value_and_gradient(x)
        if judge(bracket, value, inner(gradient, aim.direction)):
            return _Point(x, value, gradient)
    return None


def _search_at_once(search_along: Callable[..., Any], at: _Point, aim: _Aim, step: float) -> _Point | None:
    """Return the same by one call; the end of the step is overwritten."""
    value, gradient = search_along(at.x, aim.direction, new_bracket(at.value, aim.slope, step), aim.end)
    return None if gradient is None else _Point(aim.end, value, gradient)


def _first_step(at: _Point) -> float:
    """Return the first step along the gradient: one that moves x by a share of its length."""
    length, size = float(np.linalg.norm(at.gradient)), float(np.linalg.norm(at.x))
    return min(1.0, 1.0 / length) if size == 0 else _FIRST_STEP * size / length
