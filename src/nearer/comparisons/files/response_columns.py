"""Columns that tell what people answered: who won, or which of three is the odd one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nearer.comparisons.ambiguity import OPTIONS, any_codes, both_ways, option_words
from nearer.comparisons.codes import ANSWERS, ODD_ONES, Codes, codes_for
from nearer.comparisons.files.cells import Coded, Numbers, Words
from nearer.comparisons.files.columns import Layout
from nearer.comparisons.files.objects import Objects
from nearer.comparisons.odd_one_out import OddReadings
from nearer.comparisons.responses import WORDS, Answers, Coding, Readings, Zero, number, which_object
from nearer.comparisons.row_errors import UNREADABLE, is_missing
from nearer.errors import InputError, Place, Remedy, Setting

if TYPE_CHECKING:
    import pyarrow as pa

Where = Callable[[int], Place]
_MORE_CODES = ("add what they stand for to the codes", Setting("invalid", "drop", "to leave them out"))
_ARROWS = {arrow: side for side in ("left", "right") for arrow in (f"arrow{side}", f"{side}arrow")}
_SHOWN_CELLS = 8
_PAIRS = (("true", "false"), ("yes", "no"), ("first", "second"), ("left", "right"), ("a", "b"))


class Responses:
    """Reads a column of responses: numbers, words, names of columns, the objects chosen, or codes that were given."""

    def __init__(
        self,
        layout: Layout,
        objects: Objects,
        zero: Zero | None,
        coding: Coding | None,
        codes: Mapping[str, Any] | None,
    ) -> None:
        self._is_triplet = len(layout.objects) == 3
        self._objects = objects
        self._first, self._second = OPTIONS
        columns = {}
        if self._is_triplet and layout.header:
            names = [layout.header[at] for at in layout.objects[1:]]
            self._first, self._second = map(option_words, names)
            columns = _columns_as_words(names, (1.0, -1.0))
        self._answers = Answers(zero, coding, (self._first, self._second))
        self._coding = coding
        self._numbers, self._words = Numbers(), Words(_meanings(columns))
        self._coded = None
        if codes is not None and layout.response is not None:
            codes_for(codes, ("first", "second"), "responses")
            self._coded = Coded(Codes(codes, ANSWERS))

    def read(self, column: pa.Array, codes: np.ndarray, usable: np.ndarray, place: Where) -> np.ndarray:
        """Positive where the first option won, negative where the second, 0 where neither, NaN if unreadable.

        What can be said about all responses is learned from rows that are `usable`; others are often instructions.
        """
        if self._coded is not None:
            return self._coded.values(column)
        objects = np.full(len(codes), np.nan)
        if self._is_triplet:
            said = self._objects.mentioned(column)
            known = said != UNREADABLE
            objects[known] = which_object(said[known], codes[known, 1], codes[known, 2])
        readings = Readings(self._numbers.values(column), self._words.values(column), objects)
        return self._answers.signs(Readings(*(np.where(usable, one, np.nan) for one in readings)), place)

    def check(self, place: Place) -> None:
        """Refuse responses that have two meanings."""
        if self._coded is not None:
            return
        try:
            self._answers.check()
        except InputError as error:
            raise error.but(place=place) from None

    def unreadable(self, cell: Any, objects: Sequence[Any]) -> str:
        """What is wrong with a response."""
        return f"the response {cell!r} is not {self._expected()}"

    def _expected(self) -> str:
        if self._coded is not None:
            return f"one of the codes ({self._coded.codes})"
        if self._coding == "position":
            return "1 or 2, first or second"
        if self._coding == "object":
            return "one of the two objects"
        return "1, -1, 0, true, false, left, right, first, second, a, b, a number of answers, or one of the two objects"

    def remedy(self, cells: Sequence[Any]) -> Remedy:
        """Return what to do if many responses cannot be read; `cells` are the different ones."""
        if self._coded is not None:
            return _MORE_CODES
        if self._coding is not None:
            return [f"they should be {self._expected()}, so correct them", "leave coding out"]
        if len(cells) == 2:
            return both_ways(cells, self._first, self._second)
        return [any_codes(self._first, self._second)]


def _columns_as_words(names: Sequence[object], values: Sequence[float]) -> dict[str, float]:
    """The names of columns, in lower case, and what they stand for as an answer; those that are numbers stand for none.

    >>> _columns_as_words(["Left", 2], [1.0, -1.0])
    {'left': 1.0}
    """
    return {
        name.strip().lower(): value
        for name, value in zip(names, values, strict=True)
        if isinstance(name, str) and math.isnan(number(name))
    }


def _meanings(columns: Mapping[str, float]) -> dict[str, float]:
    """What words stand for: a name of a column that column, and its counterpart no other than the other column.

    >>> meanings = _meanings({"right": 1.0, "other": -1.0})
    >>> meanings["right"], "left" in meanings
    (1.0, False)
    """
    taken = {word for pair in _PAIRS for word in pair if set(pair) & set(columns)}
    meanings = {word: sign for word, sign in WORDS.items() if word not in taken} | dict(columns)
    for arrow, side in _ARROWS.items():
        if side in meanings:
            meanings[arrow] = meanings[side]
        else:
            del meanings[arrow]
    return meanings


class OddOnes:
    """Reads a column that tells the odd one of three: itself, its position from 1, its column's name, or a code."""

    def __init__(
        self, layout: Layout, objects: Objects, coding: Coding | None, codes: Mapping[str, Any] | None
    ) -> None:
        self._objects, self._coding = objects, coding
        names = [layout.header[at] for at in layout.objects]
        self._numbers = Numbers()
        self._words = Words(_columns_as_words(names, (0.0, 1.0, 2.0)))
        self._readings = OddReadings(coding, names)
        self._coded = None
        if codes is not None:
            codes_for(codes, ("first", "second", "third"), "odd-one-out trials")
            self._coded = Coded(Codes(codes, ODD_ONES))

    def read(self, column: pa.Array, codes: np.ndarray, usable: np.ndarray, place: Where) -> np.ndarray:
        """0, 1 or 2, -1 where it is undecided, NaN where it cannot be read."""
        if self._coded is not None:
            return self._coded.values(column)
        said = self._objects.mentioned(column)
        is_object = (codes == said[:, None]) & (said != UNREADABLE)[:, None]
        by_object = np.where(is_object.any(axis=1), is_object.argmax(axis=1), np.nan)
        numbers, words, by_object = (
            np.where(usable, one, np.nan)
            for one in (self._numbers.values(column), self._words.values(column), by_object)
        )
        return self._readings.positions(numbers, words, by_object, place)

    def check(self, place: Place) -> None:
        """Refuse odd ones that could be told in two ways; the first of those has a place of its own."""
        if self._coded is None:
            self._readings.check()

    def unreadable(self, cell: Any, objects: Sequence[Any]) -> str:
        """What is wrong with a cell that should tell the odd one of these objects."""
        if self._coded is not None:
            return f"the odd one {cell!r} is not one of the codes ({self._coded.codes})"
        return f"the odd one {cell!r} is none of {tuple(objects)}, nor 1, 2 or 3, nor the name of a column"

    def remedy(self, cells: Sequence[Any]) -> Remedy:
        """Return what to do if many odd ones cannot be read."""
        if self._coded is not None:
            return _MORE_CODES
        if self._coding is not None:
            return [f"they should be given by their {self._coding}, so correct them", "leave coding out"]
        return [self._readings.any_codes()]


