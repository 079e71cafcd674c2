"""The default fit by size: threads, a busy machine, a limit of seconds, memory.

`OrdinalEmbedding(p).fit(answers)` on planted points, 5% of the answers wrong, as a user's process runs it: no thread
variable is set. With one thread and with two, the fits take turns. "As installed" leaves the number of threads to
nearer. "At most" is Amdahl's bound on the gain: one thread does the work of two, and its processor time is divided by
that of the parts that only one can do plus the longer share of every part for two. The same fits run beside two
endless loops in other processes. `max_seconds` shows what becomes of the choice of the strength if there is hardly
any time. Memory is the most that Python was asked for at any time of a fit, beyond the answers themselves.
"""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

import numpy as np
from matplotlib.figure import Figure

from benchmarks._figures import grid, legend_below, log_scale, looks, tidy_chart
from benchmarks._load import busy_loops
from benchmarks._runner import Job
from benchmarks._store import Cell
from benchmarks._tables import Table, checks, digits
from nearer import Comparisons, OrdinalEmbedding, calibration
from nearer.datasets import planted
from nearer.objectives import points
from nearer.solvers import path

SETTINGS: dict[str, Any] = {
    "sizes": [
        {"n": 100, "p": 10, "answers": 10_000},
        {"n": 400, "p": 9, "answers": 7_000},
        {"n": 1000, "p": 10, "answers": 60_000},
        {"n": 3000, "p": 10, "answers": 200_000},
        {"n": 100_000, "p": 10, "answers": 2_900_000},
    ],
    "turns": 7,
    "turns_of_large": 1,  # a million answers or more
    "max_seconds": [0.25, 0.5, 1.0],
    "noise": 0.05,
    "loops": 2,
    "test": 20_000,
}
QUICK = {"sizes": SETTINGS["sizes"][:1], "turns": 2, "max_seconds": [0.05], "test": 1000}

WAYS = {"1 thread": {"n_jobs": 1}, "2 threads": {"n_jobs": 2}, "as installed": {}}
INSTALLED, BUSY, MEMORY, BOUND = "as installed", "beside busy loops", "memory", "at most"
LARGE = 10**6
#: of the largest fit: seconds, and how often the answers and the points may be held in memory
MOST_SECONDS, OF_ANSWERS, OF_POINTS = 30.0, 4, 30
LEAST_GAIN = 1.6


def cells(settings: dict[str, Any]) -> list[Cell]:
    """A cell is a size."""
    return [dict(size) for size in settings["sizes"]]


def warm_up(settings: dict[str, Any]) -> None:
    """Compile or load every loop, in both precisions."""
    for dtype in ("float64", "float32"):
        OrdinalEmbedding(5, dtype=dtype, random_state=0).fit(planted(30, 5, 1000, random_state=0)[0])


def problem(cell: Cell, settings: dict[str, Any]) -> tuple[Comparisons, Comparisons]:
    """Return answers to learn from and answers to be judged by."""
    count, test = cell["answers"], settings["test"]
    answers, _ = planted(cell["n"], cell["p"], count + test, noise=settings["noise"], random_state=0)
    return answers[:count], answers[count:]


def measure(cell: Cell, job: Job) -> Iterator[tuple[str, dict[str, Any]]]:
    """Fits by threads in turns, then beside busy loops, within seconds, and with memory traced."""
    settings = job.settings
    train, test = problem(cell, settings)
    turns = settings["turns_of_large"] if cell["answers"] >= LARGE else settings["turns"]
    by_way = [
        {way: _fit(cell, train, test, **options) for way, options in WAYS.items()} for _ in range(turns)
    ]
    for way in WAYS:
        yield way, _joined([fits[way] for fits in by_way])
    yield BOUND, {"gain": [_bound(cell, train) for _ in range(turns)]}
    with busy_loops(settings["loops"]):
        yield BUSY, _joined([_fit(cell, train, test) for _ in range(turns)])
    for seconds in settings["max_seconds"]:
        fits = [_fit(cell, train, test, max_seconds=seconds) for _ in range(min(turns, 3))]
        yield f"within {seconds:g} s", _joined(fits)
    yield MEMORY, _memory(cell, train)


def _fit(cell: Cell, train: Comparisons, test: Comparisons, **options: Any) -> dict[str, float]:
    begun = time.perf_counter()
    model = OrdinalEmbedding(cell["p"], random_state=0, **options).fit(train)
    seconds = time.perf_counter() - begun
    return {"seconds": round(seconds, 4), "error": round(1 - model.score(test), 5), "l2": model.l2_}


