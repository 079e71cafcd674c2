"""Pairs at the cost of single samples: work, time and memory against the number of rows and of features.

*Work*: rows that a linear model has made (dense: 50 features that go together in part; sparse: 10,000 features, 50
entries a row, as common as words are); positive are 21 to 26% of the dense rows and, by the seed, 5 to 73% of the
sparse ones; hinge loss, one setting for all sizes. Solvers run for 128 steps, then again for 1.41 times as many, and
so on, until the result is good enough: a test AUC within 0.005 of the best that any rival reaches from the same rows,
or an objective within 1/√n of its minimum, which is what the paper calls the statistical accuracy. It claims that
AdaDSG gets there with O(n) steps and DSGD with O(n√n). Time is that of one core for the shuffled row lists and the
steps; the growth is the slope of the medians in logarithms. *printed steps* are those of the paper, 1/(μ(t+1)), whose
answer is the last iterate; the others are the library's. (The paper also tunes an initial rate on every data set, which
was not run.) The *stream* is one pass by `partial_fit`, 1,000 rows at a
time and two steps a row.

*Steps*: nanoseconds of one core a step, of the loop alone, for rows copied in the order of the walk (the default) and
for rows met at random where they lie. The number of operations does not depend on n or d; the caches do. The numbers
of a feature take 24 bytes in the loop over sparse rows: those of 10,000 features are in a core's second-level cache,
those of 100,000 are not. *Memory*: the most bytes that a fit holds at any time beside its data, as `tracemalloc`
counts them, and by how much a process grows that learns from a stream which it draws itself. A fit holds at least the
row numbers of both classes, 8 bytes a row; in the ordered walk a copy of the rows, up to 256 MiB a class.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from matplotlib.figure import Figure
from threadpoolctl import threadpool_limits

from benchmarks import _climbing, _footprint, _growth_report
from benchmarks._climbing import EXACT, SOLVERS, STREAM, Problem
from benchmarks._generated import World
from benchmarks._runner import Job, rotated
from benchmarks._store import Cell
from benchmarks._tables import Table

Rows = list[dict[str, Any]]

SETTINGS: dict[str, Any] = {
    "sizes": [1000, 3162, 10_000, 31_623, 100_000, 316_228, 1_000_000],
    "data": {"dense": 50, "zipf": 10_000},
    "entries": 50,
    "seeds": 5,
    "seeds_of_largest": 3,
    "n_test": 20_000,
    "tolerance": 0.005,
    "printed_to": 100_000,
    "exact_to": 1_000_000,
    "chunk": 1000,
    "repeats": 3,
    "step_sizes": [1000, 10_000, 100_000, 1_000_000],
    "features": [100, 1000, 10_000, 100_000, 1_000_000],
    "rows_of_features": 100_000,
    "steps": 1_000_000,
    "turns": 5,
    "memory_sizes": [10_000, 100_000, 1_000_000],
}
QUICK = {
    "sizes": [1000, 3162, 10_000],
    "seeds": 2,
    "seeds_of_largest": 1,
    "n_test": 5000,
    "printed_to": 3162,
    "exact_to": 3162,
    "step_sizes": [1000, 10_000],
    "features": [100, 10_000],
    "rows_of_features": 10_000,
    "steps": 100_000,
    "turns": 3,
    "memory_sizes": [20_000, 40_000],
}


def cells(settings: dict[str, Any]) -> list[Cell]:
    """Work by data, size and seed; cost of a step by size and by features; memory by size and by features."""
    work = [
        {"kind": "work", "data": data, "n": n, "seed": seed}
        for n in settings["sizes"]
        for seed in range(settings["seeds_of_largest" if n == settings["sizes"][-1] else "seeds"])
        for data in settings["data"]
    ]
    by_size = [
        {"data": data, "n": n, "d": d} for data, d in settings["data"].items() for n in settings["step_sizes"]
    ]
    by_features = [
        {"data": data, "n": settings["rows_of_features"], "d": d}
        for data in ("zipf", "uniform")
        for d in settings["features"]
    ]
    steps = [{"kind": "step", **cell} for cell in by_size] + [
        {"kind": "step", **cell} for cell in by_features
    ]
    memory = [{"kind": "memory", "data": "dense", "n": n, "d": 50} for n in settings["memory_sizes"]]
    memory += [
        {"kind": "memory", "data": "zipf", "n": settings["memory_sizes"][0], "d": d}
        for d in settings["features"]
    ]
    unique = {tuple(cell.items()): cell for cell in [*steps, *memory]}  # one size may stand in both lists
    return [*unique.values(), *work]


def warm_up(settings: dict[str, Any]) -> None:
    """Compile every loop, over rows as they lie and over copies of them."""
    for data in settings["data"]:
        for n in (300, 3000):
            problem = Problem(World(data, 50), n, 300)
            for solver in SOLVERS.values():
                problem.judged(problem.run(solver, 1000))
            list(problem.stream(n // 2))
            problem.exact()
            _footprint.nanoseconds(problem.X, problem.y, "random", 100, 1)


def measure(cell: Cell, job: Job) -> Iterator[tuple[str, dict[str, Any]]]:
    """What a cell asks for, on one thread."""
    measured = {"work": _work, "step": _steps, "memory": _memory}[cell["kind"]]
    with threadpool_limits(1):
        yield from measured(cell, job)


def _work(cell: Cell, job: Job) -> Iterator[tuple[str, dict[str, Any]]]:
    """The whole schedules of all rivals first, which say what is good enough; then how soon each of them is."""
    settings, n = job.settings, cell["n"]
    world = World(cell["data"], settings["data"][cell["data"]], settings["entries"], cell["seed"])
    problem = Problem(world, n, settings["n_test"])
    names = [name for name in SOLVERS if n <= settings["printed_to"] or not _climbing.printed(name)]
    runs = {name: problem.run(SOLVERS[name]) for name in rotated(names, cell["seed"])}
    if n <= settings["exact_to"]:
        runs[EXACT] = problem.exact()
    looks = [(run, problem.judged(run)) for run in problem.stream(settings["chunk"])]
    judged = {name: problem.judged(run) for name, run in runs.items()}
    runs[STREAM], judged[STREAM] = looks[-1]
    wanted = _climbing.goals(
        best=max(values["auc"] for values in judged.values()),
        tolerance=settings["tolerance"],
        minimum=min(values["objective"] for values in judged.values()),
        n=n,
    )
    for name, run in runs.items():
        if name in job.done:
            continue
        found: dict[str, Any] = {}
        if name == STREAM:
            found = _climbing.climb_stream(looks, wanted)
        elif name != EXACT:
            found = _climbing.climb(problem, SOLVERS[name], wanted, run.steps, settings["repeats"])
        seconds = round(run.prepared + run.seconds, 6)
        yield name, {**judged[name], "steps": run.steps, "seconds": seconds, "until": found}


def _steps(cell: Cell, job: Job) -> Iterator[tuple[str, dict[str, Any]]]:
    settings = job.settings
    X, y = World(cell["data"], cell["d"], settings["entries"]).rows(cell["n"], draw=0)
    for walk in ("ordered", "random"):
        if walk not in job.done:
            yield walk, {"ns": _footprint.nanoseconds(X, y, walk, settings["steps"], settings["turns"])}


def _memory(cell: Cell, job: Job) -> Iterator[tuple[str, dict[str, Any]]]:
    settings, n, d = job.settings, cell["n"], cell["d"]
    X, y = World(cell["data"], d, settings["entries"]).rows(n, draw=0)
    for way in _footprint.WAYS:
        if way not in job.done:
            yield way, {"bytes": _footprint.traced(X, y, way, settings["chunk"])}
    if cell["data"] == "dense" and "process" not in job.done:
        del X
        yield "process", {"bytes": _footprint.resident(d, n, settings["chunk"])}


def summarise(rows: Rows, settings: dict[str, Any]) -> list[Table]:
    """The checks, the work by size, the cost of a step and the memory."""
    return _growth_report.tables(rows, settings)


def draw(rows: Rows, settings: dict[str, Any]) -> dict[str, Figure]:
    """Work and time against rows; cost of a step and memory against rows and features."""
    return _growth_report.figures(rows, settings)
