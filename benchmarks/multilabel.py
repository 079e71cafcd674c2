"""Labels of rows: Tables 2 to 4 of the co-embedding paper.

Random splits: 1,000 training rows, the rest (at most 3,000 rows) is tested; of sets with fewer than 1,500 rows, two
thirds are for training. Method and settings were decided on other splits of the same rows; these were drawn
afterwards. The paper's sets have ten splits, the others three. Rivals other than logistic regression per label are left
out of some splits. corel5k is cut to its 30 commonest labels. tmc2007_500 replaces Mediamill, which is not to be had.
Labels that no training row has are left out. bibtex, with 159 labels, is measured for speed and certificate alone; all
of delicious, with 983, for memory alone. Standard errors are over random splits of the same rows: new rows differ more.

- *ours* is `CoEmbeddingClassifier(threshold=...)`. `beta` is chosen on five folds of the training rows by the log-loss
  of calibrated probabilities, so it is the same for all criteria and chosen once. Cuts are validated on the same folds,
  for the criterion that is reported. "cut at 0" cuts at the threshold point.
- Rivals: BR is one classifier per label, CC a chain of them, CLR calibrated label ranking; LOG is logistic regression
  and SVM a linear SVM, both with scikit-learn's defaults. Columns are standardised if that validates better. Validated
  cuts are chosen on five folds by the same code as ours: scores become probabilities by a sigmoid per label, which are
  cut where micro-F1 is highest, at one half for the Hamming score, and where the expected F1 of each label is highest
  for macro-F1. Plain cuts are of the scores themselves. CLR, with a classifier for every two labels, is left out above
  50 labels, and CC above 200.
- *paper* is the column ILA of the paper, on splits of its own.

Numbers are percent: Hamming score, micro-F1, macro-F1. Seconds are CPU time of one thread; other programs ran on the
machine. Speed and certificate have a fixed beta of 1 or 3 for the sum over rows, no folds, and the cut at 0. Memory is
what numpy and Python allocate at the peak of a fit to all of delicious, in a process of its own.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from matplotlib.figure import Figure
from threadpoolctl import threadpool_limits

from benchmarks import _label_memory
from benchmarks import _label_rivals as rivals
from benchmarks._label_data import Problem, problem
from benchmarks._label_report import figure, tables
from benchmarks._runner import Job
from benchmarks._store import Cell
from benchmarks._tables import Table
from nearer import CoEmbeddingClassifier

SETTINGS: dict[str, Any] = {
    "data": {
        "emotions": {"splits": 10, "rivals": 10},
        "scene": {"splits": 10, "rivals": 4},
        "yeast": {"splits": 10, "rivals": 3},
        "corel5k": {"splits": 10, "rivals": 3},
        "tmc2007_500": {"splits": 3, "rivals": 1},
        "medical": {"splits": 3, "rivals": 1},
        "cal500": {"splits": 3, "rivals": 1},
        "bibtex": {"splits": 1, "rivals": 0},
        "delicious": {"splits": 1, "rivals": 0},
    },
    "first_split": 1000,
    "speed_only": ["bibtex"],
    "memory_only": ["delicious"],
    "most_test": 3000,
    "speed_splits": 2,
    "speed_betas": [1.0, 3.0],
    "tolerances": [1e-2, 1e-3, 1e-4],
}
QUICK = {"data": {"emotions": {"splits": 2, "rivals": 1}}, "speed_splits": 1}
OURS, SPEED, MEMORY = "ours", "speed", "memory"


def cells(settings: dict[str, Any]) -> list[Cell]:
    """A cell is a data set and a split, which is the seed of its draw."""
    first = settings["first_split"]
    return [
        {"data": name, "split": first + number}
        for name, counts in settings["data"].items()
        for number in range(counts["splits"])
    ]


def warm_up(settings: dict[str, Any]) -> None:
    """Compile the loops of the loss."""
    given = problem("emotions", 0, 100)
    CoEmbeddingClassifier(1.0).fit(given.X, given.Y)


def measure(cell: Cell, job: Job) -> Iterator[tuple[str, dict[str, Any]]]:
    """Ours for every criterion, every rival, and speed on the first splits."""
    given = problem(cell["data"], cell["split"], job.settings["most_test"])
    for name in _wanted(cell, given.Y.shape[1], job.settings):
        if name in job.done:
            continue
        with threadpool_limits(1), rivals.quiet():
            if name == OURS:
                yield name, _ours(given, cell["split"])
            elif name == MEMORY:
                yield name, _label_memory.measured()
            elif name == SPEED:
                yield name, _speed(given, job.settings)
            else:
                yield name, rivals.measured(name, given)


def _wanted(cell: Cell, n_labels: int, settings: dict[str, Any]) -> list[str]:
    """Return what to measure on a split."""
    number = cell["split"] - settings["first_split"]
    if cell["data"] in settings["memory_only"]:
        return [MEMORY]
    speed = [SPEED] if number < settings["speed_splits"] else []
    if cell["data"] in settings["speed_only"]:
        return speed
    others = rivals.rivals(n_labels)
    few = number >= settings["data"][cell["data"]]["rivals"]
    return [OURS, *(others[:1] if few else others), *speed]


def _ours(given: Problem, seed: int) -> dict[str, Any]:
    found: dict[str, Any] = {"beta": {}, "seconds": {}, "rank": {}}
    beta: float | str = "auto"
    for criterion in ("micro-f1", "hamming", "macro-f1"):
        began = time.process_time()
        model = CoEmbeddingClassifier(beta, threshold=criterion, random_state=seed).fit(given.X, given.Y)
        beta = model.beta_  # it does not depend on the criterion
        found["seconds"][criterion] = time.process_time() - began
        found["beta"][criterion] = model.beta_
        found["rank"][criterion] = model.label_embedding_.shape[1]
        found[criterion] = rivals.criteria(given.Y_test, model.predict(given.X_test))[criterion]
        if criterion == "micro-f1":
            above = model.decision_function(given.X_test) + model.decisions_.cuts(seen=True)
            found["zero"] = rivals.criteria(given.Y_test, above > 0)
    return found


def _speed(given: Problem, settings: dict[str, Any]) -> dict[str, Any]:
    """Fits at fixed strengths to several tolerances, in turn with a classifier per label."""
    found: dict[str, Any] = {"rival_seconds": []}
    for beta in settings["speed_betas"]:
        for tol in settings["tolerances"]:
            began = time.process_time()
            rivals.OneVsRestClassifier(rivals.LogisticRegression()).fit(given.X, given.Y)
            found["rival_seconds"].append(time.process_time() - began)
            began = time.process_time()
            model = CoEmbeddingClassifier(beta, cv=0, threshold=0.0, tol=tol, random_state=0).fit(
                given.X, given.Y
            )
            result = model.result_
            found[f"{beta:g} {tol:g}"] = {
                "seconds": time.process_time() - began,
                "gap": result.details["gap"] / result.objective,
                "stopped": result.stop_reason,
                "rank": model.label_embedding_.shape[1],
                **rivals.criteria(given.Y_test, model.predict(given.X_test)),
            }
    return found


def summarise(rows: list[dict[str, Any]], settings: dict[str, Any]) -> list[Table]:
    """Checks, the three criteria, and speed."""
    return tables(rows, settings)


def draw(rows: list[dict[str, Any]], settings: dict[str, Any]) -> dict[str, Figure]:
    """Gains over a classifier per label."""
    return {"gains": figure(rows)}
