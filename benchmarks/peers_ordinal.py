"""Ordinal embedding beside cblearn, on planted and on human comparisons.

Every estimator and backend of cblearn 0.4.0 that runs on a CPU, with its own defaults, in an environment of
its own (it needs an older numpy). Both sides learn from the same comparisons in the same dimension, are
judged by the same held-out ones, and may use the same number of threads; imports, compilation and first
calls are left out; the order of the rivals changes from split to split. A group (the triplets of one
screen, trial or question) is never separated. Where answers were counted, ours get counts as weights, and
cblearn, which has no weights, gets repeated rows: the same information. Beside our default, which also chooses
the strength of its L2 term on held-out answers, one of ours does without and ends after a quarter of a second.

A fit is stopped after 10 minutes. A rival that failed on the first split of a data set is not tried on the
others. One that was stopped there, or that took over half a minute and ended more than 0.01 behind the best
of cblearn, is not tried on a larger data set of the kind either: it would not have become the best. All of
these are listed.
"""

from __future__ import annotations

import atexit
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks import _data
from benchmarks._cblearn import ESTIMATORS, Worker, environment
from benchmarks._peers_report import draw, summarise
from benchmarks._runner import Job, Skip, rotated
from benchmarks._store import Cell
from nearer import Comparisons, OrdinalEmbedding
from nearer.datasets import planted
from nearer.metrics import triplet_error

__all__ = ["QUICK", "SETTINGS", "cells", "draw", "measure", "summarise", "warm_up"]

SETTINGS: dict[str, Any] = {
    "planted": {
        "planted-100": {"n": 100, "p": 10, "train": 10_000, "test": 10_000},
        "planted-1000": {"n": 1000, "p": 10, "train": 60_000, "test": 20_000},
        "planted-3000": {"n": 3000, "p": 10, "train": 200_000, "test": 20_000},
    },
    "human": {"music": 9, "cars": 2, "fruit": 2, "material": 5, "food": 5, "things": 10},  # dimensions
    "order": [
        "planted-100",
        "music",
        "cars",
        "fruit",
        "material",
        "planted-1000",
        "planted-3000",
        "food",
        "things",
    ],
    "test_share": 0.2,
    "ours": {
        "nearer": {},
        "nearer, 10 starts": {"n_init": 10},
        "nearer auto": {"loss": "auto"},
        "nearer in a quarter second": {"l2": 0.0, "max_seconds": 0.25},
        "nearer GNMDS": {"loss": "gnmds"},
        "nearer CKL": {"loss": "ckl"},
        "nearer t-STE": {"loss": "tste"},
        "nearer STE": {"loss": "ste"},
    },
    "cblearn": list(ESTIMATORS),
    "smaller": {  # who is given up there, is here
        "material": "cars",
        "food": "material",
        "planted-1000": "planted-100",
        "things": "planted-1000",
        "planted-3000": "planted-1000",
    },
    "threads": 1,
    "cap_seconds": 600,
    "slow_seconds": 30,
    "hopeless_margin": 0.01,
    "splits": 10,
    "more_splits": {"music": 30},  # where ten do not tell the best of both sides apart
}
QUICK = {
    "planted": {"planted-100": {"n": 60, "p": 3, "train": 2000, "test": 1000}},
    "order": ["planted-100", "music", "cars"],
    "cblearn": ["SOE", "STE", "GNMDS", "CKL kernel"],
    "cap_seconds": 20,
    "slow_seconds": 5,
    "splits": 2,
    "more_splits": {},
}

_workers: dict[int, Worker] = {}


def _worker(threads: int) -> Worker:
    if threads not in _workers:
        _workers[threads] = Worker(threads)
        atexit.register(_workers[threads].close)
    return _workers[threads]


def cells(settings: dict[str, Any]) -> list[Cell]:
    """A cell is a data set and a split; all data sets have had one before any has the next."""
    splits = {name: settings["more_splits"].get(name, settings["splits"]) for name in settings["order"]}
    return [
        {"data": name, "split": split}
        for split in range(max(splits.values()))
        for name, count in splits.items()
        if split < count
    ]


def warm_up(settings: dict[str, Any]) -> None:
    """Compile our loops, and make the environment of cblearn."""
    try:
        environment()
    except (OSError, subprocess.CalledProcessError) as error:
        raise Skip(f"cblearn could not be installed: {error}") from error
    triplets, _ = planted(30, 2, 1000, random_state=0)
    for options in settings["ours"].values():
        OrdinalEmbedding(2, n_jobs=settings["threads"], random_state=0, **options).fit(triplets)


