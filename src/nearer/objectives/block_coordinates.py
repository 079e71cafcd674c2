"""Coordinates of a factor in which every row has about unit curvature: of its own entries, for all others fixed.

A row of the factor belongs to one object, such as a user or a label. Its block of second derivatives is d × d. With the
inverse of its Cholesky factor, coordinates W of the row are such that the block becomes the identity. Objects of many
terms and objects of few, long columns and short ones: all are even then, and L-BFGS needs a fraction of its steps.

Blocks are kept in single precision: any coordinates will do, as long as they stay the same during a descent. Where
even that is too much, a row gets the diagonal of its block alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

#: numbers that blocks may have together
_MOST_NUMBERS = 2**26
#: weights below this share of the largest of a row are left out of its block
_NOTHING = 1e-7
#: least curvature, as a share of the mean of a block
_LEAST = 1e-10


class RowCurvatures:
    """Some rows of a factor, each with the sum over objects j of `weights[i, j] x_j x_jᵀ`, plus a multiple of I.

    Parameters
    ----------
    weights : array (n, k)
        How much the objects count; none is negative.
    points : array (k, d)
        Where the objects are.
    shifts, shift_weights : array (n, d) and (n,)
        `shift_weight * shift shiftᵀ` is added to each sum; a negative weight may take away the mean, but no more.
    least : float
        What is added to the diagonal.
    """

    def __init__(
        self,
        weights: np.ndarray,
        points: np.ndarray,
        shifts: np.ndarray,
        shift_weights: np.ndarray,
        least: float,
    ):
        self._weights, self._points, self._least = weights, points, least
        self._shifts, self._shift_weights = shifts, shift_weights

    def n_numbers(self) -> int:
        """Return how many numbers the blocks have."""
        return len(self._weights) * self._points.shape[1] ** 2

    def diagonal(self) -> Diagonal:
        """Return coordinates by the diagonals of the blocks."""
        sizes = self._weights @ self._points**2 + self._shift_weights[:, None] * self._shifts**2
        return Diagonal(1 / np.sqrt(np.maximum(sizes, 0.0) + self._least))

    def blocks(self) -> Blocks:
        """Return coordinates by the blocks."""
        from scipy.linalg.lapack import dpotrf, dtrtri

        (n, _), d = self._weights.shape, self._points.shape[1]
        found = np.empty((n, d, d), np.float32)
        for i, weights in enumerate(self._weights):
            some = np.flatnonzero(weights > _NOTHING * weights.max(initial=0.0))
            rows = self._points[some] * np.sqrt(weights[some])[:, None]
            block = rows.T @ rows
            block += self._shift_weights[i] * np.outer(self._shifts[i], self._shifts[i])
            places = np.arange(d)
            block[places, places] += self._least + _LEAST * np.trace(block) / d
            root, failed = dpotrf(block, lower=1)
            if failed:  # rounding: the mean was all there was
                root = np.diag(np.sqrt(np.maximum(np.diagonal(block), self._least)))
            found[i] = dtrtri(root, lower=1)[0]
        return Blocks(found)


class Diagonal:
    """Coordinates by a number per entry."""

    def __init__(self, scales: np.ndarray):
        self.scales = scales

    def out(self, W: np.ndarray) -> np.ndarray:
        """Return what changes by W mean for the factor."""
        return self.scales * W

    def back(self, gradient: np.ndarray) -> np.ndarray:
        """Return the gradient by W from that by the factor."""
        return self.scales * gradient


class Blocks:
    """Coordinates by the inverse of a Cholesky factor per row, in single precision."""

    def __init__(self, roots: np.ndarray):
        from nearer._compiled import blocks  # here, because it imports numba

        self.roots, self._loops = roots, blocks

    def out(self, W: np.ndarray) -> np.ndarray:
        """Return what changes by W mean for the factor."""
        return self._loops.transposed_times(self.roots, W)

    def back(self, gradient: np.ndarray) -> np.ndarray:
        """Return the gradient by W from that by the factor."""
        return self._loops.times(self.roots, np.ascontiguousarray(gradient))


def coordinates(sets: list[RowCurvatures]) -> list[Any]:
    """Return coordinates for every set of rows: by blocks, the small ones first, as long as there is room for them.

    >>> rest = np.ones((1, 9)), np.zeros((10**6, 9)), np.zeros(10**6), 1.0
    >>> few, many = (RowCurvatures(np.ones((n, 1)), *rest) for n in (2, 10**6))
    >>> [type(found).__name__ for found in coordinates([many, few])]
    ['Diagonal', 'Blocks']
    """
    room, found = _MOST_NUMBERS, dict[int, Any]()
    for at in sorted(range(len(sets)), key=lambda at: sets[at].n_numbers()):
        room -= sets[at].n_numbers()
        found[at] = sets[at].blocks() if room >= 0 else sets[at].diagonal()
    return [found[at] for at in range(len(sets))]
