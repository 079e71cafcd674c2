"""The Gram form of ordinal embedding, "cvx" and "kernel" in Table 1 of the SVRG-SBB paper: projected gradient.

The Gram matrix is positive semidefinite, centred and of the points' rank, and every step is followed by a projection
onto such matrices, which takes eigenvectors. The paper keeps the step fixed; here a line search finds it. `batch`, the
same loss by the points, runs beside it once more, so that the two share the state of the machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks import _race
from benchmarks._runner import Job, rotated
from benchmarks._store import Cell
from benchmarks._tables import Table, median, spread
from nearer import RelativeKernel
from nearer.solvers import ProximalGradient

PART = "gram"
_BATCH = "batch"


def name(loss: str) -> str:
    """The paper's name of the row; t-STE's loss is convex in no parameters, so it is not called so."""
    return "kernel" if loss == "tste" else "cvx"


def gram_cells(settings: dict[str, Any]) -> list[Cell]:
    """A cell is a loss and a seed, as in the race."""
    return [
        {"part": PART, "loss": loss, "seed": seed}
        for seed in range(settings["seeds"])
        for loss in settings["losses"]
    ]


def gram_fit(problem: _race.Problem, loss: str, settings: dict[str, Any]) -> dict[str, Any]:
    """One fit of a Gram matrix from the points' start."""
    trace = _race.Trace(problem, settings["targets"], settings["curve_passes"])
    estimator = RelativeKernel(
        loss,
        trace_penalty=0.0,
        max_rank=problem.start.shape[1],
        solver=ProximalGradient(factored=False),
        init=problem.start @ problem.start.T,
        tol=0.0,
        max_epochs=100_000,
        max_evaluations=int(settings["max_passes"] * len(problem.train)),
        callback=trace,
    ).fit(problem.train)
    found = _race.measurements(trace, estimator.result_.stop_reason, settings)
    details = estimator.result_.details
    found["decomposition_share"] = round(details["decomposition_seconds"] / estimator.result_.seconds, 3)
    return found


def measure(cell: Cell, job: Job, problem: _race.Problem) -> Iterator[tuple[str, dict[str, Any]]]:
    """The Gram form and batch gradient on one problem."""
    loss, settings = cell["loss"], job.settings
    for rival in rotated([name(loss), _BATCH], cell["seed"]):
        if rival in job.done:
            continue
        if rival == _BATCH:
            found = _race.traced_fit(problem, loss, _race.solver(_BATCH, {}), settings, cell["seed"])
        else:
            found = gram_fit(problem, loss, settings)
        del found["step"]
        yield rival, found


def results(rows: list[dict[str, Any]], loss: str) -> list[dict[str, Any]]:
    """What was measured for a loss, by rival."""
    return [row["results"] for row in rows if row["cell"]["part"] == PART and row["cell"]["loss"] == loss]


def _note(rows: list[dict[str, Any]]) -> str:
    """Say why `batch` has other times here than in the tables before."""
    race = {(row["cell"]["loss"], row["cell"]["seed"]): row for row in rows if row["cell"]["part"] == "race"}
    pairs = [
        (row, race.get((row["cell"]["loss"], row["cell"]["seed"])))
        for row in rows
        if row["cell"]["part"] == PART
    ]
    both = [(here, there) for here, there in pairs if there is not None]
    same = sum(here["results"][_BATCH]["error"] == there["results"][_BATCH]["error"] for here, there in both)
    return (
        "`batch` ran twice: in the tables before, beside the other solvers, and here, beside the Gram "
        f"form. In {same} of "
        f"{len(both)} cells it went through the same errors step by step, so the work is the same. The two "
        "were timed hours "
        "apart, from two versions of the source, on a machine that other programs may have shared: compare "
        "times within one "
        "table only."
    )


def tables(rows: list[dict[str, Any]], losses: dict[str, str], targets: list[float]) -> list[Table]:
    """The Gram form beside batch gradient on the points, measured in the same cells."""
    columns = ["loss", "form"]
    for target in targets:
        columns += [
            f"ms to {target}, median (quartiles)",
            f"evaluations / |Q| to {target}",
            f"reached {target}",
        ]
    table = Table("The Gram form beside the points", [*columns, "time in decompositions"], note=_note(rows))
    for loss, title in losses.items():
        found = results(rows, loss)
        for rival in (name(loss), _BATCH) if found else ():
            cells: list[str] = []
            for target in targets:
                seconds, passes = (
                    [_race.reached(r[rival], what, target) for r in found]
                    for what in ("seconds", "evaluations")
                )
                arrived = sum(time is not None for time in seconds)
                cells += [spread(seconds, 1000), spread(passes), f"{arrived}/{len(found)}"]
            share = median(r[rival].get("decomposition_share") for r in found)
            table.add(title, rival, *cells, "-" if share is None else f"{100 * share:.0f}%")
    return [table] if table.rows else []
