"""AUC of solvers of pairs along their way, against steps and CPU time, and logistic regression beside them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
from sklearn.linear_model import LogisticRegression

from benchmarks._auc_data import Rows, split
from nearer.losses.margins import find_margin_loss
from nearer.objectives.pair_rows import Pairs
from nearer.objectives.stochastic_pairs import TwoClassPairs
from nearer.pairwise.scoring import share_in_order
from nearer.solvers import AdaDSG, Budget, Progress, Result, Solver, minimise

T = TypeVar("T")

#: numbers of features above which newton-cholesky, whose matrix has so many rows and columns, is no candidate
_MOST_FOR_NEWTON = 2000


class Problem(NamedTuple):
    """Scaled rows to learn from and to be judged by; labels are -1 and 1."""

    X: Rows
    y: np.ndarray
    X_test: Rows
    y_test: np.ndarray

    def auc(self, scores: np.ndarray) -> float:
        """Area under the ROC curve of scores of the test rows."""
        return share_in_order(np.asarray(scores), self.y_test)


def problem(name: str, trial: int) -> Problem:
    """The data set's split of a trial."""
    return Problem(*split(name, trial))


@dataclass(frozen=True)
class Entry:
    """A solver that takes part, with all that it depends on."""

    solver: Solver
    loss: str = "hinge"
    regularization: float = 0.01
    steps: int | None = None  # of the whole run, where the solver's schedule would make more
    short_runs: bool = True  # steps are cheap: points between callbacks can be had by runs of their own

    def run(
        self,
        of: Problem,
        seed: int,
        steps: int | None = None,
        callback: Callable[[Progress], Any] | None = None,
    ) -> tuple[np.ndarray, Result]:
        """Return weights after so many steps, and the course: shuffling included, checks of the input not."""
        rng = np.random.default_rng([seed, 2])
        pairs = Pairs.from_labels(of.X, of.y > 0, rng)
        steps = self.steps if steps is None else steps
        objective = TwoClassPairs(pairs, find_margin_loss(self.loss), self.regularization)
        budget = Budget(max_evaluations=steps)
        x = objective.initial(rng)
        return minimise(self.solver, objective, x, budget=budget, rng=rng, callback=callback)


def cpu(work: Callable[[], T], repeats: int = 1) -> tuple[float, T]:
    """CPU seconds of the quickest of some calls, and what the last one gave."""
    best = np.inf
    for _ in range(repeats):
        began = time.process_time()
        result = work()
        best = min(best, time.process_time() - began)
    return float(best), result


# -- steps ------------------------------------------------------------------------------------------------------------


def stage_ends(solver: AdaDSG, n_rows: int) -> list[int]:
    """Steps made at the end of each stage.

    >>> stage_ends(AdaDSG(start=10, stages=4), 50)
    [20, 60, 110, 160]
    """
    sizes = [min(solver.start << stage, n_rows) for stage in range(1, solver.stages + 1)]
    return np.cumsum(sizes).tolist()


def sweep(solver: AdaDSG, n_rows: int) -> int:
    """Steps until the end of the first stage on all rows: one sweep.

    >>> sweep(AdaDSG(start=10, stages=4), 50)
    110
    """
    first = next(stage for stage in range(1, 64) if solver.start << stage >= n_rows)
    return stage_ends(solver, n_rows)[first - 1]


def marks(first: int, last: int, per_doubling: int) -> list[int]:
    """Steps from `first` to `last`, so many for each doubling.

    >>> marks(256, 1024, 2)
    [256, 362, 512, 724, 1024]
    """
    count = int(np.ceil(per_doubling * np.log2(last / first) - 1e-9))
    steps = first * 2 ** (np.arange(count + 1) / per_doubling)
    return np.unique(np.minimum(np.round(steps), last).astype(int)).tolist()


# -- curves -----------------------------------------------------------------------------------------------------------


@dataclass
class Curve:
    """AUC on the test rows after numbers of steps, and CPU seconds until then, looks not counted."""

    steps: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    auc: list[float] = field(default_factory=list)
    weights: dict[int, np.ndarray] = field(default_factory=dict)  # at steps to be kept, and at the end

    def add(self, steps: int, seconds: float, auc: float) -> None:
        self.steps.append(int(steps))
        self.seconds.append(float(f"{seconds:.4g}"))
        self.auc.append(round(auc, 5))

    def stored(self) -> dict[str, Any]:
        """For the results file."""
        return {"steps": self.steps, "seconds": self.seconds, "auc": self.auc}


class _Looks:
    """A callback that looks at the weights when marks are passed, and stops the clock meanwhile."""

    def __init__(self, of: Problem, curve: Curve, at: Iterable[int], keep: Sequence[int]):
        self._of, self._curve, self._keep = of, curve, keep
        self._at = sorted({*at, *keep}, reverse=True)
        self.seconds, self._resumed = 0.0, time.process_time()

    def __call__(self, progress: Progress) -> None:
        self.pause()
        if self._at and progress.steps >= self._at[-1]:
            while self._at and progress.steps >= self._at[-1]:
                self._at.pop()
            w = progress.w
            self._curve.add(progress.steps, self.seconds, self._of.auc(self._of.X_test @ w))
            if progress.steps in self._keep:
                self._curve.weights[progress.steps] = w.copy()
        self._resumed = time.process_time()

    def pause(self) -> None:
        """Count the time since the clock went on."""
        self.seconds += time.process_time() - self._resumed


