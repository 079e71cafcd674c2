"""Losses of margins between squared distances of featured objects under a metric C = Q Qᵀ.

Margins are sums and differences of distances, so they are linear in C: a convex loss of them makes a convex problem.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nearer.losses.margins import MarginLoss
from nearer.objectives.featured_distances import FeaturedDistances
from nearer.objectives.pair_graph import PairGraph
from nearer.objectives.points import mean_one


class MetricDistances(FeaturedDistances):
    """F(C) = weighted mean of loss(margin) + trace_penalty * tr C, for positive semidefinite C.

    A margin is `offset + sum of sign * squared distance` over one or two pairs of rows.

    Parameters
    ----------
    rows : array or CSR matrix (n, p)
        Features of the objects.
    near, far : int array (k, 2), optional
        Per margin, the pair of different rows whose distance counts against it, and the one whose distance counts for
        it. Either may be missing; in single margins, a pair of -1 says so.
    loss : MarginLoss
        Loss of a margin.
    offset : float or array (k,)
        What is added to the differences of distances.
    weights : array (k,), optional
        Of the margins.
    trace_penalty : float
        Strength of the trace, for a *mean* loss.

    Examples
    --------
    >>> import nearer
    >>> rows = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    >>> near, far = np.array([[0, 1]]), np.array([[0, 2]])
    >>> f = MetricDistances(rows, near, far, loss=nearer.losses.SquareLoss())
    >>> f.margins(np.eye(2)), f.value(np.eye(2))
    (array([3.]), 4.0)
    """

    def __init__(
        self,
        rows: Any,
        near: np.ndarray | None,
        far: np.ndarray | None,
        *,
        loss: MarginLoss,
        offset: float | np.ndarray = 0.0,
        weights: np.ndarray | None = None,
        trace_penalty: float = 0.0,
    ):
        sides = [(sign, pairs) for sign, pairs in ((-1.0, near), (1.0, far)) if pairs is not None]
        self.loss, self.offset = loss, offset
        held = [np.flatnonzero(pairs[:, 0] >= 0) for _, pairs in sides]
        present = [pairs[which] for (_, pairs), which in zip(sides, held, strict=True)]
        graph, places = PairGraph.of(*present, n_objects=rows.shape[0])
        super().__init__(rows, graph, len(sides[0][1]), bool(np.isfinite(loss.curvature)), trace_penalty)
        #: sign, margins that have such a pair, and its place among the pairs
        self._sides: list[tuple[float, np.ndarray, np.ndarray]] = [
            (sign, which, place) for (sign, _), which, place in zip(sides, held, places, strict=True)
        ]
        shares = mean_one(weights, np.dtype(np.float64))
        self._shares = (shares if len(shares) else np.ones(self.n_terms)) / self.n_terms

    def margins(self, X: np.ndarray) -> np.ndarray:
        """Return the margins at C = X Xᵀ."""
        return self._margins(self.distances(X))

    def of_distances(self, distances: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the mean loss and its derivatives by the distances of the pairs."""
        margins = self._margins(distances)
        by_margin = self._shares * self.loss.slope(margins)
        slopes = np.zeros(len(self._graph))
        for sign, held, place in self._sides:
            slopes += np.bincount(place, sign * by_margin[held], len(self._graph))
        return float(self._shares @ self.loss.value(margins)), slopes

    def _margins(self, distances: np.ndarray) -> np.ndarray:
        margins = np.zeros(self.n_terms) + self.offset
        for sign, held, place in self._sides:
            margins[held] += sign * distances[place]
        return margins
