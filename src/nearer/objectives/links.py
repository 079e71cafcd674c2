"""Links between objects in one space, under a metric C = Q Qᵀ of the features of both sides.

A left object lies at u, a right object at v, and each side has a threshold point, u_0 and v_0. A pair has two margins:
by how much its distance is below that of either object from the threshold of its side,

    |u - u_0|² - |u - v|²        and        |v - v_0|² - |u - v|²

Within one set, links have no direction: both sides share their points and the threshold.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from nearer._compiled import link_loop_for
from nearer.losses.links import LinkLoss
from nearer.objectives.base import Rescaled
from nearer.objectives.featured_distances import FeaturedDistances
from nearer.objectives.pair_graph import PairGraph
from nearer.objectives.points import mean_one

#: the range of the gradient is worth knowing up to this many objects, and up to this share of the features
_FEW_OBJECTS, _SMALL_RANGE = 500, 0.6
#: a trace penalty below this does not limit the size of rows without pairs
_LEAST_SCALE = 1e-12


class LinkObjective(FeaturedDistances):
    """F(C) = weighted mean over pairs of their loss + trace_penalty * tr C, for positive semidefinite C.

    Q has a row per feature of the left objects, then per feature of the right objects, then one for each threshold.
    Within one set, it has a row per feature of the objects, and one for the threshold.

    Parameters
    ----------
    pairs : int array (m, 2)
        A left and a right object each, by their rows; each pair once. Within one set, two different objects.
    links : bool array (m,)
        Which of them are links.
    left : array or CSR matrix (n, k)
        Features of the left objects, or of those of one set; the identity gives each a point of its own.
    right : array or CSR matrix (n', k'), optional
        Features of the right objects. Without them, links are within one set.
    loss : LinkLoss
        Loss of both margins of a pair.
    offset : float
        What is added to both margins.
    weights : array (m,), optional
        Of the pairs.
    trace_penalty : float
        Strength of the trace, for a *mean* over pairs.

    Examples
    --------
    >>> import nearer
    >>> pairs, links = np.array([[0, 0], [0, 1]]), np.array([True, False])
    >>> f = LinkObjective(pairs, links, np.eye(1), np.eye(2), loss=nearer.losses.LinkLoss())
    >>> Q = np.array([[0.0], [0.0], [3.0], [2.0], [2.0]])  # one left, two right objects, both thresholds
    >>> f.margins(Q)[0], f.margins(Q)[1]
    (array([ 4., -5.]), array([ 4., -8.]))
    >>> round(2 * f.value(Q), 4)  # no loss but the soft maximum of two zeros
    0.6931
    """

    def __init__(
        self,
        pairs: np.ndarray,
        links: np.ndarray,
        left: Any,
        right: Any = None,
        *,
        loss: LinkLoss,
        offset: float = 0.0,
        weights: np.ndarray | None = None,
        trace_penalty: float = 0.0,
    ):
        links = np.asarray(links, dtype=bool)
        self._order = np.argsort(
            ~links, kind="stable"
        )  # links first: either loss then has a slice of its own
        self._n_links = int(links.sum())
        n_left, n_right = left.shape[0], 0 if right is None else right.shape[0]
        ends = np.asarray(pairs, dtype=np.int64)[self._order]
        ends = ends + np.array([0, 0 if right is None else n_left])
        #: the place of the threshold distance of both objects of a pair, after the distances of the pairs
        self._thresholds = (ends + len(ends)).T.astype(np.int32, order="C")
        rows = _rows(left, right)
        objects = np.arange(n_left + n_right)
        at = np.full(len(objects), len(objects)) if right is None else len(objects) + (objects >= n_left)
        graph = PairGraph(np.concatenate([ends, np.stack([objects, at], axis=1)]), rows.shape[0])
        super().__init__(rows, graph, len(ends), loss.smooth, trace_penalty)
        self.loss, self._loop, self.offset = loss, link_loop_for(loss), float(offset)
        shares = mean_one(weights, np.dtype(np.float64))
        self._shares = (shares[self._order] if len(shares) else np.ones(len(ends))) / max(len(ends), 1)

    @property
    def least_loss(self) -> float:
        """Return a number that the loss is never below: the soft maximum of a link's two losses is at least ln 2."""
        return math.log(2) * float(self._shares[: self._n_links].sum())

    @property
    def provides(self) -> frozenset[str]:
        """Return what solvers may use: the range of the gradient if there are few objects with many features."""
        n, p = self.rows.shape
        small = n <= min(_FEW_OBJECTS, _SMALL_RANGE * p)
        return super().provides | {"rescaled"} | ({"gradient_range"} if small else set())

    def margins(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the margins of the pairs at C = X Xᵀ: against the threshold of the left, and of the right object."""
        found = np.empty((2, self.n_terms))
        found[:, self._order] = self._margins(self.distances(X))
        return found[0], found[1]

    def of_distances(self, distances: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the mean loss and its derivatives by the distances of pairs and from thresholds."""
        slopes = np.zeros(len(distances))
        value = self._loop(self.offset, self._n_links, self._shares, *self._thresholds, distances, slopes)
        return value, slopes

    def rescaled(self, X: np.ndarray) -> Rescaled:
        """Return descent in units in which all rows of the factor have about the same curvature.

        Thresholds are part of all pairs, and some objects are part of many more than others. Without this, L-BFGS needs
        several times as many steps.
        """
        scales = self._scales

        def value_and_gradient(W: np.ndarray) -> tuple[float, np.ndarray]:
            value, gradient = self.value_and_factor_gradient(scales * W)
            return value, scales * gradient

        return Rescaled(X / scales, value_and_gradient, lambda W: scales * W)

    @cached_property
    def _scales(self) -> np.ndarray:
        """Return a size per row of the factor: the shares of the pairs that move with it, and the penalty."""
        by_distance = np.bincount(self._thresholds.ravel(), np.tile(self._shares, 2), len(self._graph))
        by_distance[: self.n_terms] = 2 * self._shares
        of_objects = self._graph.sums(by_distance)
        curvatures = self.rows.multiply(self.rows).T @ of_objects + max(self.trace_penalty, _LEAST_SCALE)
        return 1 / np.sqrt(curvatures)[:, None]

    def gradient_range(self, X: np.ndarray) -> np.ndarray:
        """Return columns whose span holds all products of the gradient of the loss: the features of all objects."""
        return self.rows.T.toarray()

    def _margins(self, distances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        near = distances[: self.n_terms] - self.offset
        return distances[self._thresholds[0]] - near, distances[self._thresholds[1]] - near


def _rows(left: Any, right: Any) -> Any:
    """Return the features of all objects and thresholds: those of either side have columns of their own."""
    sides = [left] if right is None else [left, right]
    thresholds = sparse.identity(len(sides))
    return sparse.block_diag([*(sparse.csr_matrix(side) for side in sides), thresholds], format="csr")
