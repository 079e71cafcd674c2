"""Reading what people answered: which of two options is nearer, or which of three objects is the odd one.

Arrays and tables are read alike: both hand over a `Column` of answers and the codes of the objects shown.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Literal

import numpy as np

from nearer._utils.text import warn
from nearer.comparisons.ambiguity import (
    OPTIONS,
    ResponseDoubts,
    TrialDoubts,
    any_codes,
    both_ways,
    option_words,
)
from nearer.comparisons.codes import (
    ANSWERS,
    ODD_ONES,
    Codes,
    Column,
    check_codes,
    codes_for,
    number,
)
from nearer.comparisons.validation import UNREADABLE, Invalid, is_missing
from nearer.errors import InputError, InputWarning, Place, Remedy, Suggestion

Zero = Literal["undecided", "second"]
Coding = Literal["signs", "position", "object"]
Where = Callable[[int], Place]
_CODINGS = ("signs", "position", "object")
WORDS = {
    **dict.fromkeys(("true", "yes", "first", "left", "arrowleft", "leftarrow", "a"), 1.0),
    **dict.fromkeys(("false", "no", "second", "right", "arrowright", "rightarrow", "b"), -1.0),
}
_PAIRS = (("true", "false"), ("yes", "no"), ("first", "second"), ("left", "right"), ("a", "b"))
_ARROWS = {arrow: side for side in ("left", "right") for arrow in (f"arrow{side}", f"{side}arrow")}
_MORE_CODES = ("add what they stand for to the codes", Suggestion("invalid", "drop", "to leave them out"))
_SHOWN_CELLS = 8


def check_meaning(coding: str | None, zero: str | None, codes: Mapping[str, Any] | None) -> None:
    """Refuse settings that say nothing, or say two things, about what answers mean."""
    if coding not in (None, *_CODINGS):
        raise InputError(
            f"must be one of {', '.join(map(repr, _CODINGS))}, not {coding!r}", parameter="coding"
        )
    if zero not in (None, "undecided", "second"):
        raise InputError(f"must be 'undecided' or 'second', not {zero!r}", parameter="zero")
    if codes is not None:
        check_codes(codes, coding, zero)
    if zero is not None and coding not in (None, "signs"):
        raise InputError(
            f"is {zero!r}, which goes with the coding 'signs', not {coding!r}",
            "leave one out",
            parameter="zero",
        )


class AnswerReader(ABC):
    """Reads columns of answers, and counts the answers that are there but cannot be read.

    Parameters
    ----------
    codes : mapping, optional
        What stands for each answer, as for `Comparisons.read`; read anything that can be understood without it.
    answers : mapping
        The value of each answer that codes may stand for.
    what : str
        The words for the table, in the error about answers that it cannot have.
    """

    def __init__(self, codes: Mapping[str, Any] | None, answers: Mapping[str, float], what: str) -> None:
        self._codes = None
        if codes is not None:
            codes_for(codes, [answer for answer in answers if answer != "undecided"], what)
            self._codes = Codes(codes, answers)
        self.undecided = answers["undecided"]
        self._first_unread: tuple[int, str] | None = None  # its row and cell
        self._cells: list[Any] = []  # the first few different ones, readable or not
        self._n_unread, self._n_there = 0, 0

    def read(
        self,
        column: Column,
        said: np.ndarray,
        shown: np.ndarray,
        usable: np.ndarray,
        place: Where,
        start: int = 0,
    ) -> np.ndarray:
        """Return the values of a column; `said` are the objects it mentions, `shown` those of each question.

        What can be said about all answers is learned from rows that are `usable`; others are often instructions. Rows
        count from `start`, which is the number of rows in earlier columns.
        """
        if self._codes is not None:
            values = column.coded(self._codes)
        else:
            values = self._understood(column, said, shown, usable, lambda row: place(start + row))
        self._note_unread(column, values, usable, start)
        return values

    @abstractmethod
    def _understood(
        self, column: Column, said: np.ndarray, shown: np.ndarray, usable: np.ndarray, place: Where
    ) -> np.ndarray:
        """Return the values of a column without codes."""

    @abstractmethod
    def check(self, place: Place | None = None) -> None:
        """Refuse answers that, all of them taken together, have two meanings."""

    @abstractmethod
    def unreadable(self, cell: Any, objects: Sequence[Any]) -> str:
        """Say what is wrong with an answer about these objects."""

    @abstractmethod
    def _remedy(self, cells: Sequence[Any]) -> Remedy:
        """Return what to do if many answers cannot be read without codes; `cells` are the different ones."""

    def _note_unread(self, column: Column, values: np.ndarray, usable: np.ndarray, start: int) -> None:
        unread = np.flatnonzero(np.isnan(values) & usable)
        self._n_there += int(np.count_nonzero(usable)) - len(unread)
        if not len(unread):
            return
        cells = zip(unread.tolist(), column.cells(unread), strict=True)
        there = [(row, cell) for row, cell in cells if not is_missing(cell)]
        if there and self._first_unread is None:
            self._first_unread = start + there[0][0], repr(there[0][1])
        self._n_unread += len(there)
        self._n_there += len(there)
        if len(self._cells) < _SHOWN_CELLS:
            new = dict.fromkeys([*self._cells, *column.cells(np.flatnonzero(usable))])
            self._cells = [cell for cell in new if not is_missing(cell)]

    def refuse_unread(self, invalid: Invalid, place: Where, source: str) -> None:
        """Refuse unreadable answers that are too many to be slips, or warn if they are to be dropped."""
        if self._first_unread is None or self._n_unread < 2 or 10 * self._n_unread <= self._n_there:
            return
        row, cell = self._first_unread
        problem = f"{self._n_unread} of {self._n_there} answers, such as {cell}, cannot be read"
        remedy = self._remedy(self._cells) if self._codes is None else _MORE_CODES
        if invalid == "error":
            raise InputError(problem, remedy, place=place(row))
        if self._codes is None:  # with codes, any other answer may go
            warn(InputWarning(f"{problem} and were left out", remedy, place=Place(source or None)))


class ResponseReader(AnswerReader):
    """Reads responses to questions with two options: numbers, words, names of columns, objects, or given codes.

    Values are positive if the first option won, negative if the second did, 0 if neither, NaN if unreadable.

    Parameters
    ----------
    coding, zero, codes
        What responses mean, as for `Comparisons.from_responses`.
    columns : sequence
        The names of the columns of the two options, if there are any.
    """

    def __init__(
        self,
        coding: Coding | None,
        zero: Zero | None,
        codes: Mapping[str, Any] | None,
        columns: Sequence[object] = (),
    ) -> None:
        check_meaning(coding, zero, codes)
        self._options = tuple(map(option_words, columns)) if columns else OPTIONS
        words = _meanings(_columns_as_words(columns, (1.0, -1.0)))
        self._word = cache(lambda cell: words.get(cell.strip().lower(), np.nan))
        self._zero = zero
        self._coding = "signs" if zero is not None else coding  # `zero` is about signs
        self._doubts = ResponseDoubts(self._options)
        super().__init__(codes, ANSWERS, "responses")

    def _understood(
        self, column: Column, said: np.ndarray, shown: np.ndarray, usable: np.ndarray, place: Where
    ) -> np.ndarray:
        objects = np.full(len(column), np.nan)
        if shown.shape[1] == 3:
            objects = which_object(said, shown[:, 1], shown[:, 2])
        numbers, words, objects = _of_usable(usable, column.as_numbers(), column.map(self._word), objects)
        return self._signs(numbers, words, objects, place)

    def _signs(self, numbers: np.ndarray, words: np.ndarray, objects: np.ndarray, place: Where) -> np.ndarray:
        if self._coding == "object":
            return objects
        numbers = np.where(np.isfinite(numbers), numbers, np.nan)
        self._doubts.see(numbers, words, objects)
        if self._coding == "position":
            positions = np.select([numbers == 1, numbers == 2, numbers == 0], [1.0, -1.0, 0.0], np.nan)
            return np.where(np.isnan(words), positions, words)
        spoken = np.where(np.isnan(numbers), words, numbers)
        if self._zero == "second":
            spoken[numbers == 0] = -1.0
        if self._coding is None:
            _refuse_clash(words * objects < 0, place)
            spoken = np.where(np.isnan(spoken), objects, spoken)
        return spoken

    def check(self, place: Place | None = None) -> None:
        """Refuse responses that, all of them taken together, have two meanings.

        Many people code booleans as 0 and 1, or the answers as 0 and 1, 1 and 2, or by keys; reading these as
        "undecided" or as counts would silently give another data set.
        """
        doubt = None
        if self._codes is None and self._coding == "position":
            doubt = self._doubts.of_positions()
        elif self._codes is None and self._coding is None:
            doubt = self._doubts.of_numbers()
        elif self._zero is None and self._coding == "signs":
            doubt = self._doubts.of_signs()
        if doubt is not None:
            raise doubt.but(place=place)

    def unreadable(self, cell: Any, objects: Sequence[Any]) -> str:
        return f"the response {cell!r} is not {self._expected()}"

    def _expected(self) -> str:
        if self._codes is not None:
            return f"one of the codes ({self._codes})"
        if self._coding == "position":
            return "1 or 2, first or second"
        if self._coding == "object":
            return "one of the two objects"
        return "1, -1, 0, true, false, left, right, first, second, a, b, a number of answers, or one of the two objects"

    def _remedy(self, cells: Sequence[Any]) -> Remedy:
        if self._coding is not None:
            return [f"they should be {self._expected()}, so correct them", "leave coding out"]
        if len(cells) == 2:
            return both_ways(cells, *self._options)
        return [any_codes(*self._options)]


class OddReader(AnswerReader):
    """Reads which of three objects is the odd one: itself, its position from 1, its column's name, or a code.

    Values are 0, 1 or 2, -1 if undecided, NaN if unreadable.
    """

    def __init__(
        self, coding: Coding | None, codes: Mapping[str, Any] | None, columns: Sequence[object]
    ) -> None:
        words = _columns_as_words(columns, (0.0, 1.0, 2.0))
        self._word = cache(lambda cell: words.get(cell.strip().lower(), np.nan))
        self._coding, self._doubts = coding, TrialDoubts(coding, columns)
        super().__init__(codes, ODD_ONES, "odd-one-out trials")

    def _understood(
        self, column: Column, said: np.ndarray, shown: np.ndarray, usable: np.ndarray, place: Where
    ) -> np.ndarray:
        is_object = (shown == said[:, None]) & (said != UNREADABLE)[:, None]
        by_object = np.where(is_object.any(axis=1), is_object.argmax(axis=1), np.nan)
        numbers, words, by_object = _of_usable(usable, column.as_numbers(), column.map(self._word), by_object)
        return self._doubts.positions(numbers, words, by_object, place)

    def check(self, place: Place | None = None) -> None:
        """Refuse odd ones that can be read in two ways; the first of those has its own place."""
        if self._codes is None:
            self._doubts.check()

    def unreadable(self, cell: Any, objects: Sequence[Any]) -> str:
        if self._codes is not None:
            return f"the odd one {cell!r} is not one of the codes ({self._codes})"
        return f"the odd one {cell!r} is none of {tuple(objects)}, nor 1, 2 or 3, nor the name of a column"

    def _remedy(self, cells: Sequence[Any]) -> Remedy:
        if self._coding is not None:
            return [f"they should be given by their {self._coding}, so correct them", "leave coding out"]
        return [self._doubts.any_codes()]


def _of_usable(usable: np.ndarray, *readings: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return readings with NaN in rows that are not usable."""
    return readings if usable.all() else tuple(np.where(usable, one, np.nan) for one in readings)


