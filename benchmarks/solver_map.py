"""Which solver for which size: one fit with a given loss and penalty, from a cold start.

Planted points, 5% of the answers flipped, one penalty per loss. All solvers start from the same points, run on one
thread and stop by the same rule: two epochs in a row that lower the objective by less than a thousandth. Times are CPU
seconds of the process, because other work shared the machine; a fit of a few milliseconds is repeated, and the median
counts. A run is ended after 30 CPU seconds. Up to 100,000 answers each solver runs once more to a tolerance of 1e-5, to
find the lowest objective that any of them can reach and how soon each comes within 1% of it; with more answers, the
lowest is that of the first runs. TNC, scipy's truncated Newton method, runs only up to 100,000 answers.

The winner of a problem is the quickest solver that finishes and is accurate enough: its mean held-out error is at most
0.002, or one standard error of the difference, above the lowest. The lead is the time of the second quickest of these
divided by the time of the winner. There are five seeds up to 100 objects, three at 1,000, two at 10,000 and one above,
where the standard error is that of 5,000 held-out answers. Guessing has an error of 0.5: with five answers per object
or fewer and 1,000 objects or more, all errors are above 0.4, and what wins there says little about solvers.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from matplotlib.figure import Figure

from benchmarks import _solver_map_figures as figures
from benchmarks import _solver_map_report as report
from benchmarks._load import busy_loops, environment
from benchmarks._runner import Job, rotated
from benchmarks._solver_fits import RIVALS, Problem
from benchmarks._store import FOLDER, Cell
from benchmarks._tables import Table

SETTINGS: dict[str, Any] = {
    "n_objects": [30, 100, 1000, 10_000, 100_000],
    "per_object": [5, 20, 100],
    "largest": {"n": 1_000_000, "per": 3},
    "few_objects": [100, 1000],
    "losses": ["tste", "ste", "ckl", "gnmds"],
    "l2": {"soe": 0.0125, "tste": 0.0008, "ste": 0.0125, "ckl": 0.003, "gnmds": 0.0125},
    "other_l2": [0.003, 0.05],
    "noise": 0.05,
    "most_answers": 3_000_000,
    "few_answers": 100_000,
    "held_out": 5000,
    "tol": 1e-3,
    "closer_tol": 1e-5,
    "most_seconds": 30,
    "seeds": {"100": 5, "1000": 3, "10000": 2, "1000000": 1},
    "busy": {"n_objects": [100, 1000, 10_000], "p": 10, "per": 20, "loops": 2, "turns": 3},
}
QUICK = {
    "n_objects": [30, 100],
    "per_object": [5, 20],
    "largest": {"n": 300, "per": 3},
    "few_objects": [100],
    "losses": ["gnmds"],
    "other_l2": [0.05],
    "seeds": {"1000": 1},
    "busy": {"n_objects": [100], "p": 10, "per": 20, "loops": 1, "turns": 1},
}


def cells(settings: dict[str, Any]) -> list[Cell]:
    """A cell is a loss, its penalty, a size and a seed; the small ones come first, those beside busy loops last."""
    soe, few, l2 = "soe", settings["few_objects"], settings["l2"]
    grid = [
        (soe, l2[soe], p, n, per)
        for p in (2, 10)
        for n in settings["n_objects"]
        for per in settings["per_object"]
    ]
    grid += [(soe, l2[soe], p, n, 20) for p in (1, 50) for n in few]
    grid += [(one, l2[one], 10, n, per) for one in settings["losses"] for n in few for per in (20, 100)]
    grid += [(one, l2[one], 2, n, 20) for one in settings["losses"] for n in few]
    grid += [(soe, strength, 10, few[-1], 20) for strength in settings["other_l2"]]
    grid += [(soe, l2[soe], 2, *settings["largest"].values())]
    kept = sorted(
        (one for one in grid if one[3] * one[4] <= settings["most_answers"]), key=lambda one: one[3]
    )
    found: list[Cell] = [
        {**dict(zip(("loss", "l2", "p", "n", "per"), one, strict=True)), "seed": seed}
        for one in kept
        for seed in range(_n_seeds(one[3], settings))
    ]
    return found + [{"busy": n} for n in settings["busy"]["n_objects"]]


def _n_seeds(n_objects: int, settings: dict[str, Any]) -> int:
    return next(count for most, count in settings["seeds"].items() if n_objects <= int(most))


def warm_up(settings: dict[str, Any]) -> None:
    """Compile every loop."""
    for loss, l2 in settings["l2"].items():
        problem = Problem({"loss": loss, "l2": l2, "p": 2, "n": 10, "per": 5, "seed": 0}, settings)
        for name in RIVALS:
            problem.fit(name, settings["tol"])


def measure(cell: Cell, job: Job) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every solver from the same points, or the two that are timed beside busy loops."""
    if "busy" in cell:
        yield from _beside_loops(cell["busy"], job)
        return
    settings = job.settings
    names = [name for name in rotated(list(RIVALS), cell["seed"]) if name not in job.done]
    names = [name for name in names if name != "TNC" or cell["n"] * cell["per"] <= settings["few_answers"]]
    problem = Problem(cell, settings) if names else None
    for name in names:
        assert problem is not None
        yield name, problem.measured(name)


def _beside_loops(n: int, job: Job) -> Iterator[tuple[str, dict[str, Any]]]:
    """Time fits in a process without thread variables, alone and beside loops."""
    busy = job.settings["busy"]
    for load, count in {"alone": 0, "beside loops": busy["loops"]}.items():
        if load in job.done:
            continue
        cell = {
            "loss": "soe",
            "l2": job.settings["l2"]["soe"],
            "p": busy["p"],
            "n": n,
            "per": busy["per"],
            "seed": 0,
        }
        command = [
            sys.executable,
            "-m",
            "benchmarks._solver_fits",
            json.dumps(cell),
            json.dumps(job.settings),
        ]
        with busy_loops(count):
            done = subprocess.run(
                command, env=environment(), cwd=FOLDER.parent, capture_output=True, text=True, check=True
            )
        yield load, json.loads(done.stdout.splitlines()[-1])


def summarise(rows: list[dict[str, Any]], settings: dict[str, Any]) -> list[Table]:
    """Maps of winners, then the numbers behind them."""
    return report.tables(rows, settings)


def draw(rows: list[dict[str, Any]], settings: dict[str, Any]) -> dict[str, Figure]:
    """A map of the quickest fits, and one of who first comes close to the lowest objective."""
    quick = (
        "Quickest fit among those accurate enough, and how many times longer the second takes "
        "(only: no other is accurate enough)\n" + report.STAR
    )
    near = (
        "First within 1% of the lowest objective, and how many times longer the second takes "
        "(only: no other comes so close)"
    )
    return {
        "1-winners": figures.winners(rows, settings, figures.by_time, quick),
        "2-lowest": figures.winners(rows, settings, figures.by_objective, near),
    }
