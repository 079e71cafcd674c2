"""Strategies that choose the next question.

A strategy is a frozen dataclass whose fields are its settings. `questions` yields one question after another. Each is
marked as asked before the next is chosen, so that a batch does not ask the same thing twice.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from nearer._utils.schema import Settings
from nearer._utils.validation import whole
from nearer.active._belief import Belief
from nearer.active._book import Book
from nearer.active._candidates import QuestionSupply
from nearer.active._crowd import information, places_of

_FROM_ONE_POOL = 10  # questions; then new candidates are drawn


@dataclass
class Board:
    """Hold what a strategy can use.

    Attributes
    ----------
    supply : QuestionSupply
        The questions that may still be asked.
    book : Book
        What was asked and answered.
    belief : Belief
        The current map. It exists only for strategies that use it, once there are enough answers.
    """

    supply: QuestionSupply
    book: Book
    belief: Belief


class Strategy(ABC):
    """Choose questions. Subclasses are frozen dataclasses."""

    name: ClassVar[str]
    #: whether it uses the map
    uses_map: ClassVar[bool] = True
    _schema = Settings()

    @abstractmethod
    def questions(self, board: Board, rng: np.random.Generator) -> Iterator[np.ndarray]:
        """Yield questions until none is left. Each is marked on the board before the next is chosen."""


class _FromPool(Strategy):
    """Choose among `pool` candidates."""

    pool: int

    def __post_init__(self) -> None:
        whole("pool", self.pool)


@dataclass(frozen=True)
class Random(Strategy):
    """Ask random questions.

    Examples
    --------
    >>> import nearer
    >>> nearer.active.selector("random", 10, random_state=0).next(2).shape
    (2, 3)
    """

    name = "random"
    uses_map = False

    def questions(self, board: Board, rng: np.random.Generator) -> Iterator[np.ndarray]:
        while board.supply.n_left:
            for question in board.supply.draw(_FROM_ONE_POOL, rng):
                if board.supply.is_left(question[None])[0]:  # other questions may have been mixed in
                    yield question


@dataclass(frozen=True)
class RoundRobin(Strategy):
    """Take every object as head in turn, with two random others, so that heads have equally many questions.

    Examples
    --------
    >>> import nearer
    >>> asked = nearer.active.selector("round-robin", 10, random_state=0).next(10)
    >>> sorted(asked[:, 0].tolist())
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    """

    name = "round-robin"
    uses_map = False

    def questions(self, board: Board, rng: np.random.Generator) -> Iterator[np.ndarray]:
        for head in _heads_in_turn(board, rng):
            yield board.supply.about(head, 1, rng)[0]


@dataclass(frozen=True)
class Uncertainty(_FromPool):
    """Ask the question whose answer is most uncertain: its probability is nearest to 1/2 at the current points.

    Heads with pending questions come later, so that a batch is spread over the objects.

    Parameters
    ----------
    pool : int
        Number of candidate questions per choice.

    Examples
    --------
    >>> import nearer
    >>> nearer.active.selector("uncertainty", 10, pool=100).strategy
    Uncertainty(pool=100)
    """

    pool: int = 3000
    name = "uncertainty"

    def questions(self, board: Board, rng: np.random.Generator) -> Iterator[np.ndarray]:
        while board.supply.n_left:
            candidates = board.supply.draw(self.pool, rng)
            certainty = np.abs(board.belief.log_odds(candidates))
            for _ in range(min(_FROM_ONE_POOL, len(candidates))):
                best = np.lexsort((certainty, board.book.waiting[candidates[:, 0]], np.isinf(certainty)))[0]
                certainty[best] = np.inf  # had its turn
                if board.supply.is_left(candidates[best][None])[0]:
                    yield candidates[best]


@dataclass(frozen=True)
class InformationGain(_FromPool):
    """Ask the question that is most informative about the position of its head, as the crowd kernel does.

    Every object is head in turn. The answers about it, with all other objects fixed at the current map, define the
    posterior of its position. The strategy chooses the pair whose answer has the largest mutual information with that
    position (Tamuz et al., 2011).

    Parameters
    ----------
    pool : int
        Number of candidate pairs per head.
    places : int
        Number of draws from the posterior.

    Examples
    --------
    >>> import nearer
    >>> nearer.active.selector("information-gain", 10, places=50).strategy
    InformationGain(pool=300, places=50)
    """

    pool: int = 300
    places: int = 200
    name = "information-gain"

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("places", self.places, at_least=2)

    def questions(self, board: Board, rng: np.random.Generator) -> Iterator[np.ndarray]:
        for head in _heads_in_turn(board, rng):
            candidates = board.supply.about(head, self.pool, rng)
            places, weights = places_of(
                head, board.belief, board.book.triplets, board.book.pending, self.places, rng
            )
            yield candidates[np.argmax(information(places, weights, board.belief.points, candidates))]


@dataclass(frozen=True)
class AdaptiveRoundRobin(_FromPool):
    """Take every object as head in turn, with the pair that is most informative about all three (ARR, as in salmon).

    The information in an answer is measured by the uncertainty of the map, as in `Adaptive`.

    Parameters
    ----------
    pool : int
        Number of candidate pairs per head.

    Examples
    --------
    >>> import nearer
    >>> nearer.active.selector("arr", 10, pool=50).strategy
    AdaptiveRoundRobin(pool=50)
    """

    pool: int = 1000
    name = "arr"

    def questions(self, board: Board, rng: np.random.Generator) -> Iterator[np.ndarray]:
        for head in _heads_in_turn(board, rng):
            candidates = board.supply.about(head, self.pool, rng)
            yield candidates[np.argmax(board.belief.gain(candidates))]


@dataclass(frozen=True)
class Adaptive(_FromPool):
    """Ask the question, among many candidates, that is most informative about its three objects.

    In the current map each object has a position and a covariance. These determine the mean and the variance of the
    log odds of an answer. The strategy maximises the mutual information between the answer and its log odds: it prefers
    answers that are uncertain because the positions are not well known, not because the two distances are equal.

    Parameters
    ----------
    pool : int
        Number of candidate questions per ten choices.

    Examples
    --------
    >>> import nearer
    >>> nearer.active.selector("adaptive", 10).strategy
    Adaptive(pool=3000)
    """

    pool: int = 3000
    name = "adaptive"

    def questions(self, board: Board, rng: np.random.Generator) -> Iterator[np.ndarray]:
        while board.supply.n_left:
            candidates = board.supply.draw(self.pool, rng)
            gain = board.belief.gain(candidates)
            for _ in range(min(_FROM_ONE_POOL, len(candidates))):
                best = int(np.argmax(gain))
                if board.supply.is_left(candidates[best][None])[0]:
                    yield candidates[best]
                    touched = np.isin(candidates, candidates[best]).any(axis=1) & np.isfinite(gain)
                    gain[touched] = board.belief.gain(candidates[touched])
                gain[best] = -np.inf


STRATEGIES: dict[str, type[Strategy]] = {
    strategy.name: strategy
    for strategy in (Random, RoundRobin, Uncertainty, InformationGain, AdaptiveRoundRobin, Adaptive)
}


def _heads_in_turn(board: Board, rng: np.random.Generator) -> Iterator[int]:
    """Yield objects with a question left, those with the fewest turns first, ties in random order."""
    while board.supply.n_left:
        book = board.book
        turn = np.where(board.supply.heads(), book.turns + rng.random(len(book.turns)), np.inf)
        head = int(np.argmin(turn))
        book.turns[head] += 1
        yield head


def least_seen(board: Board, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield starting questions: the least seen head, with others that were seldom seen."""
    while board.supply.n_left:
        seen = board.book.seen
        order = np.where(board.supply.heads(), seen + rng.random(len(seen)), np.inf)
        candidates = board.supply.about(int(np.argmin(order)), 10, rng)
        yield candidates[np.argmin(seen[candidates[:, 1:]].sum(axis=1) + rng.random(len(candidates)))]
