"""The functions of `vectors.py` in numpy, for NUMBA_DISABLE_JIT: a pointer is a flat view, a vector a small array."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def pointer_to(array: np.ndarray) -> np.ndarray:
    """Return the numbers of a C-contiguous array in one row, in the same memory."""
    return array.reshape(-1)


def loader(width: int) -> Callable[[np.ndarray, int], np.ndarray]:
    """Return a function that copies `width` numbers from number `at` on."""
    return lambda pointer, at: pointer[at : at + width].copy()


def store(pointer: np.ndarray, at: int, vector: np.ndarray) -> None:
    """Write a vector, from number `at` on."""
    pointer[at : at + len(vector)] = vector


def total(vector: np.ndarray) -> float:
    """Return the sum of a vector's numbers."""
    return vector.sum()


def rolled() -> None:
    """Return at once: Python unrolls no loops."""
    return
