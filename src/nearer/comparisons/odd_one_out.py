"""Odd-one-out trials: three objects, and which of them does not belong with the other two."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from nearer.comparisons.ambiguity import instead, option_words
from nearer.comparisons.responses import Coding
from nearer.errors import InputError, Place, Setting

Where = tuple[Callable[[int], Place], int]


class OddReadings:
    """Settles how the odd ones of a table are told, by position or by themselves, and refuses what could be both.

    `columns` are the names of the columns that hold the three objects.
    """

    def __init__(self, coding: Coding | None, columns: Sequence[object]) -> None:
        if coding == "signs":
            raise InputError(
                "is 'signs', which is for questions with two answers",
                parameter="coding",
                remedy="leave it out for odd-one-out trials",
            )
        self._coding, self._columns = coding, [option_words(name) for name in columns]
        self._doubt: Where | None = None  # the first cell with two readings
        self._zero: Where | None = None  # the first 0 that is not an object
        self._all_objects = self._all_from_one = self._all_from_zero = True
        self._spoken = False  # whether some cells are no numbers

    def positions(
        self, numbers: np.ndarray, words: np.ndarray, by_object: np.ndarray, place: Callable[[int], Place]
    ) -> np.ndarray:
        """Which of the three is the odd one, 0 to 2, or NaN; the readings have NaN where they do not fit."""
        if self._coding == "object":
            return by_object
        from_one = np.where(np.isin(numbers, (1, 2, 3)), numbers - 1, words)
        by_position = ~np.isnan(from_one)
        is_object, is_number = ~np.isnan(by_object), ~np.isnan(numbers)
        zero = (numbers == 0) & (~is_object if self._coding is None else True)
        clash = by_position & is_object & (from_one != by_object)
        self._all_objects &= not (is_number & ~is_object).any()
        self._all_from_one &= not (is_number & ~by_position).any()
        self._all_from_zero &= not (is_number & ~np.isin(numbers, (0, 1, 2))).any()
        self._spoken |= bool((~is_number & (by_position | is_object)).any())
        self._zero = self._zero or _first(zero, place)
        if self._coding == "position":
            return from_one
        self._doubt = self._doubt or _first(clash, place)
        return np.where(by_position, from_one, by_object)

    def check(self) -> None:
        """Refuse odd ones that, all of them taken together, can be read in two ways, or count from 0."""
        where = self._doubt or (None if self._spoken else self._zero)
        if where is None:
            return
        place = where[0](where[1])
        ways = []
        if self._all_from_one and self._doubt:
            ways.append(Setting("coding", "position", "if 1, 2 and 3 stand for the three columns"))
        if self._all_from_zero:
            ways.append(self._from_zero())
        if self._all_objects and self._doubt:
            ways.append(Setting("coding", "object", "if they are the objects themselves"))
        problem = "the odd one is 0, but positions count from 1"
        if self._doubt:
            problem = "the odd one could be given by its position or by itself"
        ways = ways or [self.any_codes()]
        if self._coding is not None:
            ways = [instead(way) for way in ways]
        raise InputError(problem, place=place, remedy=ways)

    def _from_zero(self) -> Setting:
        first, second, third = self._columns
        purpose = f"if 0 stands for {first}, 1 for {second} and 2 for {third}"
        return Setting("codes", {"first": 0, "second": 1, "third": 2}, purpose)

    def any_codes(self) -> Setting:
        """Return codes that the user must fill in."""
        purpose = f"with what stands for {', '.join(self._columns[:2])} and {self._columns[2]}"
        return Setting("codes", {"first": ..., "second": ..., "third": ...}, purpose)


def _first(mask: np.ndarray, place: Callable[[int], Place]) -> Where | None:
    return (place, int(np.argmax(mask))) if mask.any() else None


def odd_last(rows: np.ndarray, odd: np.ndarray) -> np.ndarray:
    """The rows with the odd object at the end.

    >>> odd_last(np.array([[4, 5, 6], [4, 5, 6]]), np.array([0, 2]))
    array([[5, 6, 4],
           [4, 5, 6]])
    """
    order = np.array([[1, 2, 0], [0, 2, 1], [0, 1, 2]])
    return np.take_along_axis(rows, order[odd], axis=1)


def both_triplets(rows: np.ndarray) -> np.ndarray:
    """Two triplets a trial: each of the pair is nearer to the other than to the odd one, which is last.

    >>> both_triplets(np.array([[4, 5, 6]]))
    array([[4, 5, 6],
           [5, 4, 6]])
    """
    return np.stack([rows, rows[:, [1, 0, 2]]], axis=1).reshape(-1, 3)
