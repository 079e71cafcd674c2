"""Numbers in words: ranges, lists and counts as sentences need them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from benchmarks._store import RESULTS, read
from benchmarks._tables import digits, median

Rows = list[dict[str, Any]]


def middle(values: Iterable[float | None]) -> float:
    """Return the median; "never", the worst of all values, is infinity.

    >>> middle([1.0, 2.0, None]), middle([1.0, None, None])
    (2.0, inf)
    """
    found = median(values)
    return float("inf") if found is None else found


def span(values: Iterable[float], form: str = "") -> str:
    """Return the smallest and the largest value, three digits each unless a format is given.

    >>> span([0.5, 2.0, 1.0]), span([3.0, 3.0]), span([0.01, 0.2], "+.2f"), span([0.25, 0.5], ".0%")
    ('0.5 to 2', '3', '+0.01 to +0.20', '25 to 50%')
    """
    numbers = list(values)
    low, high = (format(value, form) if form else digits(value) for value in (min(numbers), max(numbers)))
    if low == high:
        return low
    return f"{low.removesuffix('%')} to {high}"


def listed(names: Sequence[str]) -> str:
    """Return names with commas and "and"; "none" where there are none.

    >>> listed(["a", "b", "c"]), listed(["a"]), listed([])
    ('a, b and c', 'a', 'none')
    """
    if len(names) < 2:
        return names[0] if names else "none"
    return f"{', '.join(names[:-1])} and {names[-1]}"


def share(count: int, total: int) -> str:
    """Return a count of a total: "none of 4", "2 of 4", "all 4".

    >>> share(0, 4), share(2, 4), share(4, 4)
    ('none of 4', '2 of 4', 'all 4')
    """
    return f"all {total}" if count == total else f"{count or 'none'} of {total}"


def rows_of(name: str) -> Rows:
    """Return the finished rows of another experiment."""
    return [row for row in read(RESULTS / f"{name}.json")["rows"] if row["done"]]
