"""The methods that every fitted kernel has, however it was learned."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from nearer._fitting import as_comparisons, known_to
from nearer._utils.arrays import relative
from nearer._utils.runtime import threads_for
from nearer._utils.validation import whole
from nearer.comparisons import Comparisons
from nearer.errors import InputError
from nearer.losses import Loss
from nearer.losses import find as find_loss
from nearer.solvers.spectrum import lanczos_is_quicker

#: eigenvalues below this share of the largest are zero
RANK_TOLERANCE = 1e-9


def _has_probability(estimator: Any) -> bool:
    loss = find_loss(getattr(estimator, "loss_", estimator.loss))
    if not loss.has_probability:
        raise AttributeError(f"the loss {loss.name!r} has no probability: use ste, tste or ckl")
    return True


class KernelModel:
    """Predictions, score, rank and points of a kernel over the objects.

    A class that mixes this in sets `kernel_` (n, n), `names_` and, for probabilities, `loss_` (before the fit: `loss`).
    A class with another form of the kernel overrides `_n_objects`, `_highest_rank`, `_compared` and `_leading`.
    """

    kernel_: np.ndarray
    names_: tuple[str, ...] | None
    loss_: Loss

    def predict(self, X: Comparisons | ArrayLike) -> np.ndarray:
        """Return whether the first pair of each comparison is nearer; a tie is False."""
        near, far = self._distances(self._known(X))
        return near < far

    @available_if(_has_probability)
    def predict_proba(self, X: Comparisons | ArrayLike) -> np.ndarray:
        """Return the probability that the first pair is called nearer; unavailable for losses without one."""
        near, far = self._distances(self._known(X))
        return self.loss_.probability(near, far)

    def score(self, X: Comparisons | ArrayLike, y: ArrayLike | None = None) -> float:
        """Return the share of the comparisons that hold (weighted if they have weights)."""
        comparisons = self._known(X, y)
        weights = None if comparisons.weights is None else relative(comparisons.weights)
        if len(comparisons) == 0 or (weights is not None and not weights.any()):
            raise InputError(
                "the score of no comparisons is undefined: pass at least one with a weight above 0"
            )
        near, far = self._distances(comparisons)
        return float(np.average(near < far, weights=weights))

    @property
    def rank_(self) -> int:
        """Return the number of eigenvalues of the kernel that are not zero, compared with the largest."""
        check_is_fitted(self)
        values = self._leading(self._highest_rank)[0]
        return int(np.sum(values > RANK_TOLERANCE * max(values[0], 0.0)))

    def embedding(self, n_components: int = 2) -> np.ndarray:
        """Return points whose inner products are closest to the kernel: its leading eigenvectors, scaled.

        Parameters
        ----------
        n_components : int
            Number of columns, at most that of objects; those beyond the rank of the kernel are zero.

        Returns
        -------
        array of shape (n_objects, n_components)
        """
        check_is_fitted(self)
        whole("n_components", n_components)
        if n_components > self._n_objects:
            raise InputError(
                f"n_components is {n_components} but the kernel has {self._n_objects} objects: ask for fewer"
            )
        values, vectors = self._leading(n_components)
        signs = np.sign(np.take_along_axis(vectors, abs(vectors).argmax(axis=0)[None], axis=0))
        return vectors * np.where(signs == 0, 1, signs) * np.sqrt(np.maximum(values, 0))

    # -- what another form of the kernel overrides --------------------------------------------------------------

    @property
    def _n_objects(self) -> int:
        return len(self.kernel_)

    @property
    def _highest_rank(self) -> int:
        """Return the largest rank that the kernel can have."""
        return self._n_objects

    def _compared(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the squared distances of the two pairs of every triplet or quadruplet."""
        return kernel_distances(self.kernel_, indices)

    def _leading(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the `count` largest eigenvalues, largest first, and their eigenvectors as columns."""
        return leading_eigenpairs(self.kernel_, count)

    # -- inside -------------------------------------------------------------------------------------------------

    def _known(self, X: Comparisons | ArrayLike, y: ArrayLike | None = None) -> Comparisons:
        check_is_fitted(self)
        return known_to(as_comparisons(X, y), self._n_objects, self.names_)

    def _distances(self, comparisons: Comparisons) -> tuple[np.ndarray, np.ndarray]:
        return self._compared(comparisons.indices)


def kernel_distances(kernel: np.ndarray, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the squared distances `K_ii - 2 K_ij + K_jj` of the two pairs of every comparison.

    >>> kernel_distances(np.array([[0.0, 0, 0], [0, 1, 3], [0, 3, 9]]), np.array([[0, 1, 2]]))
    (array([1.]), array([9.]))
    """
    third = 2 if indices.shape[1] == 4 else 0  # a triplet's second pair starts at its anchor
    own = np.diagonal(kernel)

    def squared(first: np.ndarray, second: np.ndarray) -> np.ndarray:
        return own[first] - 2 * kernel[first, second] + own[second]

    return squared(indices[:, 0], indices[:, 1]), squared(indices[:, third], indices[:, -1])


def leading_eigenpairs(kernel: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the `count` largest eigenvalues, largest first, with eigenvectors; by Lanczos for few of many.

    >>> leading_eigenpairs(np.diag([1.0, 3.0, 2.0]), 2)[0]
    array([3., 2.])
    """
    from scipy.linalg import eigh
    from scipy.sparse.linalg import ArpackNoConvergence, eigsh

    n = len(kernel)
    found = None
    if lanczos_is_quicker(n, count):
        start = np.random.default_rng(0).normal(size=n)  # fixed, so that equal kernels have equal points
        with suppress(ArpackNoConvergence):  # many equal eigenvalues, such as zeros beyond the rank
            found = eigsh(kernel, k=count, which="LA", v0=start)
    if found is None:
        with threads_for(n):
            found = eigh(kernel, subset_by_index=(n - count, n - 1))
    values, vectors = found
    order = np.argsort(values)[::-1]
    return values[order], vectors[:, order]