class Untold:
    """Counts answers that are there and cannot be read."""

    def __init__(self) -> None:
        self.first_row, self._first_cell = 0, ""
        self.cells: list[Any] = []  # the first few different ones, readable or not
        self._n, self._n_there = 0, 0

    def see(self, column: pa.Array, told: np.ndarray, usable: np.ndarray, start: int) -> None:
        """Take note of a column of answers and what was read in its usable rows; these count from `start`."""
        if len(self.cells) < _SHOWN_CELLS:
            new = column.filter(usable).unique().to_pylist()
            self.cells = list(dict.fromkeys([*self.cells, *(cell for cell in new if not is_missing(cell))]))
        unread = np.flatnonzero(np.isnan(told) & usable)
        cells = column.take(unread).to_pylist()
        there = [
            (row, cell) for row, cell in zip(unread.tolist(), cells, strict=True) if not is_missing(cell)
        ]
        if there and not self._n:
            self.first_row, self._first_cell = start + there[0][0], repr(there[0][1])
        self._n += len(there)
        self._n_there += int(np.count_nonzero(usable)) - len(unread) + len(there)

    @property
    def matter(self) -> bool:
        """Whether they are so many that they are no slips."""
        return self._n > 1 and 10 * self._n > self._n_there

    def shown(self) -> str:
        """How many they are, and the first of them."""
        return f"{self._n} of {self._n_there} answers, such as {self._first_cell}, cannot be read"
