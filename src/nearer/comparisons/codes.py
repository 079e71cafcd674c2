"""Responses in codes of one's own: keys, buttons, numbers of options."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

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
            "says all that coding and zero could say",
            parameter="codes",
            remedy="leave out the one or the others",
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
        self._loose: dict[str, float] = {}  # NaN where two codes differ in nothing but case
        for meaning, given in codes.items():
            for code in _several(given):
                self._add(_text(code), meanings[meaning], meaning)
        self._shown = ", ".join(
            f"{' or '.join(map(_text, _several(given)))} for {meaning}" for meaning, given in codes.items()
        )

    def _add(self, code: str, value: float, meaning: str) -> None:
        if self._exact.get(code, value) != value:
            raise InputError(
                f"has {code!r} for two answers, one of them {meaning!r}",
                parameter="codes",
                remedy="give it once",
            )
        self._exact[code] = value
        loose = code.casefold()
        self._loose[loose] = value if self._loose.get(loose, value) == value else np.nan

    def __str__(self) -> str:
        return self._shown

    def of_text(self, cell: str) -> float:
        """What a cell of text stands for, NaN if it is no code."""
        cell = _text(cell)
        return self._exact.get(cell, self._loose.get(cell.casefold(), np.nan))

    def of_array(self, cells: np.ndarray) -> np.ndarray:
        """What the cells of an array stand for, NaN where they are no codes."""
        different, position = np.unique(cells.astype(np.str_), return_inverse=True)
        return np.array([self.of_text(cell) for cell in different.tolist()])[position]


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
                parameter="codes",
                remedy="leave it out",
            )


def _several(given: Any) -> list[Any]:
    return list(given) if isinstance(given, (list, tuple, set, frozenset, np.ndarray)) else [given]


def _text(cell: Any) -> str:
    """A code or a cell as text; numbers in one spelling, booleans as files write them.

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
