"""The answers that an online kernel learns, and those that it keeps in order to draw them again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nearer.comparisons import Comparisons
from nearer.errors import InputError


@dataclass(frozen=True)
class Stream:
    """Answers by their numbers: row t is answer first + t. Weights are empty if all are one."""

    indices: np.ndarray
    weights: np.ndarray
    first: int = 0

    def __getitem__(self, number: int) -> tuple[tuple[int, ...], float]:
        """Return an answer and its weight."""
        row = number - self.first
        return tuple(self.indices[row].tolist()), float(self.weights[row]) if len(self.weights) else 1.0


class Room:
    """An array with room at its end, of which the first rows are in use.

    Models hold their rows as a slice of it. New rows are written behind all rows in use. If another model has done so
    already (a copy of this one), the rows move to a new array.
    """

    def __init__(self, rows: np.ndarray, capacity: int):
        self.array = np.empty((capacity, *rows.shape[1:]), rows.dtype)
        self.array[: len(rows)] = rows
        self.used = len(rows)

    def has_room_behind(self, rows: np.ndarray, count: int) -> bool:
        """Return whether these rows are all rows in use, and `count` more fit."""
        return rows.base is self.array and len(rows) == self.used and self.used + count <= len(self.array)

    def add(self, rows: np.ndarray) -> np.ndarray:
        """Return all rows, with these last."""
        self.array[self.used : self.used + len(rows)] = rows
        self.used += len(rows)
        return self.array[: self.used]


def extended(room: Room | None, kept: np.ndarray, rows: np.ndarray) -> tuple[Room, np.ndarray]:
    """Return kept rows with more behind them; the kept ones are rarely copied.

    >>> room, kept = extended(None, np.arange(3), np.array([3]))
    >>> extended(room, kept, np.array([4, 5]))[1]
    array([0, 1, 2, 3, 4, 5])
    """
    if room is None or not room.has_room_behind(kept, len(rows)):
        room = Room(kept, max(2 * len(kept), len(kept) + len(rows), 16))
    return room, room.add(rows)


class KeepsAnswers:
    """The part of an online kernel that keeps answers if `passes` is above 1."""

    passes: int
    n_seen_: int
    kept_indices_: np.ndarray
    kept_weights_: np.ndarray

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy or a pickle holds: not the room behind kept answers, nor the run."""
        state: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]
        return {name: value for name, value in state.items() if name not in ("_rooms", "_run")}

    def _keep_none(self, columns: int) -> None:
        """Begin with no answers, of this many columns."""
        self.kept_indices_, self.kept_weights_ = np.empty((0, columns), np.int32), np.empty(0)
        self.__dict__.pop("_rooms", None)

    def _kept(self, comparisons: Comparisons) -> Stream:
        """Return the answers to learn, with those before them if these may be drawn again."""
        indices = np.ascontiguousarray(comparisons.indices)
        weights = np.empty(0) if comparisons.weights is None else np.ascontiguousarray(comparisons.weights)
        if self.passes == 1:
            return Stream(indices, weights, self.n_seen_)
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
        return Stream(self.kept_indices_, self.kept_weights_)

    def _keep(self, name: str, kept: np.ndarray, rows: np.ndarray) -> None:
        rooms = self.__dict__.setdefault("_rooms", {})
        rooms[name], kept = extended(rooms.get(name), kept, rows)
        setattr(self, name, kept)

    def _kept_weights(self) -> np.ndarray:
        return self.kept_weights_ if len(self.kept_weights_) else np.ones(self.n_seen_)

    def _forget_after(self, count: int) -> None:
        """Drop kept answers after the first `count`: they were not learned."""
        self.kept_indices_, self.kept_weights_ = self.kept_indices_[:count], self.kept_weights_[:count]
