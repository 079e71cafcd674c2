"""Choose the trace penalty by cross-validation, along a path from strong to weak with warm starts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nearer._fitting import Fit
from nearer._utils.arrays import compared_distances, relative
from nearer._utils.runtime import threads_for
from nearer.comparisons import Comparisons
from nearer.objectives import GramObjective
from nearer.solvers import Solver
from nearer.solvers.path import LEAST_COMPARISONS, Choice, StopRule, Trials

#: factor between two penalties of the path, and the most of them; the path starts where only K = 0 is left
_FACTOR, _MOST_PENALTIES = 0.5, 12
#: the fourth of them is used if there are too few comparisons to hold some out
_DEFAULT = 4
_N_FOLDS = 5
_ENOUGH_HELD_OUT = 2000  # comparisons; with fewer, several folds are averaged
_PATIENCE = 2  # weaker penalties in a row without a lower error that end the path
_TOL = 1e-2  # of the fits along the path, unless the user's is looser
_DENSE = 500  # objects; with more, Lanczos finds the strongest penalty

Builder = Callable[[Comparisons, float], GramObjective]


def choose_penalty(course: Fit, build: Builder, solver: Solver, start: np.ndarray) -> Choice:
    """Return the trace penalty with the lowest held-out error on a path, within half of the budget.

    `build` returns the objective of some comparisons with a penalty; `start` is the factor to begin with. If the trials
    are ended early, by ctrl-C, a callback or a spent budget, this is the best so far.
    """
    comparisons = course.comparisons
    objective = build(comparisons, 0.0)
    penalties = _penalties(objective, start)
    default = Choice(objective.loss, penalties[_DEFAULT - 1], start)
    n_units = len(comparisons) if comparisons.groups is None else len(np.unique(comparisons.groups))
    if len(comparisons) < LEAST_COMPARISONS or n_units < 2:
        return default
    folds = comparisons.folds(min(_N_FOLDS, n_units), random_state=course.rng)
    enough = -(-_ENOUGH_HELD_OUT // max(len(folds[0][1]), 1))
    splits = [(comparisons[train], comparisons[held]) for train, held in folds[:enough]]
    tol = max(course.run.budget.tol, _TOL)
    trials = Trials(course.run, course.rng, lambda part, _, penalty: build(part, penalty), _judge, tol=tol)
    path = trials.path(objective.loss, splits)
    course.run.enter("choosing trace_penalty", len(penalties) * len(splits))
    rule = StopRule(idle=_PATIENCE, enough=0.0)
    return trials.choose(
        default, lambda: path.walk(penalties, [start] * len(splits), solver, rule), comparisons, gain=0.0
    )


def _penalties(objective: GramObjective, start: np.ndarray) -> list[float]:
    """Return the path: halves of the weakest penalty at which the start would shrink to nothing."""
    slopes = objective.pair_slopes(*objective.derivatives(objective.distances(start)))
    gradient = objective.gradient(slopes)
    if len(start) <= _DENSE:
        with threads_for(gradient.shape[0]):
            steepest = -float(np.linalg.eigvalsh(gradient.toarray())[0])
    else:
        from scipy.sparse.linalg import eigsh

        v0 = np.random.default_rng(0).normal(size=len(start))
        steepest = -float(eigsh(gradient, k=1, which="SA", tol=1e-3, v0=v0, return_eigenvectors=False)[0])
    # answers that cancel each other leave no slope: any penalty leads to zero then
    strongest = steepest if steepest > 0 else 1.0
    return [strongest * _FACTOR**power for power in range(1, _MOST_PENALTIES + 1)]


def _judge(X: np.ndarray, held: Comparisons) -> tuple[float, float]:
    """Return, twice, the share of held-out comparisons that fail; a tie counts half: at K = 0 all are ties."""
    near, far = compared_distances(X, held.indices)
    weights = None if held.weights is None else relative(held.weights)
    error = float(np.average((near > far) + 0.5 * (near == far), weights=weights))
    return error, error
