"""Checks of single settings, numbers and random states, each with one sentence when it fails."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

import numpy as np

from nearer.errors import InputError

RandomState = int | np.random.Generator | np.random.RandomState | None


def positive(name: str, value: Any) -> None:
    """Refuse anything but a finite number above zero."""
    if not isinstance(value, Real) or isinstance(value, bool) or not math.isfinite(value) or value <= 0:
        raise InputError(f"must be a number above 0, not {value!r}", parameter=name)


def finite(name: str, value: Any) -> None:
    """Refuse anything but a finite number."""
    if not isinstance(value, Real) or isinstance(value, bool) or not math.isfinite(value):
        raise InputError(f"must be a number, not {value!r}", parameter=name)


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


def generator(random_state: RandomState = None) -> np.random.Generator:
    """Return a numpy `Generator` from None, an int, a `Generator` (shared) or a legacy `RandomState`.

    >>> int(generator(0).integers(100)) == int(generator(0).integers(100))
    True
    """
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**31 - 1, size=4))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise InputError(
            f"must be None, a whole number of 0 or more, a Generator or a RandomState, not {random_state!r}",
            parameter="random_state",
        ) from None


def separate(random_state: RandomState = None) -> np.random.Generator:
    """Return a generator whose draws are independent of those of `generator` for the same seed.

    For simulated data: with the same draws, a fit that starts at random with the seed of the data would start at the
    solution.

    >>> float(separate(0).normal()) == float(generator(0).normal())
    False
    >>> float(separate(0).normal()) == float(separate(0).normal())
    True
    """
    return generator(random_state).spawn(1)[0]
