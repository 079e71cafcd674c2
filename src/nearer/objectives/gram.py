"""Kernels K = X Xᵀ: mean loss over comparisons of the distances that K implies, and a trace penalty."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from nearer.losses import Loss
from nearer.objectives.base import Objective, Plane, Product
from nearer.objectives.pair_graph import PairGraph
from nearer.objectives.parameters import OneArray
from nearer.objectives.planes import checked_factor, linear_plane
from nearer.objectives.points import mean_one

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from nearer.comparisons import Comparisons

#: what it provides to solvers, convex or not
FACTOR_PARTS = frozenset(
    {
        *("distances", "mean_loss", "derivatives", "pair_slopes", "gradient"),
        *("value_and_factor_gradient", "gradient_times", "trace_penalty", "max_rank", "loss"),
    }
)
#: what it provides besides if the problem is convex
CONVEX_PARTS = frozenset({"convexity", "lower_bound", "smoothed"})
#: and if besides its gradient is continuous
SMOOTH_PARTS = frozenset({"smoothness", "gradient_at", "plane", "shape"})
#: the dimension that losses with a setting by dimension assume if the rank is free
_PLANE = 2


class FactorObjective(Objective, Protocol):
    """An objective over kernels K = X Xᵀ that reads them by factors X (n, r) of any rank r.

    No method needs memory for n × n numbers. The loss acts through the squared distances of m pairs of objects; its
    derivatives by these distances, the slopes, make up the gradient by K.
    """

    loss: Loss
    trace_penalty: float
    max_rank: int | None

    def value_and_factor_gradient(self, X: np.ndarray) -> tuple[float, np.ndarray]:
        """Return F(X Xᵀ) and its gradient by X."""

    def gradient_times(self, X: np.ndarray, V: np.ndarray) -> np.ndarray:
        """Return the product of the gradient by K, at K = X Xᵀ, with a vector or with columns."""

    def distances(self, X: np.ndarray) -> np.ndarray:
        """Return the squared distances of the pairs, (m,)."""

    def mean_loss(self, distances: np.ndarray) -> float:
        """Return the objective without its penalty."""

    def derivatives(self, distances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the derivatives of every comparison's loss by its two distances."""

    def pair_slopes(self, by_near: np.ndarray, by_far: np.ndarray) -> np.ndarray:
        """Return the derivatives of the mean loss by the distances of the pairs, from those of the comparisons."""

    def gradient(self, slopes: np.ndarray) -> csr_array:
        """Return the gradient of the mean loss by K, a sparse matrix."""


class ConvexFactorObjective(FactorObjective, Protocol):
    """A factor objective that is convex in K."""

    def lower_bound(self, by_near: np.ndarray, scale: float) -> float:
        """Return a value that the objective cannot fall below."""

    def smoothed(self, width: float, centre: np.ndarray | float = 0.0) -> ConvexFactorObjective:
        """Return the same problem with a loss without kinks."""


