"""A distance learned from rows that belong together and rows that do not.

The distance of two rows is |L (x - x')|², L with few rows, and the margin of a pair `threshold - distance` for rows
of one label, `distance - threshold` for rows of two. What is minimised over L and the threshold is

    (mean loss over pairs of one label + mean loss over pairs of two) / 2  +  c / sqrt(rows) / 2 * |L / unit|²

with c the regularization and `unit` = 1 / (root of the mean squared distance of two rows), so that the unit of the
features does not matter.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nearer._compiled import pairwise_metric_reference as reference
from nearer._compiled.pairwise_reference import COUNT
from nearer.errors import InputError
from nearer.losses.margins import MarginLoss, is_named
from nearer.objectives._pair_weights import LinearWeights, block_length
from nearer.objectives.pair_rows import LazyRows, Pairs, sparse_arrays
from nearer.objectives.pair_sources import Source
from nearer.objectives.stochastic_pairs import PROBED, DrawnObjective, DrawnWalk

#: most rows of L by default
USUAL_COMPONENTS = 32


class MetricWeights(LinearWeights):
    """V, the threshold, and the lazy averages of both; see `nearer._compiled.pairwise_metric`."""

    def __init__(self, arrays: dict[str, np.ndarray], x: np.ndarray, width: int):
        if "v" not in arrays:
            v = np.ascontiguousarray(x[:-1].reshape(width, -1))
            arrays = {"v": v, "lag": np.zeros_like(v), "held": np.array([1.0, 0.0, 0.0, 0.0])}
            arrays["threshold"] = np.array([x[-1], x[-1]])
        super().__init__(arrays["v"].copy(), arrays["lag"].copy(), arrays["held"].copy(), x)
        self.threshold = arrays["threshold"].copy()

    def stored(self) -> dict[str, np.ndarray]:
        return {**super().stored(), "threshold": self.threshold}

    def last(self) -> np.ndarray:
        """Return the latest V and threshold, as one vector."""
        return np.append(super().last(), self.threshold[0])

    def average(self) -> np.ndarray:
        """Return their average since it began; before its first iterate, the answer so far."""
        mean = super().average()
        return mean if self.held[COUNT] == 0 else np.append(mean, self.threshold[1])


class MetricPairs(DrawnObjective):
    """A distance over drawn pairs: places 0, 2, ... of a draw hold rows of one label, the others rows of two.

    Weights are V of shape (features, components) row by row, L = unit Vᵀ, and the threshold behind them.

    Parameters
    ----------
    X : array, CSR matrix or LazyRows
        Features.
    source : Source
        The pairs.
    loss, regularization, stream
        As in `PairObjective`.
    n_components : int, optional
        Rows of L; by default as many as there are features, but at most 32.
    unit : float, optional
        1 / (root of the mean squared distance of two rows); measured by `initial` if it is not known.
    """

    def __init__(
        self,
        X: Any,
        source: Source,
        loss: MarginLoss,
        regularization: float = 0.01,
        stream: bool = False,
        *,
        n_components: int | None = None,
        unit: float | None = None,
    ):
        super().__init__(X, source, loss, regularization, stream)
        self.n_components = min(X.shape[1], USUAL_COMPONENTS) if n_components is None else n_components
        self.unit = unit

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.X.shape[1] * self.n_components + 1,)

    def initial(self, rng: np.random.Generator) -> np.ndarray:
        """Return the usual distance, or a random projection that about keeps it; measure the unit."""
        width, components = self.X.shape[1], self.n_components
        first, second = self.source.draw(PROBED, rng)
        spread = float(_squared_lengths(self.X[first] - self.X[second]).mean())
        self.unit = float(1 / np.sqrt(spread)) if spread > 0 else 1.0
        if components >= width:
            return np.append(np.eye(width, components), 1.0)
        return np.append(rng.normal(size=(width, components)) / np.sqrt(components), 1.0)

    def start(self, x: np.ndarray) -> np.ndarray:
        """Return a copy of the weights; their length says how many components there are."""
        width = self.X.shape[1]
        if len(x) < 2 or (len(x) - 1) % width:
            raise InputError(f"{len(x)} weights are not a threshold and those of {width} features")
        return np.array(x, dtype=np.float64)

    def penalty(self, x: np.ndarray) -> float:
        return super().penalty(x[:-1])

    def margins(self, x: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        V = x[:-1].reshape(self.X.shape[1], -1)
        assert self.unit is not None
        distances = _squared_lengths(np.asarray((self.X[first] - self.X[second]) @ V)) * self.unit**2
        return np.where(np.arange(len(first)) % 2 == 0, 1, -1) * (x[-1] - distances)

    def _walk(self, x: np.ndarray, memory: Any, rng: np.random.Generator) -> DrawnWalk:
        assert self.unit is not None, "call initial, or give the unit"
        memory.numbers["unit"] = self.unit
        return _MetricWalk(self, MetricWeights(memory.arrays, x, self.X.shape[1]), rng)


class _MetricWalk(DrawnWalk):
    """Steps on a distance."""

    def __init__(self, objective: MetricPairs, weights: MetricWeights, rng: np.random.Generator):
        self._X, self.source, self._loss, self._rng = objective.X, objective.source, objective.loss, rng
        assert objective.unit is not None
        self._unit, self.weights = objective.unit, weights
        pairs = Pairs(self._X, np.empty(0, np.int64), np.empty(0, np.int64))
        self._matrix = sparse_arrays(self._X) if pairs.is_sparse else (self._X,)
        self._work = np.zeros(self._X.shape[1] if pairs.is_sparse else 0)
        # even: a dealer lets the last pair of an odd number go
        self._block = 2 * max(block_length(2 * pairs.entries_per_row * weights.v.shape[1]) // 2, 1)

    def steps(self, count: int, rule: np.ndarray) -> tuple[int, float]:
        count = min(count, self._block)
        rows, others = self.source.draw(count, self._rng)
        if isinstance(self._X, LazyRows):
            self._matrix = (self._X[np.concatenate([rows, others])],)
            rows, others = np.arange(count), np.arange(count, 2 * count)
        weights = self.weights
        rest = (rule, weights.v, weights.lag, weights.held, weights.threshold)
        if not is_named(self._loss):
            return count, reference.metric_steps(self._matrix, rows, others, self._unit, self._loss, *rest)
        from nearer._compiled.margin_losses import MARGIN_CODES
        from nearer._compiled.pairwise_metric import dense_metric_steps, sparse_metric_steps

        how = (rows, others, self._unit, MARGIN_CODES[type(self._loss)], *rest)
        if len(self._matrix) == 1:
            return count, dense_metric_steps(*self._matrix, *how)
        return count, sparse_metric_steps(*self._matrix, *how, self._work)

    def probe(self) -> float:
        """Return that of `4 |L d|² |d|² + 1`, d the difference in units; weights shorter than 1 count as 1."""
        first, second = self.source.draw(PROBED, self._rng)
        difference = self._X[first] - self._X[second]
        lengths = _squared_lengths(difference) * self._unit**2
        turned = np.asarray(difference @ self.weights.last()[:-1].reshape(self.weights.v.shape))
        distances = np.maximum(_squared_lengths(turned) * self._unit**2, lengths)
        return float(np.mean(4 * distances * lengths + 1))


def components_of(unit: float, w: np.ndarray, width: int) -> np.ndarray:
    """Return L, of shape (n_components, width)."""
    return np.ascontiguousarray(unit * w[:-1].reshape(width, -1).T)


def _squared_lengths(rows: Any) -> np.ndarray:
    if isinstance(rows, np.ndarray):
        return np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
    return np.asarray(rows.multiply(rows).sum(axis=1), dtype=np.float64).ravel()
