"""What a model of rows and labels in one space can be asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from nearer._utils.arrays import row_blocks
from nearer._utils.runtime import one_thread
from nearer._utils.tables import finite_rows
from nearer.coembedding.decisions import Decisions
from nearer.coembedding.labels import read_labels
from nearer.coembedding.rows import Preparation
from nearer.errors import InputError
from nearer.objectives.affinities import affinities_of
from nearer.pairwise.inputs import checked_rows


class LabelModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClassifierMixin, BaseEstimator):
    """Decisions, probabilities and points of rows, by distances from labels and from a threshold."""

    classes_: np.ndarray
    row_factor_: np.ndarray
    label_factor_: np.ndarray
    label_embedding_: np.ndarray
    threshold_embedding_: np.ndarray
    preparation_: Preparation
    decisions_: Decisions
    temperature_: float
    single_: bool
    sparse_: bool
    n_label_features_: int

    def decision_function(self, X: ArrayLike, label_features: Any = None) -> np.ndarray:
        """Return by how much each affinity is above the cut: a row is predicted to have labels above 0.

        With one label per row, return affinities; with two such labels, the difference of both, of shape (n,).

        Parameters
        ----------
        X : array or CSR matrix (n, n_features)
            The rows.
        label_features : array or sparse matrix (k, n_label_features), optional
            Features of other labels, to decide about instead of those of the fit.
        """
        found = self._affinities(X, label_features)
        if not self.single_:
            return found - self.decisions_.cuts(label_features is None)
        return found[:, 1] - found[:, 0] if found.shape[1] == 2 and label_features is None else found

    def predict(self, X: ArrayLike, label_features: Any = None) -> Any:
        """Return the labels of each row: zeros and ones (n, n_labels), or one label per row, as the fit was given.

        The table is sparse if that of the fit was.

        Parameters
        ----------
        X, label_features
            As in `decision_function`. With one label per row, other labels are named by their numbers.
        """
        if self._is_single():
            best = self._affinities(X, label_features).argmax(axis=1)
            return self.classes_[best] if label_features is None else best
        cuts = self.decisions_.cuts(label_features is None)
        blocks = [block > cuts for block in self._affinity_blocks(X, label_features)]
        if self.sparse_:
            return sparse.vstack([sparse.csr_matrix(block.astype(int)) for block in blocks], format="csr")
        return np.vstack(blocks).astype(int)

    def predict_proba(self, X: ArrayLike, label_features: Any = None) -> np.ndarray:
        """Return calibrated probabilities of the labels, of shape (n, n_labels).

        Those of a row sum to 1 if every row has one label. They do not depend on `threshold`: with "micro-f1", labels
        are often predicted whose probability is below one half.

        Parameters
        ----------
        X, label_features
            As in `decision_function`.
        """
        found = self._affinities(X, label_features)
        if not self.single_:
            return self.decisions_.probabilities(found, label_features is None)
        from scipy.special import softmax

        return softmax(self.temperature_ * found, axis=1)

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Return the points of rows (n, rank), in the space of `label_embedding_`.

        Parameters
        ----------
        X : array or CSR matrix (n, n_features)
            The rows.
        """
        points = self._points(X)
        return points.astype(np.float32) if getattr(X, "dtype", None) == np.float32 else points

    def score(self, X: ArrayLike, y: Any, label_features: Any = None) -> float:
        """Return the micro-averaged F1 of predictions; with one label per row, the share that is right.

        Parameters
        ----------
        X : array or CSR matrix (n, n_features)
            The rows.
        y
            Their labels, of the form that the fit was given.
        label_features : array or sparse matrix (k, n_label_features), optional
            Features of the labels, if these are others than those of the fit.
        """
        if self._is_single():
            from sklearn.metrics import accuracy_score

            return float(accuracy_score(y, self.predict(X, label_features)))
        found = sparse.csr_matrix(self.predict(X, label_features))
        labels = read_labels(y, found.shape[0])
        if labels.matrix.shape != found.shape:
            raise InputError(
                f"has shape {labels.matrix.shape}, but predictions have shape {found.shape}: give a column for each "
                "label",
                parameter="y",
            )
        total = found.nnz + labels.matrix.nnz
        return float(2 * found.multiply(labels.matrix).sum() / total) if total else 1.0

    # -- inside -------------------------------------------------------------------------------------------------

    def _is_single(self) -> bool:
        check_is_fitted(self)
        return self.single_

    def _affinities(self, X: ArrayLike, label_features: Any) -> np.ndarray:
        return np.vstack(list(self._affinity_blocks(X, label_features)))

    def _affinity_blocks(self, X: ArrayLike, label_features: Any) -> Iterator[np.ndarray]:
        """Yield affinities of rows with labels, some rows at a time."""
        points = self._points(X)
        labels = self.label_embedding_ if label_features is None else self._placed(label_features)
        V = np.vstack([labels, self.threshold_embedding_])
        for block in row_blocks(len(points), len(V)):
            yield affinities_of(points[block], V)

    @one_thread()
    def _points(self, X: ArrayLike) -> np.ndarray:
        check_is_fitted(self)
        return np.asarray(self.preparation_(checked_rows(self, X)) @ self.row_factor_)

    def _placed(self, label_features: Any) -> np.ndarray:
        """Return the points of labels by their features."""
        if not self.n_label_features_:
            raise InputError(
                "are given, but the model was fitted without: fit again with the features of the labels",
                parameter="label_features",
            )
        features = checked_label_features(label_features, None)
        if features.shape[1] != self.n_label_features_:
            raise InputError(
                f"have {features.shape[1]} columns, but those of the fit had {self.n_label_features_}: give the same "
                "features",
                parameter="label_features",
            )
        return np.asarray(features @ self.label_factor_)

    @property
    def _n_features_out(self) -> int:
        return self.row_factor_.shape[1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def checked_label_features(features: Any, n_labels: int | None) -> Any:
    """Return features of labels, dense or CSR, finite, one row per label."""
    if features is None:
        return None
    found = sparse.csr_matrix(features) if sparse.issparse(features) else np.asarray(features)
    if found.ndim != 2 or (n_labels is not None and found.shape[0] != n_labels):
        wanted = "" if n_labels is None else f", but there are {n_labels} labels"
        raise InputError(
            f"have shape {found.shape}{wanted}: give one row per label", parameter="label_features"
        )
    return finite_rows(found.astype(np.float64))
