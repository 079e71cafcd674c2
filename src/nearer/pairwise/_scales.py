"""Columns in units of their own: how large each one's numbers are, and whether to divide by that before learning.

Steps on pairs go as far in a column as its numbers are large: a column in thousands drowns one in tenths. What a
column is measured from cancels in a pair, so that its size is all there is to mend.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from nearer.errors import InputError

#: "auto" divides where the largest column is so many times as large as a quarter of them; steps bear less than that
APART = 20.0
#: rows that sizes, and the width of a kernel, are found from
_SAMPLE = 1000
_COLUMNS_AT_ONCE = 64


def check_scale(value: Any) -> None:
    """Refuse anything but "auto", True and False."""
    if not (isinstance(value, bool) or (isinstance(value, str) and value == "auto")):
        raise InputError(f'scale must be "auto", True or False, not {value!r}')


def scales_of(X: Any, scale: bool | str) -> np.ndarray | None:
    """What to divide the columns by, or None to leave them as they are.

    >>> X = np.array([[1.0, 0.0], [-1.0, 1000.0], [0.0, 0.0]])
    >>> scales_of(X, "auto"), scales_of(X, False), scales_of(X[:, :1], "auto")
    (array([   1., 1000.]), None, None)
    """
    if scale is False:
        return None
    sizes, spreads = column_sizes(X)
    if scale == "auto" and not (_are_apart(sizes) and _are_apart(spreads)):
        return None
    return np.where(sizes > 0, sizes, 1.0)


def _are_apart(sizes: np.ndarray) -> bool:
    some = sizes[sizes > 0]
    return len(some) > 0 and bool(some.max() > APART * np.quantile(some, 0.25, method="lower"))


def column_sizes(X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Root mean square distance of each column's numbers from the usual one: of those that differ from it, and of all.

    The usual one is the median, and 0 in a sparse matrix. By the first measure flags have size 1, however rare, and
    dense columns that are mostly 0 the same size as sparse ones; by the second, columns that somebody has brought to
    unit variance are alike. Columns that are alike by either need no help.
    """
    if sparse.issparse(X):
        squares = np.bincount(X.indices, weights=np.square(X.data, dtype=np.float64), minlength=X.shape[1])
        differing = np.bincount(X.indices[X.data != 0], minlength=X.shape[1])
        return _roots(squares, differing, X.shape[0])
    sample = sample_of(X)
    usual = np.median(sample, axis=0)
    sizes, spreads = _measured(sample - usual)
    constant = np.flatnonzero(sizes == 0)
    for start in range(0, len(constant), _COLUMNS_AT_ONCE):  # perhaps they vary, but seldom
        columns = constant[start : start + _COLUMNS_AT_ONCE]
        sizes[columns], spreads[columns] = _measured(X[:, columns] - usual[columns])
    return sizes, spreads


def sample_of(X: Any) -> Any:
    """Some rows from all over a matrix."""
    return X[np.linspace(0, X.shape[0] - 1, min(X.shape[0], _SAMPLE)).astype(int)]


def _measured(distances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    squares = np.einsum("ij,ij->j", distances, distances, dtype=np.float64)
    return _roots(squares, np.count_nonzero(distances, axis=0), len(distances))


def _roots(squares: np.ndarray, differing: np.ndarray, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    return np.sqrt(squares / np.maximum(differing, 1)), np.sqrt(squares / n_rows)


def divided(X: Any, scales: np.ndarray | None) -> Any:
    """The columns divided by their scales, in the precision that they have."""
    if scales is None:
        return X
    if sparse.issparse(X):
        data = (X.data / scales[X.indices]).astype(X.dtype, copy=False)
        return sparse.csr_matrix((data, X.indices, X.indptr), shape=X.shape)
    return X / scales.astype(X.dtype)
