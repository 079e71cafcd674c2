"""Cost of an evaluation and of an epoch from a hundred to a million objects.

A million random triplets, STE loss, float64. A full gradient costs one evaluation a comparison and a pass
over the (n, p) array; an SVRG epoch (a snapshot's gradient, then one step a comparison, batches of 1 and of
10) costs three evaluations. The dense term of SVRG is applied to a row only when the row is next touched,
so that the cost of a step does not grow with the number of objects, but for the caches. Threads help full
gradients alone; these are timed several in a row, as a batch solver asks for them, because a core that was
idle takes its time to wake. What two threads could gain at most is what two gradients gain that have nothing to
do with each other and are worked out at once, each on one thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from benchmarks._figures import grid, legend_below, log_scale, looks, tidy_chart
from benchmarks._runner import Job
from benchmarks._store import Cell
from benchmarks._tables import Table, checks, digits
from benchmarks._timing import interleaved, per_comparison, random_comparisons
from nearer.losses import STE
from nearer.objectives import PointObjective

SETTINGS: dict[str, Any] = {
    "n_comparisons": 1_000_000,
    "n_objects": [100, 1000, 10_000, 100_000, 1_000_000],
    "n_components": [2, 10, 50],
    "threads": [1, 2],
    "gradients_a_turn": 10,
    "turns": 51,
    "max_seconds": 20,
    "step": 1e-7,
}
QUICK = {"n_comparisons": 100_000, "n_objects": [100, 10_000], "n_components": [2, 10], "turns": 3}

KINDS = {
    "gradient-1": "full gradient, 1 thread",
    "gradient-2": "full gradient, 2 threads",
    "gradient-twice": "two full gradients at once, a thread each",
    "svrg-step": "SVRG step, batch 1",
    "svrg-step-10": "SVRG step, batch 10",
    "svrg-epoch": "whole SVRG epoch, batch 10",
}


def cells(settings: dict[str, Any]) -> list[Cell]:
    """A cell is a dimension and a number of objects."""
    return [{"p": p, "n": n} for p in settings["n_components"] for n in settings["n_objects"]]


def warm_up(settings: dict[str, Any]) -> None:
    """Compile every loop."""
    for call in _calls({"p": 2, "n": 10}, {**settings, "n_comparisons": 100}).values():
        call()


def _calls(cell: Cell, settings: dict[str, Any]) -> dict[str, Callable[[], object]]:
    """What is timed: full gradients by threads, the steps of an SVRG epoch, and a whole epoch."""
    n, p, q, step = cell["n"], cell["p"], settings["n_comparisons"], settings["step"]
    comparisons = random_comparisons(n, q, seed=0)
    by_threads = {k: PointObjective(comparisons, STE(), p, n_jobs=k) for k in settings["threads"]}
    f = by_threads[1]
    rng = np.random.default_rng(0)
    snapshot = rng.standard_normal((n, p)) / np.sqrt(2 * p)
    points, walk = snapshot.copy(), f.walk(rng, slopes=True)
    _, mean = f.snapshot_gradient(snapshot, walk)

    def steps(batch: int) -> None:
        f.svrg_epoch(points, snapshot, mean, walk, step, batch, q)

    def epoch() -> None:
        walk.shuffle()
        _, gradient = f.snapshot_gradient(snapshot, walk)
        f.svrg_epoch(points, snapshot, gradient, walk, step, 10, q)

    in_a_row = settings["gradients_a_turn"]
    gradients = {f"gradient-{k}": _gradient_call(g, snapshot, in_a_row) for k, g in by_threads.items()}
    return {
        **gradients,
        "gradient-twice": _twice_at_once(gradients["gradient-1"]),
        "svrg-step": lambda: steps(1),
        "svrg-step-10": lambda: steps(10),
        "svrg-epoch": epoch,
    }


def _gradient_call(objective: PointObjective, points: np.ndarray, count: int) -> Callable[[], object]:
    def call() -> None:
        for _ in range(count):
            objective.value_and_gradient(points)

    return call


def _twice_at_once(call: Callable[[], object]) -> Callable[[], object]:
    pool = ThreadPoolExecutor(2)
    return lambda: list(pool.map(lambda _: call(), range(2)))


def measure(cell: Cell, job: Job) -> Iterator[tuple[str, dict[str, Any]]]:
    """Everything in turns, on the same triplets."""
    calls = _calls(cell, job.settings)
    seconds = interleaved(calls, job.settings["turns"], job.settings["max_seconds"])
    for name, taken in seconds.items():
        is_gradient = name.startswith("gradient-")
        at_once = 2 if name == "gradient-twice" else 1
        calls_a_turn = at_once * (job.settings["gradients_a_turn"] if is_gradient else 1)
        found: dict[str, Any] = per_comparison(taken, calls_a_turn * job.settings["n_comparisons"])
        if is_gradient:
            ratios = at_once * np.divide(seconds["gradient-1"], taken)
            found["speed_up"] = np.quantile(ratios, [0.25, 0.5, 0.75]).round(3).tolist()
        yield name, found


def _ns(rows: list[dict[str, Any]], p: int, n: int, kind: str) -> float | None:
    for row in rows:
        if row["cell"] == {"p": p, "n": n} and kind in row["results"]:
            return row["results"][kind]["ns"]
    return None


def summarise(rows: list[dict[str, Any]], settings: dict[str, Any]) -> list[Table]:
    """The checks, and a table of nanoseconds a comparison for every dimension."""
    return [checks(_checks(rows, settings)), *(_table(rows, settings, p) for p in settings["n_components"])]


def _table(rows: list[dict[str, Any]], settings: dict[str, Any], p: int) -> Table:
    title = f"p = {p}: nanoseconds a comparison, medians"
    table = Table(title, ["", *(f"n = {n:,}" for n in settings["n_objects"])])
    for kind, name in KINDS.items():
        table.add(name, *(digits(_ns(rows, p, n, kind)) for n in settings["n_objects"]))
    return table


def _checks(
    rows: list[dict[str, Any]], settings: dict[str, Any]
) -> Iterator[tuple[str, str, str, bool | None]]:
    few, many = _ns(rows, 10, 100, "svrg-step"), _ns(rows, 10, 100_000, "svrg-step")
    grown = many / few if few and many else None
    holds = None if grown is None else grown <= 3
    yield "SVRG step, p = 10: n = 100,000 / n = 100", "at most 3", digits(grown), holds
    for row in rows:
        if row["cell"]["p"] != 10 or row["cell"]["n"] > 10_000:
            continue
        what = f"full gradient, p = 10, n = {row['cell']['n']:,}: 1 thread / 2 threads"
        if found := row["results"].get("gradient-2"):
            yield what, "at least 1.6", _spread(found["speed_up"]), found["speed_up"][1] >= 1.6
        if found := row["results"].get("gradient-twice"):
            yield f"{what}, two that are unrelated", "-", _spread(found["speed_up"]), None


def _spread(quartiles: list[float]) -> str:
    low, middle, high = (digits(value) for value in quartiles)
    return f"{middle} ({low} to {high})"


def draw(rows: list[dict[str, Any]], settings: dict[str, Any]) -> dict[str, Figure]:
    """Nanoseconds a comparison against the number of objects, a panel a dimension."""
    figure, axes = grid(len(settings["n_components"]), columns=3, size=(4.0, 3.6))
    looked = looks(list(KINDS))
    for ax, p in zip(axes, settings["n_components"], strict=True):
        for kind, name in KINDS.items():
            found = [row for row in rows if row["cell"]["p"] == p and kind in row["results"]]
            n = [row["cell"]["n"] for row in found]
            middle, low, high = (
                [row["results"][kind][key] for row in found] for key in ("ns", "low", "high")
            )
            ax.plot(n, middle, label=name, markersize=5, linewidth=1.6, **looked[kind])
            ax.fill_between(n, low, high, color=looked[kind]["color"], alpha=0.15, linewidth=0)
        log_scale(ax, "x", "y")
        tidy_chart(ax, "objects", "ns a comparison", f"p = {p}")
    legend_below(figure, axes[0], columns=3)
    return {"cost": figure}
