"""OLP: every row makes a step against a buffer of rows seen before (Kar and others, 2013)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from nearer._compiled import pairwise_reference as reference
from nearer._compiled.pairwise_reference import step_curvature
from nearer._utils.validation import whole
from nearer.losses.margins import MarginLoss, is_named
from nearer.objectives._kept_rows import Reservoir
from nearer.objectives._pair_weights import (
    LinearWeights,
    add_distances,
    block_length,
    floor_of,
    length_of,
    rule_of,
)
from nearer.objectives.pair_rows import Pairs, sparse_arrays
from nearer.objectives.stochastic_pairs import TwoClassPairs
from nearer.solvers._passes import Pass, RowSolver, samples_of
from nearer.solvers.run import Run

#: the first steps' floor, in the units of `floor_of`
_FLOOR = 0.5


@dataclass(frozen=True)
class OLP(RowSolver):
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
    >>> import nearer
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 3)) + [1.0, 0.0, 0.0] * (np.arange(400)[:, None] < 100)
    >>> model = nearer.AUCClassifier(solver=OLP(), random_state=0).fit(X, np.arange(400) < 100)
    >>> int(model.coef_.argmax()), model.result_.stop_reason
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

    def _pass(
        self, objective: TwoClassPairs, x: np.ndarray, rng: np.random.Generator, run: Run, number: int
    ) -> np.ndarray:
        """Meet every row once."""
        pairs, memory, loss = objective.pairs, run.memory, objective.loss
        buffer = _Buffer(self.buffer // 2, pairs, memory.arrays, int(rng.integers(2**62)))
        if pairs.both:
            add_distances(memory.numbers, *pairs.spread())
        weights = LinearWeights.resumed(memory.arrays, x)
        if pairs.is_sparse:
            weights.in_table()
        floor = floor_of(memory.numbers, loss, _FLOOR) * max(memory.numbers.get("repeats", 0), 1)
        rule = rule_of(floor, objective.regularization / np.sqrt(max(samples_of(memory.numbers), 1)))
        order, sides = pairs.mixed(rng)
        n_pairs = self.pairs or self.buffer
        block = block_length(min(n_pairs, self.buffer // 2) * pairs.entries_per_row)
        try:
            with Pass(run, weights.average, length_of(rule), max(run.epoch, 0) + 1) as now:
                for begin in range(0, len(order), block):
                    stop = min(begin + run.room(block), len(order))
                    met, count = buffer.steps(
                        order[begin:stop], sides[begin:stop], n_pairs, loss, rule, weights
                    )
                    now.add(count, met)
        finally:
            memory.arrays.update(weights.stored())
            buffer.store(memory.arrays)
        return weights.average()


class _Buffer:
    """Rows kept from before, below those of a chunk, and the numbers of those that are in the buffer now."""

    def __init__(self, size: int, pairs: Pairs, arrays: dict[str, np.ndarray], seed: int):
        self._kept = Reservoir.resumed(size, arrays, (0, 0))
        self._X, places = self._kept.below(pairs.X)
        self._rows = np.zeros((2, size), np.int64)
        for side in (0, 1):
            self._rows[side, : len(places[side])] = places[side][:size]
        self._seen = arrays.get("seen", np.zeros(2, np.int64))
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
        """Make a step per row that finds partners; return the sum of the losses met, and their number."""
        how = (order, sides, self._rows, self._seen, n_pairs, self._seed)
        if not is_named(loss):
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

    def store(self, arrays: dict[str, np.ndarray]) -> None:
        """Keep the rows for later chunks."""
        for side in (0, 1):
            filled = min(int(self._seen[side]), self._rows.shape[1])
            if filled > 0:
                self._kept.rows[side] = self._X[self._rows[side, :filled]]
        self._kept.store(arrays)
        arrays["seen"] = self._seen
