"""Ordinal embedding beside cblearn with equal numbers of starts.

cblearn's `SOE` fits from ten random starts and keeps the best; all its other estimators, and nearer's default,
fit from one. [`peers_ordinal`](peers_ordinal.md) compares the defaults. Here both libraries also run with the
other number of starts, on the same splits. Estimators that were slow and far behind on a data set in
`peers_ordinal` are left out on it. Both sides use one thread. Times are processor seconds of `fit`, because other
programs ran on the machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks import peers_ordinal
from benchmarks._runner import Job, rotated
from benchmarks._starts_report import draw, summarise
from benchmarks._store import Cell
from benchmarks.peers_ordinal import cells, fit_ours, fit_theirs, problem, warm_up

__all__ = ["QUICK", "SETTINGS", "cells", "draw", "measure", "summarise", "warm_up"]

_SHARED = ("planted", "human", "test_share", "threads", "cap_seconds")

SETTINGS: dict[str, Any] = {
    **{key: peers_ordinal.SETTINGS[key] for key in _SHARED},
    "order": [
        "planted-100",
        "music",
        "cars",
        "fruit",
        "planted-1000",
        "material",
        "food",
        "planted-3000",
        "things",
    ],
    "ours": {"nearer": {}, "nearer, 10 starts": {"n_init": 10}},
    "cblearn": ["SOE", "SOE, 1 start", "STE", "TSTE", "CKL", "GNMDS"],
    "left_out": {"planted-3000": ["TSTE", "CKL"], "things": ["SOE", "STE", "TSTE", "GNMDS"]},
    "splits": 3,
    "more_splits": {"planted-100": 5, "music": 5, "cars": 5, "fruit": 5, "planted-1000": 5},
}
QUICK = {
    "planted": {"planted-100": {"n": 60, "p": 3, "train": 2000, "test": 1000}},
    "order": ["planted-100", "cars"],
    "splits": 2,
    "more_splits": {},
}


def measure(cell: Cell, job: Job) -> Iterator[tuple[str, dict[str, Any]]]:
    """Measure both sides with one start and with ten, in an order that changes with the split."""
    train, test, p = problem(cell, job.settings)
    left_out = job.settings["left_out"].get(cell["data"], [])
    for rival in rotated([*job.settings["ours"], *job.settings["cblearn"]], 3 * cell["split"]):
        if rival in job.done or rival in left_out:
            continue
        fit = fit_ours if rival in job.settings["ours"] else fit_theirs
        yield rival, fit(rival, train, test, p, cell["split"], job.settings)
