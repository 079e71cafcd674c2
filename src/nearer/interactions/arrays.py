"""From arrays and sparse matrices to checked pairs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from nearer._utils.tables import well_formed
from nearer.comparisons.arrays import check_texts, encode, per_row
from nearer.comparisons.store import is_frame
from nearer.comparisons.validation import (
    MOST_OBJECTS,
    UNREADABLE,
    check_n_objects,
    check_names,
    is_missing,
    no_index,
    not_named,
    row_place,
)
from nearer.errors import InputError, Place, Suggestion
from nearer.interactions.content import Duplicates, PairContent, check_duplicates, settled

#: more indices than this, and than this many per index that occurs, are not indices but somebody's own numbers
MANY_INDICES, INDICES_PER_OBJECT = 1_000_000, 100
_SIDES = ("left", "right")


def checked_pairs(
    left: Any,
    right: Any,
    weights: Any = None,
    times: Any = None,
    *,
    n_left: int | None = None,
    n_right: int | None = None,
    left_names: Iterable[str] | None = None,
    right_names: Iterable[str] | None = None,
    duplicates: Duplicates = "sum",
) -> PairContent:
    """Check arrays and bring them into their final form; see `Interactions`."""
    check_duplicates(duplicates)
    cells = [cells_of_side(values, side) for values, side in zip((left, right), _SIDES, strict=True)]
    if len(cells[0]) != len(cells[1]):
        raise InputError(
            f"has {len(cells[1])} rows, but left has {len(cells[0])}",
            "give one of each per pair",
            parameter="right",
        )
    found = [
        codes_of_side(values, side, size, named(side, names))
        for values, side, size, names in zip(
            cells, _SIDES, (n_left, n_right), (left_names, right_names), strict=True
        )
    ]
    (left_codes, known_left), (right_codes, known_right) = found
    pairs = PairContent(
        left_codes,
        right_codes,
        size_of(left_codes, n_left, known_left, "left"),
        size_of(right_codes, n_right, known_right, "right"),
        per_row(weights, len(left_codes), "weights", np.float64),
        times_of(times, len(left_codes)),
        known_left,
        known_right,
    )
    return settled(pairs, duplicates, row_place)


def cells_of_side(values: Any, side: str) -> np.ndarray:
    """Return one side as a one-dimensional array."""
    other, reader = None, "Interactions" if side in _SIDES else "Posts"
    if isinstance(values, (str, os.PathLike)):
        other = f"read a file with {reader}.read({str(values)!r})"
    elif hasattr(values, "tocoo"):
        other = "give a sparse matrix to Interactions.from_sparse"
    elif is_frame(values) or isinstance(values, Mapping):
        other = f"give a DataFrame to {reader}.from_frame"
    if other is not None:
        raise InputError("must be an array of indices or names", other, parameter=side)
    try:
        array = np.asarray(values)
    except ValueError:
        array = np.empty((0, 0))
    if array.shape == (0,) and array.dtype.kind == "f":
        array = array.astype(np.int32)
    if array.ndim != 1:
        raise InputError(
            f"must be one index or name per pair, not an array of shape {array.shape}",
            "pass the two columns by themselves: Interactions(pairs[:, 0], pairs[:, 1])"
            if side in _SIDES
            else "pass the columns by themselves, or all of them to Posts.from_array",
            parameter=side,
        )
    if array.dtype.kind == "U":
        check_texts(values, array, f"names in {side}")
    return array


def count_of(side: str) -> str:
    """Return the parameter with the number of objects of a side.

    >>> count_of("left"), count_of("user")
    ('n_left', 'n_users')
    """
    return f"n_{side}" if side in _SIDES else f"n_{side}s"


def named(side: str, names: Iterable[str] | None) -> tuple[str, ...] | None:
    """Return the names of a side, checked."""
    try:
        return check_names(names)
    except InputError as error:
        raise error.but(parameter=f"{side}_names") from None


def codes_of_side(
    cells: np.ndarray, side: str, size: int | None, names: tuple[str, ...] | None
) -> tuple[np.ndarray, tuple[str, ...] | None]:
    """Return codes and names of one side; refuse the first cell that is neither index nor name."""
    try:
        (codes,), known = encode([cells], names)
    except InputError as error:
        raise error.but(parameter=side) from None
    size = size_given(size, known, side)
    if codes.dtype == np.uint64:
        codes = codes.astype(np.int64)
    bad = (codes < 0) | (codes >= (MOST_OBJECTS if size is None else size))
    if bad.any():
        row = int(np.argmax(bad))
        cell = cells[row].item() if isinstance(cells[row], np.generic) else cells[row]
        raise fault_of(cell, int(codes[row]), size, known, side, row_place(row), int(np.count_nonzero(bad)))
    return codes, known


def fault_of(
    cell: Any,
    code: int,
    size: int | None,
    names: tuple[str, ...] | None,
    side: str,
    place: Place,
    n_bad: int,
    offers: tuple[Any, ...] = (),
) -> InputError:
    """Return the error about a cell that is neither an index nor a name."""
    limit = MOST_OBJECTS if size is None else size
    remedy: list[Any] = ["correct this row"]
    if is_missing(cell):
        problem = "the cell is empty (NA, nan, null and None count as empty)"
    elif code == UNREADABLE and isinstance(cell, str) and names is not None:
        problem = not_named(cell, names)
    elif code == UNREADABLE:
        problem = no_index(cell)
    elif code < 0:
        problem = f"the index {code} is negative"
    else:
        problem = f"the index {code} is out of range for {limit:,} of them, counted from 0"
        other = {"left": "right", "right": "left"}.get(side, "another column")
        remedy = [f"leave {count_of(side)} out or correct it", f"are {side} and {other} exchanged?"]
    problem += f", the first of {n_bad:,} such rows" if n_bad > 1 else ""
    where = Place(place.file, place.line, place.row, side if place.column is None else place.column)
    return InputError(problem, [*remedy, *offers], place=where)


def size_given(size: int | None, names: tuple[str, ...] | None, side: str) -> int | None:
    """Return the number of lefts or rights if it is known; refuse one that does not fit the names."""
    try:
        return check_n_objects(size, names)
    except InputError as error:
        raise error.but(parameter=count_of(side)) from None


def size_of(codes: np.ndarray, size: int | None, names: tuple[str, ...] | None, side: str) -> int:
    """Return the number of lefts or rights; refuse numbers that are ids rather than indices."""
    known = size_given(size, names, side)
    if known is not None:
        return known
    n = int(codes.max(initial=-1)) + 1
    if n > MANY_INDICES and n > INDICES_PER_OBJECT * (distinct := len(np.unique(codes))):
        raise InputError(
            f"holds indices up to {n - 1:,}, but only {distinct:,} different ones",
            [
                f"if they are numbers such as a database's, pass them as names: numpy.asarray({side}).astype(str)",
                Suggestion(count_of(side), n, "if they are indices"),
            ],
            parameter=side,
        )
    return n


def times_of(values: Any, n_rows: int) -> np.ndarray | None:
    """Return times as int64 or float64; dates become seconds since 1970."""
    array = per_row(values, n_rows, "times")
    if array is None:
        return None
    if array.dtype.kind == "O":
        with suppress(TypeError, ValueError):
            array = array.astype("datetime64[us]")
    if array.dtype.kind == "M":
        array = seconds(array)
    if array.dtype.kind not in "iuf":
        raise InputError(
            f"must be numbers or dates, not an array of {array.dtype}",
            "convert them, for example by numpy.asarray(times, dtype='datetime64[s]')",
            parameter="times",
        )
    bad = ~np.isfinite(array)
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError("the time is missing", "correct this row", place=Place(row=row, column="times"))
    return array.astype(np.float64 if array.dtype.kind == "f" else np.int64)


def seconds(dates: np.ndarray) -> np.ndarray:
    """Return seconds since 1970: int64 if all are whole, otherwise float64, NaN for dates that are missing.

    >>> seconds(np.array(["1970-01-02", "1970-01-01T00:00:02"], dtype="datetime64[s]"))
    array([86400,     2])
    """
    missing = np.isnat(dates)
    whole = dates.astype("datetime64[s]")
    if not missing.any() and (whole == dates).all():
        return whole.astype(np.int64)
    fraction = (dates - whole) / np.timedelta64(1, "s")
    return np.where(missing, np.nan, np.where(missing, 0, whole.astype(np.int64)) + np.nan_to_num(fraction))


def pairs_of_sparse(
    matrix: Any, left_names: Iterable[str] | None, right_names: Iterable[str] | None
) -> PairContent:
    """Return the entries of a sparse matrix that are not 0; entries given twice are summed, as scipy does."""
    if not hasattr(matrix, "tocoo") or len(matrix.shape) != 2:
        raise InputError(
            f"must be a sparse matrix of scipy, not a {type(matrix).__name__}",
            "pass scipy.sparse.csr_matrix(M)",
            parameter="M",
        )
    entries = well_formed(matrix).tocoo()
    if entries.dtype.kind not in "biuf":
        raise InputError(f"must hold real numbers, not {entries.dtype}", parameter="M")
    names = named("left", left_names), named("right", right_names)
    sizes = [
        size_given(size, known, side) or 0
        for size, known, side in zip(matrix.shape, names, _SIDES, strict=True)
    ]
    kept = entries.data != 0
    left, right = entries.row[kept], entries.col[kept]
    weights = entries.data[kept].astype(np.float64)
    pairs = PairContent(left, right, sizes[0], sizes[1], weights, None, *names)
    return settled(pairs, "sum", lambda at: Place(row=int(left[at]), column=int(right[at])))
