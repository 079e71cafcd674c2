"""Other solvers of convex problems over matrices, and other metric learners.

*Solvers*: CPU seconds to an objective within a ten-thousandth of the minimum, on one thread. The minimum comes from
`ILA` with a tolerance of 1e-7, whose certificate bounds its error. *Similarities* is eq. 12 of the co-embedding paper
with twice as many rows as features, p x p; the minimum has full rank. *Kernel* is STE for 20 noisy comparisons per
object of p objects in three dimensions; the minimum has low rank.

- *ILA*: `nearer.solvers.ILA()`, from nothing, until its value is low enough, and until its own certificate says so.
- *FISTA*: in numpy, with a whole eigendecomposition per iteration, backtracking, growing steps and restarts.
- *SCS*: through cvxpy. It is solved with tolerances of 1e-3, 1e-4, ... until the projected result is good enough, and
  only the last solve counts, without cvxpy's translation.

The rivals get eq. 12 in the basis of the singular vectors of the rows. A gradient then costs FISTA next to nothing,
and the problem of SCS is sparse; in the given basis it would not fit into memory from p = 300 on. FISTA may take 60 s
of CPU time, and every solve of SCS 150 s of wall clock: ten minutes would have taken too long for the whole. Ratios
with a run that was ended are lower bounds.

*Metrics*: share of test rows whose label their three nearest training rows have, and CPU seconds of the fit. Rows have
standardised columns, 70% of them (at most 1,000) are for training. LMNN, ITML and NCA are metric-learn 0.7.0 with its
defaults, in an environment of its own with scikit-learn 1.7.2; a fit may take 60 s of wall clock. Ours is
`MetricLearner()` with labels, including its choice of `beta`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from threadpoolctl import threadpool_limits

from benchmarks import _convex_peers as peers
from benchmarks import _convex_peers_report as report
from benchmarks import _metric_peers as metrics
from benchmarks._convex_problems import closed_form
from benchmarks._runner import Job
from benchmarks._store import Cell
from benchmarks._tables import Table
from nearer.solvers import ILA, Budget, minimise

SETTINGS: dict[str, Any] = {
    "sizes": [50, 100, 300, 1000],
    "seeds": 2,
    "one_seed_from": 1000,
    "beta": 0.5,
    "penalty": 0.2,
    "error": 1e-4,
    "reference": 1e-7,
    "agree": [50, 1e-8],
    "seconds": {"FISTA": 60.0, "SCS": 150.0, "metrics": 60.0},
    "data": {"iris": 5, "wine": 5, "breast_cancer": 5, "digits": 2, "usps": 1},
    "most_train": 1000,
}
QUICK = {"sizes": [10, 20], "seeds": 1, "agree": [10, 1e-8], "data": {"iris": 1}}


def cells(settings: dict[str, Any]) -> list[Cell]:
    """The small problems first."""
    labels = [
        {"part": "metrics", "data": name, "split": split}
        for name, splits in settings["data"].items()
        for split in range(splits)
    ]
    return labels + [
        {"part": "solvers", "problem": name, "p": p, "seed": seed}
        for p in settings["sizes"]
        for name in report.PROBLEMS
        for seed in range(1 if p >= settings["one_seed_from"] else settings["seeds"])
    ]


def warm_up(settings: dict[str, Any]) -> None:
    """Compile the loops of descent and of the loss, import cvxpy, and make the peer's environment."""
    for name in report.PROBLEMS:
        given = _problem({"problem": name, "p": 10, "seed": 0}, settings)
        _certified(given, settings)
        peers.solved(given, 1e-2, 10.0)
    of = metrics.labelled("iris", 0, 100)
    metrics.ours(of, 0)
    worker = metrics.Worker(threads=1)
    worker.measured("NCA", of, 100.0)
    worker.close()


def _problem(cell: Cell, settings: dict[str, Any]) -> peers.Problem:
    if cell["problem"] == report.SIMILARITIES:
        return peers.Similarities(cell["p"], cell["seed"], settings["beta"])
    return peers.Kernel(cell["p"], cell["seed"], settings["penalty"])


def measure(cell: Cell, job: Job) -> Iterator[tuple[str, dict[str, Any]]]:
    """The solvers on one problem, or the metrics of one split."""
    with threadpool_limits(1):
        yield from (_solvers if cell["part"] == "solvers" else _metrics)(cell, job)


def _solvers(cell: Cell, job: Job) -> Iterator[tuple[str, dict[str, Any]]]:
    settings, given = job.settings, _problem(cell, job.settings)
    ours, least = _certified(given, settings)
    yield report.ILA, ours
    enough, most = least * (1 + settings["error"]), settings["seconds"]
    if report.FISTA not in job.done:
        yield report.FISTA, peers.fista(given.whole, cell["p"], enough, most[report.FISTA])
    if report.SCS not in job.done:
        yield report.SCS, peers.scs(given, enough, most[report.SCS])
    if cell["p"] <= settings["agree"][0]:
        found = peers.solved(given, settings["agree"][1], most[report.SCS])["objective"]
        yield report.AGREES, {"error": abs(found - least) / least}


def _certified(given: peers.Problem, settings: dict[str, Any]) -> tuple[dict[str, Any], float]:
    """Return what our solver takes, and the minimum."""
    f, looks = given.objective, []
    began = time.process_time()

    def watch(progress: Any) -> None:
        looks.append((time.process_time() - began, float(progress.objective)))

    start, rng = np.zeros((given.p, 1)), np.random.default_rng(0)
    Q, result = minimise(ILA(), f, start, budget=Budget(tol=settings["error"]), callback=watch, rng=rng)
    seconds = time.process_time() - began
    _, best = minimise(ILA(), f, Q, budget=Budget(tol=settings["reference"]), rng=rng)
    least = float(best.objective)
    found = {
        "seconds": next(at for at, value in looks if value <= least * (1 + settings["error"])),
        "certified_seconds": seconds,
        "gap": float(result.history["gap"][-1] / result.objective),
        "reached": True,
        "rank": int(result.details["rank"]),
        "objective": least,
    }
    best_metric = closed_form(given.X, settings["beta"]) if isinstance(given, peers.Similarities) else None
    if best_metric is not None:
        found["error"] = abs(f.value(np.linalg.cholesky(best_metric)) - least) / least
    return found, least


def _metrics(cell: Cell, job: Job) -> Iterator[tuple[str, dict[str, Any]]]:
    of = metrics.labelled(cell["data"], cell["split"], job.settings["most_train"])
    if metrics.PLAIN not in job.done:
        yield metrics.PLAIN, metrics.plain(of)
    if metrics.OURS not in job.done:
        yield metrics.OURS, metrics.ours(of, cell["split"])
    worker = metrics.Worker(threads=1)
    try:
        for name in metrics.PEERS:
            if name not in job.done:
                yield name, worker.measured(name, of, job.settings["seconds"]["metrics"])
    finally:
        worker.close()


def summarise(rows: list[dict[str, Any]], settings: dict[str, Any]) -> list[Table]:
    """Checks, seconds of solvers, accuracies and seconds of metrics."""
    return report.tables(rows, settings)


def draw(rows: list[dict[str, Any]], settings: dict[str, Any]) -> dict[str, Figure]:
    """Seconds of solvers against size; accuracy of metrics against seconds."""
    return report.figures(rows, settings)
