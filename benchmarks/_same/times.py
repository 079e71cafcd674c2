"""Time the same work with two checkouts, in fresh processes that take turns."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import nearer
from benchmarks._same.case import environment
from benchmarks._same.data import answers, sparse, table

IMPORT, HELP, FIRST = "import nearer", "nearer --help, whole process", "first small fit, whole process"
#: quick fits are repeated in a process until they took this long, or this often
_LEAST_SECONDS, _MOST_FITS = 0.3, 15
_IMPORTING = "import time; t = time.perf_counter(); import nearer; print(time.perf_counter() - t)"


def _embedding(n_objects: int, count: int) -> Any:
    return nearer.OrdinalEmbedding(random_state=0).fit(_random(n_objects, count))


def _random(n_objects: int, count: int) -> nearer.Comparisons:
    """Return triplets whose answers come from points on a line; `answers` is too slow for many objects."""
    rng = np.random.default_rng(0)
    i, j, k = rng.integers(n_objects, size=(3, 2 * count))
    apart = (i != j) & (j != k) & (i != k)
    i, j, k = (column[apart][:count] for column in (i, j, k))
    nearer_first = abs(i - j) < abs(i - k)
    return nearer.Comparisons(
        np.stack([i, np.where(nearer_first, j, k), np.where(nearer_first, k, j)], axis=1), n_objects
    )


FITS: dict[str, Callable[[], Any]] = {
    "OrdinalEmbedding, small": lambda: _embedding(25, 1000),
    "OrdinalEmbedding, n=1500": lambda: _embedding(1500, 30_000),
    "RelativeKernel": lambda: nearer.RelativeKernel(random_state=0).fit(answers(count=2000)),
    "OnlineKernel": lambda: nearer.OnlineKernel(100).fit(_random(100, 3000)),
    "AUCClassifier, dense": lambda: nearer.AUCClassifier(random_state=0).fit(*table(5000, 20)),
    "AUCClassifier, sparse": lambda: nearer.AUCClassifier(random_state=0).fit(*sparse(5000, 300)),
}
WORKS = (*FITS, IMPORT, HELP, FIRST)


def clock(name: str) -> float:
    """Return the median seconds of a few fits in this process, after one that loads the compiled loops."""
    FITS[name]()
    seconds: list[float] = []
    while len(seconds) < 3 or (sum(seconds) < _LEAST_SECONDS and len(seconds) < _MOST_FITS):
        begun = time.perf_counter()
        FITS[name]()
        seconds.append(time.perf_counter() - begun)
    return float(np.median(seconds))


def taken(work: str, source: Path, script: Path) -> float:
    """Return the seconds of some work in a fresh process that imports nearer from `source`."""
    small = f"from benchmarks._same.times import FITS; FITS[{next(iter(FITS))!r}]()"
    commands = {
        IMPORT: ["-c", _IMPORTING],
        HELP: ["-m", "nearer", "--help"],
        FIRST: ["-c", f"import sys; sys.path.insert(0, {str(script.parents[1])!r}); {small}"],
    }
    command = [sys.executable, *commands.get(work, [str(script), "clock", work])]
    begun = time.perf_counter()
    done = subprocess.run(command, env=environment(source), capture_output=True, text=True, check=False)
    whole = time.perf_counter() - begun
    if done.returncode:
        raise SystemExit(f"{work} with {source} failed:\n{done.stderr}")
    return whole if work in (HELP, FIRST) else float(done.stdout)


def turns(work: str, old: Path, new: Path, script: Path, count: int) -> np.ndarray:
    """Return seconds of shape (count, 2), old and new; they take turns to be first. One more turn warms up."""
    seconds = np.empty((count + 1, 2))
    for turn in range(count + 1):
        for side in (0, 1) if turn % 2 else (1, 0):
            seconds[turn, side] = taken(work, (old, new)[side], script)
    return seconds[1:]


def ratios(seconds: np.ndarray) -> tuple[float, float, float]:
    """Return the quartiles of new / old over the turns.

    >>> ratios(np.array([[1.0, 2.0], [2.0, 2.0], [1.0, 3.0]]))
    (1.5, 2.0, 2.5)
    """
    low, middle, high = np.quantile(seconds[:, 1] / seconds[:, 0], [0.25, 0.5, 0.75]).tolist()
    return low, middle, high
