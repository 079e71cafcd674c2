"""Points as the kind of table that a user has asked for by `set_output`."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin


class Output(TransformerMixin, BaseEstimator):
    """A transformer whose result is known already; scikit-learn puts it into a frame, with the index of the rows.

    Learners of distances are transformers only with `pair="metric"`, so that they cannot be of its class.
    """

    def __init__(self, points: np.ndarray, names: np.ndarray):
        self.points = points
        self.names = names

    def transform(self, X: Any) -> np.ndarray:
        """Return the points of these rows."""
        del X  # only its index is used
        return self.points

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns."""
        del input_features  # the columns are not those of the rows
        return self.names

    def __sklearn_is_fitted__(self) -> bool:
        return True
