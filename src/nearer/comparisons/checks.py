"""Bringing arrays of comparisons, and what belongs to them, into their final form."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from nearer.comparisons.first_index import from_zero
from nearer.comparisons.row_errors import (
    MISSING,
    MOST_OBJECTS,
    UNREADABLE,
    describe,
    fault_error,
    faulty,
    faulty_weights,
    is_missing,
    row_place,
)
from nearer.comparisons.texts import check_texts
from nearer.errors import InputError, Place

Invalid = Literal["error", "drop"]


class Fields(NamedTuple):
    """The checked content of a `Comparisons`: arrays that fit together."""

    indices: np.ndarray
    n_objects: int
    weights: np.ndarray | None = None
    annotators: np.ndarray | None = None
    groups: np.ndarray | None = None
    names: tuple[str, ...] | None = None
    n_dropped: int = 0
    ignored_columns: tuple[str, ...] = ()

    def take(self, rows: Any) -> Fields:
        """The fields of some rows (a slice, a mask or positions)."""
        return self._replace(
            indices=np.ascontiguousarray(self.indices[rows]),
            weights=None if self.weights is None else self.weights[rows],
            annotators=None if self.annotators is None else self.annotators[rows],
            groups=None if self.groups is None else self.groups[rows],
        )

    def with_used_names(self) -> Fields:
        """The same rows without the names of objects that are in none of them."""
        if self.names is None:
            return self
        used = np.unique(self.indices)
        return self._replace(
            indices=np.searchsorted(used, self.indices).astype(np.int32),
            names=tuple(self.names[at] for at in used.tolist()),
            n_objects=len(used),
        )


def checked(
    triplets: ArrayLike,
    n_objects: int | None = None,
    *,
    weights: ArrayLike | None = None,
    annotators: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    names: Iterable[str] | None = None,
    invalid: Invalid = "error",
    first_index: int | None = None,
    place: Callable[[int], Place] = row_place,
    trials: np.ndarray | None = None,
) -> Fields:
    """Check index arrays, or arrays of names, and bring them into their final form.

    Where rows come from `trials`, errors name these and bad rows are counted by them.
    """
    check_invalid(invalid)
    cells = as_rows(triplets)
    (codes,), known_names = encode([cells], check_names(names))
    codes = from_zero(codes, first_index)
    limit = check_n_objects(n_objects, known_names)
    fields = Fields(
        codes,
        0,
        per_row(weights, len(codes), "weights", np.float64),
        None if annotators is None else as_labels(annotators, len(codes), "annotators"),
        None if groups is None else as_integers(as_labels(groups, len(codes), "groups")),
        known_names,
    )
    bad = faulty(codes, limit) | faulty_weights(fields.weights, len(codes))
    n_bad = int(np.count_nonzero(bad)) if trials is None else len(np.unique(trials[bad]))
    if n_bad and invalid == "error":
        row = int(np.argmax(bad))
        shown, code = cells[row].tolist(), codes[row].tolist()
        if (
            trials is not None and known_names and cells.dtype.kind in "iu"
        ):  # made of what people gave by name
            shown = [known_names[c] if 0 <= c < len(known_names) else c for c in code]
        weight = None if fields.weights is None else fields.weights[row]
        named = any(isinstance(cell, str) for cell in shown)
        what = describe(shown, code, limit, named, weight, first_index=first_index or 0)
        n_rows = len(codes) if trials is None else len(np.unique(trials))
        raise fault_error(place(row if trials is None else int(trials[row])), what, n_bad, n_rows)
    if n_bad:
        fields = fields.take(~bad)
    fields = finished(fields, limit, n_bad)
    # names that were found, rather than given, are those of rows that are kept
    return fields.with_used_names() if n_bad and names is None and n_objects is None else fields


def finished(fields: Fields, limit: int | None, n_dropped: int) -> Fields:
    """The same fields with int32 indices and the number of objects settled."""
    codes = fields.indices
    if limit is None:
        limit = int(codes.max()) + 1 if len(codes) else 0
    # `astype` copies even what is int32 already: the caller's array may change later
    return fields._replace(indices=codes.astype(np.int32, order="C"), n_objects=limit, n_dropped=n_dropped)


def check_invalid(invalid: str) -> None:
    """Refuse anything but the two ways to treat bad rows."""
    if invalid not in ("error", "drop"):
        raise InputError(f"must be 'error' or 'drop', not {invalid!r}", parameter="invalid")


def check_names(names: Iterable[str] | None) -> tuple[str, ...] | None:
    """Object names as a tuple of distinct, non-empty strings."""
    if names is None:
        return None
    if isinstance(names, str):
        raise InputError(f"must be a sequence of strings, not the one string {names!r}", parameter="names")
    result = tuple(names)
    for position, name in enumerate(result):
        if not isinstance(name, str):
            raise InputError(
                f"holds {name!r} at position {position}",
                parameter="names",
                remedy="pass strings, such as str(name)",
            )
        if not name or "\0" in name:
            raise InputError(
                f"holds {name!r} at position {position}",
                parameter="names",
                remedy="give names that are not empty and free of NUL characters",
            )
    result = tuple(map(str, result))  # numpy's own strings become plain ones
    if len(set(result)) < len(result):
        twice = Counter(result).most_common(1)[0][0]
        raise InputError(
            f"holds {twice!r} twice", parameter="names", remedy="give every object a different name"
        )
    try:
        "".join(result).encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"holds {error.object[error.start]!r}, which no file can hold as text", parameter="names"
        ) from None
    return result


def check_n_objects(n_objects: int | None, names: Sequence[str] | None) -> int | None:
    """The number of objects as far as it is known before the rows are seen."""
    if n_objects is None:
        return None if names is None else len(names)
    if isinstance(n_objects, bool) or not isinstance(n_objects, (int, np.integer)):
        raise InputError(f"must be a whole number, not {n_objects!r}", parameter="n_objects")
    if not 0 <= n_objects <= MOST_OBJECTS:
        raise InputError(f"must lie between 0 and {MOST_OBJECTS}, not be {n_objects}", parameter="n_objects")
    if names is not None and len(names) != n_objects:
        raise InputError(
            f"is {n_objects}, but there are {len(names)} names",
            parameter="n_objects",
            remedy="leave it out or correct it",
        )
    return int(n_objects)


def as_rows(triplets: ArrayLike) -> np.ndarray:
    """The comparisons as a two-dimensional array of numbers or strings."""
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
    """The index of each cell among the names, or `UNREADABLE`."""
    lookup = {name: code for code, name in enumerate(names)}
    return np.fromiter((lookup.get(cell, UNREADABLE) for cell in cells), np.int64, len(cells))  # type: ignore[arg-type]


def _plain(array: np.ndarray) -> np.ndarray:
    """Strings as numpy strings, "" where one is missing; objects as numbers where they are numbers."""
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
    """An integer as a float, infinite where no float can hold it."""
    try:
        return float(value) if isinstance(value, int) else value
    except OverflowError:
        return np.inf


def whole_codes(array: np.ndarray) -> np.ndarray:
    """Integers as they are; floats as integers, `UNREADABLE` where they are not whole."""
    if array.dtype == np.uint64 or array.dtype.kind not in "iu":
        whole = np.isfinite(array) & (array == np.floor(array)) & (np.abs(array) < 2**53)
        return np.where(whole, array, 0).astype(np.int64) + np.where(whole, 0, UNREADABLE)
    return array


def per_row(values: ArrayLike | None, n_rows: int, what: str, dtype: Any = None) -> np.ndarray | None:
    """A private copy of one value a row."""
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
    """Labels of rows as int64 or as strings."""
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
                "hold numbers that are too large to be told apart",
                parameter=what,
                remedy="give them as strings",
            )
        return array.astype(np.int64)
    raise InputError(
        f"must be whole numbers or strings without gaps, not an array of {array.dtype}", parameter=what
    )


def as_integers(labels: np.ndarray) -> np.ndarray:
    """Labels as int64: numbers stay, strings are numbered in sorted order."""
    if labels.dtype.kind != "U":
        return labels
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)
