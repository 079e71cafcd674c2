"""Tables that users give: cells that are not numbers, labels of several types, broken sparse matrices."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse

from nearer.errors import InputError

ENCODE = (
    "encode such columns first, for example by OneHotEncoder (or OrdinalEncoder, if they have an order) of "
    "sklearn.preprocessing in a pipeline"
)


@contextmanager
def naming_cells(X: Any, name: str = "features", remedy: str = ENCODE) -> Iterator[None]:
    """If a conversion of X within the block fails, say which cell is not a number.

    >>> with naming_cells([[1.0, "M"]], remedy="give numbers"):
    ...     np.asarray([[1.0, "M"]], dtype=float)
    Traceback (most recent call last):
    nearer.errors.InputError: features hold 'M' in row 0, column 1, which is not a number: give numbers
    """
    try:
        yield
    except InputError:
        raise
    except (ValueError, TypeError) as error:
        message = _complaint(X, name, remedy)
        if message is None:  # the error is about something else
            raise
        raise InputError(message) from error


def _complaint(X: Any, name: str, remedy: str) -> str | None:
    try:
        cells = np.asarray(X, dtype=object)
    except ValueError:  # arrays that differ in all but their first axis
        return None
    if cells.ndim == 1 and any(isinstance(row, list | tuple | np.ndarray) for row in cells):
        return _of_lengths(cells, name)
    if cells.ndim not in (1, 2) or _converts(X):
        return None
    for column, values in enumerate(np.atleast_2d(cells.T)):
        for row, value in enumerate(values):
            reason = None if _converts(value) else _reason(value, remedy)
            if reason is not None:
                place = f"row {row}" if cells.ndim == 1 else f"row {row}, column {_named(X, column)}"
                value = value.item() if isinstance(value, np.generic) else value
                return f"{name} hold {value!r} in {place}, {reason}"
    return None


def _of_lengths(rows: Any, name: str) -> str | None:
    """Return an error about rows of different lengths, if there are any."""
    lengths = [len(row) if isinstance(row, list | tuple | np.ndarray) else 1 for row in rows]
    other = next((row for row, length in enumerate(lengths) if length != lengths[0]), None)
    if other is None:
        return None
    return f"{name} have {lengths[0]} columns in row 0 but {lengths[other]} in row {other}: give rows of equal length"


def _converts(value: Any) -> bool:
    try:
        array = np.asarray(value)
        return array.dtype.kind in "biufc" or array.astype(np.float64).shape == array.shape
    except (ValueError, TypeError):
        return False


def _reason(value: Any, remedy: str) -> str | None:
    """Return what is wrong with a cell and what to do; None for objects that nobody would expect in a table."""
    if isinstance(value, str | bytes):
        return f"which is not a number: {remedy}"
    if type(value).__name__ in ("NAType", "NaTType"):
        return "a missing value: fill or drop missing values first"
    if hasattr(value, "isoformat"):
        return "which is not a number: turn dates into numbers first, for example into days since one of them"
    return None


def _named(X: Any, column: int) -> str:
    names = getattr(X, "columns", None)
    return str(column) if names is None else f"{column} ({list(names)[column]!r})"


def finite_rows(features: Any) -> Any:
    """Return the features, dense or CSR, if they are finite; otherwise raise an error about the first that is not.

    >>> finite_rows(np.array([[1.0, np.nan]]))
    Traceback (most recent call last):
    nearer.errors.InputError: features hold NaN in row 0, column 1: fill or drop missing values first
    """
    is_dense = isinstance(features, np.ndarray)
    numbers = features if is_dense else features.data
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(numbers.sum()):  # without a temporary array
            return features
    bad = np.argwhere(~np.isfinite(numbers))
    if not len(bad):  # the numbers are finite, only their sum is not
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


_KINDS: dict[str, Any] = {
    "number": (Real, np.bool_),
    "text": str,
    "bytes": bytes,
    "date": (date, np.datetime64),
}


def labels_of_one_kind(values: Any, name: str, remedy: str) -> np.ndarray:
    """Return the labels as an array; refuse missing ones, and labels of several types, which have no common order.

    Parameters
    ----------
    values : array-like
        Anything that is not a list of labels (for example an array of two dimensions) is returned unchanged.
    name : str
        What error messages call them.
    remedy : str
        What error messages advise about a missing label.

    Examples
    --------
    >>> labels_of_one_kind([0, None], "y", "leave out rows without a label")
    Traceback (most recent call last):
    nearer.errors.InputError: y holds None in row 1: leave out rows without a label
    """
    array, verb = _array(values), "hold" if name.endswith("s") else "holds"
    name = f"{name} {verb}"
    if array.ndim != 1 or array.dtype.kind not in "Of":
        return array
    if array.dtype.kind == "f":
        _refuse_missing(array != array, array, name, remedy)
        return array
    _refuse_missing(np.array([_is_missing(value) for value in array], dtype=bool), array, name, remedy)
    kinds = [_kind(value) for value in array]
    other = next((row for row, kind in enumerate(kinds) if kind != kinds[0]), None)
    if other is not None:
        raise InputError(
            f"{name} {_shown(array[0])} ({kinds[0]}) in row 0 and {_shown(array[other])} ({kinds[other]}) in row "
            f"{other}: give labels of one type, all numbers or all strings"
        )
    if len(kinds) and kinds[0] not in _KINDS:
        raise InputError(f"{name} {_shown(array[0])} ({kinds[0]}) in row 0: give numbers or strings")
    return np.array(array.tolist()) if len(kinds) and kinds[0] == "number" else array


def _array(values: Any) -> np.ndarray:
    """Return an array that keeps every label as it is: numpy would turn numbers among strings into strings."""
    try:
        array = np.asarray(values)
    except ValueError:  # rows of different lengths
        array = np.empty(0, "U")
    is_list = isinstance(values, list | tuple)
    if is_list and array.dtype.kind in "US" and not all(isinstance(value, str | bytes) for value in values):
        array = np.empty(len(values), object)
        for row, value in enumerate(values):
            array[row] = value
    return array


def _is_missing(value: Any) -> bool:
    """Return whether a label is None, NaN or pandas' NA, which cannot be compared."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, Real) and value != value


