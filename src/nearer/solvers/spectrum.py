"""The positive part of a symmetric matrix: by Lanczos if few of many eigenpairs are needed, else by LAPACK."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nearer._utils.runtime import threads_for

if TYPE_CHECKING:
    from scipy.sparse import csr_array

#: with fewer rows LAPACK is always faster
_SMALL = 150
#: eigenpairs to compute by Lanczos beyond the expected rank: they show that nothing was missed
_SPARE, _SPARE_SHARE = 5, 10
#: relative accuracy of eigenvalues by Lanczos
_LANCZOS_TOL = 1e-9


@dataclass(frozen=True)
class LowRankPlusSparse:
    """Sum of `coefficient * X Xᵀ` over the factors X, plus `scale` times a sparse matrix."""

    factors: tuple[tuple[float, np.ndarray], ...]
    sparse: csr_array
    scale: float

    def dense(self) -> np.ndarray:
        """Return the matrix itself, n × n."""
        whole = self.sparse.toarray()
        whole *= self.scale
        for coefficient, X in self.factors:
            whole += coefficient * (X @ X.T)
        return whole

    def times(self, V: np.ndarray) -> np.ndarray:
        """Return the product with a vector."""
        product = self.scale * (self.sparse @ V)
        for coefficient, X in self.factors:
            product += coefficient * (X @ (X.T @ V))
        return product


class PositivePart:
    """Find the eigenpairs above a threshold of matrices that change little from call to call.

    The number found by the last call is the guess for the next. Lanczos computes a few more than that. If even the
    smallest of these is above the threshold, some may be missing, and twice as many are computed. With `partial` False,
    every call computes all eigenpairs.
    """

    def __init__(self, guess: int = _SPARE, *, partial: bool = True):
        self.guess, self.partial = guess, partial
        self.seconds = 0.0
        self.n_whole = 0
        self.n_lanczos = 0

    def __call__(
        self, matrix: LowRankPlusSparse, threshold: float, most: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the eigenvalues above the threshold, or the `most` largest of them, and eigenvectors as columns."""
        began = time.perf_counter()
        found = self._lanczos(matrix, threshold, most) or self._whole(matrix, threshold, most)
        self.guess = len(found[0])
        self.seconds += time.perf_counter() - began
        return found

    def _lanczos(
        self, matrix: LowRankPlusSparse, threshold: float, most: int | None
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Return None if a whole decomposition is faster or safer."""
        from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

        n = matrix.sparse.shape[0]
        count = self.guess + max(_SPARE, self.guess // _SPARE_SHARE)
        count = count if most is None else min(count, most)
        while self.partial and lanczos_is_quicker(n, count):
            operator = LinearOperator((n, n), matvec=matrix.times, dtype=np.float64)
            try:
                values, vectors = eigsh(
                    operator, k=count, which="LA", tol=_LANCZOS_TOL, v0=self._start(matrix, n)
                )
            except ArpackNoConvergence:
                return None
            self.n_lanczos += 1
            above = values > threshold
            if count == most or not above.all():
                return values[above], vectors[:, above]
            count = 2 * count if most is None else min(2 * count, most)
        return None

    def _start(self, matrix: LowRankPlusSparse, n: int) -> np.ndarray:
        """Return a vector that is likely in the wanted space: the span of the factors, and a little of everything."""
        rng = np.random.default_rng(n)  # fixed draws, so that equal problems have equal results
        _, X = matrix.factors[0]
        within = X @ rng.normal(size=X.shape[1])
        size = float(np.linalg.norm(within))
        return within + rng.normal(size=n) * (0.1 * size / np.sqrt(n) if size > 0 else 1.0)

    def _whole(
        self, matrix: LowRankPlusSparse, threshold: float, most: int | None
    ) -> tuple[np.ndarray, np.ndarray]:
        from scipy.linalg import eigh

        self.n_whole += 1
        dense = matrix.dense()
        with threads_for(len(dense)):
            if not self.partial or self.guess > len(dense) // 8:
                values, vectors = np.linalg.eigh(dense)
                above = values > threshold
                values, vectors = values[above], vectors[:, above]
            else:
                values, vectors = eigh(
                    dense, subset_by_value=(threshold, np.inf), overwrite_a=True, check_finite=False
                )
        return (values, vectors) if most is None else (values[-most:], vectors[:, -most:])


def lanczos_is_quicker(n: int, count: int) -> bool:
    """Return whether Lanczos finds `count` leading eigenpairs of n faster than LAPACK does.

    Measured on one core: LAPACK's time grows with n³, that of Lanczos with about `n * count * (count + 50)`.

    >>> lanczos_is_quicker(1000, 60), lanczos_is_quicker(1000, 200), lanczos_is_quicker(100, 5)
    (True, False, False)
    """
    return n >= _SMALL and count * (count + 50) < n * n // 120
