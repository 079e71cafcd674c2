"""The random draws of `draws.py` in plain Python; numba is not needed."""

from __future__ import annotations

_MASK = 2**64 - 1


def draw(seed: int, number: int, repeat: int, below: int) -> int:
    """Return a whole number in 0..below-1 for repeat `repeat` of answer `number`, as `draws.draw` does.

    >>> draw(1, 10, 1, 10) == draw(1, 10, 1, 10), 0 <= draw(7, 5, 2, 5) < 5
    (True, True)
    """
    z = (seed + 0x9E3779B97F4A7C15 * (number + 1) + 0xD1B54A32D192ED03 * (repeat + 1)) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    z ^= z >> 31
    return ((z >> 32) * below) >> 32
