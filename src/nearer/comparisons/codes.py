"""Columns of answers, and codes in them: keys, buttons, numbers of options."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

import numpy as np

from nearer.comparisons.arrays import whole_codes
from nearer.comparisons.validation import UNREADABLE, from_zero
from nearer.errors import InputError

#: what codes stand for: in a response the sign of the answer, in an odd-one-out trial the position of the odd one
ANSWERS = {"first": 1.0, "second": -1.0, "undecided": 0.0}
ODD_UNDECIDED = -1.0
ODD_ONES = {"first": 0.0, "second": 1.0, "third": 2.0, "undecided": ODD_UNDECIDED}


def check_codes(codes: Mapping[str, Any] | None, *others: object) -> None:
    """Refuse codes for what no answer can be, and other settings that say what responses are."""
    if codes is None:
        return
    if not isinstance(codes, Mapping):
        raise InputError(
            f"must be a mapping such as {{'first': 0, 'second': 1}}, not {codes!r}", parameter="codes"
        )
    for meaning in codes:
        if meaning not in ODD_ONES:
            raise InputError(
                f"has the key {meaning!r}, but the known ones are {', '.join(ODD_ONES)}", parameter="codes"
            )
    if any(other is not None for other in others):
        raise InputError(
            "says all that coding and zero could say", "leave out the one or the others", parameter="codes"
        )
    Codes(codes, ODD_ONES)


class Codes:
    """What every code stands for: text in any case, or numbers, `1` and `1.0` alike.

    >>> codes = Codes({"first": ["f", "left"], "second": "j"}, ANSWERS)
    >>> codes.of_text(" F"), codes.of_text("j"), codes.of_text("k")
    (1.0, -1.0, nan)
    """

    def __init__(self, codes: Mapping[str, Any], meanings: Mapping[str, float]) -> None:
        self._exact: dict[str, float] = {}
        self._loose: dict[str, float] = {}  # NaN if two codes differ only in case
        for meaning, given in codes.items():
            for code in _several(given):
                self._add(_text(code), meanings[meaning], meaning)
        self._shown = ", ".join(
            f"{' or '.join(map(_text, _several(given)))} for {meaning}" for meaning, given in codes.items()
        )

    def _add(self, code: str, value: float, meaning: str) -> None:
        if self._exact.get(code, value) != value:
            raise InputError(
                f"has {code!r} for two answers, one of them {meaning!r}", "give it once", parameter="codes"
            )
        self._exact[code] = value
        loose = code.casefold()
        self._loose[loose] = value if self._loose.get(loose, value) == value else np.nan

    def __str__(self) -> str:
        return self._shown

    def of_text(self, cell: str) -> float:
        """Return what a cell of text stands for, NaN if it is not a code."""
        cell = _text(cell)
        return self._exact.get(cell, self._loose.get(cell.casefold(), np.nan))


@dataclass(frozen=True)
class Column:
    """A column of answers: numbers, or the different texts and which of them each row holds (-1 for none).

    >>> Column.of_array(np.array([True, False])).map({"true": 1.0, "false": -1.0}.__getitem__)
    array([ 1., -1.])
    """

    numbers: np.ndarray | None = None
    texts: Sequence[str] = ()
    positions: np.ndarray | None = None

    @classmethod
    def of_array(cls, array: np.ndarray) -> Column:
        """Return the column of a one-dimensional array."""
        if array.dtype.kind in "iuf":
            return cls(array)
        if array.dtype.kind == "b":
            return cls(texts=("false", "true"), positions=array.astype(np.intp))
        texts, positions = np.unique(array.astype(np.str_), return_inverse=True)
        return cls(texts=texts.tolist(), positions=positions)

    def map(
        self, meaning: Callable[[str], float], dtype: Any = np.float64, none: float = np.nan
    ) -> np.ndarray:
        """Return what each text means, `none` for numbers and missing cells."""
        if self.positions is None:
            return np.full(len(self), none, dtype=dtype)
        return np.array([*map(meaning, self.texts), none], dtype=dtype)[self.positions]

    def as_numbers(self) -> np.ndarray:
        """Return the numbers, also those that texts spell; NaN for others."""
        return self.map(number) if self.numbers is None else self.numbers.astype(np.float64, copy=False)

    def coded(self, codes: Codes) -> np.ndarray:
        """Return what codes stand for, NaN for other cells."""
        if self.numbers is None:
            return self.map(codes.of_text)
        values, positions = np.unique(self.numbers, return_inverse=True)
        return np.array([codes.of_text(repr(value)) for value in values.tolist()])[positions]

    def cells(self, rows: np.ndarray) -> list[Any]:
        """Return the cells of some rows; whole numbers as int."""
        if self.positions is not None:
            texts = [*self.texts, None]
            return [texts[position] for position in self.positions[rows].tolist()]
        assert self.numbers is not None
        cells = self.numbers[rows].tolist()
        return [int(cell) if float(cell).is_integer() else cell for cell in cells]

    def __len__(self) -> int:
        column = self.numbers if self.positions is None else self.positions
        return 0 if column is None else len(column)


@lru_cache(1 << 16)
def number(cell: str) -> float:
    """Return the number that a cell spells, or NaN.

    >>> number("2.5"), number("two"), number("1_000")
    (2.5, nan, nan)
    """
    try:
        return math.nan if "_" in cell else float(cell)
    except ValueError:
        return math.nan


class NameLookup:
    """Finds the objects that answers mention: by their names, or in any case if that leaves no doubt.

    >>> lookup = NameLookup({"Cat": 0, "dog": 1})
    >>> lookup("Cat"), lookup(" DOG"), lookup("cow") == UNREADABLE
    (0, 1, True)
    """

    def __init__(self, codes: Mapping[str, int]) -> None:
        self._codes = codes  # may grow
        self._loose: dict[str, int] = {}
        self._n_loose = 0

    def __call__(self, text: str) -> int:
        if text in self._codes:
            return self._codes[text]
        for name, code in islice(self._codes.items(), self._n_loose, None):
            loose = name.strip().casefold()
            self._loose[loose] = UNREADABLE if loose in self._loose else code
        self._n_loose = len(self._codes)
        return self._loose.get(text.strip().casefold(), UNREADABLE)


def mentioned(column: Column, lookup: NameLookup | None, first_index: int | None = None) -> np.ndarray:
    """Return the objects that answers mention, `UNREADABLE` elsewhere; without a lookup they are numbers."""
    if lookup is None:
        numbers = column.as_numbers() if column.numbers is None else column.numbers
        return from_zero(whole_codes(numbers), first_index)
    return column.map(lookup, np.int64, UNREADABLE)


def codes_for(codes: Mapping[str, Any], parts: Collection[str], what: str) -> None:
    """Refuse codes that leave out an answer, or speak of one that there is not."""
    for part in parts:
        if part not in codes:
            raise InputError(
                f"must say what stands for {part!r}: {what} have {', '.join(parts)}", parameter="codes"
            )
    for meaning in codes:
        if meaning not in (*parts, "undecided"):
            raise InputError(
                f"has the key {meaning!r}, but {what} have {', '.join(parts)}",
                "leave it out",
                parameter="codes",
            )


def _several(given: Any) -> list[Any]:
    return list(given) if isinstance(given, (list, tuple, set, frozenset, np.ndarray)) else [given]


def _text(cell: Any) -> str:
    """Return a code or a cell as text; numbers in one spelling, booleans as files write them.

    >>> _text(1), _text("1.0"), _text(" J "), _text(True)
    ('1', '1', 'J', 'true')
    """
    if isinstance(cell, (bool, np.bool_)):
        return str(cell).lower()
    text = str(cell).strip()
    try:
        number = float(text)
    except ValueError:
        return text
    return f"{number:.17g}" if math.isfinite(number) else text
