"""What numbers in place of answers could mean, and which setting says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from nearer.errors import InputError, Setting

_MOST_VALUES = 13
#: more different numbers are no keys or buttons
_MOST_CODES = 4

#: the words for the two options where columns have no names
OPTIONS = ("the first option", "the second option")


def option_words(name: object) -> str:
    """The words for an option by its column's name, or position."""
    return repr(name) if isinstance(name, str) else f"column {name}"


class Doubts:
    """Collects the different responses of a table, and puts into words what they leave open."""

    def __init__(self, options: tuple[str, str]) -> None:
        self._first, self._second = options
        self._values: set[float] = set()
        self._negative = self._spoken = self._differ = False
        self._may_be_objects = True

    def see(self, numbers: np.ndarray, words: np.ndarray, objects: np.ndarray) -> None:
        """Take note of responses, as numbers, as words and as objects, NaN where they are not."""
        number, is_object = ~np.isnan(numbers), ~np.isnan(objects)
        self._negative |= bool((numbers < 0).any())
        self._spoken |= bool((~number & (~np.isnan(words) | is_object)).any())
        self._may_be_objects &= not (number & ~is_object).any()
        self._differ |= bool((number & is_object & (numbers != objects)).any())
        if len(self._values) < _MOST_VALUES:
            self._values.update(np.unique(numbers[number]).tolist()[:_MOST_VALUES])

    def of_numbers(self) -> InputError | None:
        """Return the doubt about responses without any setting."""
        ways: list[str | Setting] = [*self._as_objects(), *self._as_codes()]
        if not ways:
            return None
        doubt = "could have several meanings"
        if len(self._values) > _MOST_CODES and not self._as_objects():
            doubt = f"are never negative, as if {self._first} always won"
            ways = [f"write negative numbers for {self._second}", *ways]
        return InputError(f"the responses ({self._shown()}) {doubt}", remedy=ways)

    def of_signs(self) -> InputError | None:
        """Return the doubt about signs that are 0 or 1."""
        if self._values != {0.0, 1.0}:
            return None
        ways = [self._zero_second(), self._zero_undecided(), instead(self._from_zero())]
        return InputError("the responses are all 0 or 1, where 0 may mean several things", remedy=ways)

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
            parameter="coding",
            remedy=[instead(self._from_zero()), instead(self._zero_second())],
        )

    def _as_objects(self) -> list[Setting]:
        if not (self._may_be_objects and self._differ):
            return []
        chosen = Setting("coding", "object", "if they are the objects chosen")
        return [chosen] if self._negative or self._as_codes() else [chosen, self._counts()]

    def _as_codes(self) -> list[Setting]:
        """What numbers may be where none is negative: as signs they would let the first option win every time."""
        values = self._values
        if self._negative or not values or values == {1.0} or (self._spoken and values == {0.0}):
            return []
        if values <= {0.0, 1.0}:
            return [self._from_zero(), self._zero_second(), self._zero_undecided()]
        if values <= {0.0, 1.0, 2.0} and values != {0.0, 2.0}:
            undecided = " (and 0 for neither)" if 0.0 in values else ""
            purpose = f"if 1 stands for {self._first} and 2 for {self._second}{undecided}"
            from_zero = [self._from_zero(2)] if 0.0 in values else []
            return [Setting("coding", "position", purpose), *from_zero, self._counts()]
        return [*self._as_keys(), self._counts()]

    def _as_keys(self) -> list[Setting]:
        if len(self._values) > _MOST_CODES:
            return []
        if len(self._values) != 2:
            return [any_codes(self._first, self._second)]
        return both_ways([_number(value) for value in sorted(self._values)], self._first, self._second)

    def _from_zero(self, undecided: int | None = None) -> Setting:
        codes = {"first": 0, "second": 1} | ({} if undecided is None else {"undecided": undecided})
        words = "" if undecided is None else f" (and {undecided} for neither)"
        return Setting("codes", codes, f"if 0 stands for {self._first} and 1 for {self._second}{words}")

    def _zero_second(self) -> Setting:
        return Setting(
            "zero", "second", f"if 1 says that {self._first} is nearer and 0 that {self._second} is"
        )

    def _zero_undecided(self) -> Setting:
        return Setting(
            "zero", "undecided", f"if 1 says that {self._first} is nearer and 0 that nobody can tell"
        )

    def _counts(self) -> Setting:
        return Setting(
            "coding", "signs", f"if they are numbers of answers, every one of them for {self._first}"
        )

    def _shown(self) -> str:
        some = [f"{value:g}" for value in sorted(self._values)]
        return ", ".join(some[:4]) + (", ..." if len(some) > 4 else "")


def any_codes(first: str, second: str) -> Setting:
    """Return codes that the user must fill in."""
    purpose = f"with what stands for {first} and for {second} (and 'undecided', if something does)"
    return Setting("codes", {"first": ..., "second": ...}, purpose)


def both_ways(codes: Sequence[object], first: str, second: str) -> list[Setting]:
    """Return both ways in which two codes can stand for two options."""
    return [
        Setting(
            "codes",
            {"first": one, "second": other},
            f"if {one!r} stands for {first} and {other!r} for {second}",
        )
        for one, other in (codes, codes[::-1])
    ]


def instead(setting: Setting) -> Setting:
    """Return a setting that replaces `coding`."""
    return replace(setting, purpose=f"instead of coding {setting.purpose}")


def _number(value: float) -> float:
    return int(value) if value.is_integer() else value
