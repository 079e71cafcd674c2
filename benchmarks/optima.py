"""Local optima of factors of fixed width: Figure 3 of the co-embedding paper.

The objective is eq. 13 with beta = 1, that of `CoEmbeddingClassifier`, on training rows of the benchmark `multilabel`.
A factor of d columns begins with normal numbers, scaled to the trace of the minimum, and L-BFGS descends over it until
20 iterations lower the objective by less than a millionth, or for 2,000 iterations. This is not convex for small d:
each start may end elsewhere. The line of reference is the global minimum, with a certificate: `ILA`, whatever the
width, with a tolerance of a millionth, where rounding may end it first. Numbers are relative: how far an end is above
the minimum, as a share of it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from threadpoolctl import threadpool_limits

from benchmarks import _optima_report as report
from benchmarks._convex_problems import labelled
from benchmarks._runner import Job
from benchmarks._store import Cell
from benchmarks._tables import Table
from nearer.objectives.base import WithFactors
from nearer.solvers import ILA, Budget, minimise
from nearer.solvers.lbfgs import descend

SETTINGS: dict[str, Any] = {
    "data": {
        "emotions": [1, 2, 3, 4, 5, 6, 7, 8],
        "yeast": [1, 2, 3, 4, 6, 8, 10, 12, 13, 14],
        "scene": [1, 2, 3, 4, 5, 6, 7, 8],
    },
    "beta": 1.0,
    "starts": 100,
    "tolerance": 1e-6,
    "window": 20,
    "iterations": 2000,
}
QUICK = {"data": {"emotions": [1, 3, 7]}, "starts": 5}


def cells(settings: dict[str, Any]) -> list[Cell]:
    """A cell is a data set and a width."""
    return [{"data": name, "d": d} for name, widths in settings["data"].items() for d in widths]


def warm_up(settings: dict[str, Any]) -> None:
    """Compile the loops of descent and of the loss."""
    f = labelled("emotions", 0, settings["beta"])
    descended(f, np.ones((f.shape[0], 1)), {**settings, "iterations": 2})


def measure(cell: Cell, job: Job) -> Iterator[tuple[str, dict[str, Any]]]:
    """The certified minimum, and where local descent ends from random starts."""
    settings, f = job.settings, labelled(cell["data"], 0, job.settings["beta"])
    rng = np.random.default_rng(cell["d"])
    with threadpool_limits(1):
        Q, result = minimise(
            ILA(),
            f,
            np.zeros((f.shape[0], 1)),
            budget=Budget(tol=settings["tolerance"]),
            rng=np.random.default_rng(0),
        )
        yield (
            report.MINIMUM,
            {
                "objective": float(result.objective),
                "gap": float(result.history["gap"][-1] / result.objective),
                "rank": int(result.details["rank"]),
            },
        )
        starts = (rng.normal(size=(f.shape[0], cell["d"])) for _ in range(settings["starts"]))
        scaled = (start * np.linalg.norm(Q) / np.linalg.norm(start) for start in starts)
        ends = [descended(f, start, settings) for start in scaled]
        yield (
            report.STARTS,
            {
                "objectives": [value for value, _ in ends],
                "iterations": [count for _, count in ends],
            },
        )


def descended(f: WithFactors, start: np.ndarray, settings: dict[str, Any]) -> tuple[float, int]:
    """Return where local descent from a factor ends, and after how many iterations."""
    values = [f.value(start)]
    recent: deque[float] = deque(values, maxlen=settings["window"])

    def record(Q: np.ndarray, value: float, length: float) -> bool:
        enough = len(recent) == settings["window"] and recent[0] - value < settings["tolerance"] * abs(value)
        recent.append(value)
        values.append(value)
        return enough

    descend(f.value_and_factor_gradient, start, record, ILA().kept(start.size), settings["iterations"])
    return float(values[-1]), len(values) - 1


def summarise(rows: list[dict[str, Any]], settings: dict[str, Any]) -> list[Table]:
    """Checks, and the spread of ends per width."""
    return report.tables(rows)


def draw(rows: list[dict[str, Any]], settings: dict[str, Any]) -> dict[str, Figure]:
    """All ends against the width."""
    return {"spread": report.figure(rows)}
