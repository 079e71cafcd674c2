"""Fits as installed against the same fits with BLAS limited to one thread by the environment.

Every fit runs in a process of its own, once without any thread variable, as a user's process would, and once with
`OPENBLAS_NUM_THREADS=1` and its kin. The two take turns. "Idle" means that nothing else runs on the machine; "busy"
that one endless loop per core runs beside the fit.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from benchmarks._figures import grid, tidy_chart
from benchmarks._load import busy_loops, environment
from benchmarks._runner import Job
from benchmarks._store import FOLDER, Cell
from benchmarks._tables import Table, checks, digits, spread
from benchmarks._thread_jobs import JOBS

SETTINGS: dict[str, Any] = {
    "jobs": list(JOBS),
    "loads": ["idle", "busy"],
    "processes": 3,
    "fits_per_process": 3,
    "largest_ratio": 1.3,
}
QUICK = {"jobs": ["RelativeKernel, n = 300"], "processes": 1, "fits_per_process": 1}


def cells(settings: dict[str, Any]) -> list[Cell]:
    """A cell is a load and a fit; all idle ones come first."""
    return [{"load": load, "job": job} for load in settings["loads"] for job in settings["jobs"]]


def warm_up(settings: dict[str, Any]) -> None:
    """Compile every loop, which the processes then find on disk."""
    for job in settings["jobs"]:
        _timed(job, 1, one_thread=True)


def measure(cell: Cell, job: Job) -> Iterator[tuple[str, dict[str, Any]]]:
    """Both kinds of process in turns."""
    seconds: dict[str, list[float]] = {"as installed": [], "one thread": []}
    with busy_loops(os.cpu_count() or 1 if cell["load"] == "busy" else 0):
        for turn in range(job.settings["processes"]):
            for name in sorted(seconds, reverse=bool(turn % 2)):
                one = name == "one thread"
                seconds[name] += _timed(cell["job"], job.settings["fits_per_process"], one_thread=one)
    for name, taken in seconds.items():
        yield name, {"seconds": taken}


def _timed(name: str, turns: int, *, one_thread: bool) -> list[float]:
    command = [sys.executable, "-m", "benchmarks._thread_jobs", name, str(turns)]
    done = subprocess.run(
        command,
        env=environment(one_thread=one_thread),
        cwd=FOLDER.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def ratio(row: dict[str, Any]) -> float:
    """Return the median time as installed over that on one thread."""
    found = row["results"]
    return float(np.median(found["as installed"]["seconds"]) / np.median(found["one thread"]["seconds"]))


def summarise(rows: list[dict[str, Any]], settings: dict[str, Any]) -> list[Table]:
    """The ratios held against the target, and the seconds behind them."""
    most = settings["largest_ratio"]
    ratios = (
        (
            f"{row['cell']['job']}, {row['cell']['load']}",
            f"at most {most}",
            digits(ratio(row)),
            ratio(row) <= most,
        )
        for row in rows
    )
    table = Table("Seconds per fit, median and quartiles", ["fit", "load", "as installed", "one thread"])
    for row in rows:
        found = (spread(row["results"][name]["seconds"]) for name in ("as installed", "one thread"))
        table.add(row["cell"]["job"], row["cell"]["load"], *found)
    return [checks(ratios), table]


def draw(rows: list[dict[str, Any]], settings: dict[str, Any]) -> dict[str, Figure]:
    """The ratio of each fit, idle and busy."""
    figure, (ax,) = grid(1, columns=1, size=(7.5, 4.2))
    names = list(dict.fromkeys(row["cell"]["job"] for row in rows))
    for load, marker in zip(settings["loads"], "os", strict=False):
        found = [row for row in rows if row["cell"]["load"] == load]
        places = [names.index(row["cell"]["job"]) for row in found]
        ax.scatter([ratio(row) for row in found], places, marker=marker, label=load)
    ax.axvline(1, color="grey", linewidth=1)
    ax.axvline(settings["largest_ratio"], color="grey", linewidth=1, linestyle=":")
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    ax.legend(frameon=False)
    tidy_chart(ax, "seconds as installed / seconds on one thread", "", "")
    return {"ratios": figure}
