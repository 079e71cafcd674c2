"""Read the labels of rows: a table of zeros and ones, or one label per row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from nearer._utils.tables import labels_of_one_kind, naming_cells, well_formed
from nearer._utils.text import counted, warn
from nearer.errors import InputError, Place

_TABLE = "give a table of zeros and ones with a row per sample and a column per label"


@dataclass(frozen=True)
class Labels:
    """Which labels each row has.

    Attributes
    ----------
    matrix : CSR matrix (n, m)
        Stored entries are labels of a row.
    classes : array (m,)
        Names of the labels, or their numbers.
    single : bool
        Whether every row has exactly one label, given as one label per row.
    sparse : bool
        Whether they were given as a sparse matrix.
    """

    matrix: Any
    classes: np.ndarray
    single: bool = False
    sparse: bool = False


def read_labels(Y: Any, n_rows: int) -> Labels:
    """Return the labels of rows, checked."""
    if Y is None:
        raise InputError(
            "requires y to be passed, but the target y is None: pass the labels of each row", parameter="y"
        )
    found = _read(Y)
    if found.matrix.shape[0] != n_rows:
        raise InputError(
            f"has {counted(found.matrix.shape[0], 'row')}, but X has {n_rows}: inconsistent numbers of samples",
            "give the labels of each row of X",
            parameter="y",
        )
    if found.single and len(found.classes) < 2:
        raise InputError(
            f"holds one class only, {found.classes.tolist()[0]!r}: give rows of at least two", parameter="y"
        )
    return found


def warn_of_missing(labels: Labels) -> None:
    """Say so if a label occurs in no row: nothing can be learned about it."""
    counts = np.bincount(labels.matrix.indices, minlength=labels.matrix.shape[1])
    missing = [str(labels.classes[at]) for at in np.flatnonzero(counts == 0)]
    if missing:
        shown = ", ".join(missing[:5]) + (", ..." if len(missing) > 5 else "")
        warn(f"y has no row with {counted(len(missing), 'label')}, so nothing is learned about: {shown}")


def _read(Y: Any) -> Labels:
    if sparse.issparse(Y):
        return _sparse_table(Y)
    names = getattr(Y, "column_names", getattr(Y, "columns", None))  # of an Arrow table, or of another frame
    array = _array(Y)
    if array.ndim == 2 and (names is not None or array.shape[1] > 1):
        return _dense_table(array, names)
    if array.ndim > 2 or array.ndim == 0:
        raise InputError(f"has shape {array.shape}", _TABLE, parameter="y")
    return _single(array)


def _array(Y: Any) -> np.ndarray:
    if isinstance(Y, list | tuple) and any(isinstance(row, set | frozenset | dict) for row in Y):
        raise InputError(
            "holds sets of labels: turn them into a table by "
            "sklearn.preprocessing.MultiLabelBinarizer().fit_transform(y)",
            parameter="y",
        )
    try:
        return np.asarray(Y)
    except ValueError as error:
        raise InputError(
            "has rows of different lengths: turn lists of labels into a table by "
            "sklearn.preprocessing.MultiLabelBinarizer().fit_transform(y)",
            parameter="y",
        ) from error


def _sparse_table(Y: Any) -> Labels:
    matrix = sparse.csr_matrix(well_formed(Y), copy=True)
    matrix.sum_duplicates()
    strange = np.flatnonzero(~np.isin(matrix.data, (0, 1)))
    if len(strange):
        at = int(strange[0])
        row = int(np.searchsorted(matrix.indptr, at, side="right")) - 1
        _refuse_cell(matrix.data[at], row, int(matrix.indices[at]))
    matrix.eliminate_zeros()
    return Labels(matrix.astype(np.float64), np.arange(matrix.shape[1]), sparse=True)


def _dense_table(array: np.ndarray, names: Any) -> Labels:
    if array.dtype.kind not in "biuf":
        with naming_cells(array, "labels", _TABLE):
            array = array.astype(np.float64)
    strange = np.argwhere(~np.isin(array, (0, 1)))
    if len(strange):
        row, column = (int(at) for at in strange[0])
        _refuse_cell(array[row, column], row, column)
    classes = np.arange(array.shape[1])
    if names is not None and all(isinstance(name, str) for name in names):
        classes = np.array([str(name) for name in names])
    return Labels(sparse.csr_matrix(array.astype(np.float64)), classes)


def _refuse_cell(value: Any, row: int, column: int) -> None:
    raise InputError(
        f"holds {value.item() if isinstance(value, np.generic) else value!r}, but labels are 0 or 1",
        "give one label per row as an array of one dimension, or a table of zeros and ones",
        parameter="y",
        place=Place(row=row, column=column),
    )


def _single(array: np.ndarray) -> Labels:
    from sklearn.utils import column_or_1d
    from sklearn.utils.multiclass import check_classification_targets

    if array.dtype.kind == "f" and not np.isfinite(array).all():
        at = int(np.flatnonzero(~np.isfinite(array.ravel()))[0])
        raise InputError(
            f"holds {array.ravel()[at]}, NaN or infinity: leave out rows without a label",
            parameter="y",
            place=Place(row=at),
        )
    labels = labels_of_one_kind(column_or_1d(array, warn=True), "y", "leave out rows without a label")
    try:
        check_classification_targets(labels)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{str(error).rstrip('.')}: give labels as texts, whole numbers or booleans", parameter="y"
        ) from error
    classes, codes = np.unique(labels, return_inverse=True)
    shape = len(codes), len(classes)
    matrix = sparse.csr_matrix((np.ones(len(codes)), codes, np.arange(len(codes) + 1)), shape=shape)
    return Labels(matrix, classes, single=True)
