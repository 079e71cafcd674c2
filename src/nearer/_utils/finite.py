"""Numbers that are not finite, found and named, and numbers whose sums or squares would not be."""

from __future__ import annotations

from typing import Any

import numpy as np

#: larger settings, starts and kernels are refused: sums of their squares must stay finite
LARGEST = 1e100


def relative(weights: np.ndarray) -> np.ndarray:
    """Return weights as shares of the largest one: the sum of huge weights would overflow.

    >>> relative(np.array([0.0, 1e308, 1e308])).sum()
    np.float64(2.0)
    """
    largest = weights.max(initial=0.0)
    return weights / largest if largest > 0 else weights


def finite_rows(features: Any) -> Any:
    """The features, dense or CSR, if they are finite; otherwise one sentence about the first that is not.

    >>> finite_rows(np.array([[1.0, np.nan]]))
    Traceback (most recent call last):
    nearer.errors.InputError: features hold NaN in row 0, column 1: fill or drop missing values first
    """
    from nearer.errors import InputError

    is_dense = isinstance(features, np.ndarray)
    numbers = features if is_dense else features.data
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(numbers.sum()):  # without a temporary array
            return features
    bad = np.argwhere(~np.isfinite(numbers))
    if not len(bad):  # finite numbers with a sum that is not
        return features
    if is_dense:
        row, column = bad[0]
    else:
        row = np.searchsorted(features.indptr, bad[0, 0], side="right") - 1
        column = features.indices[bad[0, 0]]
    value = "NaN" if np.isnan(numbers[tuple(bad[0])]) else "infinity"
    raise InputError(
        f"features hold {value} in row {row}, column {column}: fill or drop missing values first"
    )
