"""Coordinates of a factor in which every row has about unit curvature: of its own entries, for all others fixed.

A row of the factor belongs to one object, such as a user or a label. Its block of second derivatives is d × d. With the
inverse of its Cholesky factor, coordinates W of the row are such that the block becomes the identity. Objects of many
terms and objects of few, long columns and short ones: all are even then, and L-BFGS needs a fraction of its steps.

Blocks are kept in single precision: any coordinates will do, as long as they stay the same during a descent. Where
even that is too much, a row keeps some directions of its block, or the diagonal alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

#: numbers that blocks may have together
_MOST_NUMBERS = 2**27
#: with fewer directions per row than this, the diagonal is better
_LEAST_DIRECTIONS = 4
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
    least : float or array (n,)
        What is added to the diagonal of every block, or of each.
    """

    def __init__(
        self,
        weights: np.ndarray,
        points: np.ndarray,
        shifts: np.ndarray,
        shift_weights: np.ndarray,
        least: Any,
    ):
        self._weights, self._points = weights, points
        self._least = np.broadcast_to(np.asarray(least, float), len(weights))
        self._shifts, self._shift_weights = shifts, shift_weights

    def n_numbers(self) -> int:
        """Return how many numbers the blocks have."""
        return len(self._weights) * self._points.shape[1] ** 2

    def n_entries(self) -> int:
        """Return how many numbers the rows have."""
        return len(self._weights) * self._points.shape[1]

    def directions(self, k: int) -> Directions:
        """Return coordinates by k directions of every block: those of its objects with the largest terms.

        The rest of a block is taken to be a multiple of the identity.
        """
        n, d = len(self._weights), self._points.shape[1]
        found = np.zeros((n, k, d), np.float32)
        lengths = np.einsum("ij,ij->i", self._points, self._points)
        for i, weights in enumerate(self._weights):
            shift = self._shift_weights[i]
            few = k - 1 if shift > 0 else k
            some = np.argpartition(weights * lengths, -few)[-few:] if few < len(weights) else slice(None)
            own, rows = weights[some], self._points[some]
            if shift < 0:  # the mean is to go: that of what is kept, so that no curvature is negative
                rows = rows - own @ rows / max(own.sum(), 1e-300)
            rows = rows * np.sqrt(own)[:, None]
            if shift > 0:
                rows = np.vstack([rows, np.sqrt(shift) * self._shifts[i]])
            values, vectors = np.linalg.eigh(rows @ rows.T)
            # along a direction of curvature v, beside what all have, coordinates are shorter by this share
            share = 1 - np.sqrt(self._least[i] / (self._least[i] + np.maximum(values, 0.0)))
            found[i, : len(rows)] = (np.sqrt(share / np.maximum(values, 1e-300)) * vectors).T @ rows
        return Directions(found, 1 / np.sqrt(self._least))

    def diagonal(self) -> Diagonal:
        """Return coordinates by the diagonals of the blocks."""
        sizes = self._weights @ self._points**2 + self._shift_weights[:, None] * self._shifts**2
        return Diagonal(1 / np.sqrt(np.maximum(sizes, 0.0) + self._least[:, None]))

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
            block[places, places] += self._least[i] + _LEAST * np.trace(block) / d
            root, failed = dpotrf(block, lower=1)
            if failed:  # rounding: the mean was all there was
                root = np.diag(np.sqrt(np.maximum(np.diagonal(block), self._least[i])))
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


class Directions:
    """Coordinates by `scale * (I - Zᵀ Z)` per row, with a few directions Z in single precision."""

    def __init__(self, directions: np.ndarray, scales: np.ndarray):
        from nearer._compiled import blocks  # here, because it imports numba

        self.kept, self.scales, self._loops = directions, scales, blocks

    def out(self, W: np.ndarray) -> np.ndarray:
        """Return what changes by W mean for the factor."""
        return self.scales[:, None] * self._loops.without(self.kept, np.ascontiguousarray(W))

    def back(self, gradient: np.ndarray) -> np.ndarray:
        """Return the gradient by W from that by the factor."""
        return self.out(gradient)  # the matrices are symmetric


def coordinates(sets: list[RowCurvatures]) -> list[Any]:
    """Return coordinates for every set of rows: by blocks, the small ones first, as long as there is room for them.

    The others share what is left for directions.

    >>> rest = np.ones((1, 9)), np.zeros((10**7, 9)), np.zeros(10**7), 1.0
    >>> few, many = (RowCurvatures(np.ones((n, 1)), *rest) for n in (2, 10**7))
    >>> [type(found).__name__ for found in coordinates([many, few])]
    ['Diagonal', 'Blocks']
    """
    room, found = _MOST_NUMBERS, dict[int, Any]()
    order = sorted(range(len(sets)), key=lambda at: sets[at].n_numbers())
    while order and sets[order[0]].n_numbers() <= room:
        at = order.pop(0)
        found[at] = sets[at].blocks()
        room -= sets[at].n_numbers()
    few = room // max(sum(sets[at].n_entries() for at in order), 1)
    for at in order:
        found[at] = sets[at].directions(few) if few >= _LEAST_DIRECTIONS else sets[at].diagonal()
    return [found[at] for at in range(len(sets))]
