"""A dense symmetric matrix that collects changes of low rank and applies many at a time."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg.blas import dgemm, dsymv
from scipy.linalg.lapack import dpotrf, dpotri

from nearer._utils.runtime import threads_for
from nearer._utils.schema import Array, Fields, Integer, need

#: columns that may wait. Applying them reads and writes the whole matrix, and is worth it for several at once.
_ROOM = 96
#: columns of one change: those of four objects and an eigenvector
_MOST_AT_ONCE = 5


@dataclass
class Symmetric:
    """The matrix `base + columns @ middle @ columns.T`, of which the second part waits to be applied.

    >>> matrix = Symmetric(np.eye(2))
    >>> matrix.add(np.ones((2, 1)), np.array([[3.0]]))
    >>> matrix.times(np.array([1.0, 0.0]))
    array([4., 3.])
    >>> matrix.dense()
    array([[4., 3.],
           [3., 4.]])
    """

    base: np.ndarray
    columns: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    middle: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    waiting: int = 0
    _schema = Fields(
        base=Array("n", "n", filled=True, dtype="float64", order="C"),
        columns=Array("n", "room", dtype="float64", order="F"),
        middle=Array("room", "room", dtype="float64"),
        waiting=Integer(),
    )

    def _check_loaded(self) -> None:
        need(np.allclose(self.base, self.base.T, rtol=1e-6, atol=1e-6), "base is not symmetric")
        room = self.columns.shape[1]
        need(self.middle.shape == (room, room), f"middle is not square over {room} columns")
        need(room >= _MOST_AT_ONCE and self.waiting <= room, f"{self.waiting} of {room} columns wait")

    def __post_init__(self) -> None:
        if self.columns.size == 0:
            self.columns = np.zeros((len(self.base), _ROOM), order="F")
            self.middle = np.zeros((_ROOM, _ROOM))

    def block(self, rows: np.ndarray) -> np.ndarray:
        """Return the entries between these rows."""
        found = self.base[rows[:, None], rows]
        if self.waiting:
            columns = self.columns[rows, : self.waiting]
            found = found + columns @ (self._middle() @ columns.T)
        return found

    def column(self, rows: np.ndarray) -> np.ndarray:
        """Return the columns of these objects, (n, number of rows)."""
        found = np.asfortranarray(self.base[rows].T)
        if self.waiting:
            found += self._waiting() @ (self._middle() @ self.columns[rows, : self.waiting].T)
        return found

    def times(self, vector: np.ndarray) -> np.ndarray:
        """Return the product with a vector, or with a matrix."""
        # a symmetric matrix is its own transpose, and BLAS takes the transpose of a C-ordered array without a copy
        product = dsymv(1.0, self.base.T, vector) if vector.ndim == 1 else self.base @ vector
        if self.waiting:
            columns = self._waiting()
            product += columns @ (self._middle() @ (columns.T @ vector))
        return product

    def change(self, rows: np.ndarray, block: np.ndarray) -> None:
        """Add to the entries between these rows, at once."""
        self.base[rows[:, None], rows] += block

    def add(self, columns: np.ndarray, middle: np.ndarray) -> None:
        """Add columns @ middle @ columns.T."""
        count = columns.shape[1]
        if self.waiting + count > self.columns.shape[1]:
            self.settle()
        there = slice(self.waiting, self.waiting + count)
        self.columns[:, there] = columns
        self.middle[there, there] = middle
        self.waiting += count

    def multiply(self, factor: float) -> None:
        """Multiply the whole."""
        self.base *= factor
        self.middle *= factor

    def settle(self) -> None:
        """Apply the waiting columns."""
        if self.waiting:
            columns = self._waiting()
            with threads_for(len(self.base)):
                dgemm(1.0, columns @ self._middle(), columns, 1.0, self.base.T, trans_b=1, overwrite_c=1)
            self.middle[:] = 0
            self.waiting = 0

    def dense(self) -> np.ndarray:
        """Return the matrix itself, not a copy."""
        self.settle()
        return self.base

    def copy(self) -> np.ndarray:
        """Return the matrix as a new array; this one stays the same bit for bit."""
        return (
            self.base + self._waiting() @ self._middle() @ self._waiting().T
            if self.waiting
            else self.base.copy()
        )

    def grown(self, count: int, diagonal: float) -> Symmetric:
        """Return the matrix with `count` more objects, which are similar to no other."""
        old, n = self.dense(), len(self.base) + count
        base = np.zeros((n, n))
        base[: len(old), : len(old)] = old
        base[range(len(old), n), range(len(old), n)] = diagonal
        return Symmetric(base)

    def _waiting(self) -> np.ndarray:
        return self.columns[:, : self.waiting]

    def _middle(self) -> np.ndarray:
        return self.middle[: self.waiting, : self.waiting]


def inverse(matrix: np.ndarray, shift: float) -> np.ndarray:
    """Return the inverse of matrix + shift I, which must be positive definite."""
    shifted = np.array(matrix, order="F")
    shifted[np.diag_indices_from(shifted)] += shift
    with threads_for(len(matrix)):
        factor, failed = dpotrf(shifted, lower=1, overwrite_a=1)
        inverted, failed_too = dpotri(factor, lower=1, overwrite_c=1)
    if failed or failed_too:
        raise np.linalg.LinAlgError("the kernel has lost its positive semidefiniteness")
    lower = np.tril(inverted)
    lower += np.tril(inverted, -1).T
    return np.ascontiguousarray(lower)
