"""Run the cases, and keep their numbers in a file."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._same import around, embeddings, kernels, pairs, tags, towers
from benchmarks._same.case import Case, source_folder

CASES: dict[str, Case] = (
    embeddings.CASES | kernels.CASES | pairs.CASES | tags.CASES | towers.CASES | around.CASES
)

#: arrays of a case by name
Arrays = dict[str, np.ndarray]
#: what a case that raised has instead of its numbers
FAILED = "failed"
_BETWEEN = " :: "
_ABOUT = "about"


def chosen(only: str = "") -> dict[str, Case]:
    """Return the cases whose names match the pattern."""
    return {name: case for name, case in CASES.items() if matches(name, only)}


def matches(name: str, only: str) -> bool:
    """Return whether a name contains one of the texts of a pattern `text|text|...`."""
    return any(text in name for text in only.split("|"))


def run(cases: dict[str, Case], told: Callable[[str, float], object] | None = None) -> dict[str, Arrays]:
    """Run the cases; one that raises has the text of its error."""
    found = {}
    for name, case in cases.items():
        begun = time.perf_counter()
        found[name] = _arrays(case)
        if told is not None:
            told(name, time.perf_counter() - begun)
    return found


def _arrays(case: Case) -> Arrays:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return {key: _array(value) for key, value in case.run().items()}
        except Exception as error:
            return {FAILED: np.array(f"{type(error).__name__}: {error}")}


def _array(value: Any) -> np.ndarray:
    array = np.array(value)
    if array.dtype.kind not in "biufUS":
        raise TypeError(f"{value!r} is neither numbers nor text")
    return array


def failures(found: dict[str, Arrays]) -> dict[str, str]:
    """Return the errors of cases that raised."""
    return {name: str(arrays[FAILED]) for name, arrays in found.items() if FAILED in arrays}


def write(found: dict[str, Arrays], path: Path) -> None:
    """Write a record: one array per name, no pickles."""
    flat = {
        f"{case}{_BETWEEN}{name}": array for case, arrays in found.items() for name, array in arrays.items()
    }
    with path.open("wb") as stream:
        np.savez_compressed(stream, **{_ABOUT: np.array(str(source_folder())), **flat})  # type: ignore[arg-type]


def read(path: Path, only: str = "") -> tuple[str, dict[str, Arrays]]:
    """Return where the recorded nearer lay, and the arrays of the cases whose names match the pattern."""
    found: dict[str, Arrays] = {}
    with np.load(path, allow_pickle=False) as stored:
        for key in stored.files:
            case, between, name = key.partition(_BETWEEN)
            if between and matches(case, only):
                found.setdefault(case, {})[name] = stored[key]
        return str(stored[_ABOUT]), found
