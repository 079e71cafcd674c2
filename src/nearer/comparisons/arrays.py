"""Arrays of comparisons, and what belongs to them, in their final form."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from nearer.comparisons.validation import (
    MISSING,
    UNKEPT,
    UNREADABLE,
    Content,
    Fault,
    Invalid,
    RowValidator,
    check_n_objects,
    check_names,
    describe,
    from_zero,
    is_missing,
    row_place,
)
from nearer.errors import InputError, Place

_BLOCK_ROWS = 1 << 16


def checked(
    triplets: ArrayLike,
    n_objects: int | None = None,
    *,
    names: Iterable[str] | None = None,
    first_index: int | None = None,
    **fields: Any,
) -> Content:
    """Check arrays of indices or of names, and bring them into their final form; see `checked_codes`."""
    cells = as_rows(triplets)
    (codes,), known = encode([cells], check_names(names))
    content = checked_codes(
        lambda row: cells[row].tolist(),
        from_zero(codes, first_index),
        n_objects,
        names=known,
        first_index=first_index,
        **fields,
    )
    # names that were found, rather than given, are those of rows that are kept
    found = names is None and n_objects is None
    return content.with_used_names() if found and content.n_dropped else content


def checked_codes(
    cells: Callable[[int], list[Any]],
    codes: np.ndarray,
    n_objects: int | None = None,
    *,
    weights: ArrayLike | None = None,
    annotators: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    names: tuple[str, ...] | None = None,
    invalid: Invalid = "error",
    first_index: int | None = None,
    place: Callable[[int], Place] = row_place,
    trials: np.ndarray | None = None,
) -> Content:
    """Check rows of codes; an error shows the `cells` that a row had before.

    If rows come from `trials`, errors name these and bad rows are counted by them.
    """
    n_rows = len(codes)
    row_weights = per_row(weights, n_rows, "weights", np.float64)
    limit = check_n_objects(n_objects, names)

    def fault(row: int) -> Fault:
        shown = cells(row)
        weight = None if row_weights is None else row_weights[row]
        named = any(isinstance(cell, str) for cell in shown)
        return describe(
            shown, codes[row].tolist(), limit, named, weight, first_index=first_index or 0, names=names
        )

    validator = RowValidator(limit, invalid)
    content = Content(
        codes,
        0,
        row_weights,
        None if annotators is None else as_labels(annotators, n_rows, "annotators"),
        None if groups is None else as_integers(as_labels(groups, n_rows, "groups")),
        names,
    )
    keep = validator.check(codes, row_weights, fault, trials=trials)
    validator.refuse(place)
    if validator.n_bad:
        content = content.take(keep)
    indices = content.indices
    if limit is None:
        limit = int(indices.max()) + 1 if len(indices) else 0
    # `astype` copies even what is int32 already: the caller's array may change later
    return content._replace(
        indices=indices.astype(np.int32, order="C"), n_objects=limit, n_dropped=validator.n_bad
    )


def as_rows(triplets: ArrayLike) -> np.ndarray:
    """Return the comparisons as a two-dimensional array of numbers or strings."""
    if isinstance(triplets, (str, os.PathLike)):
        raise InputError(
            f"{str(triplets)!r} is not an array of comparisons; read a file with Comparisons.read"
        )
    if isinstance(triplets, Mapping) or (
        isinstance(triplets, list) and triplets and isinstance(triplets[0], Mapping)
    ):
        raise InputError(
            "records are not an array of comparisons; give a list of them to Comparisons.from_records"
        )
    try:
        rows = np.asarray(triplets)
    except ValueError:
        raise InputError(
            "the comparisons have rows of different lengths; every row needs 3 or 4 objects"
        ) from None
    if rows.shape == (0,):
        rows = np.empty((0, 3), dtype=np.int32)
    if rows.ndim != 2 or rows.shape[1] not in (3, 4):
        raise InputError(
            f"comparisons must have the shape (q, 3) for triplets or (q, 4) for quadruplets, got {rows.shape}"
        )
    if rows.dtype.kind == "U":
        check_texts(triplets, rows, "names of objects")
    return rows


def encode(
    arrays: Sequence[np.ndarray], names: tuple[str, ...] | None
) -> tuple[list[np.ndarray], tuple[str, ...] | None]:
    """Turn arrays of object indices or object names into codes, names sorted unless they are given.

    >>> encode([np.array([["dog", "cat", "car"]])], None)
    ([array([[2, 1, 0]])], ('car', 'cat', 'dog'))
    """
    arrays = [_plain(array) for array in arrays]
    full = [array for array in arrays if array.size]
    texts = [array.dtype.kind == "U" for array in full]
    if not any(texts):
        return [whole_codes(array) for array in arrays], names
    if not all(texts):
        raise InputError("some objects are given by name and others by index; use one or the other")
    cells, positions = np.unique(np.concatenate([array.ravel() for array in full]), return_inverse=True)
    if names is None:
        names = check_names(cell for cell in cells.tolist() if cell not in MISSING)
    codes = name_codes(cells.tolist(), names or ())[positions]
    split = np.split(codes, np.cumsum([array.size for array in arrays])[:-1])
    return [part.reshape(array.shape) for part, array in zip(split, arrays, strict=True)], names


def name_codes(cells: Sequence[str | None], names: Sequence[str]) -> np.ndarray:
    """Return the index of each cell among the names, or `UNREADABLE`."""
    lookup = {name: code for code, name in enumerate(names)}
    return np.fromiter((lookup.get(cell, UNREADABLE) for cell in cells), np.int64, len(cells))  # type: ignore[arg-type]


def _plain(array: np.ndarray) -> np.ndarray:
    """Return strings as numpy strings, "" if one is missing; objects as numbers if they are numbers."""
    if array.dtype.kind in "iufU":
        return array
    if array.dtype.kind in "OT":
        cells = ["" if is_missing(cell) else cell for cell in array.ravel().tolist()]
        kinds = {type(cell) for cell in cells if cell != ""}
        if kinds and all(issubclass(kind, str) for kind in kinds):
            return np.array(cells, dtype=np.str_).reshape(array.shape)
        if not any(issubclass(kind, (str, bool)) for kind in kinds):
            try:
                floats = [np.nan if cell == "" else rounded(cell) for cell in cells]
                return np.array(floats, dtype=np.float64).reshape(array.shape)
            except (TypeError, ValueError):
                pass
    raise InputError(f"objects must be whole numbers or names, got an array of {array.dtype}")


def rounded(value: Any) -> Any:
    """Return an integer as a float, infinite if no float can hold it."""
    try:
        return float(value) if isinstance(value, int) else value
    except OverflowError:
        return np.inf


def whole_codes(array: np.ndarray) -> np.ndarray:
    """Return integers as they are; floats as integers, `UNREADABLE` if they are not whole."""
    if array.dtype == np.uint64 or array.dtype.kind not in "iu":
        whole = np.isfinite(array) & (array == np.floor(array)) & (np.abs(array) < 2**53)
        return np.where(whole, array, 0).astype(np.int64) + np.where(whole, 0, UNREADABLE)
    return array


def per_row(values: ArrayLike | None, n_rows: int, what: str, dtype: Any = None) -> np.ndarray | None:
    """Return a private copy of one value per row."""
    if values is None:
        return None
    try:
        array = np.array(values, dtype=dtype)
    except (TypeError, ValueError):
        raise InputError("must be numbers, one per row", parameter=what) from None
    if array.shape != (n_rows,):
        raise InputError(
            f"must have one value for each of the {n_rows} rows, not the shape {array.shape}", parameter=what
        )
    return array


def as_labels(values: ArrayLike, n_rows: int, what: str) -> np.ndarray:
    """Return labels of rows as int64 or as strings."""
    array = per_row(values, n_rows, what)
    assert array is not None
    if array.dtype.kind in "OT":
        array = np.array(array.tolist())  # a list of nothing but strings or numbers gets a type of its own
    if array.dtype.kind == "U":
        check_texts(values, array, what)
        return array
    if array.dtype.kind in "iuf" and bool(np.all(np.isfinite(array) & (array == np.floor(array)))):
        if array.size and float(np.abs(array).max()) >= (2**63 if array.dtype.kind in "iu" else 2**53):
            raise InputError(
                "hold numbers that are too large to be told apart", "give them as strings", parameter=what
            )
        return array.astype(np.int64)
    raise InputError(
        f"must be whole numbers or strings without gaps, not an array of {array.dtype}", parameter=what
    )


def as_integers(labels: np.ndarray) -> np.ndarray:
    """Return labels as int64: numbers stay, strings are numbered in sorted order."""
    if labels.dtype.kind != "U":
        return labels
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def check_texts(values: Any, array: np.ndarray, what: str) -> None:
    """Refuse texts that files cannot keep: `values` as they were given, and numpy's array of them.

    >>> check_texts(["ann", "bob"], np.array(["ann", "bob"]), "annotators")
    """
    row = _first_nul(values)
    if row is None:
        row = next(_unkept(array), None)
    if row is not None:
        raise InputError(f"the {what} hold {UNKEPT}", "correct this row", place=row_place(row))


def _first_nul(values: Any) -> int | None:
    """Return the first row that holds a NUL, if numpy has not cut it off yet."""
    if isinstance(values, np.ndarray) and values.dtype.kind == "U":
        return None
    rows = np.asarray(values, dtype=object)
    cells = rows.ravel().tolist()
    at = next((at for at, cell in enumerate(cells) if isinstance(cell, str) and "\0" in cell), None)
    return None if at is None else at // max(1, rows[:1].size)


def _unkept(array: np.ndarray) -> Iterator[int]:
    """Yield rows with a NUL within a text, half a character, or an invalid code point; one per block."""
    for start in range(0, len(array), _BLOCK_ROWS):
        block = array[start : start + _BLOCK_ROWS]
        rows = block.reshape(len(block), -1).astype(f"=U{max(1, block.dtype.itemsize // 4)}")
        signs = np.ascontiguousarray(rows).view(np.uint32).reshape(*rows.shape, -1)
        bad = ((signs >= 0xD800) & (signs <= 0xDFFF)) | (signs > 0x10FFFF)
        bad[..., :-1] |= (signs[..., :-1] == 0) & (signs[..., 1:] != 0)
        found = bad.any(axis=(1, 2))
        if found.any():
            yield start + int(np.argmax(found))


def flipped(rows: np.ndarray) -> np.ndarray:
    """Return the rows with winner and loser exchanged.

    >>> flipped(np.array([[0, 1, 2]])), flipped(np.array([[0, 1, 2, 3]]))
    (array([[0, 2, 1]]), array([[2, 3, 0, 1]]))
    """
    return rows[:, [0, 2, 1] if rows.shape[1] == 3 else [2, 3, 0, 1]]


def oriented(rows: np.ndarray, second_won: np.ndarray) -> np.ndarray:
    """Return the rows with the winner first."""
    return np.where(second_won[:, None], flipped(rows), rows)


def odd_last(rows: np.ndarray, odd: np.ndarray) -> np.ndarray:
    """Return the rows with the odd object at the end.

    >>> odd_last(np.array([[4, 5, 6], [4, 5, 6]]), np.array([0, 2]))
    array([[5, 6, 4],
           [4, 5, 6]])
    """
    order = np.array([[1, 2, 0], [0, 2, 1], [0, 1, 2]])
    return np.take_along_axis(rows, order[odd], axis=1)


def both_triplets(rows: np.ndarray) -> np.ndarray:
    """Return two triplets per trial: each of the pair is nearer to the other than to the odd one, which is last.

    >>> both_triplets(np.array([[4, 5, 6]]))
    array([[4, 5, 6],
           [5, 4, 6]])
    """
    return np.stack([rows, rows[:, [1, 0, 2]]], axis=1).reshape(-1, 3)