def _refuse_missing(missing: np.ndarray, values: np.ndarray, name: str, remedy: str) -> None:
    if missing.any():
        row = int(np.flatnonzero(missing)[0])
        raise InputError(f"{name} {values[row]} in row {row}: {remedy}")


def _kind(value: Any) -> str:
    return next((kind for kind, types in _KINDS.items() if isinstance(value, types)), type(value).__name__)


def _shown(value: Any) -> str:
    return repr(value.item() if isinstance(value, np.generic) else value)


_REMEDY = "build it again, and change its index arrays by scipy's own methods only"
_COMPRESSED = ("csr", "csc", "bsr")


def well_formed(X: Any) -> Any:
    """Return X if all its indices are valid; compiled loops and scipy's own conversions rely on that.

    Repeated and unsorted columns are allowed.

    >>> broken = sparse.csr_matrix(np.eye(2))
    >>> broken.indices[1] = 7
    >>> well_formed(broken)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    nearer.errors.InputError: the sparse matrix X has an entry in column 7, but its columns are 0 to 1: ...
    """
    if not sparse.issparse(X) or X.ndim != 2:
        return X
    if X.format in _COMPRESSED:
        _check_compressed(X)
    elif X.format == "coo":
        for axis, what in enumerate(("row", "column")):
            _check_indices(
                X.coords[axis] if hasattr(X, "coords") else (X.row, X.col)[axis], X.shape[axis], what
            )
        _need(len(X.data) == len(X.row) == len(X.col), "index arrays of different lengths")
    return X


def _check_compressed(X: Any) -> None:
    block = X.blocksize if X.format == "bsr" else (1, 1)
    lengths = [length // size for length, size in zip(X.shape, block, strict=True)]
    major, minor = lengths if X.format != "csc" else lengths[::-1]
    indptr, indices = np.asarray(X.indptr), np.asarray(X.indices)
    for array, name in ((indptr, "indptr"), (indices, "indices")):
        _need(
            array.ndim == 1 and array.dtype.kind in "iu", f"an array {name} that does not hold whole numbers"
        )
    _need(len(indptr) == major + 1, f"{len(indptr)} entries in indptr, not {major + 1}")
    entries = min(len(indices), len(X.data))
    _need(int(indptr[0]) == 0, f"an indptr that begins with {indptr[0]}, not 0")
    _need(bool((indptr[1:] >= indptr[:-1]).all()), "an indptr that falls from one entry to the next")
    _need(int(indptr[-1]) <= entries, f"an indptr that ends with {indptr[-1]}, beyond its {entries} entries")
    _check_indices(indices[: int(indptr[-1])], minor, "row" if X.format == "csc" else "column")


def _check_indices(indices: np.ndarray, length: int, what: str) -> None:
    _need(indices.dtype.kind in "iu", f"{what}s that are not whole numbers")
    if not len(indices):
        return
    worst = int(indices.min()) if indices.min() < 0 else int(indices.max())
    _need(0 <= worst < length, f"an entry in {what} {worst}, but its {what}s are 0 to {length - 1}")


def _need(holds: bool, fault: str) -> None:
    if not holds:
        raise InputError(f"the sparse matrix X has {fault}: {_REMEDY}")
