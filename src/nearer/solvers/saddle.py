"""SOLAM: the square loss over pairs as a saddle point over single rows (Ying, Wen and Lyu, 2016)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from nearer._utils.validation import whole
from nearer.errors import InputError
from nearer.objectives._pair_weights import LinearWeights, block_length, length_of, rule_of
from nearer.objectives.pair_rows import Pairs, sparse_arrays
from nearer.objectives.stochastic_pairs import TwoClassPairs
from nearer.solvers._passes import Pass, RowSolver, samples_of
from nearer.solvers.run import Run

#: the first steps' floor in units of (mean squared length of a row) * (largest second derivative over rows); where rows
#: weigh differently, proximal steps shorten the heavy ones more, and only short steps keep the balance
_FLOOR = {"balanced": 1.0, "natural": 4.0}
_PROBED = 512


@dataclass(frozen=True)
class SOLAM(RowSolver):
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
    >>> import nearer
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 3)) + [1.0, 0.0, 0.0] * (np.arange(400)[:, None] < 100)
    >>> model = nearer.AUCClassifier("square", SOLAM(), random_state=0).fit(X, np.arange(400) < 100)
    >>> int(model.coef_.argmax()), model.result_.stop_reason
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

    def _pass(
        self, objective: TwoClassPairs, x: np.ndarray, rng: np.random.Generator, run: Run, number: int
    ) -> np.ndarray:
        """Make as many steps as there are rows."""
        from nearer._compiled.pairwise_saddle import dense_saddle_steps, sparse_saddle_steps

        pairs, numbers, arrays = objective.pairs, run.memory.numbers, run.memory.arrays
        if min(numbers["positives"], numbers["negatives"]) == 0:  # nothing to tell apart yet
            return x
        balanced = self.draws == "balanced" and not objective.stream
        order, sides = _turns(pairs, rng) if balanced else pairs.mixed(rng)
        shares = np.array([0.5, 0.5] if balanced else [numbers["positives"], numbers["negatives"]])
        shares /= shares.sum()
        unit = _probe(numbers, pairs, order)
        weights = LinearWeights.resumed(arrays, x)
        if pairs.is_sparse:
            weights.in_table()
        floor = _FLOOR["balanced" if balanced else "natural"] * 2 * unit / shares.min()
        rule = rule_of(
            floor * max(numbers.get("repeats", 0), 1), objective.regularization / np.sqrt(samples_of(numbers))
        )
        how = (shares, arrays.setdefault("saddle", np.zeros(3)), unit, rule)
        matrix = sparse_arrays(pairs.X) if pairs.is_sparse else (pairs.X,)
        steps: Any = sparse_saddle_steps if pairs.is_sparse else dense_saddle_steps
        block = block_length(pairs.entries_per_row)
        try:
            with Pass(run, weights.average, length_of(rule), max(run.epoch, 0) + 1) as now:
                for begin in range(0, len(order), block):
                    stop = min(begin + run.room(block), len(order))
                    met = steps(*matrix, order[begin:stop], sides[begin:stop], *how, *weights.arrays)
                    now.add(stop - begin, met)
        finally:
            arrays.update(weights.stored())
        return weights.average()


def _turns(pairs: Pairs, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """As many rows as there are, of a class drawn for each, in the order of its list from any place on."""
    # in strict turn, alpha would swing with the class
    sides = rng.integers(2, size=pairs.n_rows)
    order = np.empty(pairs.n_rows, np.int64)
    for side, rows in enumerate((pairs.positives, pairs.negatives)):
        mine = sides == side
        order[mine] = rows[(rng.integers(len(rows)) + np.arange(mine.sum())) % len(rows)]
    return order, sides


def _probe(numbers: dict[str, float], pairs: Pairs, order: np.ndarray) -> float:
    """Return the mean squared length of the rows seen so far, of which `numbers` keeps account."""
    rows = pairs.X[order[:_PROBED]]
    squares = rows.multiply(rows).sum() if sparse.issparse(rows) else np.sum(rows.astype(np.float64) ** 2)
    numbers["squares"] = numbers.get("squares", 0.0) + float(squares)
    numbers["rows"] = numbers.get("rows", 0.0) + rows.shape[0]
    mean = numbers["squares"] / numbers["rows"]
    return mean if mean > 0 else 1.0
