"""From "which of the two was nearer?" to rows with the winner first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from nearer.comparisons.ambiguity import OPTIONS, Doubts, any_codes
from nearer.comparisons.codes import ANSWERS, Codes, check_codes, codes_for
from nearer.comparisons.row_errors import Fault, fault_error, is_missing, row_place
from nearer.errors import InputError, Place, Setting

Zero = Literal["undecided", "second"]
Coding = Literal["signs", "position", "object"]
WORDS = {
    **dict.fromkeys(("true", "yes", "first", "left", "arrowleft", "leftarrow", "a"), 1.0),
    **dict.fromkeys(("false", "no", "second", "right", "arrowright", "rightarrow", "b"), -1.0),
}
_CODINGS = ("signs", "position", "object")


def flipped(rows: np.ndarray) -> np.ndarray:
    """The rows with winner and loser exchanged.

    >>> flipped(np.array([[0, 1, 2]])), flipped(np.array([[0, 1, 2, 3]]))
    (array([[0, 2, 1]]), array([[2, 3, 0, 1]]))
    """
    return rows[:, [0, 2, 1] if rows.shape[1] == 3 else [2, 3, 0, 1]]


class Readings(NamedTuple):
    """What responses are when taken for numbers, for words, or for one of the two objects; NaN if they are not.

    Words and objects are 1 where they stand for the first, -1 for the second.
    """

    numbers: np.ndarray
    words: np.ndarray
    objects: np.ndarray


class Answers:
    """Settles what responses mean, and refuses those that could mean two things.

    `options` are the words for the first and the second option.
    """

    def __init__(
        self,
        zero: Zero | None = None,
        coding: Coding | None = None,
        options: tuple[str, str] = OPTIONS,
    ) -> None:
        _check_zero(zero, coding)
        self._zero = zero
        self._coding = "signs" if zero is not None else coding  # who says what 0 means speaks of signs
        self._doubts = Doubts(options)

    def signs(self, said: Readings, place: Callable[[int], Place]) -> np.ndarray:
        """Positive where the first answer won, negative where the second, 0 where neither; NaN if unreadable."""
        if self._coding == "object":
            return said.objects
        numbers = np.where(np.isfinite(said.numbers), said.numbers, np.nan)
        self._doubts.see(numbers, said.words, said.objects)
        if self._coding == "position":
            positions = np.select([numbers == 1, numbers == 2, numbers == 0], [1.0, -1.0, 0.0], np.nan)
            return np.where(np.isnan(said.words), positions, said.words)
        spoken = np.where(np.isnan(numbers), said.words, numbers)
        if self._zero == "second":
            spoken[numbers == 0] = -1.0
        if self._coding is None:
            _refuse_clash(said, place)
            spoken = np.where(np.isnan(spoken), said.objects, spoken)
        return spoken

    def check(self) -> None:
        """Refuse responses that, all of them taken together, have two meanings.

        Many people code booleans as 0 and 1, or the answers as 0 and 1, 1 and 2, or by keys; reading these as
        "undecided" or as counts would silently give another data set.
        """
        doubt = None
        if self._coding == "position":
            doubt = self._doubts.of_positions()
        elif self._coding is None:
            doubt = self._doubts.of_numbers()
        elif self._zero is None and self._coding == "signs":
            doubt = self._doubts.of_signs()
        if doubt is not None:
            raise doubt


def _refuse_clash(said: Readings, place: Callable[[int], Place]) -> None:
    """Refuse words that are also the name of the other object."""
    clash = said.words * said.objects < 0
    if clash.any():
        raise InputError(
            "the response could be a position or the name of an object",
            place=place(int(np.argmax(clash))),
            remedy=[
                Setting("coding", "position", "if it says where the option was"),
                Setting("coding", "object", "if it names the object chosen"),
            ],
        )


def as_votes(
    responses: ArrayLike,
    rows: np.ndarray,
    zero: Zero | None = None,
    coding: Coding | None = None,
    codes: Mapping[str, Any] | None = None,
) -> np.ndarray:
    """Responses as votes: one row a question, votes for its first and for its second answer.

    A response that cannot be read gives NaN votes; it is for the caller to refuse or drop them.

    >>> as_votes([1, -3, 0], np.array([[0, 1, 2]] * 3))
    array([[1., 0.],
           [0., 3.],
           [0., 0.]])
    """
    check_codes(codes, zero, coding)
    answers = Answers(zero, coding)
    array = np.asarray(responses)
    if array.ndim and len(array) != len(rows):
        raise InputError(
            f"must have one entry for each of the {len(rows)} questions, not {len(array)}",
            parameter="responses",
        )
    are_votes = array.ndim == 2 and array.shape[1] == 2 and array.dtype.kind in "iuf"
    if are_votes and coding in (None, "signs") and codes is None:
        votes = array.astype(np.float64)
        votes[~(np.isfinite(votes) & (votes >= 0)).all(axis=1)] = np.nan
        return votes
    if array.ndim != 1:
        raise InputError(
            f"must have the shape (q,), or (q, 2) for votes, not {array.shape}", parameter="responses"
        )
    if codes is not None:
        codes_for(codes, ("first", "second"), "responses")
        signed = Codes(codes, ANSWERS).of_array(array)
    else:
        signed = answers.signs(_readings(array, rows), row_place)
        answers.check()
    return np.column_stack([np.maximum(signed, 0), np.maximum(-signed, 0)])


def _readings(responses: np.ndarray, rows: np.ndarray) -> Readings:
    """The readings of an array of responses to questions about the objects in `rows`."""
    nothing = np.full(len(responses), np.nan)
    if responses.dtype.kind == "b":
        return Readings(nothing, np.where(responses, 1.0, -1.0), nothing)
    if responses.dtype.kind in "iuf":
        is_index = rows.shape[1] == 3 and rows.dtype.kind in "iuf"
        objects = which_object(responses, *rows[:, 1:].T) if is_index else nothing
        return Readings(responses.astype(np.float64), nothing, objects)
    cells, position = np.unique(responses.astype(np.str_), return_inverse=True)
    numbers = np.array([number(cell) for cell in cells.tolist()])[position]
    words = np.array([WORDS.get(cell.strip().lower(), np.nan) for cell in cells.tolist()])[position]
    if rows.shape[1] == 4 or rows.dtype.kind in "iuf":
        return Readings(numbers, words, nothing)
    said, first, second = (np.char.lower(part.astype(np.str_)) for part in (responses, *rows[:, 1:].T))
    return Readings(numbers, words, which_object(said, first, second))


def which_object(said: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """1 where what was said is the first object, -1 where it is the second, NaN where it is neither or both.

    >>> which_object(np.array([4, 5, 6]), np.array([4, 4, 4]), np.array([5, 5, 5]))
    array([ 1., -1., nan])
    """
    is_first, is_second = said == first, said == second
    return np.select([is_first & ~is_second, is_second & ~is_first], [1.0, -1.0], np.nan)


def number(cell: str) -> float:
    """The number that a cell spells, or NaN.

    >>> number("2.5"), number("two")
    (2.5, nan)
    """
    try:
        return float(cell)
    except ValueError:
        return float("nan")


def check_coding(coding: str | None) -> None:
    """Refuse an unknown coding of responses."""
    if coding not in (None, *_CODINGS):
        raise InputError(
            f"must be one of {', '.join(map(repr, _CODINGS))}, not {coding!r}", parameter="coding"
        )


def _check_zero(zero: str | None, coding: str | None) -> None:
    check_coding(coding)
    if zero not in (None, "undecided", "second"):
        raise InputError(f"must be 'undecided' or 'second', not {zero!r}", parameter="zero")
    if zero is not None and coding not in (None, "signs"):
        raise InputError(
            f"is {zero!r}, which goes with the coding 'signs', not {coding!r}",
            parameter="zero",
            remedy="leave one out",
        )


def unreadable(responses: ArrayLike, bad: np.ndarray, settled: bool) -> InputError:
    """The sentence for responses that cannot be read; many of them, that are there, are codes rather than slips."""
    cells = np.asarray(responses, dtype=object)
    n_there = sum(not is_missing(cell) for cell in cells[bad].tolist()) if cells.ndim == 1 else 0
    first = row_place(int(np.argmax(bad)))
    if n_there > 1 and 10 * n_there > len(bad) and not settled:
        known = any_codes("the first answer", "the second one")
        return InputError(f"{n_there} of {len(bad)} responses cannot be read", place=first, remedy=[known])
    what = Fault("the response is missing, unknown, infinite or a negative number of votes")
    return fault_error(first, what, int(bad.sum()), len(bad))


def answered(votes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For every answer that got votes: its question, whether it is the second one, and how many votes.

    >>> answered(np.array([[1, 0], [2, 3], [0, 0]]))
    (array([0, 1, 1]), array([False, False,  True]), array([1, 2, 3]))
    """
    question, side = np.nonzero(votes > 0)
    return question, side == 1, votes[question, side]


def oriented(rows: np.ndarray, second_won: np.ndarray) -> np.ndarray:
    """The rows, those turned round whose second answer won."""
    return np.where(second_won[:, None], flipped(rows), rows)
