"""Texts: counts and durations for people, names as people spell them, warnings that show the caller's own line."""

from __future__ import annotations

import math
import re
import sys
import warnings
from collections.abc import Sequence


def counted(number: int, noun: str) -> str:
    """Return a number with the noun that it counts.

    >>> counted(1, "answer"), counted(2000, "answer")
    ('1 answer', '2,000 answers')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def one_of(names: Sequence[str]) -> str:
    """Join names of which one is meant.

    >>> one_of(["tags"]), one_of(["tags", "links"]), one_of(["towers", "tags", "links"])
    ('tags', 'tags or links', 'towers, tags or links')
    """
    return " or ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def readable_seconds(seconds: float) -> str:
    """Return a duration in readable units.

    >>> readable_seconds(0.0123), readable_seconds(3.21), readable_seconds(75), readable_seconds(7300)
    ('12 ms', '3.2 s', '1 min 15 s', '2 h 01 min')
    """
    if seconds < 0.9995:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    whole = math.floor(seconds + 0.5)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def plain(name: object) -> str:
    """Return the name of a column without what people spell differently.

    >>> plain("Worker ID") == plain("worker_id") == plain("WorkerId")
    True
    """
    return re.sub(r"[\s_.-]", "", str(name)).lower()


def warn(message: str | Warning) -> None:
    """Warn with the line of the caller that is outside nearer."""
    warnings.warn(message, UserWarning, stacklevel=_caller() + 1)


def _caller() -> int:
    """Return how many frames above `warn` the first one outside nearer is."""
    frame, level = sys._getframe(1), 0
    # decorators of contextlib lie between two functions of nearer
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(
        ("nearer", "contextlib")
    ):
        frame, level = frame.f_back, level + 1
    return level
