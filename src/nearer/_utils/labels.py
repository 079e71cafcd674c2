"""Labels of rows, of one kind and none missing: what can be sorted and compared."""

from __future__ import annotations

from datetime import date
from numbers import Real
from typing import Any

import numpy as np

from nearer.errors import InputError

_KINDS: dict[str, Any] = {
    "number": (Real, np.bool_),
    "text": str,
    "bytes": bytes,
    "date": (date, np.datetime64),
}


def labels_of_one_kind(values: Any, name: str, remedy: str) -> np.ndarray:
    """The labels as an array; refuse missing ones, and those of several kinds, which have no common order.

    Parameters
    ----------
    values : array-like
        What is not a list of labels (of two dimensions, for instance) is given back as it is.
    name : str
        What a message calls them.
    remedy : str
        What to do about a missing one.

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
    """An array in which every label stays what it is: numpy would make strings of numbers beside strings."""
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
    """None and NaN; pandas' NA answers no comparison."""
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
