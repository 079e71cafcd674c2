"""Responses to an array of questions as votes for either answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from nearer.comparisons.codes import Column, NameLookup, mentioned
from nearer.comparisons.responses import Coding, ResponseReader, Zero
from nearer.comparisons.validation import Fault, Invalid, fault_error, row_place
from nearer.errors import InputError

Meaning = tuple[Coding | None, Zero | None, Mapping[str, Any] | None]


def votes_of(
    responses: ArrayLike,
    shown: np.ndarray,
    names: tuple[str, ...] | None,
    meaning: Meaning = (None, None, None),
    invalid: Invalid = "error",
) -> np.ndarray:
    """Return votes for the first and for the second answer, one row per question; NaN for rows to drop.

    >>> votes_of([1, -3, 0], np.array([[0, 1, 2]] * 3), None)
    array([[1., 0.],
           [0., 3.],
           [0., 0.]])
    """
    array, reader = np.asarray(responses), ResponseReader(*meaning)
    coding, _, codes = meaning
    are_votes = array.ndim == 2 and array.shape[1] == 2 and array.dtype.kind in "iuf"
    are_votes = are_votes and coding in (None, "signs") and codes is None
    if array.ndim != 1 and not are_votes:
        raise InputError(
            f"must have the shape (q,), or (q, 2) for votes, not {array.shape}", parameter="responses"
        )
    if len(array) != len(shown):
        raise InputError(
            f"must have one entry for each of the {len(shown)} questions, not {len(array)}",
            parameter="responses",
        )
    votes = _counted(array) if are_votes else _spoken(array, shown, names, reader, invalid)
    bad = np.isnan(votes[:, 0])
    if bad.any() and invalid == "error":
        row = int(np.argmax(bad))
        raise fault_error(
            row_place(row), Fault(reader.unreadable(array[row].tolist(), ())), int(bad.sum()), len(bad)
        )
    return votes


def _counted(array: np.ndarray) -> np.ndarray:
    votes = array.astype(np.float64)
    votes[~(np.isfinite(votes) & (votes >= 0)).all(axis=1)] = np.nan
    return votes


def _spoken(
    array: np.ndarray,
    shown: np.ndarray,
    names: tuple[str, ...] | None,
    reader: ResponseReader,
    invalid: Invalid,
) -> np.ndarray:
    """Return the votes of one response per question."""
    lookup = None if names is None else NameLookup({name: code for code, name in enumerate(names)})
    column, usable = Column.of_array(array), np.ones(len(array), dtype=bool)
    signed = reader.read(column, mentioned(column, lookup), shown, usable, row_place)
    reader.check()
    reader.refuse_unread(invalid, row_place, "")
    return np.column_stack([np.maximum(signed, 0), np.maximum(-signed, 0)])


def answered(votes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return for every answer that got votes its question, whether it is the second one, and its votes.

    >>> answered(np.array([[1, 0], [2, 3], [0, 0]]))
    (array([0, 1, 1]), array([False, False,  True]), array([1, 2, 3]))
    """
    question, side = np.nonzero(votes > 0)
    return question, side == 1, votes[question, side]
