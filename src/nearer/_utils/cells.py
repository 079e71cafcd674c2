"""Cells of a table that are not numbers, found and named."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from nearer.errors import InputError

ENCODE = (
    "encode such columns first, for example by OneHotEncoder (or OrdinalEncoder, if they have an order) of "
    "sklearn.preprocessing in a pipeline"
)


@contextmanager
def naming_cells(X: Any, name: str = "features", remedy: str = ENCODE) -> Iterator[None]:
    """Say which cell is not a number where a conversion of X within fails because of one.

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
    except ValueError:  # of arrays that differ in all but their first axis
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
    """About rows of different lengths."""
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
    """What is wrong with a cell and what to do; None of objects that nobody would expect in a table."""
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
