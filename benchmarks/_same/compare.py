"""Compare two records case by case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks._same.case import RTOL, Case
from benchmarks._same.record import FAILED, Arrays

BITWISE, WITHIN, NEW, MISSING, DIFFERENT, FAILS = (
    "bitwise equal",
    "equal within tolerance",
    "new",
    "missing",
    "different",
    "failed",
)
#: outcomes that end the command with exit code 1
BAD = frozenset({MISSING, DIFFERENT, FAILS})


@dataclass(frozen=True)
class Outcome:
    """How the numbers of a case, before and after, relate."""

    case: str
    status: str
    largest: float = 0.0
    remark: str = ""


def outcomes(
    before: dict[str, Arrays], after: dict[str, Arrays], cases: dict[str, Case], rtol: float = RTOL
) -> list[Outcome]:
    """Return one outcome per case of either record."""
    return [
        _outcome(name, before.get(name), after.get(name), cases.get(name), rtol)
        for name in dict.fromkeys([*before, *after])
    ]


def _outcome(
    name: str, before: Arrays | None, after: Arrays | None, case: Case | None, rtol: float
) -> Outcome:
    for arrays in (after, before):
        if arrays is not None and FAILED in arrays:
            return Outcome(name, FAILS, np.inf, str(arrays[FAILED]))
    if after is None:
        return Outcome(name, MISSING)
    if before is None:
        return Outcome(name, NEW)
    reason = case.reason if case is not None else ""
    return _judged(name, before, after, case.rtol if case is not None and reason else rtol, reason)


def _judged(name: str, before: Arrays, after: Arrays, rtol: float, reason: str) -> Outcome:
    differences = {key: difference(before[key], after[key]) for key in before if key in after}
    largest = max(differences.values(), default=0.0)
    if set(before) - set(after):
        return Outcome(name, MISSING, largest, f"missing: {', '.join(sorted(set(before) - set(after)))}")
    if largest > rtol:
        wrong = ", ".join(_described(differences, rtol))
        return Outcome(name, DIFFERENT, largest, f"{wrong} (tolerance {rtol:.0e})")
    more = sorted(set(after) - set(before))
    remark = f"new: {', '.join(more)}" if more else ""
    if all(_same_bits(before[key], after[key]) for key in before):
        return Outcome(name, BITWISE, 0.0, remark)
    return Outcome(name, WITHIN, largest, f"tolerance {rtol:.0e}: {reason}" if reason else remark)


def _described(differences: dict[str, float], rtol: float) -> Iterator[str]:
    for key, largest in sorted(differences.items(), key=lambda item: -item[1]):
        if largest > rtol:
            yield f"{key} {largest:.1e}"


def _same_bits(before: np.ndarray, after: np.ndarray) -> bool:
    if before.dtype.kind in "US" or (before.dtype.kind, after.dtype.kind) == ("f", "i"):
        return bool(np.array_equal(before, after))  # texts; counts that were stored as floats before
    return (before.dtype, before.shape, before.tobytes()) == (after.dtype, after.shape, after.tobytes())


def difference(before: np.ndarray, after: np.ndarray) -> float:
    """Return the largest difference as a share of the largest number of the array; infinite for other kinds.

    Counts, switches and texts are equal or not, and so are shapes and precisions. Counts that were stored as floats may
    become integers.

    >>> difference(np.array([4.0, 0.0]), np.array([4.0, 1.0])), difference(np.array(1), np.array(2))
    (0.25, inf)
    """
    kinds, same = before.dtype.kind + after.dtype.kind, before.shape == after.shape
    if not same or kinds != "ff":
        alike = kinds[0] == kinds[1] or kinds == "fi"
        return 0.0 if same and alike and np.array_equal(before, after) else np.inf
    if before.dtype != after.dtype or not np.array_equal(np.isfinite(before), np.isfinite(after)):
        return np.inf
    finite = np.isfinite(before)
    if not np.array_equal(before[~finite], after[~finite], equal_nan=True):
        return np.inf
    apart = float(np.abs(after[finite] - before[finite]).max(initial=0.0))
    size = float(np.abs(before[finite]).max(initial=0.0))
    return apart / size if size > 0 else (np.inf if apart > 0 else 0.0)


def summary(found: list[Outcome]) -> str:
    """Return the number of cases of each status.

    >>> summary([Outcome("a", BITWISE), Outcome("b", NEW), Outcome("c", BITWISE)])
    '3 cases: 2 bitwise equal, 1 new'
    """
    counts = Counter(outcome.status for outcome in found)
    order = (BITWISE, WITHIN, NEW, MISSING, DIFFERENT, FAILS)
    parts = [f"{counts[status]} {status}" for status in order if counts[status]]
    return f"{len(found)} cases: {', '.join(parts) or 'none'}"
