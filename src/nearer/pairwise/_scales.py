"""Offsets and scales of columns: what to subtract, how large the numbers are, and what to divide by.

The offset of a column cancels in a pair, and so does its unit once the column is divided by its size. Learning still
depends on both unless they are removed first: steps are longer in columns with larger numbers, the L2 term compares
weights that have units, and digits are lost if numbers are large compared with their differences.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from nearer.errors import InputError

#: columns are scaled if the largest is this many times as large as a quarter of them; steps cope with less
APART = 20.0
#: rows are shifted if they lie this many times farther from 0 than from each other
_FAR = 100.0
#: rows that sizes, and the width of a kernel, are found from
_SAMPLE = 1000
_COLUMNS_AT_ONCE = 64


def check_scale(value: Any) -> None:
    """Refuse anything but "auto", True and False."""
    if not (isinstance(value, bool) or (isinstance(value, str) and value == "auto")):
        raise InputError(f'must be "auto", True or False, not {value!r}', parameter="scale")


@dataclass(frozen=True)
class Columns:
    """Statistics of the columns of some rows.

    Attributes
    ----------
    usual : array (d,)
        The median of each, one of its numbers; 0 in a sparse column unless more than half of it is stored.
    sizes : array (d,)
        Root mean square distance from the usual number of those that differ from it: flags have size 1, however rare.
    spreads : array (d,)
        The same of all numbers.
    filled : float
        Share of the numbers that differ from the usual one of their column.
    """

    usual: np.ndarray
    sizes: np.ndarray
    spreads: np.ndarray
    filled: float

    @property
    def is_table(self) -> bool:
        """Return whether most numbers differ from the median, as in measurements: columns then have their own units."""
        return self.filled > 0.5

    @property
    def are_apart(self) -> bool:
        """Return whether columns differ in size by both measures: columns similar by either share a unit."""
        return _are_apart(self.sizes) and _are_apart(self.spreads)

    @property
    def are_far(self) -> bool:
        """Return whether differences of rows lose digits because the rows are far from 0."""
        return bool(np.linalg.norm(self.usual) > _FAR * np.linalg.norm(self.spreads))

    def divided_by(self, scales: np.ndarray | None) -> Columns:
        """Return the statistics of the columns divided by scales."""
        if scales is None:
            return self
        return Columns(self.usual / scales, self.sizes / scales, self.spreads / scales, self.filled)


def columns_of(X: Any) -> Columns:
    """Describe the columns of a dense or CSR matrix.

    >>> columns = columns_of(np.array([[5.0, 0.0], [8.0, 0.0], [5.0, 0.0], [5.0, 7.0]]))
    >>> columns.usual, columns.sizes, columns.spreads
    (array([5., 0.]), array([3., 7.]), array([1.5, 3.5]))
    """
    sample = sample_of(X)
    usual = _usual(sample)
    squares, shares = _distances(sample, usual)
    seldom = np.flatnonzero(shares == 0)
    if len(seldom) and sample.shape[0] < X.shape[0]:  # constant in the sample, but perhaps not in all rows
        squares[seldom], shares[seldom] = _rare_distances(X, seldom, usual[seldom])
    sizes = np.sqrt(squares / np.where(shares > 0, shares, 1.0))
    return Columns(usual, sizes, np.sqrt(squares), float(shares.mean()))


def _usual(sample: Any) -> np.ndarray:
    """Return medians of an odd number of rows: numbers of the column itself, so equal ones differ by exactly 0."""
    sample = sample[: sample.shape[0] - 1 + sample.shape[0] % 2]
    if not sparse.issparse(sample):
        return np.median(sample, axis=0).astype(np.float64)
    usual = np.zeros(sample.shape[1])
    counts = np.bincount(sample.indices[sample.data != 0], minlength=sample.shape[1])
    columns = np.flatnonzero(2 * counts > sample.shape[0])  # the median of others is 0
    if len(columns):
        usual[columns] = np.median(_dense(sample, columns), axis=0)
    return usual


def _distances(X: Any, usual: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return each column's mean squared distance from its usual number, and the share of numbers that differ."""
    n, d = X.shape
    if not sparse.issparse(X):
        away = X - usual.astype(X.dtype)
        return np.einsum("ij,ij->j", away, away, dtype=np.float64) / n, np.count_nonzero(away, axis=0) / n
    squares = np.bincount(X.indices, weights=np.square(X.data, dtype=np.float64), minlength=d) / n
    shares = np.bincount(X.indices[X.data != 0], minlength=d) / n
    columns = np.flatnonzero(usual)
    if len(columns):
        squares[columns], shares[columns] = _distances(_dense(X, columns), usual[columns])
    return squares, shares


