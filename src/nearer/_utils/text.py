"""Numbers as a person says them."""

from __future__ import annotations

import math


def counted(number: int, noun: str) -> str:
    """A number and what it counts.

    >>> counted(1, "answer"), counted(2000, "answer")
    ('1 answer', '2,000 answers')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def readable_seconds(seconds: float) -> str:
    """Seconds as a person says them.

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
