"""What numbers in place of answers could mean, and which setting says so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from nearer.errors import InputError, Place, Suggestion

_MOST_VALUES = 13
#: more different numbers are no keys or buttons
_MOST_CODES = 4

#: the words for the two options if columns have no names
OPTIONS = ("the first option", "the second option")


def option_words(name: object) -> str:
    """Return the words for an option by its column's name, or position."""
    return repr(name) if isinstance(name, str) else f"column {name}"


class ResponseDoubts:
    """Collects the different responses of a table, and puts into words what they leave open."""

    def __init__(self, options: Sequence[str]) -> None:
        self._first, self._second = options
        self._values: set[float] = set()
        self._negative = self._spoken = self._differ = False
        self._may_be_objects = True

    def see(self, numbers: np.ndarray, words: np.ndarray, objects: np.ndarray) -> None:
        """Take note of responses, as numbers, as words and as objects, NaN if they are not."""
        number, is_object = ~np.isnan(numbers), ~np.isnan(objects)
        self._negative |= bool((numbers < 0).any())
        self._spoken |= bool((~number & (~np.isnan(words) | is_object)).any())
        self._may_be_objects &= not (number & ~is_object).any()
        self._differ |= bool((number & is_object & (numbers != objects)).any())
        if len(self._values) < _MOST_VALUES:
            self._values.update(np.unique(numbers[number]).tolist()[:_MOST_VALUES])

    def of_numbers(self) -> InputError | None:
        """Return the doubt about responses without any setting."""
        ways: list[str | Suggestion] = [*self._as_objects(), *self._as_codes()]
        if not ways:
            return None
        doubt = "could have several meanings"
        if len(self._values) > _MOST_CODES and not self._as_objects():
            doubt = f"are never negative, as if {self._first} always won"
            ways = [f"write negative numbers for {self._second}", *ways]
        return InputError(f"the responses ({self._shown()}) {doubt}", ways)

    def of_signs(self) -> InputError | None:
        """Return the doubt about signs that are 0 or 1."""
        if self._values != {0.0, 1.0}:
            return None
        ways = [self._zero_second(), self._zero_undecided(), instead(self._from_zero())]
        return InputError("the responses are all 0 or 1, where 0 may mean several things", ways)

    def of_positions(self) -> InputError | None:
        """Return the doubt about positions that seem to count from 0."""
        if (
            0.0 not in self._values
            or not self._values <= {0.0, 1.0}
            or (self._spoken and self._values == {0.0})
        ):
            return None
        return InputError(
            f"is 'position', but the responses ({self._shown()}) are not the positions 1 and 2",
            [instead(self._from_zero()), instead(self._zero_second())],
            parameter="coding",
        )

    def _as_objects(self) -> list[Suggestion]:
        if not (self._may_be_objects and self._differ):
            return []
        chosen = Suggestion("coding", "object", "if they are the objects chosen")
        return [chosen] if self._negative or self._as_codes() else [chosen, self._counts()]

    def _as_codes(self) -> list[Suggestion]:
        """Return what numbers may be if none is negative: as signs they would let the first option win every time."""
        values = self._values
        if self._negative or not values or values == {1.0} or (self._spoken and values == {0.0}):
            return []
        if values <= {0.0, 1.0}:
            return [self._from_zero(), self._zero_second(), self._zero_undecided()]
        if values <= {0.0, 1.0, 2.0} and values != {0.0, 2.0}:
            undecided = " (and 0 for neither)" if 0.0 in values else ""
            purpose = f"if 1 stands for {self._first} and 2 for {self._second}{undecided}"
            from_zero = [self._from_zero(2)] if 0.0 in values else []
            return [Suggestion("coding", "position", purpose), *from_zero, self._counts()]
        return [*self._as_keys(), self._counts()]

    def _as_keys(self) -> list[Suggestion]:
        if len(self._values) > _MOST_CODES:
            return []
        if len(self._values) != 2:
            return [any_codes(self._first, self._second)]
        return both_ways([_number(value) for value in sorted(self._values)], self._first, self._second)

    def _from_zero(self, undecided: int | None = None) -> Suggestion:
        codes = {"first": 0, "second": 1} | ({} if undecided is None else {"undecided": undecided})
        words = "" if undecided is None else f" (and {undecided} for neither)"
        return Suggestion("codes", codes, f"if 0 stands for {self._first} and 1 for {self._second}{words}")

    def _zero_second(self) -> Suggestion:
        return Suggestion(
            "zero", "second", f"if 1 says that {self._first} is nearer and 0 that {self._second} is"
        )

    def _zero_undecided(self) -> Suggestion:
        return Suggestion(
            "zero", "undecided", f"if 1 says that {self._first} is nearer and 0 that nobody can tell"
        )

    def _counts(self) -> Suggestion:
        return Suggestion(
            "coding", "signs", f"if they are numbers of answers, every one of them for {self._first}"
        )

    def _shown(self) -> str:
        some = [f"{value:g}" for value in sorted(self._values)]
        return ", ".join(some[:4]) + (", ..." if len(some) > 4 else "")


