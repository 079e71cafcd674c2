"""Lists of objects of different lengths, as screens and rankings record them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from nearer.comparisons.arrays import encode
from nearer.comparisons.validation import (
    NAMES,
    UNREADABLE,
    Fault,
    Invalid,
    check_invalid,
    check_names,
    fault_error,
    is_missing,
    not_named,
    row_place,
)
from nearer.errors import InputError


class TrialFields(TypedDict, total=False):
    """What every builder takes besides its trials; weights, annotators and groups have one value per trial."""

    n_objects: int | None
    weights: ArrayLike | None
    annotators: ArrayLike | None
    groups: ArrayLike | None
    names: Iterable[str] | None
    invalid: Invalid


class Lists:
    """Lists of objects, perhaps of different lengths: their cells in a row, and a mask (lists, longest)."""

    def __init__(self, lists: Any) -> None:
        if hasattr(
            lists, "columns"
        ):  # a frame: iterating over it yields its columns, and short lists have gaps
            lists = [_without_end(row) for row in np.asarray(lists, dtype=object).tolist()]
        if isinstance(lists, np.ndarray) and lists.ndim == 2:
            self.flat, lengths = lists.ravel(), np.full(len(lists), lists.shape[1])
        else:
            parts = [np.atleast_1d(np.asarray(part)) for part in lists]
            lengths = np.array([len(part) for part in parts], dtype=np.int64)
            self.flat = _joined(parts)
        self.mask = np.arange(lengths.max(initial=0)) < lengths[:, None]

    def list_of(self, cell: int) -> int:
        """Return the list that a cell is in."""
        return int(np.nonzero(self.mask)[0][cell])

    def fill(self, codes: np.ndarray) -> np.ndarray:
        """Return the codes of the cells as a table, `UNREADABLE` beyond the end of a list."""
        table = np.full(self.mask.shape, UNREADABLE)
        table[self.mask] = codes
        return table

    def as_mask(self, offered: Lists) -> np.ndarray:
        """Return lists of booleans as a mask of the objects of other lists."""
        if not np.array_equal(self.mask, offered.mask):
            raise InputError("must have one boolean for each object shown", parameter="chosen")
        taken = np.zeros(self.mask.shape, dtype=bool)
        taken[self.mask] = self.flat
        return taken


def probes_of(probe: ArrayLike, lists: Lists) -> np.ndarray:
    """Return the probes as an array, one for each list."""
    probes = np.asarray(probe)
    if probes.shape != (len(lists.mask),):
        raise InputError(
            f"must have one object for each of the {len(lists.mask)} lists, not the shape {probes.shape}",
            parameter="probe",
        )
    return probes


def _without_end(row: list[Any]) -> list[Any]:
    """Return a row of a frame without the missing cells at its end."""
    while row and is_missing(row[-1]):
        row = row[:-1]
    return row


def _joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Return the cells of all lists; names in some and indices in others are refused."""
    full = [
        (row, part) for row, part in enumerate(parts) if len(part)
    ]  # an empty list has no type of its own
    if not full:
        return np.empty(0, dtype=np.int64)
    texts = [
        part.dtype.kind not in "biuf" and any(isinstance(cell, str) for cell in part) for _, part in full
    ]
    if any(texts) and not all(texts):
        row = full[texts.index(not texts[0])][0]
        raise InputError(
            "some lists give objects by name and others by index",
            "use one or the other",
            place=row_place(row),
        )
    return np.concatenate([part for _, part in full])


def encoded(
    probes: np.ndarray, lists: Sequence[tuple[Lists, np.ndarray]], fields: TrialFields
) -> tuple[list[np.ndarray], tuple[str, ...] | None]:
    """Return the codes of the probes and of the cells of lists, and the names."""
    invalid = fields.get("invalid", "error")
    check_invalid(invalid)
    arrays = [probes, *(cells for _, cells in lists)]
    codes, names = encode(arrays, check_names(fields.get("names")))
    if invalid == "error":
        owners: list[Callable[[int], int]] = [int, *(part.list_of for part, _ in lists)]
        for array, numbers, row_of in zip(arrays, codes, owners, strict=True):
            if (numbers == UNREADABLE).any():
                at = int(np.argmax(numbers == UNREADABLE))
                raise fault_error(row_place(row_of(at)), _unreadable(array[at], names), 1, len(probes))
    return codes, names


def _unreadable(cell: Any, names: tuple[str, ...] | None) -> Fault:
    cell = cell.item() if isinstance(cell, np.generic) else cell
    if is_missing(cell):
        return Fault(f"{cell!r} is not an object (nor are NA, nan, null and None)", remedy=(NAMES,))
    return Fault(not_named(cell, names) if isinstance(cell, str) else f"{cell!r} is not a whole number")


def picked_of(shown: np.ndarray, offered: Lists, picks: np.ndarray, picked: Lists) -> np.ndarray:
    """Return which of the objects shown were picked; every pick must be among them."""
    if len(picks) != len(shown):
        raise InputError(
            f"must have one entry for each of the {len(shown)} screens, not {len(picks)}", parameter="chosen"
        )
    is_pick = picked.mask & (picks != UNREADABLE)
    same = (shown[:, :, None] == picks[:, None, :]) & offered.mask[:, :, None] & is_pick[:, None, :]
    lost = (is_pick & ~same.any(axis=1)).any(axis=1)
    if lost.any():
        raise InputError(
            "holds an object that is not among those shown",
            "correct the lists of shown and chosen objects",
            parameter="chosen",
            place=row_place(int(np.argmax(lost))),
        )
    return same.any(axis=2)
