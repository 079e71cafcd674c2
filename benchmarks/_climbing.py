"""How much work a solver of pairs needs: runs of ever more steps, until they are good enough."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks._generated import World
from nearer import PairwiseLearner
from nearer.losses.margins import HingeLoss
from nearer.objectives.all_pairs import AllPairs
from nearer.objectives.pair_rows import Pairs
from nearer.objectives.stochastic_pairs import TwoClassPairs
from nearer.pairwise.scoring import share_in_order
from nearer.solvers import DSGD, AdaDSG, Budget, minimise, solve_exact

#: c of the L2 term, and the loss, of all rivals
REGULARIZATION, LOSS = 0.01, HingeLoss()
#: steps of the first, shortest run, and by how much each is longer than the one before
FEWEST, FACTOR = 128, 2**0.5

SOLVERS: dict[str, Any] = {
    "AdaDSG": AdaDSG(),
    "DSGD": DSGD(),
    "AdaDSG, printed steps": AdaDSG(step="paper", average="last", start=64),
    "DSGD, printed steps": DSGD(step="paper", average="last"),
}
STREAM, EXACT = "AdaDSG, stream", "exact"


@dataclass
class Run:
    """Where a run ended: its weights, steps, and seconds of one core for row lists and for steps."""

    w: np.ndarray
    steps: int
    prepared: float
    seconds: float


class Problem:
    """Rows to learn from, and others to be judged by."""

    def __init__(self, world: World, n: int, n_test: int):
        self.X, self.y = world.rows(n, draw=0)
        self.X_test, self.y_test = world.rows(n_test, draw=1)
        self.objective = AllPairs(self.X, self.y, LOSS, REGULARIZATION / np.sqrt(n))
        self.n = n

    def judged(self, run: Run) -> dict[str, float]:
        """Test AUC and the objective on all pairs of the training rows."""
        auc = share_in_order(self.X_test @ run.w, self.y_test)
        return {"auc": round(auc, 6), "objective": round(self.objective.value(run.w), 7)}

    def run(self, solver: Any, steps: int | None = None) -> Run:
        """A run of the solver's schedule, or of its first steps; always of the same draws."""
        rng = np.random.default_rng(0)
        began = time.process_time()
        pairs = Pairs.from_labels(self.X, self.y, rng)
        ready = time.process_time()
        objective, budget = TwoClassPairs(pairs, LOSS, REGULARIZATION), Budget(max_evaluations=steps)
        w, result = minimise(solver, objective, objective.initial(rng), budget=budget, rng=rng)
        return Run(w, result.n_evaluations, ready - began, time.process_time() - ready)

    def exact(self) -> Run:
        """The minimum over all pairs; each step is an iteration of Newton's method."""
        began = time.process_time()
        found = solve_exact(self.objective, tol=1e-3)
        return Run(found.w, found.iterations, 0.0, time.process_time() - began)

    def stream(self, chunk: int) -> Iterator[Run]:
        """One pass by `partial_fit`, looked at whenever there are `FACTOR` times as many chunks."""
        learner = PairwiseLearner(LOSS, regularization=REGULARIZATION, random_state=0)
        seconds, look = 0.0, 1.0
        for number, start in enumerate(range(0, self.n, chunk), start=1):
            rows = slice(start, start + chunk)
            X, y = self.X[rows], self.y[rows]
            began = time.process_time()
            learner.partial_fit(X, y, classes=[False, True])
            seconds += time.process_time() - began
            if number >= look or start + chunk >= self.n:
                look = max(look * FACTOR, number + 1)
                yield Run(learner.coef_, learner.result_.n_evaluations, 0.0, seconds)


def lengths(most: int) -> list[int]:
    """Steps of the runs: from few to `most`.

    >>> lengths(500)
    [128, 181, 256, 362, 500]
    """
    count = int(np.ceil(np.log(most / FEWEST) / np.log(FACTOR)))
    return [round(FEWEST * FACTOR**power) for power in range(max(count, 0))] + [most]


def goals(best: float, tolerance: float, minimum: float, n: int) -> dict[str, Any]:
    """What is good enough: an AUC near the best, and an objective within the statistical accuracy of its minimum."""
    return {
        "auc": lambda judged: judged["auc"] >= best - tolerance,
        "objective": lambda judged: judged["objective"] <= minimum + n**-0.5,
    }


def climb(problem: Problem, solver: Any, wanted: dict[str, Any], most: int, repeats: int) -> dict[str, Any]:
    """For each goal the first length of a run that reaches it, with its median seconds; None if none does."""
    found: dict[str, Any] = dict.fromkeys(wanted)
    for steps in lengths(most):
        open_goals = [name for name in wanted if found[name] is None]
        if not open_goals:
            break
        run = problem.run(solver, steps)
        judged = problem.judged(run)
        reached = [name for name in open_goals if wanted[name](judged)]
        if reached:
            runs = [run, *(problem.run(solver, steps) for _ in range(repeats - 1))]
            found.update(dict.fromkeys(reached, _work(runs)))
    return found


def climb_stream(judged: list[tuple[Run, dict[str, float]]], wanted: dict[str, Any]) -> dict[str, Any]:
    """The same for the looks at a stream, which was measured once."""
    found: dict[str, Any] = dict.fromkeys(wanted)
    for name, is_good in wanted.items():
        found[name] = next((_work([run]) for run, values in judged if is_good(values)), None)
    return found


def _work(runs: list[Run]) -> dict[str, float]:
    prepared, seconds = (
        float(np.median([getattr(run, what) for run in runs])) for what in ("prepared", "seconds")
    )
    return {"steps": runs[0].steps, "prepared": round(prepared, 6), "seconds": round(seconds, 6)}


def printed(name: str) -> bool:
    """Whether a rival takes the steps as the paper prints them.

    >>> printed("AdaDSG"), printed("DSGD, printed steps")
    (False, True)
    """
    return name in SOLVERS and SOLVERS[name].step == "paper"
