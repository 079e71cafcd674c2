"""Answers that an online kernel keeps in order to draw them again."""

from __future__ import annotations

from typing import Any

import numpy as np

from nearer.comparisons import Comparisons
from nearer.errors import InputError
from nearer.kernels._forms import Answers


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


class KeepsAnswers:
    """The part of an online kernel that keeps answers, where `passes` asks for it."""

    passes: int
    n_seen_: int
    kept_indices_: np.ndarray
    kept_weights_: np.ndarray

    def __getstate__(self) -> dict[str, Any]:
        """What a copy or a pickle holds: not the room behind kept answers."""
        state: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]
        return {name: value for name, value in state.items() if name != "_rooms"}

    def _keep_none(self, columns: int) -> None:
        """Begin with no answers, of so many columns."""
        self.kept_indices_, self.kept_weights_ = np.empty((0, columns), np.int32), np.empty(0)
        self.__dict__.pop("_rooms", None)

    def _kept(self, comparisons: Comparisons) -> tuple[Answers, int]:
        """The answers to learn, with those before them where they may be drawn again, and the first one's number."""
        indices = np.ascontiguousarray(comparisons.indices)
        weights = np.empty(0) if comparisons.weights is None else np.ascontiguousarray(comparisons.weights)
        if self.passes == 1:
            return Answers(indices, weights, self.n_seen_), self.n_seen_
        if len(self.kept_indices_) != self.n_seen_:
            raise InputError(
                f"is now {self.passes}, but the {self.n_seen_} answers before were not kept, because it was 1: set it "
                "before the first answers",
                parameter="passes",
            )
        if len(weights) or len(self.kept_weights_):
            self._keep(
                "kept_weights_", self._kept_weights(), weights if len(weights) else np.ones(len(indices))
            )
        self._keep("kept_indices_", self.kept_indices_, indices)
        return Answers(self.kept_indices_, self.kept_weights_), self.n_seen_

    def _keep(self, name: str, kept: np.ndarray, rows: np.ndarray) -> None:
        rooms = self.__dict__.setdefault("_rooms", {})
        rooms[name], kept = extended(rooms.get(name), kept, rows)
        setattr(self, name, kept)

    def _kept_weights(self) -> np.ndarray:
        return self.kept_weights_ if len(self.kept_weights_) else np.ones(self.n_seen_)

    def _forget_after(self, count: int) -> None:
        """Drop kept answers that an interruption left unlearned."""
        self.kept_indices_, self.kept_weights_ = self.kept_indices_[:count], self.kept_weights_[:count]