class GramObjective:
    """F(K) = weighted mean over comparisons of loss(near, far) + trace_penalty * tr K, over positive semidefinite K.

    Distances are linear in K, `d_ij = K_ii - 2 K_ij + K_jj`, so a loss that is convex in `near - far` makes a convex
    problem. K enters as a factor X with K = X Xᵀ, whose rows are points: n numbers per rank instead of n².

    Comparisons are about pairs of objects. All comparisons about a pair act through one distance and one slope, and
    the gradient by K is the sum over pairs of `slope * (e_i - e_j)(e_i - e_j)ᵀ`: sparse, its rows summing to zero.

    Parameters
    ----------
    comparisons : Comparisons
        The answers.
    loss : Loss
        The loss of a comparison.
    trace_penalty : float
        Strength of the trace, for a *mean* loss. (Papers that sum the losses write tau = q * trace_penalty.)
    max_rank : int, optional
        Largest rank of K; with it, the problem is not convex, whatever the loss.

    Examples
    --------
    >>> import nearer
    >>> answers, truth = nearer.datasets.planted(10, 2, 100, random_state=0)
    >>> f = GramObjective(answers, nearer.losses.STE(), trace_penalty=0.1)
    >>> value, gradient = f.of_kernel(truth @ truth.T)
    >>> round(value - f.value(truth), 12), gradient.shape
    (0.0, (10, 10))
    """

    parameters = OneArray()

    def __init__(
        self,
        comparisons: Comparisons,
        loss: Loss,
        *,
        trace_penalty: float = 0.0,
        max_rank: int | None = None,
    ):
        n = comparisons.n_objects
        self.dtype = np.dtype(np.float64)
        self.shape = (n, n)
        self.n_terms = len(comparisons)
        self.loss = loss.resolved(max_rank or _PLANE)
        self.trace_penalty = float(trace_penalty)
        self.max_rank = max_rank
        self._weights = mean_one(comparisons.weights, self.dtype) / self.n_terms
        ends = comparisons.quadruplets()
        self._graph, (self._near, self._far) = PairGraph.of(ends[:, :2], ends[:, 2:], n_objects=n)

    @property
    def pairs(self) -> np.ndarray:
        """Return the pairs of objects that comparisons are about, (m, 2), each once."""
        return self._graph.pairs

    @property
    def provides(self) -> frozenset[str]:
        """Return what solvers may use: the parts by pairs, and bounds if the problem is convex."""
        if not self.loss.convex or self.max_rank is not None:
            return FACTOR_PARTS
        kinked = self.loss.smoothed(1.0) is not self.loss
        return FACTOR_PARTS | CONVEX_PARTS | (frozenset() if kinked else SMOOTH_PARTS)

    def start(self, x: np.ndarray) -> np.ndarray:
        """Return a copy of a factor with any number of columns."""
        return checked_factor(x, self.shape[0])

    # -- by a factor or by the kernel itself ----------------------------------------------------------------------

    def value(self, X: np.ndarray) -> float:
        """Return F(X Xᵀ)."""
        return self.mean_loss(self.distances(X)) + self.trace_penalty * float(np.vdot(X, X))

    def value_and_factor_gradient(self, X: np.ndarray) -> tuple[float, np.ndarray]:
        """Return F(X Xᵀ) and its gradient by X."""
        distances = self.distances(X)
        value = self.mean_loss(distances) + self.trace_penalty * float(np.vdot(X, X))
        return value, 2 * self._gradient_at(distances)(X)

    def gradient_times(self, X: np.ndarray, V: np.ndarray) -> np.ndarray:
        """Return the product of the gradient by K, at K = X Xᵀ, with a vector or with columns."""
        return self.gradient_at(X)(V)

    def gradient_at(self, X: np.ndarray) -> Product:
        """Return that product as a function, for many vectors at the same X."""
        return self._gradient_at(self.distances(X))

    def _gradient_at(self, distances: np.ndarray) -> Product:
        gradient = self.gradient(self.pair_slopes(*self.derivatives(distances)))
        return lambda V: gradient @ V + self.trace_penalty * V

    def plane(self, X: np.ndarray, U: np.ndarray) -> Plane:
        """Return F(a X Xᵀ + b U Uᵀ) and its derivatives by a and b, as a function of a and b."""
        traces = float(np.vdot(X, X)), float(np.vdot(U, U))
        return linear_plane(
            self.of_distances, (self.distances(X), self.distances(U)), traces, self.trace_penalty
        )

    def of_kernel(self, K: np.ndarray) -> tuple[float, np.ndarray]:
        """Return F(K) and its Frobenius gradient, both for the dense matrix."""
        i, j = self.pairs.T
        own = np.diagonal(K)
        distances = own[i] - 2 * K[i, j] + own[j]
        value = self.mean_loss(distances) + self.trace_penalty * float(np.trace(K))
        gradient = self.gradient(self.pair_slopes(*self.derivatives(distances))).toarray()
        return value, gradient + self.trace_penalty * np.eye(len(K))

    def distances(self, X: np.ndarray) -> np.ndarray:
        """Return the squared distances of the pairs, between rows of X."""
        return self._graph.distances(X)

    # -- by the distances of the pairs ----------------------------------------------------------------------------

    def of_distances(self, distances: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the mean loss and its derivatives by the distances of the pairs."""
        return self.mean_loss(distances), self.pair_slopes(*self.derivatives(distances))

    def mean_loss(self, distances: np.ndarray) -> float:
        """Return the weighted mean of the loss."""
        return self._mean(self.loss.value(distances[self._near], distances[self._far]))

    def derivatives(self, distances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the derivatives of every comparison's loss by its two distances, without weights."""
        return self.loss.derivatives(distances[self._near], distances[self._far])

    def pair_slopes(self, by_near: np.ndarray, by_far: np.ndarray) -> np.ndarray:
        """Return the derivatives of the mean loss by the distances of the pairs, from those of the comparisons."""
        share = self._weights if len(self._weights) else 1 / self.n_terms
        count = len(self._graph)
        return np.bincount(self._near, share * by_near, count) + np.bincount(self._far, share * by_far, count)

    def gradient(self, slopes: np.ndarray) -> csr_array:
        """Return the Frobenius gradient of the mean loss by K: the graph Laplacian with the slopes as weights."""
        return self._graph.laplacian(slopes)

    def lower_bound(self, by_near: np.ndarray, scale: float) -> float:
        """Return a value that F cannot fall below: the dual at `scale * by_near`.

        Any slopes p in [0, 1] with `trace_penalty * I + gradient of p` positive semidefinite yield the bound
        `- mean of conjugate(p)`; `scale` makes them so.
        """
        return -self._mean(self.loss.conjugate(scale * by_near))

    def smoothed(self, width: float, centre: np.ndarray | float = 0.0) -> GramObjective:
        """Return the same problem with a loss without kinks; itself if there are none."""
        loss = self.loss.smoothed(width, centre)
        if loss is self.loss:
            return self
        other = object.__new__(GramObjective)
        other.__dict__.update(self.__dict__, loss=loss)
        return other

    def _mean(self, values: np.ndarray) -> float:
        return float(values @ self._weights) if len(self._weights) else float(values.mean())
