"""Odd-one-out trials: three objects, and which of them does not belong with the other two."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nearer._comparing.responses import Coding
from nearer.errors import InputError


def odd_positions(
    by_position: np.ndarray, by_object: np.ndarray, coding: Coding | None, place: Callable[[int], str]
) -> np.ndarray:
    """Which of the three is the odd one, 0 to 2, or NaN; both readings have NaN where they do not fit."""
    if coding == "signs":
        raise InputError(
            "coding='signs' is for questions with two answers; leave it out for odd-one-out trials"
        )
    if coding is not None:
        return by_position if coding == "position" else by_object
    clash = ~np.isnan(by_position) & ~np.isnan(by_object) & (by_position != by_object)
    if clash.any():
        raise InputError(
            f"{place(int(np.argmax(clash)))}: the odd one could be given by its position or by itself; "
            "pass coding='position' or coding='object'"
        )
    return np.where(np.isnan(by_position), by_object, by_position)


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
