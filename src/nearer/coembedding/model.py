"""What a learned metric can be asked, whatever it was learned from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from nearer._utils.runtime import one_thread
from nearer.coembedding.inputs import pairs_of, read, rows_of
from nearer.errors import InputError


class MetricModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Points, distances and scores under a metric Q Qᵀ."""

    metric_factor_: np.ndarray
    shift_: np.ndarray
    preprocessor: Any

    @one_thread()
    def transform(self, X: ArrayLike) -> np.ndarray:
        """Return rows as points (n, rank) whose usual distances are the learned ones.

        Parameters
        ----------
        X : array or CSR matrix (n, n_features), or indices (n,) for the preprocessor
            The rows.
        """
        check_is_fitted(self)
        return self._points(rows_of(self, X))

    def pair_distance(self, X: ArrayLike, other: ArrayLike | None = None) -> np.ndarray:
        """Return the learned distance, not squared, of each pair of rows.

        Parameters
        ----------
        X : array (n, 2, n_features), or indices (n, 2) for the preprocessor, or rows (n, n_features) with `other`
            The pairs, or the first row of each.
        other : array (n, n_features), optional
            The second row of each.
        """
        check_is_fitted(self)
        first, second = pairs_of(self, X) if other is None else (rows_of(self, X), rows_of(self, other))
        if first.shape != second.shape:
            raise InputError(
                f"has {second.shape[0]} rows, but X has {first.shape[0]}: give as many", parameter="other"
            )
        return np.linalg.norm(self._points(first) - self._points(second), axis=1)

    def get_metric(self) -> Callable[..., float]:
        """Return the learned distance as a function of two rows, for example for `KNeighborsClassifier(metric=...)`.

        The function returns the squared distance with `squared=True`.
        """
        check_is_fitted(self)
        Q = self.metric_factor_.copy()

        def metric(u: ArrayLike, v: ArrayLike, squared: bool = False) -> float:
            """Return the learned distance of two rows."""
            difference = (np.asarray(u, dtype=float) - np.asarray(v, dtype=float)) @ Q
            square = float(difference @ difference)
            return square if squared else square**0.5

        return metric

    def get_mahalanobis_matrix(self) -> np.ndarray:
        """Return C = Q Qᵀ (n_features, n_features)."""
        check_is_fitted(self)
        return self.metric_factor_ @ self.metric_factor_.T

    @property
    def components_(self) -> np.ndarray:
        """Qᵀ (rank, n_features): the distance of two rows is |components_ @ (x - x')|."""
        check_is_fitted(self)
        return self.metric_factor_.T

    def score(self, X: ArrayLike, y: Any = None) -> float:
        """Return how well the metric agrees with what is known about rows; higher is better.

        For comparisons, it is the share that holds. For labels and for pairs, the area under the ROC curve by which
        nearness tells rows that belong together. For similarities, the coefficient of determination.

        Parameters
        ----------
        X, y
            As in `fit`.
        """
        check_is_fitted(self)
        rows, task = read(self, X, y)
        return task.score(self._points(rows))

    # -- inside -------------------------------------------------------------------------------------------------

    def _points(self, rows: Any) -> np.ndarray:
        """Return Qᵀ (x - shift) per row; a sparse table stays sparse."""
        if isinstance(rows, np.ndarray):
            points = (rows - self.shift_) @ self.metric_factor_
        else:
            points = np.asarray(rows @ self.metric_factor_) - self.shift_ @ self.metric_factor_
        return points.astype(rows.dtype, copy=False)

    @property
    def _n_features_out(self) -> int:
        return self.metric_factor_.shape[1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
