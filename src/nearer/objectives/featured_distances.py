"""Objectives that act through squared distances of featured objects under a metric C = Q Qᵀ.

The rows of M are objects by their features: instances, labels, thresholds or whatever else shares the metric. The
distance of rows i and j is |Qᵀ (m_i - m_j)|², linear in C, so a convex loss of distances makes a convex problem. With
a slope per pair of rows, the gradient by C is Mᵀ L M, where L is the Laplacian of the pairs with these slopes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from scipy import sparse

from nearer.objectives.base import Plane, Product, WithFactors, members
from nearer.objectives.pair_graph import PairGraph
from nearer.objectives.parameters import OneArray
from nearer.objectives.planes import checked_factor, linear_plane


class FeaturedDistances(ABC):
    """F(C) = loss(distances of some pairs of rows) + trace_penalty * tr C, for positive semidefinite C.

    Neither C nor its gradient is formed: an evaluation costs the rows, the pairs and the columns of Q, each once.

    Parameters
    ----------
    rows : array or CSR matrix (n, p)
        Features of the objects.
    graph : PairGraph
        The pairs whose distances the loss acts through.
    n_terms : int
        How many terms the loss has.
    smooth : bool
        Whether the loss has a continuous derivative.
    trace_penalty : float
        Strength of the trace.
    """

    parameters = OneArray()

    def __init__(self, rows: Any, graph: PairGraph, n_terms: int, smooth: bool, trace_penalty: float):
        self.rows, self.n_terms, self.smooth = rows, n_terms, smooth
        self.trace_penalty = float(trace_penalty)
        self.shape = (rows.shape[1], rows.shape[1])
        self._graph, self._own = graph, _is_identity(rows)

    @property
    def provides(self) -> frozenset[str]:
        """Return what solvers may use; a loss with a kink is not smooth."""
        return members(WithFactors) | {"convexity"} | ({"smoothness"} if self.smooth else set())

    @abstractmethod
    def of_distances(self, distances: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the loss and its derivatives by the distances of the pairs."""

    def start(self, x: np.ndarray) -> np.ndarray:
        """Return a copy of a factor with any number of columns."""
        return checked_factor(x, self.shape[0])

    def value(self, X: np.ndarray) -> float:
        """Return F(X Xᵀ)."""
        return self.of_distances(self.distances(X))[0] + self.trace_penalty * float(np.vdot(X, X))

    def value_and_factor_gradient(self, X: np.ndarray) -> tuple[float, np.ndarray]:
        """Return F(X Xᵀ) and its gradient by X."""
        points = self.points(X)
        value, slopes = self.of_distances(self._graph.distances(points))
        gradient = 2 * self._back(self._graph.laplacian(slopes) @ points) + 2 * self.trace_penalty * X
        return value + self.trace_penalty * float(np.vdot(X, X)), gradient

    def gradient_at(self, X: np.ndarray) -> Product:
        """Return the product of the gradient by C, at C = X Xᵀ, with a vector or with columns."""
        laplacian = self._graph.laplacian(self.of_distances(self.distances(X))[1])
        return lambda V: self._back(laplacian @ self.points(V)) + self.trace_penalty * V

    def plane(self, X: np.ndarray, U: np.ndarray) -> Plane:
        """Return F(a X Xᵀ + b U Uᵀ) and its derivatives by a and b, as a function of a and b."""
        traces = float(np.vdot(X, X)), float(np.vdot(U, U))
        return linear_plane(
            self.of_distances, (self.distances(X), self.distances(U)), traces, self.trace_penalty
        )

    def distances(self, X: np.ndarray) -> np.ndarray:
        """Return the squared distances of the pairs."""
        return self._graph.distances(self.points(X))

    def points(self, X: np.ndarray) -> np.ndarray:
        """Return the points of the rows."""
        return X if self._own else np.asarray(self.rows @ X)

    def _back(self, points: np.ndarray) -> np.ndarray:
        """Return the product of the transposed rows with a number, or several, per row."""
        return points if self._own else self.rows.T @ points


def _is_identity(rows: Any) -> bool:
    """Return whether every row has one feature, of its own: points are then the rows of the factor."""
    n, p = rows.shape
    if n != p or not sparse.issparse(rows):
        return False
    return rows.nnz == n and bool((rows.diagonal() == 1).all())
