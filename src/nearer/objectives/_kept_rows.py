"""Rows kept from a stream, as partners for the rows of later chunks."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from nearer.objectives.pair_rows import Pairs

#: classes of which rows are kept, and the arrays of such rows if they are sparse
SIDES = ("positive", "negative")
SPARSE_PARTS = ("data", "indices", "indptr", "shape")
_PARTS = SPARSE_PARTS[:-1]


class Reservoir:
    """A uniform random sample of `size` rows of each class seen so far.

    >>> kept = Reservoir(2)
    >>> kept.add(Pairs(np.eye(4), np.array([0, 1]), np.array([2, 3])), np.random.default_rng(0))
    >>> chunk = Pairs(np.ones((1, 4)), np.array([0]), np.array([], dtype=int))
    >>> np.sort(kept.join(chunk, np.random.default_rng(0)).negatives)
    array([3, 4])
    """

    def __init__(self, size: int):
        self.size = size
        self.rows: list[Any] = [None, None]
        self.seen = [0, 0]

    @classmethod
    def resumed(cls, size: int, arrays: dict[str, np.ndarray], seen: tuple[int, int]) -> Reservoir:
        """Return the one that `store` wrote, after `seen` rows of each class."""
        kept = cls(size)
        kept.seen = list(seen)
        for side, name in enumerate(SIDES):
            if f"{name} rows" in arrays:
                kept.rows[side] = arrays[f"{name} rows"]
            elif f"{name} data" in arrays:
                parts = [arrays[f"{name} {part}"] for part in _PARTS]
                shape = tuple(int(length) for length in arrays[f"{name} shape"])
                kept.rows[side] = sparse.csr_matrix(tuple(parts), shape=shape)
            if kept.count(side) > size:  # the buffer was larger before
                kept.rows[side] = kept.rows[side][:size]
        return kept

    def store(self, arrays: dict[str, np.ndarray]) -> None:
        """Put the rows, as arrays alone, in the place of those that are there."""
        for name in SIDES:
            for part in ("rows", *_PARTS, "shape"):  # they may have been of the other kind, dense or sparse
                arrays.pop(f"{name} {part}", None)
        for name, rows in zip(SIDES, self.rows, strict=True):
            if sparse.issparse(rows):
                for part in _PARTS:
                    arrays[f"{name} {part}"] = getattr(rows, part)
                arrays[f"{name} shape"] = np.array(rows.shape)
            elif rows is not None:
                arrays[f"{name} rows"] = rows

    def count(self, side: int) -> int:
        return 0 if self.rows[side] is None else self.rows[side].shape[0]

    def below(self, X: Any, sides: tuple[int, ...] = (0, 1)) -> tuple[Any, list[np.ndarray]]:
        """Return X with the kept rows of these classes below it, and where those of either class lie."""
        matrices, height, places = [X], X.shape[0], [np.empty(0, np.int64), np.empty(0, np.int64)]
        for side in sides:
            if self.count(side) > 0:
                matrices.append(self.rows[side])
                places[side] = np.arange(height, height + self.count(side))
                height += self.count(side)
        return (_stacked(matrices) if len(matrices) > 1 else X), places

    def join(self, pairs: Pairs, rng: np.random.Generator) -> Pairs:
        """Return the pairs, with kept rows behind those of a class of which the chunk has fewer than are kept."""
        lists = (pairs.positives, pairs.negatives)
        poor = tuple(side for side in (0, 1) if self.count(side) > len(lists[side]))
        if not poor:
            return pairs
        X, places = self.below(pairs.X, poor)
        behind = [rng.permutation(rows) for rows in places]
        return Pairs(X, *(np.concatenate(both) for both in zip(lists, behind, strict=True)))

    def add(self, pairs: Pairs, rng: np.random.Generator) -> None:
        """Let rows of a chunk take the place of kept ones, with the probability that keeps all equally likely."""
        for side, rows in enumerate((pairs.positives, pairs.negatives)):
            self._add(side, pairs.X, rows, rng)

    def _add(self, side: int, X: Any, rows: np.ndarray, rng: np.random.Generator) -> None:
        if len(rows) == 0:
            return
        held = self.count(side)
        # the row that ends in each place; kept rows are numbered first, then those of the chunk
        places = np.concatenate([np.arange(held), np.full(self.size - held, -1)])
        numbers = self.seen[side] + np.arange(len(rows))
        slots = np.where(numbers < self.size, numbers, rng.integers(0, numbers + 1))
        inside = slots < self.size
        places[slots[inside]] = held + np.flatnonzero(inside)  # the last row to claim a place gets it
        places = places[places >= 0]
        self.seen[side] += len(rows)
        chosen = X[rows[places[places >= held] - held]]
        old = places[places < held]
        self.rows[side] = _stacked([self.rows[side][old], chosen]) if len(old) else chosen.copy()


def _stacked(matrices: list[Any]) -> Any:
    """Return all rows in one matrix, dense or sparse as the first is: chunks of a stream may be either."""
    if sparse.issparse(matrices[0]):
        return sparse.vstack(matrices, format="csr")
    arrays = [matrix.toarray() if sparse.issparse(matrix) else matrix for matrix in matrices]
    return np.concatenate([array.astype(matrices[0].dtype, copy=False) for array in arrays])
