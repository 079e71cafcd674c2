"""The matrix of samples, dense or sparse, and the products that linear scores need."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from nearer._utils.tables import well_formed

#: entries converted from float32 at a time: few enough to stay in the processor's cache
_CHUNK = 1 << 16
#: columns made dense at a time
_COLUMNS = 64


class Design:
    """X as given, float64 or float32, dense or CSR; all products are float64.

    Single precision is kept in memory and converted block by block: sums over 10^5 rows need double precision.
    """

    def __init__(self, X: Any):
        from sklearn.utils import check_array

        self.X = check_array(
            well_formed(X), accept_sparse="csr", dtype=(np.float64, np.float32), input_name="X"
        )
        self.n_samples, self.n_features = self.X.shape
        # scipy's products with CSR widen by themselves
        self._widen = isinstance(self.X, np.ndarray) and self.X.dtype == np.float32

    def times(self, v: np.ndarray) -> np.ndarray:
        """Return X v."""
        if not self._widen:
            return self.X @ v
        return np.concatenate([rows @ v for _, rows in self._pieces()])

    def back(self, a: np.ndarray) -> np.ndarray:
        """Return Xᵀ a, for a vector or for the columns of a matrix."""
        if not self._widen:
            return self.X.T @ a
        return np.sum([rows.T @ a[part] for part, rows in self._pieces()], axis=0)

    def columns(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield dense blocks of columns."""
        for start in range(0, self.n_features, _COLUMNS):
            part = slice(start, min(start + _COLUMNS, self.n_features))
            piece = self.X[:, part]
            yield part, (piece if isinstance(piece, np.ndarray) else piece.toarray()).astype(np.float64)

    def variances(self, weights: np.ndarray) -> np.ndarray:
        """Return the weighted variance of every column."""
        weights = weights / weights.sum()
        mean = self.back(weights)
        if isinstance(self.X, np.ndarray):
            return np.sum([weights[part] @ (rows - mean) ** 2 for part, rows in self._pieces()], axis=0)
        return np.maximum(self.X.multiply(self.X).T @ weights - mean**2, 0.0)

    def _pieces(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield blocks of rows in double precision."""
        step = max(1, _CHUNK // self.n_features)
        for start in range(0, self.n_samples, step):
            part = slice(start, start + step)
            yield part, self.X[part].astype(np.float64, copy=False)
