"""The state of a random generator in plain numbers, for files."""

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


def state_of(rng: np.random.Generator) -> dict[str, Any]:
    """Return the state of a generator in plain numbers.

    >>> rng = np.random.default_rng(0)
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
