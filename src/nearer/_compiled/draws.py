"""Compiled random draws that depend on a seed and a number alone; in plain Python in `draws_reference.py`."""

from __future__ import annotations

import numpy as np

from nearer._compiled.decorators import inline


@inline
def draw(seed, number, repeat, below):
    """Return a whole number in 0..below-1 for repeat `repeat` of answer `number`: splitmix64 of the three."""
    z = np.uint64(seed) + np.uint64(0x9E3779B97F4A7C15) * (np.uint64(number) + np.uint64(1))
    z += np.uint64(0xD1B54A32D192ED03) * (np.uint64(repeat) + np.uint64(1))
    return mixed(z, below)


@inline
def mixed(z, below):
    """Return a whole number in 0..below-1 by the last steps of splitmix64.

    The upper 32 bits are scaled: for `below` under 2**31 the bias is below 1e-9.
    """
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return np.int64(((z >> np.uint64(32)) * np.uint64(below)) >> np.uint64(32))
