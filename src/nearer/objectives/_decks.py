"""Decks: the rows of one class copied out in the order of the walk, so that memory is read from front to back.

Rows in shuffled order lie anywhere in memory, and every step would wait for them; side by side, the processor
prefetches them. A row is copied once, when the stage that first uses it begins. The size of a deck is bounded: if a
class is larger, a window of its rows is walked several times before the next window replaces it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nearer.objectives.pair_rows import sparse_arrays

#: bytes that a deck may take
CAPACITY = 2**28
#: how often a window is walked before the next one takes its place
REUSES = 4
#: data smaller than this (bytes) stay in the second-level cache in any order: copying would only cost
WORTHWHILE = 2**19


def matrix_bytes(X: Any) -> int:
    """Return how many bytes the numbers of a dense or sparse matrix take."""
    return X.nbytes if isinstance(X, np.ndarray) else X.data.nbytes + X.indices.nbytes


class Deck:
    """Rows of one class in order.

    `show(count)` makes it hold the first `count` rows of the list, or a window of them; `arrays` are what the loops
    walk over, and `visits_left` is how many steps they may make before the next call of `visited`.
    """

    arrays: tuple[np.ndarray, ...]

    def __init__(self, rows: np.ndarray, most: int):
        self._rows = rows
        self._most = max(min(most, len(rows)), 1)
        self._count = 0
        self._begin = 0
        self._visits = 0
        self.size = 0

    def show(self, count: int) -> None:
        """Use the first `count` rows of the list from now on, and begin with those that are new."""
        before, self._count = self._count, count
        if count <= self._most:
            if self._begin > 0 or self.size > count:
                self._begin = self.size = 0
            self._load(self.size, self._rows[self.size : count])
            self.size = count
        elif count != before:
            self._window(before if before < count else 0)

    @property
    def visits_left(self) -> int | None:
        """Return the number of steps until the next window is due; None if there is only one."""
        return None if self._count <= self._most else max(REUSES * self.size - self._visits, 1)

    def visited(self, steps: int) -> bool:
        """Count steps; return whether the window was replaced."""
        if self._count <= self._most:
            return False
        self._visits += steps
        if self._visits < REUSES * self.size:
            return False
        self._window((self._begin + self.size) % self._count)
        return True

    def _window(self, begin: int) -> None:
        # windows of equal size: rows of a small last window would meet each other too often
        length = -(-self._count // -(-self._count // self._most))
        rows = self._rows[begin : min(begin + length, self._count)]
        self._load(0, rows)
        self._begin, self.size, self._visits = begin, len(rows), 0

    def _load(self, at: int, rows: np.ndarray) -> None:
        """Copy these rows to place `at` and after, and set `arrays` to all rows up to them."""
        raise NotImplementedError


class DenseDeck(Deck):
    """Rows of an array."""

    def __init__(self, X: np.ndarray, rows: np.ndarray, capacity: int = CAPACITY):
        super().__init__(rows, capacity // max(X.shape[1] * X.itemsize, 1))
        self._X = X
        self._store = np.empty((self._most, X.shape[1]), X.dtype)

    def _load(self, at: int, rows: np.ndarray) -> None:
        stop = at + len(rows)
        # mode="clip": the default goes through a buffer of the same size
        np.take(self._X, rows, axis=0, out=self._store[at:stop], mode="clip")
        self.arrays = (self._store[:stop],)


class SparseDeck(Deck):
    """Rows of a CSR matrix."""

    def __init__(self, X: Any, rows: np.ndarray, capacity: int = CAPACITY):
        self._from = sparse_arrays(X)
        per_row = X.nnz / max(X.shape[0], 1) * (X.data.itemsize + 4) + 8
        super().__init__(rows, int(capacity // per_row))
        self._starts = np.zeros(self._most + 1, np.int64)
        self._columns = np.empty(0, np.int32)
        self._numbers = np.empty(0, X.data.dtype)

    def _load(self, at: int, rows: np.ndarray) -> None:
        from nearer._compiled.pairwise_rows import gather_sparse

        indptr = self._from[0]
        begin = int(self._starts[at]) if at else 0
        entries = begin + int((indptr[rows + 1] - indptr[rows]).sum())
        if entries > len(self._numbers):
            self._grow(begin, entries, at + len(rows))
        starts = self._starts[at : at + len(rows) + 1]
        starts[0] = begin
        gather_sparse(*self._from, rows, starts, self._columns, self._numbers)
        self.arrays = (self._starts[: at + len(rows) + 1], self._columns, self._numbers)

    def _grow(self, begin: int, entries: int, n_rows: int) -> None:
        """Make room for this many entries, and at once for what the whole deck will take at that rate."""
        room = max(entries, int(1.05 * entries / max(n_rows, 1) * self._most))
        columns, numbers = np.empty(room, np.int32), np.empty(room, self._numbers.dtype)
        columns[:begin], numbers[:begin] = self._columns[:begin], self._numbers[:begin]
        self._columns, self._numbers = columns, numbers


def deck_of(X: Any, rows: np.ndarray, capacity: int = CAPACITY) -> Deck:
    """Return a deck for rows of a dense or sparse matrix.

    >>> deck = deck_of(np.arange(6.0).reshape(3, 2), np.array([2, 0]))
    >>> deck.show(1)
    >>> deck.arrays
    (array([[4., 5.]]),)
    """
    kind = DenseDeck if isinstance(X, np.ndarray) else SparseDeck
    return kind(X, rows, capacity)
