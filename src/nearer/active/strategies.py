"""Which question next: the strategies.

A strategy is a frozen dataclass whose fields are its settings. `questions` gives one question after the other; each is
noted as asked before the next is chosen, so that a batch does not ask for the same thing twice.
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
from nearer.active._candidates import Questions
from nearer.active._crowd import information, places_of

_FROM_ONE_POOL = 10  # questions; then new candidates are drawn


@dataclass
class Board:
    """What a strategy may look at.

    Attributes
    ----------
    supply : Questions
        The questions that may still be asked.
    book : Book
        What was asked and answered.
    belief : Belief
        The present map; there is one only for strategies that use it, once there are enough answers.
    """

    supply: Questions
    book: Book
    belief: Belief


class Strategy(ABC):
    """A way to choose questions; subclasses are frozen dataclasses."""

    name: ClassVar[str]
    #: whether it looks at the map
    uses_map: ClassVar[bool] = True
    _schema = Settings()

    @abstractmethod
    def questions(self, board: Board, rng: np.random.Generator) -> Iterator[np.ndarray]:
        """Questions, each of which is noted on the board before the next is asked for; ends where none is left."""


@dataclass(frozen=True)
class Random(Strategy):
    """Questions at random.

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
                if board.supply.is_left(question[None])[0]:  # a share of others may be mixed in
                    yield question


@dataclass(frozen=True)
class RoundRobin(Strategy):
    """Every object is head in turn, with two others at random: heads have equally many questions.

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
class Uncertainty(Strategy):
    """The question whose answer is most open: probability nearest to 1/2 at the present points.

    Heads that wait for an answer come later, so that a batch is spread over the objects.

    Parameters
    ----------
    pool : int
        Questions looked at for a choice.

    Examples
    --------
    >>> import nearer
    >>> nearer.active.selector("uncertainty", 10, pool=100).strategy
    Uncertainty(pool=100)
    """

    pool: int = 3000
    name = "uncertainty"

    def __post_init__(self) -> None:
        whole("pool", self.pool)

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
class InformationGain(Strategy):
    """The question that tells most about where its head is: the adaptive choice of the crowd kernel.

    Every object is head in turn. Its place has a posterior: what was said about it, with all other objects where
    the present map has them. The pair is chosen whose answer has the largest mutual information with it (Tamuz et al.,
    2011).

    Parameters
    ----------
    pool : int
        Pairs looked at for each head.
    places : int
        Draws that stand for the posterior.

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
        whole("pool", self.pool)
        whole("places", self.places, at_least=2)

    def questions(self, board: Board, rng: np.random.Generator) -> Iterator[np.ndarray]:
        for head in _heads_in_turn(board, rng):
            candidates = board.supply.about(head, self.pool, rng)
            places, weights = places_of(
                head, board.belief, board.book.triplets, board.book.pending, self.places, rng
            )
            yield candidates[np.argmax(information(places, weights, board.belief.points, candidates))]


@dataclass(frozen=True)
class AdaptiveRoundRobin(Strategy):
    """Every object is head in turn, with the pair that tells most about all three: ARR, after salmon.

    What an answer tells is measured by the map's own uncertainty (`Adaptive` says how).

    Parameters
    ----------
    pool : int
        Pairs looked at for each head.

    Examples
    --------
    >>> import nearer
    >>> nearer.active.selector("arr", 10, pool=50).strategy
    AdaptiveRoundRobin(pool=50)
    """

    pool: int = 1000
    name = "arr"

    def __post_init__(self) -> None:
        whole("pool", self.pool)

    def questions(self, board: Board, rng: np.random.Generator) -> Iterator[np.ndarray]:
        for head in _heads_in_turn(board, rng):
            candidates = board.supply.about(head, self.pool, rng)
            yield candidates[np.argmax(board.belief.gain(candidates))]


@dataclass(frozen=True)
class Adaptive(Strategy):
    """The question, of many, that tells most about its three objects.

    The present map gives each object a place and a covariance, and with them the log odds of an answer a mean and a
    variance. The strategy looks for the largest mutual information between the answer and its log odds: answers that
    are open because the places are not well known, not because the two distances are equal.

    Parameters
    ----------
    pool : int
        Questions looked at for ten choices.

    Examples
    --------
    >>> import nearer
    >>> nearer.active.selector("adaptive", 10).strategy
    Adaptive(pool=3000)
    """

    pool: int = 3000
    name = "adaptive"

    def __post_init__(self) -> None:
        whole("pool", self.pool)

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
    """Objects with a question left, those that had the fewest turns first, in random order."""
    while board.supply.n_left:
        book = board.book
        turn = np.where(board.supply.heads(), book.turns + rng.random(len(book.turns)), np.inf)
        head = int(np.argmin(turn))
        book.turns[head] += 1
        yield head


def least_seen(board: Board, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Questions for a start: the head that was seen least, with others that were seen little."""
    while board.supply.n_left:
        seen = board.book.seen
        order = np.where(board.supply.heads(), seen + rng.random(len(seen)), np.inf)
        candidates = board.supply.about(int(np.argmin(order)), 10, rng)
        yield candidates[np.argmin(seen[candidates[:, 1:]].sum(axis=1) + rng.random(len(candidates)))]
