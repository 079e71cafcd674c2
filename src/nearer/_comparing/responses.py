"""From "which of the two was nearer?" to rows with the winner first."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from nearer.errors import InputError

Zero = Literal["undecided", "second"]


def flipped(rows: np.ndarray) -> np.ndarray:
    """The rows with winner and loser exchanged.

    >>> flipped(np.array([[0, 1, 2]])), flipped(np.array([[0, 1, 2, 3]]))
    (array([[0, 2, 1]]), array([[2, 3, 0, 1]]))
    """
    return rows[:, [0, 2, 1] if rows.shape[1] == 3 else [2, 3, 0, 1]]


def as_votes(responses: ArrayLike, zero: Zero | None = None) -> np.ndarray:
    """Responses as votes: one row a question, votes for its first and for its second answer.

    A response that is no finite number gives NaN votes; it is for the caller to refuse or drop them.

    >>> as_votes([1, -3, 0])
    array([[1., 0.],
           [0., 3.],
           [0., 0.]])
    """
    check_zero(zero)
    array = np.asarray(responses)
    if array.dtype.kind not in "biuf":
        raise InputError(f"responses must be booleans or numbers, got an array of {array.dtype}")
    if array.ndim == 2 and array.shape[1] == 2 and array.dtype.kind != "b":
        votes = array.astype(np.float64)
        votes[~(np.isfinite(votes) & (votes >= 0)).all(axis=1)] = np.nan
        return votes
    if array.ndim != 1:
        raise InputError(f"responses must have the shape (q,), or (q, 2) for votes, got {array.shape}")
    signed = signed_responses(array, zero)
    if zero is None and array.dtype.kind != "b":
        refuse_ambiguous(set(np.unique(signed).tolist()))
    signed = np.where(np.isfinite(signed), signed, np.nan)
    return np.column_stack([np.maximum(signed, 0), np.maximum(-signed, 0)])


def check_zero(zero: str | None) -> None:
    """Refuse an unknown meaning of 0."""
    if zero not in (None, "undecided", "second"):
        raise InputError(f"zero={zero!r} is not known; pass 'undecided' or 'second', or leave it out")


def signed_responses(responses: np.ndarray, zero: Zero | None) -> np.ndarray:
    """Positive where the first answer won, negative where the second, 0 where neither."""
    if responses.dtype.kind == "b":
        return np.where(responses, 1.0, -1.0)
    signed = responses.astype(np.float64)
    return np.where(signed == 0, -1.0, signed) if zero == "second" else signed


def refuse_ambiguous(responses: set[float]) -> None:
    """Refuse responses that are all 0 or 1.

    Many people code booleans so; taking 0 for "undecided" would silently throw half of their answers away.
    """
    if responses == {0.0, 1.0}:
        raise InputError(
            "the responses are all 0 or 1, where 0 may mean 'the second is nearer' or 'undecided'; "
            "pass zero='second' or zero='undecided'"
        )


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
