"""What valid comparisons are: one validator for rows of arrays and of tables, and what is wrong with a row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np

from nearer._utils.text import warn
from nearer.errors import InputError, InputWarning, Place, Suggestion

Invalid = Literal["error", "drop"]
UNREADABLE = np.iinfo(np.int64).min  # stands for a cell that is missing, no whole number, or no known name
MOST_OBJECTS = np.iinfo(np.int32).max
# what programs write for an empty cell; none of these becomes an object, unless `names` lists it
MISSING = frozenset(("", "NA", "<NA>", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "None"))


_LONGEST = 120  # letters of a cell in a sentence
_SHOWN = 5  # names in a sentence
UNKEPT = "a NUL or half a character, which files cannot keep"


NAMES = Suggestion("names", [...], "if such cells are names of objects")


def row_place(row: int) -> Place:
    """Return the place of a row of an array."""
    return Place(row=row)


class Fault(NamedTuple):
    """What is wrong with one row, in which column, and what to do besides correcting or dropping it."""

    problem: str
    column: str | int | None = None
    remedy: tuple[Suggestion, ...] = ()


class Content(NamedTuple):
    """The checked content of a `Comparisons`: arrays that fit together."""

    indices: np.ndarray
    n_objects: int
    weights: np.ndarray | None = None
    annotators: np.ndarray | None = None
    groups: np.ndarray | None = None
    names: tuple[str, ...] | None = None
    n_dropped: int = 0
    ignored_columns: tuple[str, ...] = ()

    def take(self, rows: Any) -> Content:
        """Return the fields of some rows (a slice, a mask or positions)."""
        return self._replace(
            indices=np.ascontiguousarray(self.indices[rows]),
            weights=None if self.weights is None else self.weights[rows],
            annotators=None if self.annotators is None else self.annotators[rows],
            groups=None if self.groups is None else self.groups[rows],
        )

    def with_used_names(self) -> Content:
        """Return the same rows without the names of objects that are in none of them."""
        if self.names is None:
            return self
        used = np.unique(self.indices)
        return self._replace(
            indices=np.searchsorted(used, self.indices).astype(np.int32),
            names=tuple(self.names[at] for at in used.tolist()),
            n_objects=len(used),
        )


class RowValidator:
    """Finds the rows that are no comparisons, batch by batch: counts them and remembers the first.

    Parameters
    ----------
    limit : int, optional
        The number of objects, if it is known.
    invalid : {"error", "drop"}
        Whether `refuse` raises an error about bad rows.
    """

    def __init__(self, limit: int | None, invalid: Invalid) -> None:
        check_invalid(invalid)
        self.limit, self.invalid = limit, invalid
        self.n_rows = self.n_bad = 0
        self._first: tuple[int, Fault] | None = None

    def check(
        self,
        codes: np.ndarray,
        weights: np.ndarray | None,
        describe: Callable[[int], Fault],
        *,
        known_bad: np.ndarray | None = None,
        trials: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return a mask of the rows that are valid.

        `describe` says what is wrong with a row; `known_bad` marks rows that are bad for other reasons. If rows
        come from `trials`, these are counted and named.
        """
        bad = faulty(codes, self.limit) | faulty_weights(weights, len(codes))
        if known_bad is not None:
            bad |= known_bad
        n_rows = len(codes)
        if bad.any():
            n_rows = n_rows if trials is None else len(np.unique(trials))
            self.n_bad += int(np.count_nonzero(bad)) if trials is None else len(np.unique(trials[bad]))
            if self._first is None:
                row = int(np.argmax(bad))
                self._first = self.n_rows + (row if trials is None else int(trials[row])), describe(row)
        self.n_rows += n_rows
        return ~bad

    def refuse(self, place: Callable[[int], Place]) -> None:
        """Raise an error about the first bad row, unless bad rows are to be dropped."""
        if self._first is not None and self.invalid == "error":
            row, fault = self._first
            raise fault_error(place(row), fault, self.n_bad, self.n_rows)


def faulty(codes: np.ndarray, n_objects: int | None) -> np.ndarray:
    """Return rows that are out of range or compare something with itself.

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
    """Return rows whose weight is negative, infinite or missing."""
    if weights is None:
        return np.zeros(n_rows, dtype=bool)
    return ~(np.isfinite(weights) & (weights >= 0))


def describe(
    cells: Sequence[Any],
    codes: Sequence[int],
    n_objects: int | None,
    named: bool,
    weight: float | None = None,
    *,
    columns: Sequence[str] | None = None,
    first_index: int = 0,
    names: Sequence[str] | None = None,
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
            return Fault(not_named(cell, names) if named else no_index(cell), column)
        if code < 0 and first_index:
            return Fault(
                f"{shown} holds the index {code + first_index}, which is below the first, {first_index}"
            )
        if code < 0:
            return Fault(f"{shown} holds the negative index {code}")
        if code >= limit:
            from_one = Suggestion("first_index", 1, "if they are counted from 1")
            return Fault(
                f"{shown} holds the index {code + first_index}, which is out of range for {limit} objects "
                f"counted from {first_index}",
                remedy=(from_one,) if code == limit and columns and not first_index else (),
            )
    if bool(faulty(np.array([codes]), None)[0]):
        return Fault(f"{shown} compares an object or a pair with itself")
    return Fault(f"the weight {weight} is not a finite number of at least 0")


def no_index(cell: Any) -> str:
    """Say why a cell is not the index of an object.

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
    return f"{_shortened(repr(cell))} is {why}"


