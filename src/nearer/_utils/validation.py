"""Checks of single settings, each with one sentence when it fails."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

from nearer.errors import InputError


def positive(name: str, value: Any) -> None:
    """Refuse anything but a finite number above zero."""
    if not isinstance(value, Real) or isinstance(value, bool) or not math.isfinite(value) or value <= 0:
        raise InputError(f"must be a number above 0, not {value!r}", parameter=name)


def not_negative(name: str, value: Any) -> None:
    """Refuse anything but a finite number of zero or more."""
    if not isinstance(value, Real) or isinstance(value, bool) or not math.isfinite(value) or value < 0:
        raise InputError(f"must be a number of 0 or more, not {value!r}", parameter=name)


def at_most(name: str, value: Any, most: float) -> None:
    """Refuse a number so large that what is computed from it overflows."""
    if value > most:
        raise InputError(f"is {value:g}, which overflows: use at most {most:g}", parameter=name)


def between(name: str, value: Any, least: float, most: float) -> None:
    """Refuse anything but a number in a range beyond which computations overflow or lose all digits."""
    positive(name, value)
    if not least <= value <= most:
        raise InputError(f"is {value:g}, but must lie between {least:g} and {most:g}", parameter=name)


def whole(name: str, value: Any, at_least: int = 1) -> None:
    """Refuse anything but a whole number of `at_least` or more."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < at_least:
        raise InputError(f"must be a whole number of {at_least} or more, not {value!r}", parameter=name)
