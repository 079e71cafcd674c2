"""Choose the strength of the trace penalty by cross-validation, along a path from strong to weak with warm starts."""

from __future__ import annotations

from typing import Any

import numpy as np

from nearer._utils.runtime import polling
from nearer.coembedding.terms import Terms
from nearer.solvers import ILA, Run
from nearer.solvers.certificate import strongest_penalty
from nearer.solvers.path import LEAST_COMPARISONS, Choice, StopRule, Trials
from nearer.solvers.run import Stop

#: factor between two strengths of the path, and the most of them; the path starts where only C = 0 is left
_FACTOR, _MOST = 0.4, 14
#: this one of them is used if there are too few terms to hold some out
_DEFAULT = 4
N_FOLDS = 5
_ENOUGH_HELD_OUT = 5000  # terms; with fewer, several folds are averaged
_PATIENCE = 2  # weaker penalties in a row without a lower held-out loss that end the path
_TOL = 1e-2  # of the fits along the path, unless the user's is looser


def choose_beta(
    terms: Terms,
    loss: Any,
    solver: ILA,
    run: Run,
    rng: np.random.Generator,
    *,
    beta: float | None = None,
    n_folds: int = N_FOLDS,
    refine: bool = False,
) -> Choice:
    """Return the strength with the best held-out score on a path, within half of the budget.

    With `beta`, this is the only strength: the choice then holds what is fitted and held out with it. With `refine`,
    strengths half-way to both neighbours of the best are tried too. If the run ends before there is any strength to
    try, the choice is a 1 that was not chosen, and says why it stopped.
    """
    start = np.zeros((terms.objective(loss, 1.0).shape[0], 1))
    stage = "choosing beta" if beta is None else "holding rows out"
    run.enter(stage)
    try:
        with polling(run.poll):
            strengths = _strengths(terms, loss, rng) if beta is None else [beta]
    except (Stop, KeyboardInterrupt) as reason:
        why = str(reason) if isinstance(reason, Stop) else "interrupted"
        return Choice(loss, 1.0, start, seconds=run.seconds, evaluations=run.evaluations, stopped=why)
    default = Choice(loss, strengths[min(_DEFAULT, len(strengths)) - 1], start)
    splits = _splits(terms, n_folds, rng)
    if not splits:
        return default
    refine = refine and beta is None
    run.enter(stage, (len(strengths) + 2 * refine) * len(splits))
    trials = Trials(
        run,
        rng,
        lambda part, loss, strength: part.objective(loss, strength),
        lambda Q, held: (held.error(Q), held.score(Q, loss)),
        tol=max(run.budget.tol, _TOL),
    )
    path = trials.path(loss, splits)
    rule = StopRule(idle=_PATIENCE)

    def work() -> None:
        path.walk(strengths, [start] * len(splits), solver, rule)
        if refine and path.best is not None:
            best, starts = path.best, path.best_fits
            for strength in (best * _FACTOR**0.5, best / _FACTOR**0.5):
                path.walk([strength], starts, solver, rule)

    return trials.choose(default, work, terms, gain=0.0)


def _strengths(terms: Terms, loss: Any, rng: np.random.Generator) -> list[float]:
    """Return a path of strengths, each a share of the one before; the first leaves little but C = 0."""
    objective = terms.objective(loss, 1.0)
    strongest = strongest_penalty(objective, objective.shape[0], rng) / objective.trace_penalty
    return [(strongest if strongest > 0 else 1.0) * _FACTOR**power for power in range(1, _MOST + 1)]


def _splits(terms: Terms, n_folds: int, rng: np.random.Generator) -> list:
    """Return the splits to judge strengths on; none if that would leave too little of either part."""
    if len(terms) < LEAST_COMPARISONS or n_folds == 0:
        return []
    splits = [split for split in terms.splits(n_folds, rng) if all(len(part) for part in split)]
    enough = -(-_ENOUGH_HELD_OUT // max(len(splits[0][1]), 1)) if splits else 0
    return splits[: max(enough, 1)]
