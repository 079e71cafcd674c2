"""Answers that an online kernel keeps in order to draw them again."""

from __future__ import annotations

import numpy as np


class Room:
    """An array with room at its end, of which the first rows are in use.

    Others hold the rows that they know as a slice of it. Whoever adds rows writes behind all that are in use, or, where
    somebody else has done so already (a copy of the model), moves to an array of their own.
    """

    def __init__(self, rows: np.ndarray, capacity: int):
        self.array = np.empty((capacity, *rows.shape[1:]), rows.dtype)
        self.array[: len(rows)] = rows
        self.used = len(rows)

    def has_room_behind(self, rows: np.ndarray, count: int) -> bool:
        """Whether these rows are all that is in use, and so many more fit in."""
        return rows.base is self.array and len(rows) == self.used and self.used + count <= len(self.array)

    def add(self, rows: np.ndarray) -> np.ndarray:
        """All rows, these last."""
        self.array[self.used : self.used + len(rows)] = rows
        self.used += len(rows)
        return self.array[: self.used]


def extended(room: Room | None, kept: np.ndarray, rows: np.ndarray) -> tuple[Room, np.ndarray]:
    """Kept rows and more behind them; the time is that of the new ones alone, but for a move now and then.

    >>> room, kept = extended(None, np.arange(3), np.array([3]))
    >>> extended(room, kept, np.array([4, 5]))[1]
    array([0, 1, 2, 3, 4, 5])
    """
    if room is None or not room.has_room_behind(kept, len(rows)):
        room = Room(kept, max(2 * len(kept), len(kept) + len(rows), 16))
    return room, room.add(rows)
