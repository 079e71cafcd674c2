"""Answers a second of the online kernel, and what low rank costs in accuracy.

*Whole*: n points in 50 dimensions, two answers an object, passive-aggressive, one pass from the identity. Answers come
in one call; the second half is shown apart, because as long as the kernel is positive definite no step needs an
eigenproblem. All times are CPU seconds of one thread.
*Low rank*: two million answers about up to a million objects in ten dimensions.
*Accuracy*: low rank in five passes beside the batch embedding, n = 10,000 with 200 answers an object, and beside the
whole kernel, n = 200; the same answers, held-out ones to judge by.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from threadpoolctl import threadpool_limits

from benchmarks._figures import grid, log_scale, looks, tidy_chart
from benchmarks._runner import Job
from benchmarks._store import Cell
from benchmarks._tables import Table, checks, digits, median
from nearer import Comparisons, OnlineKernel, OrdinalEmbedding
from nearer.datasets import planted

Rows = list[dict[str, Any]]

SETTINGS: dict[str, Any] = {
    "whole": [100, 200, 500, 1000, 2000, 5000],
    "dimension": 50,
    "answers_an_object": 2,
    "ranks": [10, 50],
    "low_rank": [10_000, 100_000, 1_000_000],
    "n_answers": 2_000_000,
    "accuracy": [{"n": 200, "p": 5, "answers": 8000}, {"n": 10_000, "p": 10, "answers": 2_000_000}],
    "largest_whole": 200,
    "passes": 5,
    "test": 20_000,
    "seeds": 5,
    "fewer_seeds": {"5000": 1, "2000": 3},  # of whole kernels, minutes each
}
QUICK = {
    "whole": [50, 100],
    "low_rank": [1000, 10_000],
    "n_answers": 50_000,
    "accuracy": [{"n": 60, "p": 3, "answers": 3000}],
    "seeds": 2,
}


def cells(settings: dict[str, Any]) -> list[Cell]:
    """Whole kernels and low ranks by size, and the accuracy by size; a seed each."""
    seeds = range(settings["seeds"])
    whole = [
        {"kind": "whole", "n": n, "seed": seed}
        for n in settings["whole"]
        for seed in seeds
        if seed < settings["fewer_seeds"].get(str(n), settings["seeds"])
    ]
    low = [
        {"kind": "low rank", "n": n, "rank": rank, "seed": seed}
        for rank in settings["ranks"]
        for n in settings["low_rank"]
        for seed in seeds
    ]
    accuracy = [{"kind": "accuracy", **size, "seed": seed} for size in settings["accuracy"] for seed in seeds]
    return [*low, *accuracy, *whole]


def warm_up(settings: dict[str, Any]) -> None:
    """Compile the loops."""
    answers, _ = planted(20, 2, 200, random_state=0)
    OnlineKernel(20, rank=2).partial_fit(answers)
    OrdinalEmbedding(2, random_state=0).fit(answers)


def measure(cell: Cell, job: Job) -> Iterator[tuple[str, dict[str, Any]]]:
    """What a cell asks for, on one thread."""
    with threadpool_limits(1):
        measured = {"whole": _whole, "low rank": _low_rank, "accuracy": _accuracy}[cell["kind"]]
        for rival, found in measured(cell, job.settings):
            if rival not in job.done:
                yield rival, found


def _whole(cell: Cell, settings: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    n = cell["n"]
    answers, _ = planted(
        n, settings["dimension"], settings["answers_an_object"] * n, random_state=cell["seed"]
    )
    online, halves = OnlineKernel(n), np.array_split(np.arange(len(answers)), 2)
    found: dict[str, Any] = {}
    for name, half in zip(("first", "second"), halves, strict=True):
        start = time.process_time()
        online.partial_fit(answers[half[0] : half[-1] + 1])
        found[f"{name}_half"] = round(len(half) / (time.process_time() - start), 2)
    held = online.held_.held  # type: ignore[union-attr]
    counts = {"steps": online.n_steps_, "skipped": online.n_skipped_, "negative": online.n_negative_}
    yield "passive-aggressive", {**found, **counts, "products": held.n_products}


def _low_rank(cell: Cell, settings: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    answers, _ = planted(cell["n"], 10, settings["n_answers"], random_state=cell["seed"])
    for update in ("passive-aggressive", "ste"):
        online = OnlineKernel(
            cell["n"],
            rank=cell["rank"],
            update=update,
            step_size=None if update != "ste" else 0.03,
            random_state=0,
        ).partial_fit(answers[:1])
        start = time.process_time()
        online.partial_fit(answers[1:])
        yield update, {"answers_a_second": round((len(answers) - 1) / (time.process_time() - start))}


def _accuracy(cell: Cell, settings: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    n, p, seed = cell["n"], cell["p"], cell["seed"]
    answers, _ = planted(n, p, cell["answers"] + settings["test"], random_state=seed)
    train, test = answers[: cell["answers"]], answers[cell["answers"] :]
    start = time.process_time()
    error = 1 - OrdinalEmbedding(p, random_state=seed).fit(train).score(test)
    yield "batch", {"errors": [round(error, 5)], "seconds": round(time.process_time() - start, 3)}
    rivals: dict[str, dict[str, Any]] = {
        "low rank": {"rank": p},
        "low rank, 1/sqrt(j)": {"rank": p, "step": "1/sqrt(j)", "step_size": float(np.sqrt(len(train)) / 2)},
    }
    if n <= settings["largest_whole"]:
        rivals["whole"] = {}
    for name, options in rivals.items():
        yield name, _passes(OnlineKernel(n, random_state=seed, **options), train, test, settings["passes"])


def _passes(online: OnlineKernel, train: Comparisons, test: Comparisons, passes: int) -> dict[str, Any]:
    errors, seconds = [], 0.0
    for _ in range(passes):
        start = time.process_time()
        online.partial_fit(train)
        seconds += time.process_time() - start
        errors.append(round(1 - online.score(test), 5))
    return {"errors": errors, "seconds": round(seconds, 3)}


def rows_where(rows: Rows, **wanted: Any) -> Rows:
    """Return the rows of cells with these entries."""
    return [row for row in rows if all(row["cell"].get(key) == value for key, value in wanted.items())]


def _median(rows: Rows, rival: str, what: str) -> float | None:
    return median([row["results"][rival][what] for row in rows if rival in row["results"]])


def summarise(rows: Rows, settings: dict[str, Any]) -> list[Table]:
    """The checks and a table for each of the three parts."""
    return [
        checks(_checks(rows, settings)),
        _whole_table(rows, settings),
        _low_rank_table(rows, settings),
        *(_accuracy_table(rows, size) for size in settings["accuracy"]),
    ]


def _checks(rows: Rows, settings: dict[str, Any]) -> Iterator[tuple[str, str, str, bool | None]]:
    largest = settings["low_rank"][-1]
    speed = _median(
        rows_where(rows, kind="low rank", n=largest, rank=10), "passive-aggressive", "answers_a_second"
    )
    holds = None if speed is None else speed >= 100_000
    yield f"answers a second, n = {largest:,}, rank 10", "at least 100,000", digits(speed), holds
    size = settings["accuracy"][-1]
    found = rows_where(rows, kind="accuracy", **size)
    for rival in ("low rank", "low rank, 1/sqrt(j)"):
        behind = median(
            row["results"][rival]["errors"][-1] - row["results"]["batch"]["errors"][-1] for row in found
        )
        what = f"error, n = {size['n']:,}: {rival}, {settings['passes']} passes - batch"
        yield what, "at most 0.02", digits(behind), None if behind is None else behind <= 0.02


def _whole_table(rows: Rows, settings: dict[str, Any]) -> Table:
    columns = ["n", "answers a second, first half", "second half", "steps", "without eigenproblem"]
    table = Table("Whole kernel", [*columns, "negative eigenvalues", "products an eigenproblem"])
    for n in settings["whole"]:
        found = [row["results"]["passive-aggressive"] for row in rows_where(rows, kind="whole", n=n)]
        if found:
            first, second, steps, skipped, negative, products = (
                float(np.median([one[key] for one in found]))
                for key in ("first_half", "second_half", "steps", "skipped", "negative", "products")
            )
            share = products / max(steps - skipped, 1)
            table.add(
                f"{n:,}",
                digits(first),
                digits(second),
                int(steps),
                int(skipped),
                int(negative),
                digits(share),
            )
    return table


def _low_rank_table(rows: Rows, settings: dict[str, Any]) -> Table:
    kinds = [(rank, update) for rank in settings["ranks"] for update in ("passive-aggressive", "ste")]
    table = Table("Low rank: answers a second", ["n", *(f"rank {rank}, {update}" for rank, update in kinds)])
    for n in settings["low_rank"]:
        speeds = [
            _median(rows_where(rows, kind="low rank", n=n, rank=rank), update, "answers_a_second")
            for rank, update in kinds
        ]
        table.add(f"{n:,}", *(digits(speed) for speed in speeds))
    return table


def _accuracy_table(rows: Rows, size: dict[str, Any]) -> Table:
    found = rows_where(rows, kind="accuracy", **size)
    title = f"Held-out error after each pass, n = {size['n']:,}, p = {size['p']}, {size['answers']:,} answers"
    table = Table(title, ["", "errors, medians", "seconds"])
    for rival in ("batch", "low rank", "low rank, 1/sqrt(j)", "whole"):
        results = [row["results"][rival] for row in found if rival in row["results"]]
        if results:
            errors = np.median([one["errors"] for one in results], axis=0)
            seconds = float(np.median([one["seconds"] for one in results]))
            table.add(rival, ", ".join(f"{error:.4f}" for error in errors), digits(seconds))
    return table


def draw(rows: Rows, settings: dict[str, Any]) -> dict[str, Figure]:
    """Answers a second against the number of objects."""
    figure, axes = grid(2, columns=2, size=(4.6, 3.6))
    lines = ["first_half", "second_half", *(f"rank {rank}" for rank in settings["ranks"])]
    looked = looks(lines)
    for name, label in (("first_half", "whole, first half"), ("second_half", "whole, second half")):
        sizes = [n for n in settings["whole"] if rows_where(rows, kind="whole", n=n)]
        speeds = [_median(rows_where(rows, kind="whole", n=n), "passive-aggressive", name) for n in sizes]
        axes[0].plot(sizes, speeds, label=label, **looked[name])
    for rank in settings["ranks"]:
        sizes = [n for n in settings["low_rank"] if rows_where(rows, kind="low rank", n=n, rank=rank)]
        found = [rows_where(rows, kind="low rank", n=n, rank=rank) for n in sizes]
        speeds = [_median(some, "passive-aggressive", "answers_a_second") for some in found]
        axes[1].plot(sizes, speeds, label=f"rank {rank}", **looked[f"rank {rank}"])
    for ax, title in zip(axes, ("whole kernel", "low rank"), strict=True):
        log_scale(ax, "x", "y")
        tidy_chart(ax, "objects", "answers a second", title)
        ax.legend(frameon=False)
    return {"speed": figure}
