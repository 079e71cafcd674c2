"""What the stages of AdaDSG and DSGD go over: rows of two classes here, drawn pairs in `drawn`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Protocol

import numpy as np

from nearer.losses.margins import MarginLoss
from nearer.pairwise._walker import Walker
from nearer.pairwise._weights import LinearWeights, probe
from nearer.pairwise.pairs import Pairs
from nearer.pairwise.state import State


class Steps(Protocol):
    """Weights on their way over pairs."""

    #: with the methods of `LinearWeights` that give answers
    weights: Any

    def steps(self, count: int, rule: np.ndarray) -> tuple[int, float]:
        """Up to `count` steps; gives how many there were and the sum of the losses met."""

    def finish(self) -> None:
        """Bring the weights up to date."""

    def restart_average(self) -> None:
        """Begin the average of the weights anew."""


class Course(ABC):
    """Rows, as stages of steps ask for them.

    Attributes
    ----------
    n_rows : int
        Rows that take part.
    steps : Steps, optional
        What makes the steps; None before the first stage.
    """

    n_rows: int
    steps: Steps | None = None

    @abstractmethod
    def begin(self, size: int | None) -> Steps:
        """Begin a stage that counts on `size` rows, or go on with all of them."""


class ClassesCourse(Course):
    """Rows of two classes; the length of the first steps is found from those that the first stage counts on."""

    def __init__(self, pairs: Pairs, loss: MarginLoss, walk: str, state: State, rng: np.random.Generator):
        self._pairs, self._loss, self._walk, self._state, self._rng = pairs, loss, walk, state, rng
        self.n_rows = pairs.n_rows
        self.steps: Walker | None = None

    def begin(self, size: int | None) -> Walker:
        shown = _shares(self._pairs, self.n_rows if size is None else size)
        if self.steps is None:
            self.steps = self._first(shown)
        self.steps.begin(*shown, self._rng)
        return self.steps

    def _first(self, shown: tuple[int, int]) -> Walker:
        pairs, state = self._pairs, self._state
        probe(state, Pairs(pairs.X, pairs.positives[: shown[0]], pairs.negatives[: shown[1]]))
        weights = LinearWeights.resumed(state.arrays, state.w)
        return Walker(pairs, self._loss, weights, self._walk, int(self._rng.integers(2**62)))


def _shares(pairs: Pairs, size: int) -> tuple[int, int]:
    """How many of `size` rows are of either class: half, or what there is.

    A step takes one row of each, so a stage in which a class is rare would see little of it, again and again.
    """
    n_positives = min(len(pairs.positives), max(size // 2, size - len(pairs.negatives)))
    return n_positives, size - n_positives
