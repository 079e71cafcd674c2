"""SOLAM: the square loss over pairs as a saddle point over single rows (Ying, Wen and Lyu, 2016)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from nearer._utils.validation import whole
from nearer.errors import InputError
from nearer.losses.margins import MarginLoss
from nearer.pairwise._weights import LinearWeights, block_length, length_of, rule_of
from nearer.pairwise.base import PairSolver
from nearer.pairwise.pairs import Pairs, sparse_arrays
from nearer.pairwise.state import State, Watch

#: the first steps' floor in units of (mean squared length of a row) * (largest second derivative over rows); where rows
#: weigh differently, proximal steps shorten the heavy ones more, and only short steps keep the balance
_FLOOR = {"balanced": 1.0, "natural": 4.0}
_PROBED = 512


@dataclass(frozen=True)
class SOLAM(PairSolver):
    """Stochastic online AUC maximisation: no pairs, no buffer; each step takes one row.

    Beside the weights there are three numbers to find: the mean scores of both classes and their difference.

    Parameters
    ----------
    passes : int
        Of a fit, over all rows. A stream is met once.
    draws : {"balanced", "natural"}
        "balanced": rows of both classes take turns, the rarer class's coming round more often; the AUC does not depend
        on how frequent the classes are, and steps need not be short for the sake of a rare one. "natural": rows as they
        come, weighted by the inverse shares of the classes so far, as in the paper. A stream is always natural.

    Notes
    -----
    Steps are proximal, `1 / (floor + mu t)` long, and the answer is the same average as that of `AdaDSG`; the paper's
    steps are explicit, projected to balls whose radii one must know, and shrink like 1 / sqrt(t).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 3)) + [1.0, 0.0, 0.0] * (np.arange(400)[:, None] < 100)
    >>> from nearer.losses.margins import SquareLoss
    >>> state = SOLAM().run(Pairs.from_labels(X, np.arange(400) < 100, rng), SquareLoss(), 0.01, rng)
    >>> int(state.w.argmax()), state.stop_reason
    (0, 'epochs')
    """

    passes: int = 14
    draws: str = "balanced"
    name: ClassVar[str] = "solam"
    losses: ClassVar[frozenset[str] | None] = frozenset({"square"})
    centred: ClassVar[bool] = True

    def __post_init__(self) -> None:
        whole("passes", self.passes)
        if self.draws not in ("balanced", "natural"):
            raise InputError(f"draws must be 'balanced' or 'natural', not {self.draws!r}")

    def _run_batch(
        self, pairs: Pairs, loss: MarginLoss, regularization: float, rng: np.random.Generator, watch: Watch
    ) -> None:
        for _ in range(self.passes):
            if not watch.over:
                watch.state.repeats += 1
                self._pass(pairs, regularization, rng, watch, self.draws)

    def _run_stream(
        self, pairs: Pairs, loss: MarginLoss, regularization: float, rng: np.random.Generator, watch: Watch
    ) -> None:
        watch.state.positives += len(pairs.positives)
        watch.state.negatives += len(pairs.negatives)
        self._pass(pairs, regularization, rng, watch, "natural")

    def _pass(
        self, pairs: Pairs, regularization: float, rng: np.random.Generator, watch: Watch, draws: str
    ) -> None:
        """As many steps as there are rows."""
        state = watch.state
        if min(state.positives, state.negatives) == 0:  # nothing to tell apart yet
            return
        state.stage += 1
        shares = np.array([state.positives, state.negatives]) / state.samples
        order, sides = _turns(pairs, rng) if draws == "balanced" else pairs.mixed(rng)
        if draws == "balanced":
            shares = np.array([0.5, 0.5])
        unit = _probe(state, pairs, order)
        weights = LinearWeights.resumed(state.arrays, state.w)
        if pairs.is_sparse:
            weights.in_table()
        floor = _FLOOR[draws] * 2 * unit / shares.min() * max(state.repeats, 1)
        rule = rule_of(floor, regularization / np.sqrt(state.samples))
        numbers = state.arrays.setdefault("saddle", np.zeros(3))
        self._walk(pairs, order, sides, (shares, numbers, unit, rule), weights, watch)
        state.w = weights.average()
        state.arrays.update(weights.stored())

    def _walk(
        self,
        pairs: Pairs,
        order: np.ndarray,
        sides: np.ndarray,
        how: tuple[np.ndarray, np.ndarray, float, np.ndarray],
        weights: LinearWeights,
        watch: Watch,
    ) -> None:
        from nearer._compiled.pairwise_saddle import dense_saddle_steps, sparse_saddle_steps

        matrix = sparse_arrays(pairs.X) if pairs.is_sparse else (pairs.X,)
        steps: Any = sparse_saddle_steps if pairs.is_sparse else dense_saddle_steps
        block = block_length(pairs.entries_per_row)
        total, made, length = 0.0, 0, length_of(how[3])
        for begin in range(0, len(order), block):
            stop = min(begin + watch.room(block), len(order))
            met = steps(*matrix, order[begin:stop], sides[begin:stop], *how, *weights.arrays)
            total, made = total + met, made + stop - begin
            watch.made(stop - begin, met, weights.average)
            if watch.over:
                break
        watch.state.record(total / max(made, 1), length)


def _turns(pairs: Pairs, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """As many rows as there are, of a class drawn for each, in the order of its list from any place on."""
    # in strict turn, alpha would swing with the class
    sides = rng.integers(2, size=pairs.n_rows)
    order = np.empty(pairs.n_rows, np.int64)
    for side, rows in enumerate((pairs.positives, pairs.negatives)):
        mine = sides == side
        order[mine] = rows[(rng.integers(len(rows)) + np.arange(mine.sum())) % len(rows)]
    return order, sides


def _probe(state: State, pairs: Pairs, order: np.ndarray) -> float:
    """The mean squared length of rows, kept account of in the state."""
    rows = pairs.X[order[:_PROBED]]
    squares = rows.multiply(rows).sum() if sparse.issparse(rows) else np.sum(rows.astype(np.float64) ** 2)
    state.numbers["squares"] = state.numbers.get("squares", 0.0) + float(squares)
    state.numbers["rows"] = state.numbers.get("rows", 0.0) + rows.shape[0]
    mean = state.numbers["squares"] / state.numbers["rows"]
    return mean if mean > 0 else 1.0
