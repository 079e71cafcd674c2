"""One way to turn what a user calls `random_state` into a numpy generator."""

from __future__ import annotations

import numpy as np

from nearer.errors import InputError

RandomState = int | np.random.Generator | np.random.RandomState | None


def generator(random_state: RandomState = None) -> np.random.Generator:
    """A numpy `Generator` from None, an int, a `Generator` (shared) or a legacy `RandomState`.

    >>> int(generator(0).integers(100)) == int(generator(0).integers(100))
    True
    """
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**31 - 1, size=4))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise InputError(
            "random_state must be None, a whole number of 0 or more, a Generator or a RandomState, "
            f"not {random_state!r}"
        ) from None


def separate(random_state: RandomState = None) -> np.random.Generator:
    """A generator whose draws have nothing to do with those of `generator` for the same seed.

    For made-up data: with the same draws, a fit that begins at random with the seed of the data would begin at the
    answer.

    >>> float(separate(0).normal()) == float(generator(0).normal())
    False
    >>> float(separate(0).normal()) == float(separate(0).normal())
    True
    """
    return generator(random_state).spawn(1)[0]
