"""Squared distances of featured objects under a metric C = Q Qᵀ, and losses of margins between them.

The rows of M are objects by their features: instances, labels, thresholds or whatever else shares the metric. The
distance of rows i and j is |Qᵀ (m_i - m_j)|². It is linear in C, and so are margins, which are sums and differences of
distances: a convex loss of them makes a convex problem.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nearer.losses.margins import MarginLoss
from nearer.objectives.base import Plane, Product, WithFactors, members
from nearer.objectives.pair_graph import PairGraph
from nearer.objectives.parameters import OneArray
from nearer.objectives.planes import checked_factor, linear_plane
from nearer.objectives.points import mean_one


class MetricDistances:
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

    parameters = OneArray()

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
        self.rows, self.loss, self.offset = rows, loss, offset
        self.trace_penalty = float(trace_penalty)
        self.shape = (rows.shape[1], rows.shape[1])
        self.n_terms = len(sides[0][1])
        held = [np.flatnonzero(pairs[:, 0] >= 0) for _, pairs in sides]
        present = [pairs[which] for (_, pairs), which in zip(sides, held, strict=True)]
        self._graph, places = PairGraph.of(*present, n_objects=rows.shape[0])
        #: sign, margins that have such a pair, and its place among the pairs
        self._sides: list[tuple[float, np.ndarray, np.ndarray]] = [
            (sign, which, place) for (sign, _), which, place in zip(sides, held, places, strict=True)
        ]
        shares = mean_one(weights, np.dtype(np.float64))
        self._shares = (shares if len(shares) else np.ones(self.n_terms)) / self.n_terms

    @property
    def provides(self) -> frozenset[str]:
        """Return what solvers may use; a loss with a kink is not smooth."""
        smooth = {"smoothness"} if np.isfinite(self.loss.curvature) else set()
        return members(WithFactors) | {"convexity"} | smooth

    def start(self, x: np.ndarray) -> np.ndarray:
        """Return a copy of a factor with any number of columns."""
        return checked_factor(x, self.shape[0])

    def margins(self, X: np.ndarray) -> np.ndarray:
        """Return the margins at C = X Xᵀ."""
        return self._margins(self.distances(X))

    def value(self, X: np.ndarray) -> float:
        """Return F(X Xᵀ)."""
        return self.of_distances(self.distances(X))[0] + self.trace_penalty * float(np.vdot(X, X))

    def value_and_factor_gradient(self, X: np.ndarray) -> tuple[float, np.ndarray]:
        """Return F(X Xᵀ) and its gradient by X."""
        points = self._points(X)
        value, slopes = self.of_distances(self._graph.distances(points))
        gradient = 2 * (self.rows.T @ (self._graph.laplacian(slopes) @ points)) + 2 * self.trace_penalty * X
        return value + self.trace_penalty * float(np.vdot(X, X)), gradient

    def gradient_at(self, X: np.ndarray) -> Product:
        """Return the product of the gradient by C, at C = X Xᵀ, with a vector or with columns."""
        laplacian = self._graph.laplacian(self.of_distances(self.distances(X))[1])
        return lambda V: self.rows.T @ (laplacian @ (self.rows @ V)) + self.trace_penalty * V

    def plane(self, X: np.ndarray, U: np.ndarray) -> Plane:
        """Return F(a X Xᵀ + b U Uᵀ) and its derivatives by a and b, as a function of a and b."""
        traces = float(np.vdot(X, X)), float(np.vdot(U, U))
        return linear_plane(
            self.of_distances, (self.distances(X), self.distances(U)), traces, self.trace_penalty
        )

    def distances(self, X: np.ndarray) -> np.ndarray:
        """Return the squared distances of the pairs that margins are made of."""
        return self._graph.distances(self._points(X))

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

    def _points(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(self.rows @ X)
