"""Ordinal embedding compared with cblearn, on planted and on human comparisons.

The estimators of cblearn 0.4.0 run with their own defaults, in an environment of their own (it needs an older numpy);
SOE, the only one with several starts, runs with its ten and with one. Both sides learn from the same comparisons in
the same dimension, are judged by the same held-out ones, and use one thread. Times are those of the processor,
since other work ran on the machine. Imports, compilation and first calls are not timed. The order of the rivals
changes from split to split. A group (the triplets of one screen, trial or question) is never separated. If answers
were counted, ours get counts as weights, and cblearn, which has no weights, gets repeated rows: the same
information. cblearn's torch backends of the same losses were left out: at 100 objects they took 12 to 150 s in an
earlier run, for the same errors. After a change of the default, all of ours were measured again, in turns with those
of cblearn that take less than a second.

"one fit" is our L-BFGS from a cold start at the loss and strength that the default chose. "In hindsight" is the
loss and strength with the lowest mean held-out error of all that were tried on a path over all losses and strengths.

A fit is stopped after 150 seconds. A rival that failed on the first split of a data set is not tried on the others, and
neither is one that ended there more than 0.02 behind the best of cblearn and took more time than our default. One that
took over half a minute and ended more than 0.01 behind is not tried on a larger data set of the kind either. One
that takes over a minute runs on three splits. All of these are listed.
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
from benchmarks._peers_report import DEFAULT, HINDSIGHT, draw, summarise
from benchmarks._runner import Job, Skip, rotated
from benchmarks._store import Cell
from nearer import Comparisons, OrdinalEmbedding
from nearer.datasets import planted
from nearer.losses import TSTE, find
from nearer.metrics import triplet_error
from nearer.objectives import PointObjective
from nearer.solvers import LBFGS, minimise
from nearer.starts import starting_points

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
        "nearer quick": {"effort": "quick"},
        "nearer, one fit": {"chosen": True},
        "nearer SOE": {"loss": "soe"},
        "nearer t-STE": {"loss": "tste"},
        "nearer STE": {"loss": "ste"},
        "nearer GNMDS": {"loss": "gnmds"},
        "nearer CKL": {"loss": "ckl"},
    },
    "cblearn": [name for name in ESTIMATORS if not name.endswith(("torch", "kernel"))],
    "hindsight": {"losses": ["soe", "robust-soe", "tste", "ste", "ckl", "gnmds"], "strengths": 14},
    "tuned_on": {"splits": 5, "not": ["fruit", "food", "planted-3000"]},  # the default's constants were
    "smaller": {  # who is given up there, is here
        "material": "cars",
        "food": "material",
        "planted-1000": "planted-100",
        "things": "planted-1000",
        "planted-3000": "planted-1000",
    },
    "threads": 1,
    "cap_seconds": 150,
    "slow_seconds": 30,
    "hopeless_margin": 0.01,
    "behind_margin": 0.02,
    "few": {"seconds": 60, "splits": 3},
    "splits": 10,
    "fewer_splits": {"food": 3, "things": 4, "planted-3000": 4},
}
QUICK = {
    "planted": {"planted-100": {"n": 60, "p": 3, "train": 2000, "test": 1000}},
    "order": ["planted-100", "music", "cars"],
    "cblearn": ["SOE", "SOE, 1 start", "STE", "GNMDS"],
    "hindsight": {"losses": ["soe", "tste"], "strengths": 3},
    "cap_seconds": 20,
    "slow_seconds": 5,
    "splits": 2,
    "fewer_splits": {},
}

_workers: dict[int, Worker] = {}


def _worker(threads: int) -> Worker:
    if threads not in _workers:
        _workers[threads] = Worker(threads)
        atexit.register(_workers[threads].close)
    return _workers[threads]


def cells(settings: dict[str, Any]) -> list[Cell]:
    """A cell is a data set and a split; all data sets have had one before any has the next."""
    splits = {name: settings["fewer_splits"].get(name, settings["splits"]) for name in settings["order"]}
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
    triplets, _ = planted(30, 5, 1000, random_state=0)
    for rival in settings["ours"]:
        fit_ours(rival, triplets, triplets, 5, 0, settings)


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
    if HINDSIGHT not in job.done:
        yield HINDSIGHT, {"errors": all_errors(train, test, p, cell["split"], job.settings["hindsight"])}
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
        if name == data and first is not None:
            reason = _enough(rival, first, cell["split"], job.settings)
            if reason:
                return f"{reason}, not tried again"
    return ""


def _enough(rival: str, first: dict[str, Any], split: int, settings: dict[str, Any]) -> str:
    """Return why what a rival did on the first split of a data set is enough; empty if it is not."""
    found = first[rival]
    if "failure" in found:
        return str(found["failure"])
    behind = found["error"] - _best_of_cblearn(first, settings)
    if behind > settings["behind_margin"] and found["seconds"] > first[DEFAULT]["seconds"]:
        return f"error {found['error']:.3f} in {found['seconds']:.2g} s on the first split"
    if found["seconds"] > settings["few"]["seconds"] and split >= settings["few"]["splits"]:
        return f"{found['seconds']:.0f} s on the first split"
    return ""


def _best_of_cblearn(first: dict[str, Any], settings: dict[str, Any]) -> float:
    return min(first[name]["error"] for name in settings["cblearn"] if "error" in first[name])


_NOT_TRIED = " already, not tried"


def _hopeless(rival: str, first: dict[str, Any], settings: dict[str, Any]) -> str:
    """Why a rival that did this on a first split is not tried on as large or larger data; empty where it is."""
    found = first[rival]
    if "failure" in found:
        failure = str(found["failure"])
        return failure if failure.startswith("over ") or failure.endswith(_NOT_TRIED) else ""
    behind = found["error"] - _best_of_cblearn(first, settings)
    if found["seconds"] > settings["slow_seconds"] and behind > settings["hopeless_margin"]:
        return f"{found['seconds']:.0f} s for an error {behind:.3f} behind the best of cblearn"
    return ""


def fit_ours(
    rival: str, train: Comparisons, test: Comparisons, p: int, seed: int, settings: dict[str, Any]
) -> dict[str, Any]:
    """Fit one of ours; the time is that of the whole of `fit`."""
    threads, options = settings["threads"], dict(settings["ours"][rival])
    with threadpool_limits(threads):
        if options.pop("chosen", False):
            default = OrdinalEmbedding(p, n_jobs=threads, random_state=seed).fit(train)
            options = {"loss": default.loss_, "l2": default.l2_}
        estimator = OrdinalEmbedding(p, n_jobs=threads, random_state=seed, **options)
        start, cpu_start = time.perf_counter(), time.process_time()
        estimator.fit(train)
        taken = {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - cpu_start}
    result = estimator.result_
    found = _judged(estimator.embedding_, test, taken)
    found["stop_reason"], found["epochs"] = result.stop_reason, result.n_epochs
    if rival == DEFAULT:
        found["chose"] = f"{estimator.loss_.name} {estimator.l2_:.2g}"
    return found


def all_errors(
    train: Comparisons, test: Comparisons, p: int, seed: int, settings: dict[str, Any]
) -> dict[str, list[float]]:
    """Return the test errors of every loss along strengths from 0.8 down by halves, each fit from its neighbour."""
    losses = {name: find(name).resolved(p) for name in settings["losses"]}
    if "tste" in losses and p > 3:
        losses["tste, heavy tails"] = TSTE(alpha=(p - 1) / 2)
    errors = {}
    for name, loss in losses.items():
        points = starting_points("auto", train, loss, p, np.random.default_rng(seed))
        start, errors[name] = points, list[float]()
        for power in range(settings["strengths"]):
            if np.ptp(points) < 1e-2 * np.sqrt(loss.unit):
                points = start  # all had been drawn into one point
            objective = PointObjective(train, loss, p, l2=0.8 * 0.5**power)
            points, _ = minimise(LBFGS(), objective, points)
            errors[name].append(round(triplet_error(points, test), 5))
    return errors


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
