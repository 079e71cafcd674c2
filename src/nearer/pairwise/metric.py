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
from nearer._compiled.pairwise_reference import COUNT, MASS, SCALE, TOTAL
from nearer.losses.margins import MARGIN_LOSSES, MarginLoss
from nearer.pairwise._weights import block_length
from nearer.pairwise.drawn import PROBED, Strides
from nearer.pairwise.maps import Mapped
from nearer.pairwise.pairs import Pairs, sparse_arrays
from nearer.pairwise.sources import Source
from nearer.pairwise.state import State

#: columns of L that are learned where nothing is said
USUAL_COMPONENTS = 32


class MetricWeights:
    """V, the threshold, and the lazy averages of both; see `nearer._compiled.pairwise_metric`."""

    def __init__(self, state: State, width: int):
        self._fallback = state.w
        arrays = state.arrays
        if "v" not in arrays:
            v = np.ascontiguousarray(state.w[:-1].reshape(width, -1))
            arrays = {"v": v, "lag": np.zeros_like(v), "held": np.array([1.0, 0.0, 0.0, 0.0])}
            arrays["threshold"] = np.array([state.w[-1], state.w[-1]])
        self.v, self.lag, self.held = arrays["v"].copy(), arrays["lag"].copy(), arrays["held"].copy()
        self.threshold = arrays["threshold"].copy()

    def stored(self) -> dict[str, np.ndarray]:
        """What it takes to go on."""
        return {"v": self.v, "lag": self.lag, "held": self.held, "threshold": self.threshold}

    def last(self) -> np.ndarray:
        """The latest V and threshold, as one vector."""
        return np.append(self.held[SCALE] * self.v, self.threshold[0])

    def average(self) -> np.ndarray:
        """Their average since it began; before that, what was there."""
        if self.held[COUNT] == 0:
            return self._fallback.copy()
        mean = (self.held[MASS] * self.v - self.lag) / self.held[TOTAL]
        return np.append(mean, self.threshold[1])

    def restart_average(self) -> None:
        """Begin the average anew, and keep the old one as the answer until there is a new one."""
        self._fallback = self.average()
        self.lag[:] = 0.0
        self.held[MASS] = self.held[TOTAL] = self.held[COUNT] = 0.0


class MetricWalker(Strides):
    """Steps on a distance over drawn pairs."""

    def __init__(self, X: Any, source: Source, loss: MarginLoss, state: State, rng: np.random.Generator):
        self._X, self._source, self._loss, self._rng = X, source, loss, rng
        self._unit = state.numbers["unit"]
        self.weights = MetricWeights(state, X.shape[1])
        pairs = Pairs(X, np.empty(0, np.int64), np.empty(0, np.int64))
        self._matrix = sparse_arrays(X) if pairs.is_sparse else (X,)
        self._work = np.zeros(X.shape[1] if pairs.is_sparse else 0)
        # even: a dealer lets the last pair of an odd number go
        self._block = 2 * max(block_length(2 * pairs.entries_per_row * self.weights.v.shape[1]) // 2, 1)

    def steps(self, count: int, rule: np.ndarray) -> tuple[int, float]:
        count = min(count, self._block)
        rows, others = self._source.draw(count, self._rng)
        if isinstance(self._X, Mapped):
            self._matrix = (self._X[np.concatenate([rows, others])],)
            rows, others = np.arange(count), np.arange(count, 2 * count)
        weights = self.weights
        rest = (rule, weights.v, weights.lag, weights.held, weights.threshold)
        if type(self._loss) not in MARGIN_LOSSES.values():
            return count, reference.metric_steps(self._matrix, rows, others, self._unit, self._loss, *rest)
        from nearer._compiled.margin_losses import MARGIN_CODES
        from nearer._compiled.pairwise_metric import dense_metric_steps, sparse_metric_steps

        how = (rows, others, self._unit, MARGIN_CODES[type(self._loss)], *rest)
        if len(self._matrix) == 1:
            return count, dense_metric_steps(*self._matrix, *how)
        return count, sparse_metric_steps(*self._matrix, *how, self._work)

    def probe(self) -> float:
        """Of `4 |L d|² |d|² + 1`, d the difference in units; where weights have yet to grow, of those of length 1."""
        first, second = self._source.draw(PROBED, self._rng)
        difference = self._X[first] - self._X[second]
        lengths = _squared_lengths(difference) * self._unit**2
        turned = np.asarray(difference @ self.weights.last()[:-1].reshape(self.weights.v.shape))
        distances = np.maximum(_squared_lengths(turned) * self._unit**2, lengths)
        return float(np.mean(4 * distances * lengths + 1))


def start_of_metric(X: Any, source: Source, n_components: int | None, rng: np.random.Generator) -> State:
    """Where learning a distance begins: the usual one, or a random projection that about keeps it."""
    width = X.shape[1]
    n_components = min(width, USUAL_COMPONENTS) if n_components is None else n_components
    first, second = source.draw(PROBED, rng)
    spread = float(_squared_lengths(X[first] - X[second]).mean())
    if n_components >= width:
        v = np.eye(width, n_components)
    else:
        v = rng.normal(size=(width, n_components)) / np.sqrt(n_components)
    state = State(np.append(v, 1.0))
    state.numbers["unit"] = 1 / np.sqrt(spread) if spread > 0 else 1.0
    return state


def components_of(state: State, width: int) -> np.ndarray:
    """L, of shape (n_components, width)."""
    return np.ascontiguousarray(state.numbers["unit"] * state.w[:-1].reshape(width, -1).T)


def _squared_lengths(rows: Any) -> np.ndarray:
    if isinstance(rows, np.ndarray):
        return np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
    return np.asarray(rows.multiply(rows).sum(axis=1), dtype=np.float64).ravel()