def race(
    entry: Entry,
    of: Problem,
    seed: int,
    at: Sequence[int],
    *,
    keep: Sequence[int] = (),
    again: int = 0,
    short: int = 8192,
) -> Curve:
    """The curve of a solver.

    Callbacks come every few thousand steps where steps are cheap. Points up to `short` steps are therefore runs of
    their own, timed whole; those beyond come from one long run, its clock stopped at every look. Up to `again` steps
    all is done twice, and the quicker time counts: memory that was never used before is slow at its first touch.
    """
    curve = Curve()
    if entry.short_runs:
        for mark in at:
            if mark <= short:
                seconds, (w, _) = cpu(partial(entry.run, of, seed, mark), 2)
                curve.add(mark, seconds, of.auc(of.X_test @ w))
        at = [mark for mark in at if mark > short]
    long_run = _watched(entry, of, seed, at, keep, None)
    if again > short:
        repeated = _watched(entry, of, seed, [mark for mark in at if mark <= again], (), again)
        quicker = dict(zip(repeated.steps, repeated.seconds, strict=True))
        long_run.seconds = [
            min(s, quicker.get(n, s)) for n, s in zip(long_run.steps, long_run.seconds, strict=True)
        ]
    for point in zip(long_run.steps, long_run.seconds, long_run.auc, strict=True):
        if not curve.steps or point[0] > curve.steps[-1]:
            curve.add(*point)
    curve.weights = long_run.weights
    return curve


def _watched(
    entry: Entry, of: Problem, seed: int, at: Iterable[int], keep: Sequence[int], steps: int | None
) -> Curve:
    """The points of one run, its last one included."""
    curve = Curve()
    looks = _Looks(of, curve, at, keep)
    w, result = entry.run(of, seed, steps, callback=looks)
    looks.pause()
    if not curve.steps or curve.steps[-1] < result.n_evaluations:
        curve.add(result.n_evaluations, looks.seconds, of.auc(of.X_test @ w))
    curve.weights[result.n_evaluations] = w
    return curve


def reached(curve: dict[str, Any], auc: float) -> float | None:
    """CPU seconds until the curve first has this AUC; None if it never has.

    >>> reached({"auc": [0.5, 0.8, 0.9], "seconds": [1, 2, 3]}, 0.8), reached({"auc": [0.5], "seconds": [1]}, 0.8)
    (2, None)
    """
    return next((s for a, s in zip(curve["auc"], curve["seconds"], strict=True) if a >= auc), None)


def at_steps(curve: dict[str, Any], steps: int) -> float:
    """The AUC after so many steps, between points along the logarithm of steps, beyond the last its AUC.

    >>> at_steps({"auc": [0.5, 0.8, 0.9], "steps": [10, 20, 40]}, 20)
    0.8
    >>> round(at_steps({"auc": [0.5, 0.8, 0.9], "steps": [10, 20, 80]}, 40), 3)
    0.85
    """
    return float(np.interp(np.log(steps), np.log(curve["steps"]), curve["auc"]))


# -- logistic regression ----------------------------------------------------------------------------------------------


def logistic(of: Problem, solver: str, most_seconds: float = 1.0) -> dict[str, Any]:
    """CPU seconds and AUC of scikit-learn's logistic regression; the quickest of three fits where these are short."""
    model = LogisticRegression(C=1.0, tol=1e-4, solver=solver, max_iter=10_000)
    seconds, _ = cpu(lambda: model.fit(of.X, of.y))
    if seconds < most_seconds:
        seconds = min(seconds, cpu(lambda: model.fit(of.X, of.y), 2)[0])
    return {
        "seconds": float(f"{seconds:.4g}"),
        "auc": round(of.auc(of.X_test @ model.coef_[0]), 5),
        "solver": solver,
    }


def candidates(of: Problem) -> list[str]:
    """The solvers of logistic regression that are tried."""
    newton = ["newton-cholesky"] if of.X.shape[1] <= _MOST_FOR_NEWTON else []
    return ["lbfgs", "liblinear", *newton]


def quickest_logistic(of: Problem, known: str | None) -> dict[str, Any]:
    """Logistic regression by the solver that was quickest before, or, where none is known, by the quickest of all."""
    if known is not None:
        return logistic(of, known)
    tried = [logistic(of, solver) for solver in candidates(of)]
    return {
        **min(tried, key=lambda one: one["seconds"]),
        "tried": {one["solver"]: one["seconds"] for one in tried},
    }


def known_solver(rows: list[dict[str, Any]], data: str) -> str | None:
    """The quickest solver of logistic regression on a data set's first trial, if that was measured."""
    for row in rows:
        found = row["results"].get("LogisticRegression", {})
        if row["cell"].get("data") == data and "tried" in found:
            return str(found["solver"])
    return None
