"""Arrays: points, the distances that comparisons ask about, blocks of rows, weights."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from nearer.errors import InputError

#: larger settings, starts and kernels are refused: sums of their squares must stay finite
LARGEST = 1e100
BLOCK_NUMBERS = 1 << 20  # numbers in one temporary array: 8 MB


def row_blocks(n_rows: int, numbers_per_row: int = 8) -> Iterator[slice]:
    """Yield consecutive slices that cover `n_rows`, small enough for temporary arrays of a few MB."""
    size = max(BLOCK_NUMBERS // max(numbers_per_row, 1), 1)
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def checked_points(points: ArrayLike, name: str) -> np.ndarray:
    """Return `points` as an array of floats, one finite point per row; refuse anything else."""
    array = np.asarray(points)
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    if array.ndim != 2 or not array.size:
        raise InputError(f"{name} must be an array of points, one per row, not one of shape {array.shape}")
    if not np.isfinite(array).all():
        row = np.flatnonzero(~np.isfinite(array).all(axis=1))[0]
        raise InputError(f"{name} has NaN or infinity in row {row}: give finite coordinates")
    return array


def read_only(array: np.ndarray) -> np.ndarray:
    """Return a read-only view; nothing is copied."""
    view = array.view()
    view.flags.writeable = False
    return view


def compared_distances(points: np.ndarray, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the squared distances of the first and of the second pair of every triplet or quadruplet.

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


def first_pair_nearer(points: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Return whether the first pair of every triplet or quadruplet is nearer; a tie is False.

    If a square overflows or vanishes, the differences of that row are scaled before they are compared.

    >>> first_pair_nearer(np.array([[0.0], [1e200], [3e200]]), np.array([[0, 1, 2], [2, 0, 1]]))
    array([ True, False])
    """
    with np.errstate(over="ignore", invalid="ignore"):
        near, far = compared_distances(points, indices)
    limits = np.finfo(points.dtype)
    with np.errstate(over="ignore"):
        beyond = ~(np.maximum(near, far) <= limits.max) | (np.minimum(near, far) < limits.tiny / limits.eps)
    nearer = near < far
    rows = np.flatnonzero(beyond)
    if len(rows):
        chosen = indices[rows]
        involved, places = np.unique(chosen, return_inverse=True)
        nearer[rows] = _nearer_at_own_scale(points[involved], places.reshape(chosen.shape))
    return nearer


def _nearer_at_own_scale(points: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Compute `first_pair_nearer` from differences divided by the largest of their row."""
    third = 2 if indices.shape[1] == 4 else 0
    points = points.astype(np.float64)
    if np.abs(points).max() > 0.25 * np.finfo(np.float64).max:  # or differences overflow
        points *= 0.5
    nearer = np.empty(len(indices), dtype=bool)
    for block in row_blocks(len(indices), points.shape[1]):
        rows = indices[block]
        near, far = (
            np.abs(points[rows[:, first]] - points[rows[:, second]])
            for first, second in ((0, 1), (third, -1))
        )
        largest = np.maximum(near.max(axis=1), far.max(axis=1))[:, None]
        power = -np.frexp(largest)[1]  # of two, so that scaling does not round
        near, far = np.ldexp(near, power), np.ldexp(far, power)
        nearer[block] = np.square(near).sum(axis=1) < np.square(far).sum(axis=1)
    return nearer


def fitted_to_squares(*configurations: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return points, as float64 and times one power of two, whose squared distances neither overflow nor vanish.

    Their order by distance is exactly that of the original points.

    >>> fitted_to_squares(np.array([[1e200], [3e200]]))[0].round(2)
    array([[0.33],
           [0.98]])
    """
    wide = [points.astype(np.float64, copy=False) for points in configurations]
    ranges = [
        0.5 * np.max([points.max(axis=0) for points in wide], axis=0),
        0.5 * np.min([points.min(axis=0) for points in wide], axis=0),
    ]
    spread = float((ranges[0] - ranges[1]).max())
    largest = max(float(np.abs(limit).max()) for limit in ranges)
    # large constant columns must not overflow when the others are tiny
    power = min(-int(np.frexp(spread)[1]) - 1, 1000 - int(np.frexp(largest)[1]))
    return tuple(np.ldexp(points, power) if power else points for points in wide)


def relative(weights: np.ndarray) -> np.ndarray:
    """Return weights divided by the largest one: the sum of huge weights would overflow.

    >>> relative(np.array([0.0, 1e308, 1e308])).sum()
    np.float64(2.0)
    """
    largest = weights.max(initial=0.0)
    return weights / largest if largest > 0 else weights