def _rare_distances(X: Any, columns: np.ndarray, usual: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return `_distances` of some columns over all rows, computed in blocks of columns."""
    squares, shares = np.zeros(len(columns)), np.zeros(len(columns))
    at_once = X.shape[1] if sparse.issparse(X) else _COLUMNS_AT_ONCE
    for start in range(0, len(columns), at_once):
        part = slice(start, start + at_once)
        squares[part], shares[part] = _distances(X[:, columns[part]], usual[part])
    return squares, shares


def _dense(X: Any, columns: np.ndarray) -> np.ndarray:
    return np.asarray(X[:, columns].toarray())


def sample_of(X: Any) -> Any:
    """Return up to 1,000 rows, evenly spaced over a matrix."""
    return X[np.linspace(0, X.shape[0] - 1, min(X.shape[0], _SAMPLE)).astype(int)]


def scales_of(columns: Columns, scale: bool | str, one_unit: bool = False) -> np.ndarray | None:
    """Return what to divide the columns by; None leaves them unchanged.

    "auto" divides the columns of a table, and other columns if their sizes differ widely. If most numbers are the usual
    one, as in texts, moderate differences carry information: rare words weigh more.

    Parameters
    ----------
    one_unit : bool
        Whether the columns may share a unit: "auto" then divides only if their sizes differ widely.

    Examples
    --------
    >>> columns = columns_of(np.array([[1.0, 0.0], [-1.0, 1000.0], [0.0, 0.0]]))
    >>> scales_of(columns, "auto"), scales_of(columns, False)
    (array([   1., 1000.]), None)
    """
    if scale is False:
        return None
    if scale == "auto" and not columns.are_apart and (one_unit or not columns.is_table):
        return None
    return np.where(columns.sizes > 0, columns.sizes, 1.0)


def _are_apart(sizes: np.ndarray) -> bool:
    some = sizes[sizes > 0]
    return len(some) > 0 and bool(some.max() > APART * np.quantile(some, 0.25, method="lower"))


def shift_of(columns: Columns, always: bool) -> np.ndarray | None:
    """Return what to subtract from the columns, always or only if they are far from 0; None leaves them unchanged."""
    return columns.usual if (always or columns.are_far) and columns.usual.any() else None


def length_of_rows(columns: Columns, scale: bool | str) -> float:
    """Return the unit of weights in the L2 term: 1 for columns of size 1, otherwise the typical length of a row."""
    total = float(np.linalg.norm(columns.spreads))
    return 1.0 if scale is False or columns.is_table or total == 0 else total


def moved(X: Any, shift: np.ndarray | None, scales: np.ndarray | None) -> Any:
    """Subtract the shifts from the columns and divide by the scales, in the precision of X.

    A sparse matrix stays sparse: only columns that are more than half full are shifted, so the number of stored entries
    at most doubles.
    """
    if sparse.issparse(X):
        return _moved_sparse(X, shift, scales)
    if shift is not None:
        X = X - shift.astype(X.dtype)
        if scales is not None:
            X /= scales.astype(X.dtype)
        return X
    return X if scales is None else X / scales.astype(X.dtype)


def _moved_sparse(X: Any, shift: np.ndarray | None, scales: np.ndarray | None) -> Any:
    if shift is not None and shift.any():
        columns = np.flatnonzero(shift)
        n = X.shape[0]
        numbers = np.tile(shift[columns].astype(X.dtype), n)
        starts = np.arange(n + 1) * len(columns)
        X = X - sparse.csr_matrix((numbers, np.tile(columns, n), starts), shape=X.shape)
    if scales is None:
        return X
    data = (X.data / scales[X.indices]).astype(X.dtype, copy=False)
    return sparse.csr_matrix((data, X.indices, X.indptr), shape=X.shape)
