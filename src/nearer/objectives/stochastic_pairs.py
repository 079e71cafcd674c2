"""Pairs that are met a few at a time: rows of two classes in a walk, and pairs that a source draws.

Each objective hands solvers a `PairWalk`: weights on their way over its pairs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from nearer._utils.schema import LARGEST
from nearer._utils.validation import not_negative
from nearer.errors import InputError
from nearer.losses.margins import MarginLoss
from nearer.objectives._kept_rows import Reservoir
from nearer.objectives._pair_walks import Walker
from nearer.objectives._pair_weights import LinearWeights, add_distances
from nearer.objectives.pair_rows import LazyRows, Pairs
from nearer.objectives.pair_sources import Source
from nearer.objectives.parameters import OneArray

#: pairs that the length of the first steps is found from
PROBED = 256
#: pairs that a value is estimated from
_VALUED = 10_000
_NONE = np.empty(0, np.int64)


class BoundedArray(OneArray):
    """One array whose numbers, and their squares, are finite."""

    def is_finite(self, x: np.ndarray) -> bool:
        """Return whether the square of every number is finite."""
        return bool((np.abs(x) <= LARGEST).all())  # NaN compares false


class PairWalk(ABC):
    """Weights on their way over pairs.

    Attributes
    ----------
    has_pairs : bool
        Whether there is anything to walk over.
    weights
        With the methods `last`, `average`, `restart_average` and `stored` of `LinearWeights`.
    """

    has_pairs: bool = True
    weights: Any

    @abstractmethod
    def begin(self, size: int | None) -> None:
        """Begin a stage that uses about `size` rows; None means all of them."""

    @abstractmethod
    def steps(self, count: int, rule: np.ndarray) -> tuple[int, float]:
        """Make up to `count` steps; return how many there were and the sum of the losses met."""

    def store(self, arrays: dict[str, np.ndarray]) -> None:
        """Put in place what a later walk needs."""
        arrays.update(self.weights.stored())


class PairObjective(ABC):
    """Mean loss over pairs, and `regularization / sqrt(rows) / 2` times the squared length of the weights.

    Parameters
    ----------
    loss : MarginLoss
        Of a pair's margin.
    regularization : float
        The constant of the L2 term.
    stream : bool
        The rows are new ones of a stream, met once: solvers go over them a fixed number of times, and keep what later
        chunks need. Otherwise they carry out their whole schedule.
    """

    provides: ClassVar[frozenset[str]] = frozenset({"pair_walk", "loss", "regularization", "stream"})
    parameters: OneArray = BoundedArray()

    def __init__(self, n_rows: int, loss: MarginLoss, regularization: float, stream: bool):
        not_negative("regularization", regularization)
        self.n_terms, self.loss = n_rows, loss
        self.regularization, self.stream = regularization, stream

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """Return the shape of the weights."""

    def initial(self, rng: np.random.Generator) -> np.ndarray:
        """Return weights to begin with."""
        return np.zeros(self.shape)

    def start(self, x: np.ndarray) -> np.ndarray:
        """Return a copy of the weights to begin with; refuse those of other features."""
        if x.shape != self.shape:
            raise InputError(
                f"the rows have {self.shape[0]} features but those before had {len(x)}: give the same"
            )
        return np.array(x, dtype=np.float64)

    def penalty(self, x: np.ndarray) -> float:
        """Return the L2 term."""
        return self.regularization / np.sqrt(self.n_terms) / 2 * float(x @ x)

    @abstractmethod
    def value(self, x: np.ndarray) -> float:
        """Return the objective, estimated from drawn pairs where not all of them can be summed."""

    @abstractmethod
    def pair_walk(
        self, x: np.ndarray, memory: Any, rng: np.random.Generator, *, order: str, buffer: int
    ) -> PairWalk:
        """Return a walk from x, or on from what `memory` (a `nearer.solvers.State`) holds.

        `order` ("ordered" or "random") and `buffer` (rows kept of a stream) are for rows of two classes alone.
        """


class TwoClassPairs(PairObjective):
    """Every pair of a row of the positive class, which should score higher, and one of the negative class.

    Parameters
    ----------
    pairs : Pairs
        The rows.
    loss, regularization, stream
        As in `PairObjective`.

    Examples
    --------
    >>> from nearer.losses.margins import HingeLoss
    >>> pairs = Pairs.from_labels(np.eye(3), np.array([True, False, False]), np.random.default_rng(0))
    >>> TwoClassPairs(pairs, HingeLoss(), 0.1).value(np.zeros(3))
    1.0
    """

    provides = PairObjective.provides | {"pairs", "count_rows"}

    def __init__(self, pairs: Pairs, loss: MarginLoss, regularization: float = 0.01, stream: bool = False):
        super().__init__(pairs.n_rows, loss, regularization, stream)
        self.pairs = pairs
        if not stream and not pairs.both:
            raise InputError("pairs need at least one positive and one negative row")

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.pairs.n_features,)

    def value(self, x: np.ndarray) -> float:
        """Return the objective over all pairs."""
        from nearer.objectives.all_pairs import AllPairs

        pairs = self.pairs
        rows = np.concatenate([pairs.positives, pairs.negatives])
        y = np.arange(len(rows)) < len(pairs.positives)
        l2 = self.regularization / np.sqrt(self.n_terms)
        return AllPairs(pairs.X[rows], y, self.loss, l2).value(x)

    def count_rows(self, numbers: dict[str, float]) -> None:
        """Add the rows of a chunk to those seen; a fit to all rows counts each once."""
        for name, rows in (("positives", self.pairs.positives), ("negatives", self.pairs.negatives)):
            before = numbers.get(name, 0.0)
            numbers[name] = float(before + len(rows) if self.stream else max(before, len(rows)))

    def pair_walk(
        self, x: np.ndarray, memory: Any, rng: np.random.Generator, *, order: str, buffer: int
    ) -> PairWalk:
        pairs, kept, numbers = self.pairs, None, memory.numbers
        if self.stream:
            seen = int(numbers.get("positives", 0)), int(numbers.get("negatives", 0))
            kept = Reservoir.resumed(buffer, memory.arrays, seen)
            pairs = kept.join(pairs, rng)
            kept.add(self.pairs, rng)
        self.count_rows(numbers)
        return _ClassesWalk(pairs, self.loss, order, x, memory, rng, kept)


class _ClassesWalk(PairWalk):
    """A walk over rows of two classes; the length of the first steps is found from those of the first stage."""

    def __init__(
        self,
        pairs: Pairs,
        loss: MarginLoss,
        order: str,
        x: np.ndarray,
        memory: Any,
        rng: np.random.Generator,
        kept: Reservoir | None,
    ):
        self._pairs, self._loss, self._order, self._rng = pairs, loss, order, rng
        self._memory, self._x, self._kept = memory, x, kept
        self._walker: Walker | None = None
        self.has_pairs = pairs.both

    def begin(self, size: int | None) -> None:
        shown = _shares(self._pairs, self._pairs.n_rows if size is None else size)
        if self._walker is None:
            self._walker = self._first(shown)
        self._walker.begin(*shown, self._rng)

    def _first(self, shown: tuple[int, int]) -> Walker:
        pairs = self._pairs
        head = Pairs(pairs.X, pairs.positives[: shown[0]], pairs.negatives[: shown[1]])
        add_distances(self._memory.numbers, *head.spread())
        self.weights = LinearWeights.resumed(self._memory.arrays, self._x)
        return Walker(pairs, self._loss, self.weights, self._order, int(self._rng.integers(2**62)))

    def steps(self, count: int, rule: np.ndarray) -> tuple[int, float]:
        assert self._walker is not None
        return self._walker.steps(count, rule)

    def store(self, arrays: dict[str, np.ndarray]) -> None:
        if self._walker is not None:  # there was a stage
            super().store(arrays)
        if self._kept is not None:
            self._kept.store(arrays)


def _shares(pairs: Pairs, size: int) -> tuple[int, int]:
    """Return how many of `size` rows are of either class: half, or what there is.

    A step takes one row of each, so a stage in which a class is rare would see little of it, again and again.
    """
    n_positives = min(len(pairs.positives), max(size // 2, size - len(pairs.negatives)))
    return n_positives, size - n_positives


class DrawnObjective(PairObjective):
    """Pairs of rows of X that a source draws: within groups, by a user's function, of equal and other labels."""

    def __init__(
        self, X: Any, source: Source, loss: MarginLoss, regularization: float = 0.01, stream: bool = False
    ):
        super().__init__(source.n_rows, loss, regularization, stream)
        self.X, self.source = X, source

    def value(self, x: np.ndarray) -> float:
        first, second = self.source.draw(_VALUED, np.random.default_rng(0))
        return float(self.loss.value(self.margins(x, first, second)).mean()) + self.penalty(x)

    @abstractmethod
    def margins(self, x: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Return the margins of pairs of rows."""

    @abstractmethod
    def _walk(self, x: np.ndarray, memory: Any, rng: np.random.Generator) -> DrawnWalk:
        """Return the walk for weights of this kind."""

    def pair_walk(
        self, x: np.ndarray, memory: Any, rng: np.random.Generator, *, order: str, buffer: int
    ) -> DrawnWalk:
        seen = memory.numbers.get("positives", 0.0)
        memory.numbers["positives"] = float(seen + self.n_terms if self.stream else max(seen, self.n_terms))
        walk = self._walk(x, memory, rng)
        add_distances(memory.numbers, walk.probe(), PROBED)
        return walk


class DrawnWalk(PairWalk):
    """A walk over drawn pairs; it uses all of them until a stage asks for fewer."""

    source: Source

    def begin(self, size: int | None) -> None:
        if size is not None:
            self.source.count_on(size)

    @abstractmethod
    def probe(self) -> float:
        """Return the mean over pairs of the squared length of the margin's gradient."""


class DrawnPairs(DrawnObjective):
    """Linear scores of drawn pairs, of which the first row should score higher.

    Parameters
    ----------
    X : array, CSR matrix or LazyRows
        Features; lazy ones are worked out for a block of pairs at a time.
    source : Source
        The pairs; it knows how many rows take part.
    loss, regularization, stream
        As in `PairObjective`.
    """

    @property
    def shape(self) -> tuple[int, ...]:
        return (int(self.X.shape[1]),)

    def margins(self, x: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        return np.asarray(self.X[first] @ x - self.X[second] @ x)

    def _walk(self, x: np.ndarray, memory: Any, rng: np.random.Generator) -> DrawnWalk:
        return _LinearWalk(self, LinearWeights.resumed(memory.arrays, x), rng)


class _LinearWalk(DrawnWalk):
    """Steps on linear scores."""

    def __init__(self, objective: DrawnPairs, weights: LinearWeights, rng: np.random.Generator):
        self._X, self.source, self._rng, self.weights = objective.X, objective.source, rng, weights
        self._walker = Walker(Pairs(self._X, _NONE, _NONE), objective.loss, weights, "listed", 0)

    def steps(self, count: int, rule: np.ndarray) -> tuple[int, float]:
        count = min(count, self._walker.block)
        first, second = self.source.draw(count, self._rng)
        if isinstance(self._X, LazyRows):
            block = self._X[np.concatenate([first, second])]
            return self._walker.steps_of(np.arange(count), np.arange(count, 2 * count), rule, block)
        return self._walker.steps_of(first, second, rule)

    def probe(self) -> float:
        first, second = self.source.draw(PROBED, self._rng)
        if isinstance(self._X, LazyRows):
            difference = self._X[first] - self._X[second]
            return float(np.einsum("ij,ij->", difference, difference, dtype=np.float64)) / PROBED
        return Pairs(self._X, first, second).spread(PROBED)[0]