def not_named(cell: object, names: Sequence[str] | None) -> str:
    """Say that a cell is none of the names given, and which these are.

    >>> not_named("tee", ["tea", "milk"])
    "'tee' is not one of the names given ('tea', 'milk')"
    """
    known = list(names or ())
    listed = ", ".join(_shortened(repr(name)) for name in known[:_SHOWN])
    more = f" and {len(known) - _SHOWN:,} more" if len(known) > _SHOWN else ""
    return f"{_shortened(repr(cell))} is not one of the names given" + (f" ({listed}{more})" if known else "")


def _shortened(text: str) -> str:
    """Return a long text without its middle."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]}...{text[-_LONGEST // 2 :]}"


def fault_error(place: Place, fault: Fault, n_bad: int, n_rows: int) -> InputError:
    """Return the error for rows that cannot be used, of which one is described."""
    problem, them, these = fault.problem, "it", "this row"
    if n_bad > 1:
        problem, them, these = f"{problem}, the first of {n_bad} invalid rows among {n_rows}", "them", "them"
    return InputError(
        problem,
        [f"correct {these}", *fault.remedy, Suggestion("invalid", "drop", f"to leave {them} out")],
        place=replace(place, column=fault.column),
    )


def is_missing(cell: Any) -> bool:
    """Return whether a cell says that there is nothing in it.

    >>> is_missing("NA"), is_missing(float("nan")), is_missing(None), is_missing("Nan")
    (True, True, True, False)
    """
    if isinstance(cell, str):
        return cell.strip() in MISSING
    return cell is None or (isinstance(cell, float) and cell != cell) or type(cell).__name__ == "NAType"


def holds_half_a_character(text: str) -> bool:
    r"""Return whether a text holds a lone surrogate, which no file can hold.

    >>> holds_half_a_character("caf\u00e9"), holds_half_a_character("caf\ud800")
    (False, True)
    """
    return not text.isascii() and any("\ud800" <= sign <= "\udfff" for sign in text)


def cannot_be_kept(text: str) -> bool:
    """Return whether a name or label would not come back from every file: some formats cut texts at NUL.

    >>> cannot_be_kept("tea"), cannot_be_kept("tea" + chr(0))
    (False, True)
    """
    return "\0" in text or holds_half_a_character(text)


def check_invalid(invalid: str) -> None:
    """Refuse anything but the two ways to treat bad rows."""
    if invalid not in ("error", "drop"):
        raise InputError(f"must be 'error' or 'drop', not {invalid!r}", parameter="invalid")


def check_names(names: Iterable[str] | None) -> tuple[str, ...] | None:
    """Return object names as a tuple of distinct, non-empty strings."""
    if names is None:
        return None
    if isinstance(names, str):
        raise InputError(f"must be a sequence of strings, not the one string {names!r}", parameter="names")
    result = tuple(names)
    for position, name in enumerate(result):
        if not isinstance(name, str):
            raise InputError(
                f"holds {name!r} at position {position}", "pass strings, such as str(name)", parameter="names"
            )
        if not name or "\0" in name:
            raise InputError(
                f"holds {name!r} at position {position}",
                "give names that are not empty and free of NUL characters",
                parameter="names",
            )
    result = tuple(map(str, result))  # numpy's own strings become plain ones
    if len(set(result)) < len(result):
        twice = Counter(result).most_common(1)[0][0]
        raise InputError(f"holds {twice!r} twice", "give every object a different name", parameter="names")
    try:
        "".join(result).encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"holds {error.object[error.start]!r}, which no file can hold as text", parameter="names"
        ) from None
    return result


def check_n_objects(n_objects: int | None, names: Sequence[str] | None) -> int | None:
    """Return the number of objects as far as it is known before the rows are seen."""
    if n_objects is None:
        return None if names is None else len(names)
    if isinstance(n_objects, bool) or not isinstance(n_objects, (int, np.integer)):
        raise InputError(f"must be a whole number, not {n_objects!r}", parameter="n_objects")
    if not 0 <= n_objects <= MOST_OBJECTS:
        raise InputError(f"must lie between 0 and {MOST_OBJECTS}, not be {n_objects}", parameter="n_objects")
    if names is not None and len(names) != n_objects:
        raise InputError(
            f"is {n_objects}, but there are {len(names)} names",
            "leave it out or correct it",
            parameter="n_objects",
        )
    return int(n_objects)


def check_first_index(first_index: int | None) -> None:
    """Refuse anything but the two numbers that people count from."""
    if first_index not in (None, 0, 1) or isinstance(first_index, bool):
        raise InputError(f"must be 0 or 1, not {first_index!r}", parameter="first_index")


def refuse_for_names(source: str, first_index: int | None) -> None:
    """Refuse to count objects that have names."""
    if first_index is not None:
        raise InputError(
            "is for objects given by index, but these have names",
            "leave it out",
            parameter="first_index",
            place=source,
        )


def from_zero(codes: np.ndarray, first_index: int | None) -> np.ndarray:
    """Return indices that count from `first_index`, counted from 0.

    >>> from_zero(np.array([1, 2, 3]), 1)
    array([0, 1, 2])
    """
    return np.where(codes == UNREADABLE, codes, codes - first_index) if first_index else codes


def warn_of_one(source: str, indices: np.ndarray) -> None:
    """Warn if the smallest index is 1, which mostly means that the file counts from 1."""
    if not len(indices) or indices.min() != 1:
        return
    warn(
        InputWarning(
            "the smallest index is 1, so object 0 is in no comparison",
            [
                Suggestion("first_index", 1, "if the objects are counted from 1"),
                Suggestion("first_index", 0, "if they are not"),
            ],
            place=source,
        )
    )