def _bound(cell: Cell, train: Comparisons) -> float:
    """Return what two threads can gain at most, from the processor time of the parts of a fit on one."""
    saved = 0.0

    def one_by_one(jobs: Sequence[Callable[[], Any]], n_jobs: int) -> list[Any]:
        nonlocal saved
        results, busy = [], [0.0] * n_jobs
        for job in jobs:
            begun = time.thread_time()
            results.append(job())
            busy[busy.index(min(busy))] += time.thread_time() - begun
        saved += sum(busy) - max(busy)
        return results

    with ExitStack() as patches:
        for module in (calibration, path, points):  # those that divide work among threads
            patches.enter_context(patch.object(module, "in_threads", one_by_one))
        begun = time.thread_time()
        OrdinalEmbedding(cell["p"], random_state=0, n_jobs=2).fit(train)
        total = time.thread_time() - begun
    return round(total / (total - saved), 3)


def _joined(fits: list[dict[str, float]]) -> dict[str, Any]:
    """Return the seconds of all fits, and what the last one found."""
    return {**fits[-1], "seconds": [fit["seconds"] for fit in fits]}


def _memory(cell: Cell, train: Comparisons) -> dict[str, int]:
    """Return the most bytes that a fit held at any time beyond its answers, and the size of answers and points."""
    gc.collect()
    tracemalloc.start()
    try:
        OrdinalEmbedding(cell["p"], random_state=0).fit(train)
        grown = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    return {"grown": grown, "answers": int(train.indices.nbytes), "points": 8 * cell["n"] * cell["p"]}


def gain(results: dict[str, Any]) -> float:
    """Return the median over turns of the time on one thread divided by that on two."""
    return float(np.median(np.divide(results["1 thread"]["seconds"], results["2 threads"]["seconds"])))


def bound(results: dict[str, Any]) -> float:
    """Return the median over turns of the bound on what two threads gain."""
    return float(np.median(results[BOUND]["gain"]))


def middle(results: dict[str, Any], way: str) -> float:
    """Return the median seconds of one way to fit."""
    return float(np.median(results[way]["seconds"]))


def summarise(rows: list[dict[str, Any]], settings: dict[str, Any]) -> list[Table]:
    """Return the checks, the times by size, and what a limit of seconds costs."""
    times = Table(
        "Seconds of a fit, medians", ["objects, answers, p", *WAYS, BUSY, "1 thread / 2 threads", BOUND]
    )
    hurry = Table(
        "Held-out error and strength within a limit of seconds",
        ["objects, answers, p", "no limit", *(f"{seconds:g} s" for seconds in settings["max_seconds"])],
    )
    for row in rows:
        found, name = row["results"], _name(row["cell"])
        times.add(
            name,
            *(digits(middle(found, way)) for way in (*WAYS, BUSY)),
            digits(gain(found)),
            digits(bound(found)),
        )
        ways = [INSTALLED, *(f"within {seconds:g} s" for seconds in settings["max_seconds"])]
        hurry.add(name, *(f"{found[way]['error']:.4f} (l2 {found[way]['l2']:.2g})" for way in ways))
    return [checks(_checks(rows)), times, hurry]


def _name(cell: Cell) -> str:
    return f"{cell['n']:,}, {cell['answers']:,}, {cell['p']}"


def _checks(rows: list[dict[str, Any]]) -> Iterator[tuple[str, str, str, bool | None]]:
    for row in rows:
        found, name = row["results"], _name(row["cell"])
        times = gain(found)
        yield f"{name}: 1 thread / 2 threads", f"at least {LEAST_GAIN}", digits(times), times >= LEAST_GAIN
        if row["cell"]["answers"] >= LARGE:
            taken, used = middle(found, INSTALLED), found[MEMORY]
            most = OF_ANSWERS * used["answers"] + OF_POINTS * used["points"]
            aim = f"at most {OF_ANSWERS} times the answers + {OF_POINTS} times the points: {_mega(most)}"
            yield f"{name}: seconds", f"below {MOST_SECONDS:g}", digits(taken), taken < MOST_SECONDS
            yield f"{name}: memory", aim, _mega(used["grown"]), used["grown"] <= most


def _mega(size: float) -> str:
    return f"{size / 2**20:.0f} MB"


def draw(rows: list[dict[str, Any]], settings: dict[str, Any]) -> dict[str, Figure]:
    """Draw seconds against the number of answers."""
    figure, (ax,) = grid(1, columns=1, size=(6.0, 4.0))
    looked = looks([*WAYS, BUSY])
    ordered = sorted(rows, key=lambda row: row["cell"]["answers"])
    for way in (*WAYS, BUSY):
        answers = [row["cell"]["answers"] for row in ordered]
        ax.plot(answers, [middle(row["results"], way) for row in ordered], label=way, **looked[way])
    log_scale(ax, "x", "y")
    tidy_chart(ax, "answers", "seconds of a fit", "The default fit")
    legend_below(figure, ax, columns=4)
    return {"seconds": figure}
