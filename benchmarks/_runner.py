"""Runs an experiment cell by cell, resuming what is on disk.

An experiment is a module of this folder with

- ``SETTINGS`` and ``QUICK``: what a run depends on, and the changes to it for a short trial run;
- ``cells(settings)``: the cells, in the order to run them; each is a small dict;
- ``warm_up(settings)``: compiles and touches everything once, timed on its own;
- ``measure(cell, job)``: yields ``(rival, measurements)`` pairs, leaving out those in ``job.done``;
- ``summarise(rows, settings)``: tables; ``draw(rows, settings)``: figures by name.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, TypeVar

from matplotlib.figure import Figure
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks._store import AGAIN, RESULTS, SCRATCH, Cell, Store, note
from benchmarks._tables import Table

NAMES = (
    "table1",
    "eurodist",
    "music",
    "retrieval",
    "peers_ordinal",
    "solver_map",
    "default_fit",
    "scaling",
    "kernel_limit",
    "online_scale",
    "active",
    "erkle",
    "erkle_large",
    "erkle_human",
    "adadsg_vs_dsgd",
    "auc_peers",
    "peers_recommend",
    "cost_growth",
    "pairwise_nonlinear",
    "blas_threads",
    "extreme",
    "newton_steps",
    "extreme_cost",
    "extreme_ranks",
    "extreme_scale",
    "multilabel",
    "tags",
    "links",
    "growth",
    "convex_peers",
    "optima",
)

T = TypeVar("T")


class Skip(Exception):  # noqa: N818 - not an error: the cell cannot be measured here, and says why
    """Raised by `measure` before its first result where the cell needs something that is not here."""


@dataclass
class Job:
    """What `measure` may look at besides its cell."""

    settings: dict[str, Any]
    rows: list[dict[str, Any]]  # finished so far
    done: frozenset[str]  # rivals of this cell that were measured before an interruption


class Experiment(Protocol):
    """An experiment's module."""

    SETTINGS: dict[str, Any]
    QUICK: dict[str, Any]

    def cells(self, settings: dict[str, Any]) -> list[Cell]: ...

    def warm_up(self, settings: dict[str, Any]) -> None: ...

    def measure(self, cell: Cell, job: Job) -> Iterator[tuple[str, dict[str, Any]]]: ...

    def summarise(self, rows: list[dict[str, Any]], settings: dict[str, Any]) -> list[Table]: ...

    def draw(self, rows: list[dict[str, Any]], settings: dict[str, Any]) -> dict[str, Figure]: ...


def experiment(name: str) -> Experiment:
    """The module of an experiment."""
    return import_module(f"benchmarks.{name}")  # type: ignore[return-value]


def settings_of(module: Experiment, quick: bool) -> dict[str, Any]:
    """The settings of a full or of a quick run."""
    return {**module.SETTINGS, **module.QUICK} if quick else dict(module.SETTINGS)


def results_path(name: str, quick: bool) -> Path:
    """Where an experiment's results are."""
    return (SCRATCH / "quick" if quick else RESULTS) / f"{name}.json"


def rotated(items: Sequence[T], by: int) -> list[T]:
    """The items beginning with another one for each `by`: no rival always runs first.

    >>> rotated("abc", 1)
    ['b', 'c', 'a']
    """
    by %= max(len(items), 1)
    return [*items[by:], *items[:by]]


def run(
    name: str,
    *,
    quick: bool = False,
    fresh: bool = False,
    only: str = "",
    again: str = "",
    console: Console | None = None,
) -> Store:
    """Measure every cell of an experiment that is not on disk yet, or one rival `again` where it was measured."""
    module = experiment(name)
    settings = settings_of(module, quick)
    store = Store(results_path(name, quick), settings, fresh=fresh, again=bool(again))
    cells = module.cells(settings)
    waiting = [c for c in cells if (store.waits_again(c, again) if again else not store.is_done(c))]
    waiting = [cell for cell in waiting if only in describe(cell)]
    console = console or Console(stderr=True)
    try:
        if waiting:
            _warm_up(module, store)
            _measure_all(module, store, waiting, console, again)
    except Skip as skip:  # of the warm-up: nothing can be measured
        console.print(f"skipped {name}: {skip}")
    return store


def describe(cell: Cell) -> str:
    """A cell on one line: what `--list` shows and `--only` searches.

    >>> describe({"loss": "ste", "seed": 3})
    'loss=ste seed=3'
    """
    return " ".join(f"{key}={value}" for key, value in cell.items())


def _warm_up(module: Experiment, store: Store) -> None:
    start = time.perf_counter()
    module.warm_up(store.content["settings"])
    if store.content["warm_up_seconds"] is None:  # the first is the one that compiled
        store.content["warm_up_seconds"] = round(time.perf_counter() - start, 3)


def _measure_all(
    module: Experiment, store: Store, waiting: list[Cell], console: Console, again: str = ""
) -> None:
    name = store.content["experiment"]
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(name, total=len(waiting))
        for cell in waiting:
            bar.update(task, description=f"{name}: {describe(cell)}")
            reason = measure_cell(module, store, cell, again)
            if reason:
                console.print(f"skipped {describe(cell)}: {reason}")
            bar.advance(task)


def measure_cell(module: Experiment, store: Store, cell: Cell, again: str = "") -> str:
    """Measure what is missing of one cell, or a rival again, saving each; return the reason if it was skipped."""
    row = store.row(cell)
    job = Job(store.content["settings"], store.rows, frozenset(row["results"]) - {again})
    try:
        for rival, measurements in module.measure(cell, job):
            row["results"][rival] = {**measurements, AGAIN: note()} if again else measurements
            store.save()
    except Skip as skip:
        row["skipped"] = str(skip)
        store.save()
        return str(skip)
    row.pop("skipped", None)
    row["done"] = True
    store.save()
    return ""
