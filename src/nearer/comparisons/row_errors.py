"""What is wrong with a row, and the sentence that says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from nearer.errors import InputError, Place, Setting

UNREADABLE = np.iinfo(np.int64).min  # stands for a cell that is missing, no whole number, or no known name
MOST_OBJECTS = np.iinfo(np.int32).max
# what programs write where there is nothing; none of these becomes an object, unless `names` lists it
MISSING = frozenset(("", "NA", "<NA>", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "None"))


_LONGEST = 120  # letters of a cell in a sentence
UNKEPT = "a NUL or half a character, which files cannot keep"


NAMES = Setting("names", [...], "if such cells are names of objects")


class Fault(NamedTuple):
    """What is wrong with one row, in which column, and what to do besides correcting or dropping it."""

    problem: str
    column: str | int | None = None
    remedy: tuple[Setting, ...] = ()


def is_missing(cell: Any) -> bool:
    """Whether a cell says that there is nothing in it.

    >>> is_missing("NA"), is_missing(float("nan")), is_missing(None), is_missing("Nan")
    (True, True, True, False)
    """
    if isinstance(cell, str):
        return cell.strip() in MISSING
    return cell is None or (isinstance(cell, float) and cell != cell) or type(cell).__name__ == "NAType"


def holds_half_a_character(text: str) -> bool:
    r"""Whether a text holds a lone surrogate, which no file can hold.

    >>> holds_half_a_character("caf\u00e9"), holds_half_a_character("caf\ud800")
    (False, True)
    """
    return not text.isascii() and any("\ud800" <= sign <= "\udfff" for sign in text)


def cannot_be_kept(text: str) -> bool:
    """Whether a name or label would not come back from every file: some formats cut texts at NUL.

    >>> cannot_be_kept("tea"), cannot_be_kept("tea" + chr(0))
    (False, True)
    """
    return "\0" in text or holds_half_a_character(text)


def row_place(row: int) -> Place:
    """Return the place of a row of an array."""
    return Place(row=row)


def faulty(codes: np.ndarray, n_objects: int | None) -> np.ndarray:
    """Rows that are out of range or compare something with itself.

    >>> faulty(np.array([[0, 1, 2], [0, 0, 2], [0, 1, 9]]), 3)
    array([False,  True,  True])
    """
    limit = MOST_OBJECTS if n_objects is None else n_objects
    bad = np.zeros(len(codes), dtype=bool)
    for column in codes.T:
        bad |= (column < 0) | (column >= limit)
    if codes.shape[1] == 3:
        i, j, k = codes.T
        return bad | (i == j) | (i == k) | (j == k)
    i, j, m, k = codes.T
    same_pair = ((i == m) & (j == k)) | ((i == k) & (j == m))
    return bad | (i == j) | (m == k) | same_pair


def faulty_weights(weights: np.ndarray | None, n_rows: int) -> np.ndarray:
    """Rows whose weight is negative, infinite or missing."""
    if weights is None:
        return np.zeros(n_rows, dtype=bool)
    return ~(np.isfinite(weights) & (weights >= 0))


def no_index(cell: Any, where: str = "") -> str:
    """Say why a cell is no index of an object.

    >>> no_index("2.5"), no_index(10**20)
    ("'2.5' is not a whole number", '100000000000000000000 is out of range for the index of an object')
    """
    try:
        is_whole = float(cell).is_integer() and "_" not in str(cell)
    except OverflowError:  # a whole number that no float can hold
        is_whole = True
    except (TypeError, ValueError):
        is_whole = False
    why = "out of range for the index of an object" if is_whole else "not a whole number"
    return f"{_shortened(repr(cell))}{where} is {why}"


def _shortened(text: str) -> str:
    """A long text without its middle."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]}...{text[-_LONGEST // 2 :]}"


def describe(
    cells: Sequence[Any],
    codes: Sequence[int],
    n_objects: int | None,
    named: bool,
    weight: float | None = None,
    *,
    columns: Sequence[str] | None = None,
    first_index: int = 0,
) -> Fault:
    """Say what is wrong with one row; `codes` count from 0, cells from `first_index`."""
    limit = MOST_OBJECTS if n_objects is None else n_objects
    shown = f"({', '.join(_shortened(str(cell)) for cell in cells)})"
    where: Sequence[str | int] = columns or range(len(cells))
    for column, cell, code in zip(where, cells, codes, strict=True):
        if code == UNREADABLE and is_missing(cell):
            return Fault(
                f"{shown} has an empty cell (NA, nan, null and None count as empty)", column, (NAMES,)
            )
        if code == UNREADABLE and isinstance(cell, str) and cannot_be_kept(cell):
            return Fault(f"the name {_shortened(repr(cell))} holds {UNKEPT}", column)
        if code == UNREADABLE:
            unknown = f"{_shortened(repr(cell))} is not one of the names given"
            return Fault(unknown if named else no_index(cell), column)
        if code < 0 and first_index:
            return Fault(
                f"{shown} holds the index {code + first_index}, which is below the first, {first_index}"
            )
        if code < 0:
            return Fault(f"{shown} holds the negative index {code}")
        if code >= limit:
            from_one = Setting("first_index", 1, "if they are counted from 1")
            return Fault(
                f"{shown} holds the index {code + first_index}, which is out of range for {limit} objects "
                f"counted from {first_index}",
                remedy=(from_one,) if code == limit and columns and not first_index else (),
            )
    if bool(faulty(np.array([codes]), None)[0]):
        return Fault(f"{shown} compares an object or a pair with itself")
    return Fault(f"the weight {weight} is not a finite number of at least 0")


def fault_error(place: Place, fault: Fault, n_bad: int, n_rows: int) -> InputError:
    """Return the error for rows that cannot be used, of which one is described."""
    problem, them, these = fault.problem, "it", "this row"
    if n_bad > 1:
        problem, them, these = f"{problem}, the first of {n_bad} invalid rows among {n_rows}", "them", "them"
    return InputError(
        problem,
        place=replace(place, column=fault.column),
        remedy=[f"correct {these}", *fault.remedy, Setting("invalid", "drop", f"to leave {them} out")],
    )
