"""Files that count objects from 1 instead of 0."""

from __future__ import annotations

import numpy as np

from nearer._utils.text import warn
from nearer.comparisons.row_errors import UNREADABLE
from nearer.errors import InputError


def check_first_index(first_index: int | None) -> None:
    """Refuse anything but the two numbers that people count from."""
    if first_index not in (None, 0, 1) or isinstance(first_index, bool):
        raise InputError(f"first_index={first_index!r} is not known; pass 0 or 1, or leave it out")


def refuse_for_names(place: str, first_index: int | None) -> None:
    """Refuse to count objects that have names."""
    if first_index is not None:
        raise InputError(
            f"{place}: first_index is for objects given by index, but these have names; leave it out"
        )


def from_zero(codes: np.ndarray, first_index: int | None) -> np.ndarray:
    """Indices that count from `first_index`, counted from 0.

    >>> from_zero(np.array([1, 2, 3]), 1)
    array([0, 1, 2])
    """
    return np.where(codes == UNREADABLE, codes, codes - first_index) if first_index else codes


def warn_of_one(place: str, indices: np.ndarray) -> None:
    """Warn where the smallest index is 1, which mostly means that the file counts from 1."""
    if not len(indices) or indices.min() != 1:
        return
    warn(
        f"{place}: the smallest index is 1, so object 0 is in no comparison; pass first_index=1 if the objects "
        "are counted from 1, or first_index=0 if they are not"
    )