def which_object(said: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return 1 if the first object was said, -1 if the second was, NaN if neither or both were.

    >>> which_object(np.array([4, 5, 6]), np.array([4, 4, 4]), np.array([5, 5, 5]))
    array([ 1., -1., nan])
    """
    is_first, is_second = said == first, said == second
    signs = is_first.astype(np.float64) - is_second
    signs[(signs == 0) | (said == UNREADABLE)] = np.nan
    return signs


def _refuse_clash(clash: np.ndarray, place: Where) -> None:
    """Refuse words that are also the name of the other object."""
    if clash.any():
        raise InputError(
            "the response could be a position or the name of an object",
            [
                Suggestion("coding", "position", "if it says where the option was"),
                Suggestion("coding", "object", "if it names the object chosen"),
            ],
            place=place(int(np.argmax(clash))),
        )


def _columns_as_words(names: Sequence[object], values: Sequence[float]) -> dict[str, float]:
    """Return what the names of columns stand for as an answer, by their lower case; numbers stand for nothing.

    >>> _columns_as_words(["Left", 2], [1.0, -1.0])
    {'left': 1.0}
    """
    return {
        name.strip().lower(): value
        for name, value in zip(names, values, strict=False)
        if isinstance(name, str) and math.isnan(number(name))
    }


def _meanings(columns: Mapping[str, float]) -> dict[str, float]:
    """Return what words stand for: the name of a column for it, and its counterpart for nothing but the other one.

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
