"""Points and the distances that comparisons ask about, in plain numpy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from nearer.errors import InputError

BLOCK_NUMBERS = 1 << 20  # numbers in one temporary array: 8 MB


def row_blocks(n_rows: int, numbers_per_row: int = 8) -> Iterator[slice]:
    """Consecutive slices that cover `n_rows`, small enough for temporary arrays of a few MB."""
    size = max(BLOCK_NUMBERS // max(numbers_per_row, 1), 1)
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def checked_points(points: ArrayLike, name: str) -> np.ndarray:
    """`points` as an array of floats, one finite point a row, or one sentence about it."""
    array = np.asarray(points)
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    if array.ndim != 2 or not array.size:
        raise InputError(f"{name} must be an array of points, one a row, not one of shape {array.shape}")
    if not np.isfinite(array).all():
        row = np.flatnonzero(~np.isfinite(array).all(axis=1))[0]
        raise InputError(f"{name} has NaN or infinity in row {row}: give finite coordinates")
    return array


def read_only(array: np.ndarray) -> np.ndarray:
    """The same numbers for others to look at, not to write into; nothing is copied."""
    view = array.view()
    view.flags.writeable = False
    return view


def compared_distances(points: np.ndarray, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Squared distances of the first and of the second pair of every triplet or quadruplet.

    >>> compared_distances(np.array([[0.0], [1.0], [3.0]]), np.array([[0, 1, 2]]))
    (array([1.]), array([9.]))
    """
    third = 2 if indices.shape[1] == 4 else 0  # a triplet's second pair starts at its anchor
    near, far = np.empty((2, len(indices)), dtype=points.dtype)
    for block in row_blocks(len(indices), points.shape[1]):
        rows = indices[block]
        for out, first, second in ((near, 0, 1), (far, third, -1)):
            difference = points[rows[:, first]] - points[rows[:, second]]
            np.einsum("ij,ij->i", difference, difference, out=out[block])
    return near, far
