"""Rows of two classes that a linear model has made, dense or sparse, as many as one likes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import expit

#: directions that the dense features share, so that they are not independent
_SHARED = 5
#: log-odds of a row of zeros
_OFFSET = -2.0


@dataclass(frozen=True)
class World:
    """What rows are drawn from; the same seed is the same world.

    Parameters
    ----------
    kind : {"dense", "zipf", "uniform"}
        Gaussian features of which some go together; or rows of `entries` features each, all numbers equal, some
        features far more common than others, as words are, or all as common.
    d : int
        Number of features.
    entries : int
        Of a sparse row.
    seed : int
    """

    kind: str
    d: int
    entries: int = 50
    seed: int = 0

    def rows(self, n: int, draw: int) -> tuple[Any, np.ndarray]:
        """Rows, and which of them are positive; another `draw`, other rows.

        >>> X, positive = World("zipf", 1000, entries=20).rows(100, draw=0)
        >>> X.shape, X.nnz <= 2000, bool(0.05 < positive.mean() < 0.5)
        ((100, 1000), True, True)
        """
        rng = np.random.default_rng([self.seed, draw, n])
        X = self._dense(n, rng) if self.kind == "dense" else self._sparse(n, rng)
        scores = X @ self.truth()
        return X, rng.uniform(size=n) < expit(scores + _OFFSET)

    def truth(self) -> np.ndarray:
        """The weights behind the labels."""
        weights = np.random.default_rng([self.seed, 2**32]).normal(size=self.d)
        return weights * (2 / np.linalg.norm(weights) if self.kind == "dense" else 3.0)

    def _dense(self, n: int, rng: np.random.Generator) -> np.ndarray:
        mixing = np.random.default_rng([self.seed, 2**33]).normal(size=(_SHARED, self.d)) / 2
        X = rng.normal(size=(n, self.d))
        X += rng.normal(size=(n, _SHARED)) @ mixing
        X /= np.sqrt(1 + (mixing**2).sum(axis=0))
        return X

    def _sparse(self, n: int, rng: np.random.Generator) -> Any:
        draws = rng.uniform(size=(n, self.entries))
        # the logarithm of a feature's number is about uniform: the k-th is met 1/k times as often as the first
        places = (self.d + 1.0) ** draws - 1 if self.kind == "zipf" else self.d * draws
        columns = np.minimum(places, self.d - 1).astype(np.int32)
        columns.sort(axis=1)
        starts = np.arange(0, columns.size + 1, self.entries)
        numbers = np.full(columns.size, 1 / np.sqrt(self.entries))
        X = sparse.csr_matrix((numbers, columns.ravel(), starts), shape=(n, self.d))
        X.sum_duplicates()
        return X
