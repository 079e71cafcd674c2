"""OLP: every row makes a step against a buffer of rows seen before (Kar and others, 2013)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from nearer._compiled import pairwise_reference as reference
from nearer._compiled.pairwise_reference import step_curvature
from nearer._utils.validation import whole
from nearer.losses.margins import MARGIN_LOSSES, MarginLoss
from nearer.pairwise._reservoir import Reservoir
from nearer.pairwise._weights import LinearWeights, block_length, floor_of, length_of, probe, rule_of
from nearer.pairwise.base import PairSolver
from nearer.pairwise.pairs import Pairs, sparse_arrays
from nearer.pairwise.state import State, Watch

#: the first steps' floor, in the units of `floor_of`
_FLOOR = 0.5


@dataclass(frozen=True)
class OLP(PairSolver):
    """Online learning of pairs with a buffer: a step for a row, along its mean gradient against buffered rows.

    Every row of a class seen so far is in that class's half of the buffer with the same probability. Steps are as long
    as those of `AdaDSG`, and the answer is the same average of the iterates.

    Parameters
    ----------
    buffer : int
        Rows kept, half of them of either class.
    pairs : int, optional
        Rows of the buffer that a step takes; None means all of the other class, as in the paper, at many times the cost
        and for hardly a better answer.
    passes : int
        Of a fit, over all rows, each in an order of its own. A stream is met once.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 3)) + [1.0, 0.0, 0.0] * (np.arange(400)[:, None] < 100)
    >>> from nearer.losses.margins import HingeLoss
    >>> state = OLP().run(Pairs.from_labels(X, np.arange(400) < 100, rng), HingeLoss(), 0.01, rng)
    >>> int(state.w.argmax()), state.stop_reason
    (0, 'epochs')
    """

    buffer: int = 500
    pairs: int | None = 4
    passes: int = 5
    name: ClassVar[str] = "olp"

    def __post_init__(self) -> None:
        whole("buffer", self.buffer, at_least=2)
        whole("passes", self.passes)
        if self.pairs is not None:
            whole("pairs", self.pairs)

    def _run_batch(
        self, pairs: Pairs, loss: MarginLoss, regularization: float, rng: np.random.Generator, watch: Watch
    ) -> None:
        for _ in range(self.passes):
            if not watch.over:
                watch.state.repeats += 1
                self._pass(pairs, loss, regularization, rng, watch)

    def _run_stream(
        self, pairs: Pairs, loss: MarginLoss, regularization: float, rng: np.random.Generator, watch: Watch
    ) -> None:
        watch.state.positives += len(pairs.positives)
        watch.state.negatives += len(pairs.negatives)
        self._pass(pairs, loss, regularization, rng, watch)

    def _pass(
        self, pairs: Pairs, loss: MarginLoss, regularization: float, rng: np.random.Generator, watch: Watch
    ) -> None:
        """Every row once."""
        state = watch.state
        state.stage += 1
        buffer = _Buffer(self.buffer // 2, pairs, state, int(rng.integers(2**62)))
        if min(len(pairs.positives), len(pairs.negatives)) > 0:
            probe(state, pairs)
        weights = LinearWeights.resumed(state.arrays, state.w)
        if pairs.is_sparse:
            weights.in_table()
        floor = floor_of(state, loss, _FLOOR) * max(state.repeats, 1)
        rule = rule_of(floor, regularization / np.sqrt(max(state.samples, 1)))
        total, made, length = 0.0, 0, length_of(rule)
        order, sides = pairs.mixed(rng)
        n_pairs = self.pairs or self.buffer
        block = block_length(min(n_pairs, self.buffer // 2) * pairs.entries_per_row)
        for begin in range(0, len(order), block):
            stop = min(begin + watch.room(block), len(order))
            met, count = buffer.steps(order[begin:stop], sides[begin:stop], n_pairs, loss, rule, weights)
            total, made = total + met, made + count
            watch.made(count, met, weights.average)
            if watch.over:
                break
        state.record(total / max(made, 1), length)
        state.w = weights.average()
        state.arrays.update(weights.stored())
        buffer.store(state)


class _Buffer:
    """Rows kept from before, below those of a chunk, and the numbers of those that are in the buffer now."""

    def __init__(self, size: int, pairs: Pairs, state: State, seed: int):
        self._kept = Reservoir.resumed(size, state.arrays, (0, 0))
        self._X, places = self._kept.beside(pairs.X)
        self._rows = np.zeros((2, size), np.int64)
        for side in (0, 1):
            self._rows[side, : len(places[side])] = places[side][:size]
        self._seen = state.arrays.get("seen", np.zeros(2, np.int64))
        self._matrix: tuple[Any, ...] = sparse_arrays(self._X) if pairs.is_sparse else (self._X,)
        self._seed = seed

    def steps(
        self,
        order: np.ndarray,
        sides: np.ndarray,
        n_pairs: int,
        loss: MarginLoss,
        rule: np.ndarray,
        weights: LinearWeights,
    ) -> tuple[float, int]:
        """A step for each row that finds partners; gives the sum of the losses met, and their number."""
        how = (order, sides, self._rows, self._seen, n_pairs, self._seed)
        if type(loss) not in MARGIN_LOSSES.values():
            weights.sync()
            arrays = (weights.v, weights.lag, weights.held)
            answer = reference.buffer_steps(self._matrix, *how, loss, rule, *arrays)
            weights.replaced()
            return answer
        from nearer._compiled.margin_losses import MARGIN_CODES
        from nearer._compiled.pairwise_buffer import dense_buffer_steps, sparse_buffer_steps

        steps: Any = dense_buffer_steps if len(self._matrix) == 1 else sparse_buffer_steps
        return steps(
            *self._matrix, *how, MARGIN_CODES[type(loss)], step_curvature(loss), rule, *weights.arrays
        )

    def store(self, state: State) -> None:
        """Keep the rows for what comes."""
        for side in (0, 1):
            filled = min(int(self._seen[side]), self._rows.shape[1])
            if filled > 0:
                self._kept.rows[side] = self._X[self._rows[side, :filled]]
        self._kept.store(state.arrays)
        state.arrays["seen"] = self._seen