def problem(cell: Cell, settings: dict[str, Any]) -> tuple[Comparisons, Comparisons, int]:
    """Comparisons to learn from, comparisons to be judged by, and the dimension."""
    name, split = cell["data"], cell["split"]
    if name in settings["human"]:
        train, test = _data.HUMAN[name]().split(test_size=settings["test_share"], random_state=split)
        return train, test, settings["human"][name]
    size = settings["planted"][name]
    triplets, _ = planted(size["n"], size["p"], size["train"] + size["test"], random_state=split)
    return triplets[: size["train"]], triplets[size["train"] :], size["p"]


def measure(cell: Cell, job: Job) -> Iterator[tuple[str, dict[str, Any]]]:
    """All of ours and all of cblearn's, in an order that changes with the split."""
    train, test, p = problem(cell, job.settings)
    everybody = [*job.settings["ours"], *job.settings["cblearn"]]
    for rival in rotated(everybody, 5 * cell["split"]):
        if rival in job.done:
            continue
        reason = given_up(rival, cell, job)
        if reason:
            yield rival, {"failure": reason}
        elif rival in job.settings["ours"]:
            yield rival, fit_ours(rival, train, test, p, cell["split"], job.settings)
        else:
            yield rival, fit_theirs(rival, train, test, p, cell["split"], job.settings)


def given_up(rival: str, cell: Cell, job: Job) -> str:
    """Why a rival is not tried on a cell, from what it did before; empty where it is tried."""
    if rival in job.settings["ours"]:
        return ""
    data = cell["data"]
    for name in (job.settings["smaller"].get(data), data):
        first = next((row["results"] for row in job.rows if row["cell"]["data"] == name), None)
        reason = "" if first is None else _hopeless(rival, first, job.settings)
        if reason:
            return reason if reason.endswith(_NOT_TRIED) else f"{reason} on {name}{_NOT_TRIED}"
        if name == data and first is not None and "failure" in first[rival]:
            return f"{first[rival]['failure']}, not tried again"
    return ""


_NOT_TRIED = " already, not tried"


def _hopeless(rival: str, first: dict[str, Any], settings: dict[str, Any]) -> str:
    """Why a rival that did this on a first split is not tried on as large or larger data; empty where it is."""
    found = first[rival]
    if "failure" in found:
        failure = str(found["failure"])
        return failure if failure.startswith("over ") or failure.endswith(_NOT_TRIED) else ""
    theirs = [first[name]["error"] for name in settings["cblearn"] if "error" in first[name]]
    behind = found["error"] - min(theirs)
    if found["seconds"] > settings["slow_seconds"] and behind > settings["hopeless_margin"]:
        return f"{found['seconds']:.0f} s for an error {behind:.3f} behind the best of cblearn"
    return ""


def fit_ours(
    rival: str, train: Comparisons, test: Comparisons, p: int, seed: int, settings: dict[str, Any]
) -> dict[str, Any]:
    """Fit one of ours; the time is that of the whole of `fit`."""
    threads = settings["threads"]
    estimator = OrdinalEmbedding(p, n_jobs=threads, random_state=seed, **settings["ours"][rival])
    with threadpool_limits(threads):
        start, cpu_start = time.perf_counter(), time.process_time()
        estimator.fit(train)
        taken = {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - cpu_start}
    result = estimator.result_
    found = _judged(estimator.embedding_, test, taken)
    found["stop_reason"], found["epochs"] = result.stop_reason, result.n_epochs
    if settings["ours"][rival].get("loss") == "auto":
        found["chose"] = {key: result.details[key] for key in ("loss", "l2") if key in result.details}
    return found


def fit_theirs(
    rival: str, train: Comparisons, test: Comparisons, p: int, seed: int, settings: dict[str, Any]
) -> dict[str, Any]:
    """Fit one of cblearn's; the time is that of `fit` in its own process."""
    answer = _worker(settings["threads"]).fit(rival, train, p, seed, settings["cap_seconds"])
    if "failure" in answer:
        return {"failure": answer["failure"]}
    if not np.isfinite(answer["embedding"]).all():
        return {"failure": "the embedding is not finite"}
    return {**_judged(answer["embedding"], test, answer), "iterations": answer["iterations"]}


def _judged(points: np.ndarray, test: Comparisons, taken: dict[str, Any]) -> dict[str, Any]:
    """Return the held-out error with the wall-clock and the processor time of a fit."""
    times = {clock: round(taken[clock], 4) for clock in ("seconds", "cpu_seconds")}
    return {**times, "error": round(triplet_error(points, test), 5)}
