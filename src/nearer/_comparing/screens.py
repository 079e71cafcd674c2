"""Lists of objects of different lengths, as screens and rankings record them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from nearer._comparing.checks import UNREADABLE, Invalid, check_invalid, check_names, encode
from nearer.errors import InputError


class TrialFields(TypedDict, total=False):
    """What every builder takes besides its trials; weights, annotators and groups have one value a trial."""

    n_objects: int | None
    weights: ArrayLike | None
    annotators: ArrayLike | None
    groups: ArrayLike | None
    names: Iterable[str] | None
    invalid: Invalid


class Lists:
    """Lists of objects, perhaps of different lengths: their cells in a row, and a mask (lists, longest)."""

    def __init__(self, lists: Any) -> None:
        if isinstance(lists, np.ndarray) and lists.ndim == 2:
            self.flat, lengths = lists.ravel(), np.full(len(lists), lists.shape[1])
        else:
            parts = [np.atleast_1d(np.asarray(part)) for part in lists]
            lengths = np.array([len(part) for part in parts], dtype=np.int64)
            full = [part for part in parts if len(part)]  # an empty list has no type of its own
            self.flat = np.concatenate(full) if full else np.empty(0, dtype=np.int64)
        self.mask = np.arange(lengths.max(initial=0)) < lengths[:, None]

    def fill(self, codes: np.ndarray) -> np.ndarray:
        """The codes of the cells as a table, `UNREADABLE` beyond the end of a list."""
        table = np.full(self.mask.shape, UNREADABLE)
        table[self.mask] = codes
        return table

    def as_mask(self, offered: Lists) -> np.ndarray:
        """Lists of booleans as a mask of the objects of other lists."""
        if not np.array_equal(self.mask, offered.mask):
            raise InputError("the booleans do not fit the objects shown; give one for each object")
        taken = np.zeros(self.mask.shape, dtype=bool)
        taken[self.mask] = self.flat
        return taken


def probes_of(probe: ArrayLike, lists: Lists) -> np.ndarray:
    """The probes as an array, one for each list."""
    probes = np.asarray(probe)
    if probes.shape != (len(lists.mask),):
        raise InputError(
            f"there are {len(lists.mask)} lists of objects but the probes have the shape {probes.shape}"
        )
    return probes


def encoded(arrays: Sequence[np.ndarray], fields: TrialFields) -> tuple[list[np.ndarray], TrialFields]:
    """The codes of several arrays of objects, and the fields with the names that were found."""
    check_invalid(fields.get("invalid", "error"))
    codes, names = encode(arrays, check_names(fields.get("names")))
    if fields.get("invalid", "error") == "error":
        for array, numbers in zip(arrays, codes, strict=True):
            if (numbers == UNREADABLE).any():
                cell = array[int(np.argmax(numbers == UNREADABLE))].item()
                kind = "one of the names given" if isinstance(cell, str) else "a whole number"
                raise InputError(f"{cell!r} is not {kind}; correct it or pass invalid='drop' to leave it out")
    return codes, TrialFields(**{**fields, "names": names})


def picked_of(shown: np.ndarray, offered: Lists, picks: np.ndarray, picked: Lists) -> np.ndarray:
    """Which of the objects shown were picked; every pick must be among them."""
    if len(picks) != len(shown):
        raise InputError(f"there are {len(shown)} screens but {len(picks)} choices; give one for each")
    is_pick = picked.mask & (picks != UNREADABLE)
    same = (shown[:, :, None] == picks[:, None, :]) & offered.mask[:, :, None] & is_pick[:, None, :]
    lost = (is_pick & ~same.any(axis=1)).any(axis=1)
    if lost.any():
        raise InputError(
            f"screen {int(np.argmax(lost))} (counting from 0): an object was chosen that is not among those "
            "shown; correct the lists of shown and chosen objects"
        )
    return same.any(axis=2)
