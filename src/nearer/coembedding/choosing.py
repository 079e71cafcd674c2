"""Choose the strength of the trace penalty by cross-validation, along a path from strong to weak with warm starts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from nearer._utils.runtime import polling
from nearer.coembedding.terms import Terms
from nearer.solvers import Run, Solver
from nearer.solvers.certificate import strongest_penalty
from nearer.solvers.path import LEAST_COMPARISONS, Choice, StopRule, Trials
from nearer.solvers.run import Stop

#: this share of the strength that leaves C = 0 is used if there are too few terms to hold some out
_DEFAULT = 0.4**4
N_FOLDS = 5
_ENOUGH_HELD_OUT = 5000  # terms; with fewer, several folds are averaged


@dataclass(frozen=True)
class Steps:
    """A path of strengths from strong to weak; it starts where only C = 0 is left.

    Attributes
    ----------
    factor : float
        Between two strengths.
    most : int
        The most of them.
    patience : int
        How many weaker ones in a row without a lower held-out score end the path.
    tol : float
        Of the fits along the path, unless the user's is looser.
    refine : bool
        Whether strengths half-way to both neighbours of the best are tried too.
    """

    factor: float = 0.4
    most: int = 14
    patience: int = 2
    tol: float = 1e-2
    refine: bool = False


def choose_beta(
    terms: Terms,
    loss: Any,
    solver: Solver,
    run: Run,
    rng: np.random.Generator,
    *,
    beta: float | None = None,
    n_folds: int = N_FOLDS,
    steps: Steps = Steps(),  # noqa: B008 - it is frozen
) -> Choice:
    """Return the strength with the best held-out score on a path, within half of the budget.

    With `beta`, this is the only strength: the choice then holds what is fitted and held out with it. If the run
    ends before there is any strength to try, the choice is a 1 that was not chosen, and says why it stopped.
    """
    start = np.zeros((terms.objective(loss, 1.0).shape[0], 1))
    stage = "choosing beta" if beta is None else "holding rows out"
    run.enter(stage)
    try:
        with polling(run.poll):
            strengths = _strengths(terms, loss, rng, steps) if beta is None else [beta]
    except (Stop, KeyboardInterrupt) as reason:
        why = str(reason) if isinstance(reason, Stop) else "interrupted"
        return Choice(loss, 1.0, start, seconds=run.seconds, evaluations=run.evaluations, stopped=why)
    usual = round(math.log(_DEFAULT) / math.log(steps.factor))
    default = Choice(loss, strengths[min(usual, len(strengths)) - 1], start)
    splits = _splits(terms, n_folds, rng)
    if not splits:
        return default
    refine = steps.refine and beta is None
    run.enter(stage, (len(strengths) + 2 * refine) * len(splits))
    trials = Trials(
        run,
        rng,
        lambda part, loss, strength: part.objective(loss, strength),
        lambda Q, held: (held.error(Q), held.score(Q, loss)),
        tol=max(run.budget.tol, steps.tol),
    )
    path = trials.path(loss, splits)
    rule = StopRule(idle=steps.patience)

    def work() -> None:
        path.walk(strengths, [start] * len(splits), solver, rule)
        if refine and path.best is not None:
            best, starts = path.best, path.best_fits
            for strength in (best * steps.factor**0.5, best / steps.factor**0.5):
                path.walk([strength], starts, solver, rule)

    return trials.choose(default, work, terms, gain=0.0)


def _strengths(terms: Terms, loss: Any, rng: np.random.Generator, steps: Steps) -> list[float]:
    """Return a path of strengths, each a share of the one before; the first leaves little but C = 0."""
    objective = terms.objective(loss, 1.0)
    strongest = strongest_penalty(objective, objective.shape[0], rng) / objective.trace_penalty
    return [(strongest if strongest > 0 else 1.0) * steps.factor**power for power in range(1, steps.most + 1)]


def _splits(terms: Terms, n_folds: int, rng: np.random.Generator) -> list:
    """Return the splits to judge strengths on; none if that would leave too little of either part."""
    if len(terms) < LEAST_COMPARISONS or n_folds == 0:
        return []
    splits = [split for split in terms.splits(n_folds, rng) if all(len(part) for part in split)]
    enough = -(-_ENOUGH_HELD_OUT // max(len(splits[0][1]), 1)) if splits else 0
    return splits[: max(enough, 1)]
