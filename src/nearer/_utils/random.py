"""Turn what users pass as `random_state` into a numpy generator; save and restore its state."""

from __future__ import annotations

from typing import Any

import numpy as np

from nearer._utils.schema import Integer, Literal, Record
from nearer.errors import InputError

_KINDS = ("PCG64", "PCG64DXSM")
_128_BITS = Integer(0, 2**128 - 1)
#: the state of a generator, as `state_of` returns it
RANDOM_SCHEMA = Record(
    {
        "bit_generator": Literal(*_KINDS),
        "state": Record({"state": _128_BITS, "inc": _128_BITS}),
        "has_uint32": Integer(0, 1),
        "uinteger": Integer(0, 2**32 - 1),
    }
)

RandomState = int | np.random.Generator | np.random.RandomState | None


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


def state_of(rng: np.random.Generator) -> dict[str, Any]:
    """Return the state of a generator in plain numbers.

    >>> rng = generator(0)
    >>> float(restored_generator(state_of(rng)).normal()) == float(rng.normal())
    True
    """
    state = dict(rng.bit_generator.state)
    if state["bit_generator"] not in _KINDS:
        raise InputError(
            f"a file cannot hold the state of {state['bit_generator']}: pass an int, or "
            "numpy.random.default_rng(), as random_state"
        )
    return state


def restored_generator(state: dict[str, Any]) -> np.random.Generator:
    """Return a generator in this state."""
    kind = {"PCG64": np.random.PCG64, "PCG64DXSM": np.random.PCG64DXSM}[state["bit_generator"]]
    bits = kind(0)
    bits.state = state
    return np.random.Generator(bits)
