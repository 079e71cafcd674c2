"""How the rank should grow: Figure 2 of the co-embedding paper.

*Similarities* is eq. 12: normal rows of n features, whose inner products are the target, and the trace of the metric
with beta = 0.5 for the sum over pairs. *Labels* is eq. 13, the objective of `CoEmbeddingClassifier`, on training rows
of the benchmark `multilabel`, also for the sum over rows. All runs begin with no column and end when the certified gap
is below a thousandth of the objective.

- *exponential*: `ILA()`, which adds up to 1, 2, 4, ... eigenvectors per round.
- *linear*: `ILA(growth="linear")`, which adds one. Descent over the factor, eigensolver and certificate are the same.
- *boosting*: the leading eigenvector and the best weights of old and new, round after round, without descent. Below 150
  rows of the matrix its eigenvectors are exact, above that accurate to a thousandth, by Lanczos. On eq. 12 exact ones
  are columns of the solution, one per round; errors of eigenvectors are never corrected.

Seconds are CPU time of one thread; other programs ran on the machine. A linear run ends after 12 times the time of
exponential growth on the same problem, but not before 60 s (ten minutes each would have taken too long for the whole).
Boosting may take as long as linear growth took, but at least 2 s and at most 30 s. A ratio with a run that was ended
is a lower bound, shown as "≥".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from matplotlib.figure import Figure
from threadpoolctl import threadpool_limits

from benchmarks import _rank_growth_report as report
from benchmarks._convex_problems import labelled, similarities
from benchmarks._rank_growth import WAYS, grown
from benchmarks._runner import Job
from benchmarks._store import Cell
from benchmarks._tables import Table

SETTINGS: dict[str, Any] = {
    "samples": [250, 1000, 2000],
    "sizes": [10, 50, 100, 200, 400, 1000],
    "seeds": 2,
    "one_seed_from": 400,
    "beta": 0.5,
    "labels": {"emotions": 2, "scene": 2, "yeast": 2, "corel5k": 2},
    "betas": [1.0, 0.1],
    "tolerance": 1e-3,
    "linear_times": 12,
    "linear_seconds": 60.0,
    "boosting_seconds": [2.0, 30.0],
}
QUICK = {"samples": [60], "sizes": [5, 10, 20], "labels": {"emotions": 1}, "boosting_seconds": [0.2, 1.0]}


def cells(settings: dict[str, Any]) -> list[Cell]:
    """The small problems first."""
    found: list[Cell] = [
        {"part": "labels", "data": name, "beta": beta, "split": split}
        for name, splits in settings["labels"].items()
        for split in range(splits)
        for beta in settings["betas"]
    ]
    return found + [
        {"part": "similarities", "n": n, "samples": samples, "seed": seed}
        for n in settings["sizes"]
        for samples in settings["samples"]
        for seed in range(1 if n >= settings["one_seed_from"] else settings["seeds"])
    ]


def warm_up(settings: dict[str, Any]) -> None:
    """Compile the loops of descent and of the loss."""
    for way in WAYS:
        grown(similarities(5, 20, 0, settings["beta"])[1], way, settings["tolerance"], 0.5)
        grown(labelled("emotions", 0, 1.0), way, settings["tolerance"], 0.5)


def measure(cell: Cell, job: Job) -> Iterator[tuple[str, dict[str, Any]]]:
    """The three ways on one problem."""
    settings = job.settings
    if cell["part"] == "labels":
        objective: Any = labelled(cell["data"], cell["split"], cell["beta"])
    else:
        objective = similarities(cell["n"], cell["samples"], cell["seed"], settings["beta"])[1]
    least, most = settings["boosting_seconds"]
    limit = float("inf")
    for way in WAYS:  # all of them even after an interruption: the limits depend on the ways before
        with threadpool_limits(1):
            found = grown(objective, way, settings["tolerance"], limit)
        yield way, found
        limit = max(settings["linear_times"] * found["seconds"], settings["linear_seconds"])
        if way == "linear":
            limit = min(max(found["seconds"], least), most)


def summarise(rows: list[dict[str, Any]], settings: dict[str, Any]) -> list[Table]:
    """Checks, then seconds on either problem."""
    return report.tables(rows, settings)


def draw(rows: list[dict[str, Any]], settings: dict[str, Any]) -> dict[str, Figure]:
    """Seconds against features, and the gap of every way against time."""
    return report.figures(rows, settings)