Where = tuple[Callable[[int], Place], int]


class TrialDoubts:
    """Decides how the odd ones of a table are given, by position or by themselves, and refuses what could be both.

    `columns` are the names of the columns that hold the three objects.
    """

    def __init__(self, coding: str | None, columns: Sequence[object]) -> None:
        if coding == "signs":
            raise InputError(
                "is 'signs', which is for questions with two answers",
                "leave it out for odd-one-out trials",
                parameter="coding",
            )
        self._coding, self._columns = coding, [option_words(name) for name in columns]
        self._doubt: Where | None = None  # the first cell with two readings
        self._zero: Where | None = None  # the first 0 that is not an object
        self._all_objects = self._all_from_one = self._all_from_zero = True
        self._spoken = False  # whether some cells are no numbers

    def positions(
        self, numbers: np.ndarray, words: np.ndarray, by_object: np.ndarray, place: Callable[[int], Place]
    ) -> np.ndarray:
        """Return which of the three is the odd one, 0 to 2, or NaN; the readings have NaN if they do not fit."""
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
            ways.append(Suggestion("coding", "position", "if 1, 2 and 3 stand for the three columns"))
        if self._all_from_zero:
            ways.append(self._from_zero())
        if self._all_objects and self._doubt:
            ways.append(Suggestion("coding", "object", "if they are the objects themselves"))
        problem = "the odd one is 0, but positions count from 1"
        if self._doubt:
            problem = "the odd one could be given by its position or by itself"
        ways = ways or [self.any_codes()]
        if self._coding is not None:
            ways = [instead(way) for way in ways]
        raise InputError(problem, ways, place=place)

    def _from_zero(self) -> Suggestion:
        first, second, third = self._columns
        purpose = f"if 0 stands for {first}, 1 for {second} and 2 for {third}"
        return Suggestion("codes", {"first": 0, "second": 1, "third": 2}, purpose)

    def any_codes(self) -> Suggestion:
        """Return codes that the user must fill in."""
        purpose = f"with what stands for {', '.join(self._columns[:2])} and {self._columns[2]}"
        return Suggestion("codes", {"first": ..., "second": ..., "third": ...}, purpose)


def _first(mask: np.ndarray, place: Callable[[int], Place]) -> Where | None:
    return (place, int(np.argmax(mask))) if mask.any() else None


def any_codes(first: str, second: str) -> Suggestion:
    """Return codes that the user must fill in."""
    purpose = f"with what stands for {first} and for {second} (and 'undecided', if something does)"
    return Suggestion("codes", {"first": ..., "second": ...}, purpose)


def both_ways(codes: Sequence[object], first: str, second: str) -> list[Suggestion]:
    """Return both ways in which two codes can stand for two options."""
    return [
        Suggestion(
            "codes",
            {"first": one, "second": other},
            f"if {one!r} stands for {first} and {other!r} for {second}",
        )
        for one, other in (codes, codes[::-1])
    ]


def instead(setting: Suggestion) -> Suggestion:
    """Return a setting that replaces `coding`."""
    return replace(setting, purpose=f"instead of coding {setting.purpose}")


def _number(value: float) -> float:
    return int(value) if value.is_integer() else value
