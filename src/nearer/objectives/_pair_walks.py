"""The walk over pairs: the one place that chooses the loop for the rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from nearer._compiled import pairwise_reference as reference
from nearer._compiled.pairwise_reference import DECKS, DRAWN, LISTED
from nearer.losses.margins import MarginLoss, is_named
from nearer.objectives._decks import WORTHWHILE, deck_of, matrix_bytes
from nearer.objectives._pair_weights import LinearWeights, block_length
from nearer.objectives.pair_rows import Pairs, sparse_arrays


class Walker:
    """Doubly stochastic steps over pairs, in order or at random, for dense or sparse rows and any loss."""

    def __init__(self, pairs: Pairs, loss: MarginLoss, weights: LinearWeights, walk: str, seed: int):
        self._pairs, self._loss, self.weights = pairs, loss, weights
        self._seed = seed
        self._cursors = np.zeros(3, np.int64)
        self._counts = [0, 0]
        self._lists = (pairs.positives, pairs.negatives)
        self._shown = self._lists
        self._kind = DRAWN if walk == "random" else LISTED
        self._decks = None
        if walk == "ordered" and matrix_bytes(pairs.X) > WORTHWHILE:
            self._kind = DECKS
            self._decks = [deck_of(pairs.X, rows) for rows in self._lists]
            self._shown = (np.empty(0, np.int64),) * 2
        self._matrix: tuple[Any, ...] = sparse_arrays(pairs.X) if pairs.is_sparse else (pairs.X,)
        if pairs.is_sparse:
            weights.in_table()
        self.block = block_length(2 * pairs.entries_per_row)

    def begin(self, n_positives: int, n_negatives: int, rng: np.random.Generator) -> None:
        """Use the first rows of both lists from now on, and start with those that are new among them.

        If none is new, start anywhere: other pairs meet in every stage.
        """
        for side, count in enumerate((n_positives, n_negatives)):
            new = self._counts[side] if self._counts[side] < count else int(rng.integers(count))
            self._counts[side] = count
            if self._decks is not None:
                self._decks[side].show(count)
                new %= self._decks[side].size
            self._cursors[side] = new
        if self._decks is None:
            self._shown = (self._lists[0][:n_positives], self._lists[1][:n_negatives])

    def steps(self, count: int, rule: np.ndarray) -> tuple[int, float]:
        """Make up to `count` steps; return how many there were and the sum of the losses met."""
        count = min(count, self.block)
        for deck in self._decks or ():
            if deck.visits_left is not None:
                count = min(count, deck.visits_left)
        total = self._walk(count, rule)
        for side, deck in enumerate(self._decks or ()):
            if deck.visited(count):
                self._cursors[side] = 0
        return count, total

    def steps_of(
        self, first: np.ndarray, second: np.ndarray, rule: np.ndarray, X: np.ndarray | None = None
    ) -> tuple[int, float]:
        """Make one step per pair of these rows, or of these rows of another dense X; return as `steps`."""
        self._shown = (first, second)
        self._cursors[:] = 0  # both lists from their start, so pairs stay as they were drawn
        if X is not None:
            self._matrix = (X,)
        return len(first), self._walk(len(first), rule)

    def _walk(self, count: int, rule: np.ndarray) -> float:
        first, second = self._matrix, self._matrix
        if self._decks is not None:
            first, second = (deck.arrays for deck in self._decks)
        how: tuple[Any, ...] = (*self._shown, self._kind, self._cursors, self._seed, count)
        if not is_named(self._loss):
            return self._walk_plainly(first, second, how, rule)
        from nearer._compiled.margin_losses import MARGIN_CODES

        arguments: tuple[Any, ...] = (*how, MARGIN_CODES[type(self._loss)], rule, *self.weights.arrays)
        if self._pairs.is_sparse:
            from nearer._compiled.pairwise_sparse import sparse_steps

            return sparse_steps(*first, *second, *arguments)
        from nearer._compiled.pairwise import dense_steps

        return dense_steps(*first, *second, *arguments)

    def _walk_plainly(self, first: Any, second: Any, how: Any, rule: np.ndarray) -> float:
        """Run a user's own loss, which has no compiled version."""
        weights = self.weights
        weights.sync()
        arguments: tuple[Any, ...] = (*how, self._loss, rule, weights.v, weights.lag, weights.held)
        total = reference.pair_steps(first, second, *arguments)
        weights.replaced()
        return total
