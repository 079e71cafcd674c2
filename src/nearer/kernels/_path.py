"""Choosing the trace penalty by cross-validation, along a path from strong to weak with warm starts."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from nearer._fitting.fit import Fit
from nearer._utils.arrays import compared_distances, relative
from nearer._utils.runtime import threads_for
from nearer.calibration import LEAST_COMPARISONS
from nearer.comparisons import Comparisons
from nearer.objectives import GramObjective
from nearer.solvers import Solver

#: penalties tried: the least that leaves nothing but K = 0, times this factor, again and again, at most so often
_FACTOR, _MOST_PENALTIES = 0.5, 12
#: where there is too little to hold out, the fourth of them
_DEFAULT = 4
_N_FOLDS = 5
_ENOUGH_HELD_OUT = 2000  # comparisons; fewer, and several folds are averaged
_PATIENCE = 2  # weaker penalties in a row that may be no better before the path ends
_TOL = 1e-2  # of the fits along the path, unless the user's is looser

Builder = Callable[[Comparisons, float], GramObjective]


@dataclass(frozen=True)
class PenaltyChoice:
    """What was chosen, a factor to go on from, and what it cost; `stopped` is why, where the user ended the trials."""

    penalty: float
    factor: np.ndarray
    errors: dict[float, float] = field(default_factory=dict)
    seconds: float = 0.0
    evaluations: int = 0
    stopped: str | None = None
    n_held_out: int = 0  # rows judged, all folds together


class _Ended(Exception):  # noqa: N818 - a user's wish or a spent budget, not an error
    """A trial ended before its time."""


def choose_penalty(course: Fit, build: Builder, solver: Solver, start: np.ndarray) -> PenaltyChoice:
    """The trace penalty of least held-out error on a path, within half of the budget.

    `build` makes the objective of some comparisons with a penalty, `start` is the factor to begin with. Where the
    trials are ended early, by ctrl-C, a callback or a spent budget, it is the best so far.
    """
    penalties = _penalties(build(course.comparisons, 0.0), start)
    default = PenaltyChoice(penalties[_DEFAULT - 1], start)
    comparisons = course.comparisons
    n_units = len(comparisons) if comparisons.groups is None else len(np.unique(comparisons.groups))
    if len(comparisons) < LEAST_COMPARISONS or n_units < 2:
        return default
    folds = comparisons.folds(min(_N_FOLDS, n_units), random_state=course.rng)
    enough = -(-_ENOUGH_HELD_OUT // max(len(folds[0][1]), 1))
    path = _Path(course, build, solver, [(comparisons[a], comparisons[b]) for a, b in folds[:enough]], start)
    course.run.enter("choosing trace_penalty", len(penalties) * len(path.parts))
    ended = None
    try:
        path.follow(penalties)
    except _Ended as reason:
        ended = str(reason)
    except KeyboardInterrupt:
        ended = "interrupted"
    return path.choice(default, ended if ended in ("interrupted", "callback") else None)


class _Path:
    """Fits on every fold's training part, from the strongest penalty on, each from the last one's kernel."""

    def __init__(
        self,
        course: Fit,
        build: Builder,
        solver: Solver,
        parts: list[tuple[Comparisons, Comparisons]],
        start: np.ndarray,
    ):
        self.course, self.build, self.solver, self.parts = course, build, solver, parts
        self.budget = replace(course.run.budget.part(0.5), tol=max(course.run.budget.tol, _TOL))
        self.factors = [start] * len(parts)
        self.errors: dict[float, float] = {}
        self.best: tuple[float, list[np.ndarray]] | None = None

    def follow(self, penalties: list[float]) -> None:
        """Go on while weaker penalties lower the held-out error."""
        idle, least = 0, math.inf
        for penalty in penalties:
            self.factors = [
                self._fit(part, penalty, X) for (part, _), X in zip(self.parts, self.factors, strict=True)
            ]
            wrong = [_error(X, held) for X, (_, held) in zip(self.factors, self.parts, strict=True)]
            self.errors[penalty] = error = float(np.mean(wrong))
            if error < least:
                self.best, least, idle = (penalty, self.factors), error, 0
            else:
                idle += 1
            if idle >= _PATIENCE or error == 0:
                return

    def choice(self, default: PenaltyChoice, stopped: str | None) -> PenaltyChoice:
        """What the trials so far say."""
        found = default
        if self.best is not None:
            penalty, factors = self.best
            objective = self.build(self.course.comparisons, penalty)
            found = PenaltyChoice(penalty, min(factors, key=objective.value))
        return replace(
            found,
            errors=self.errors,
            seconds=self.course.run.seconds,
            evaluations=self.course.run.evaluations,
            stopped=stopped,
            n_held_out=sum(len(held) for _, held in self.parts),
        )

    def _fit(self, part: Comparisons, penalty: float, X: np.ndarray) -> np.ndarray:
        objective: Any = self.build(part, penalty)
        X, result = self.course.minimise(self.solver, objective, X, self.budget)
        if result.stop_reason in ("interrupted", "callback", "seconds", "evaluations"):
            raise _Ended(result.stop_reason)
        return X


def _penalties(objective: GramObjective, start: np.ndarray) -> list[float]:
    """The path: halves of the least penalty at which the start would shrink to nothing."""
    slopes = objective.pair_slopes(*objective.derivatives(objective.distances(start)))
    gradient = objective.gradient(slopes)
    if len(start) <= 500:
        with threads_for(gradient.shape[0]):
            steepest = -float(np.linalg.eigvalsh(gradient.toarray())[0])
    else:
        from scipy.sparse.linalg import eigsh

        v0 = np.random.default_rng(0).normal(size=len(start))
        steepest = -float(eigsh(gradient, k=1, which="SA", tol=1e-3, v0=v0, return_eigenvectors=False)[0])
    # answers that cancel each other leave no slope: any penalty gives zero then
    strongest = steepest if steepest > 0 else 1.0
    return [strongest * _FACTOR**power for power in range(1, _MOST_PENALTIES + 1)]


def _error(X: np.ndarray, held: Comparisons) -> float:
    """Share of held-out comparisons that do not hold, a tie counting half: at K = 0 all are ties."""
    near, far = compared_distances(X, held.indices)
    weights = None if held.weights is None else relative(held.weights)
    return float(np.average((near > far) + 0.5 * (near == far), weights=weights))
