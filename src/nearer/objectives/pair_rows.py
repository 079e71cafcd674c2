"""Rows of two classes, and how solvers walk over them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from nearer.errors import InputError


@dataclass(frozen=True)
class Pairs:
    """Every pair of a row that should score high and one that should score low.

    Parameters
    ----------
    X : array (n, d) or CSR matrix
        float64 or float32, C-contiguous; a sparse one with sorted column numbers.
    positives, negatives : int64 arrays
        Row numbers of either class, in the order in which solvers meet them: shuffled.

    Examples
    --------
    >>> pairs = Pairs.from_labels(np.eye(3), np.array([True, False, False]), np.random.default_rng(0))
    >>> pairs.n_rows, pairs.n_features, pairs.positives
    (3, 3, array([0]))
    """

    X: Any
    positives: np.ndarray
    negatives: np.ndarray

    @classmethod
    def from_labels(cls, X: Any, positive: np.ndarray, rng: np.random.Generator) -> Pairs:
        """Return pairs of the rows where `positive` is true with those where it is not, both shuffled."""
        from nearer._compiled.pairwise_rows import shuffle_rows

        positive = np.asarray(positive, dtype=bool)
        lists = [np.flatnonzero(side) for side in (positive, ~positive)]
        # numpy's own shuffle takes several times as long, which a fit of milliseconds feels
        for rows in lists:
            shuffle_rows(rows, int(rng.integers(2**62)))
        return cls(ready(X), *lists)

    @property
    def n_rows(self) -> int:
        """Rows that take part."""
        return len(self.positives) + len(self.negatives)

    @property
    def both(self) -> bool:
        """Whether there are rows of either class."""
        return min(len(self.positives), len(self.negatives)) > 0

    @property
    def n_features(self) -> int:
        return int(self.X.shape[1])

    @property
    def is_sparse(self) -> bool:
        return bool(sparse.issparse(self.X))

    @property
    def entries_per_row(self) -> float:
        """Numbers that a row takes to hold, on average."""
        return self.X.nnz / max(self.X.shape[0], 1) if self.is_sparse else float(self.n_features)

    def mixed(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return all rows in one shuffled list, and the class of each: 0 positive, 1 negative."""
        from nearer._compiled.pairwise_rows import shuffle_rows

        places = np.arange(self.n_rows)
        shuffle_rows(places, int(rng.integers(2**62)))
        sides = (places >= len(self.positives)).astype(np.int64)
        return np.concatenate([self.positives, self.negatives])[places], sides

    def spread(self, most: int = 256) -> tuple[float, int]:
        """Return the mean squared distance of up to `most` pairs from the head of both lists, and their number."""
        count = min(most, max(len(self.positives), len(self.negatives)))
        rows, others = (np.resize(side, count) for side in (self.positives, self.negatives))
        if self.is_sparse:
            from nearer._compiled.pairwise_rows import sparse_distances

            total = sparse_distances(*sparse_arrays(self.X), rows, others, self.n_features)
        else:
            difference = self.X[rows] - self.X[others]
            total = np.einsum("ij,ij->", difference, difference, dtype=np.float64)
        return float(total) / count, count


class LazyRows:
    """Features that are worked out when they are asked for.

    >>> LazyRows(np.eye(3), lambda rows: 2 * rows, 3)[np.array([2])]
    array([[0., 0., 2.]])
    """

    def __init__(self, X: Any, row_map: Callable[[Any], Any], width: int):
        self._X, self._map = X, row_map
        self.shape = (X.shape[0], width)

    def __getitem__(self, rows: np.ndarray) -> np.ndarray:
        return np.asarray(self._map(self._X[rows]))


def ready(X: Any) -> Any:
    """Return X in the form that solvers walk over: floats, C-contiguous or CSR with sorted columns.

    >>> ready(np.eye(2, dtype=int)).dtype
    dtype('float64')
    """
    if sparse.issparse(X):
        X = X.tocsr()
        kind = X.dtype if X.dtype in (np.float32, np.float64) else np.float64
        X = X.astype(kind, copy=False)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return X
    X = np.asarray(X)
    if X.ndim != 2:
        raise InputError(f"X must have two dimensions, rows and features, not {X.ndim}")
    return np.ascontiguousarray(X, dtype=X.dtype if X.dtype == np.float32 else np.float64)


def sparse_arrays(X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return row starts (int64), columns (int32) and numbers of a CSR matrix, in the types of the compiled loops."""
    return X.indptr.astype(np.int64, copy=False), X.indices.astype(np.int32, copy=False), X.data
