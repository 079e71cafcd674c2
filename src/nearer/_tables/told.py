"""Columns that tell what people answered: who won, or which of three is the odd one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from nearer._comparing.faults import UNREADABLE
from nearer._comparing.odd import odd_positions
from nearer._comparing.responses import WORDS, Answers, Coding, Readings, Zero, which_object
from nearer._tables.cells import Numbers, Words
from nearer._tables.columns import Layout
from nearer._tables.objects import Objects
from nearer.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

Place = Callable[[int], str]


class Responses:
    """Reads a column of responses: numbers, words, names of columns, or the objects chosen."""

    def __init__(self, layout: Layout, objects: Objects, zero: Zero | None, coding: Coding | None) -> None:
        first, second = layout.objects[1], layout.objects[-1]
        self._is_triplet = len(layout.objects) == 3
        self._objects, self._answers = objects, Answers(zero, coding)
        shown = zip((first, second), (1.0, -1.0), strict=True) if self._is_triplet and layout.header else ()
        columns = {str(layout.header[at]).strip().lower(): sign for at, sign in shown}
        self._numbers, self._words = Numbers(), Words(columns | WORDS)

    def signs(self, column: pa.Array, codes: np.ndarray, place: Place) -> np.ndarray:
        """Positive where the first option won, negative where the second, 0 where neither, NaN if unreadable."""
        objects = np.full(len(codes), np.nan)
        if self._is_triplet:
            said = self._objects.mentioned(column)
            known = said != UNREADABLE
            objects[known] = which_object(said[known], codes[known, 1], codes[known, 2])
        readings = Readings(self._numbers.values(column), self._words.values(column), objects)
        return self._answers.signs(readings, place)

    def check(self, place: str) -> None:
        """Refuse responses that have two meanings."""
        try:
            self._answers.check()
        except InputError as error:
            raise InputError(f"{place}: {error}") from None


class OddOnes:
    """Reads a column that tells the odd one of three: itself, its position from 1, or the name of its column."""

    def __init__(self, layout: Layout, objects: Objects, coding: Coding | None) -> None:
        self._objects, self._coding = objects, coding
        columns = {str(layout.header[at]).strip().lower(): float(n) for n, at in enumerate(layout.objects)}
        self._numbers, self._words = Numbers(), Words(columns)

    def positions(self, column: pa.Array, codes: np.ndarray, place: Place) -> np.ndarray:
        """0, 1 or 2, NaN where it cannot be read."""
        said = self._objects.mentioned(column)
        is_object = (codes == said[:, None]) & (said != UNREADABLE)[:, None]
        by_object = np.where(is_object.any(axis=1), is_object.argmax(axis=1), np.nan)
        numbers, words = self._numbers.values(column), self._words.values(column)
        if self._coding != "object" and (np.isnan(by_object) & (numbers == 0)).any():
            row = int(np.argmax(np.isnan(by_object) & (numbers == 0)))
            raise InputError(f"{place(row)}: the odd one is 0, but positions count from 1; write 1, 2 or 3")
        by_position = np.where(np.isin(numbers, (1, 2, 3)), numbers - 1, words)
        return odd_positions(by_position, by_object, self._coding, place)
