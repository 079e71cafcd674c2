"""What an objective is: the one contract between what is minimised and how.

`Objective` is what every objective has. The protocols below add what some solvers need. A solver names one of them,
`requires` its members, and uses nothing else. An objective lists what it can do in `provides`, so incompatible parts
raise an error before fitting.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from nearer.objectives.parameters import Parameters

#: value and both derivatives of an objective on a plane of matrices, by the two coordinates
Plane = Callable[[float, float], tuple[float, float, float]]
#: the product of a matrix that is not formed with a vector or with columns
Product = Callable[[np.ndarray], np.ndarray]


class Rescaled(NamedTuple):
    """Descent over a factor in other coordinates W, in which an objective is better conditioned."""

    start: np.ndarray
    #: the objective and its gradient by W
    value_and_gradient: Callable[[np.ndarray], tuple[float, np.ndarray]]
    #: the factor at W
    factor: Callable[[np.ndarray], np.ndarray]


class Objective(Protocol):
    """Something to minimise over parameters of any type."""

    #: comparisons, pairs or samples that the objective sums over: the cost of one full pass, in evaluations
    n_terms: int

    @property
    def parameters(self) -> Parameters:
        """How its parameters are copied, shown and stored."""

    @property
    def provides(self) -> frozenset[str]:
        """The names of the methods and attributes that solvers may use in addition to these."""

    def start(self, x: Any) -> Any:
        """Return a copy of the first parameters in the form that the objective needs, or raise an `InputError`."""

    def value(self, x: Any) -> float:
        """Return the objective at x."""


class WithGradient(Objective, Protocol):
    """An objective with full gradients."""

    def value_and_gradient(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the objective at x and its gradient."""


class WithPrecision(WithGradient, Protocol):
    """An objective with full gradients for arrays of one precision."""

    @property
    def dtype(self) -> np.dtype:
        """The precision of the parameters."""


class WithCurvature(WithGradient, Protocol):
    """An objective with products of a positive definite curvature, such as the Gauss-Newton matrix."""

    def curvature(self, x: Any) -> Callable[[Any], Any]:
        """Return the product of the curvature at x with a vector."""


class WithMatrices(WithGradient, Protocol):
    """An objective some of whose parameters are matrices."""

    def matrices(self, x: Any) -> Sequence[Any]:
        """Return views of a vector of parameters: its matrices."""

    def products_of_matrices(self, x: Any) -> Sequence[tuple[Any, Any]]:
        """Return, for each matrix M, MM' and M'M; None for products that are too large, or not of interest."""


class WithNoise(WithGradient, Protocol):
    """An objective with random inputs."""

    def refresh(self, rng: np.random.Generator | None) -> None:
        """Draw new inputs; without a generator, use them without noise."""


class WithFactors(Objective, Protocol):
    """An objective L(C) + trace_penalty * tr C over positive semidefinite C = Q Qᵀ, read by factors Q of any width.

    No method forms C or its gradient. L is never negative. It is convex if the objective provides "convexity", and has
    a continuous gradient if it provides "smoothness". If it provides "rescaled" or "damped", solvers descend in the
    coordinates that `rescaled(X)` or `damped(X, damping)` returns; the second are for the neighbourhood of X alone. An
    attribute `most_rank` says that no minimum has a higher rank.
    """

    trace_penalty: float
    #: rows and columns of C; Q has as many rows
    shape: tuple[int, int]

    def value_and_factor_gradient(self, X: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the objective at C = X Xᵀ and its gradient by X."""

    def gradient_at(self, X: np.ndarray) -> Product:
        """Return the product of the gradient by C, at C = X Xᵀ, with a vector or with columns."""

    def plane(self, X: np.ndarray, U: np.ndarray) -> Plane:
        """Return the objective at a X Xᵀ + b U Uᵀ, and its derivatives by a and by b, as a function of a and b."""


class WithInnerProducts(Objective, Protocol):
    """An objective L(C) + trace_penalty * tr C over C = Q Qᵀ, with the first `n_features` rows of Q for features.

    The others belong to labels. L depends on inner products of features with labels and on lengths of labels, and is
    never negative.
    """

    trace_penalty: float
    #: rows and columns of C; Q has as many rows
    shape: tuple[int, int]
    n_features: int

    @property
    def inner_products(self) -> Any:
        """The loss as a convex function of these, an `InnerProducts`."""

    def row_coordinates(self, X: np.ndarray, of_features: float, of_labels: Any = None) -> tuple[Any, Any]:
        """Return coordinates of the rows of features and of labels, in which each has about unit curvature."""


class WithLeastSquares(Objective, Protocol):
    """An objective over two sides that is a least squares problem in either, given the other."""

    @property
    def loss(self) -> Any:
        """The loss of an observed pair."""

    def least_squares(self, x: Any, side: int, products: int) -> Any:
        """Return the parameters after solving for one side by some steps of conjugate gradients."""


class WithBlocks(WithGradient, Protocol):
    """An objective over all pairs of two sets, with gradients over the pairs of two subsets."""

    @property
    def sizes(self) -> tuple[int, int, int]:
        """The numbers of left and right entities and of observed pairs."""

    def block_gradient(self, x: Any, left: Any, right: Any) -> tuple[float, Any]:
        """Return value and gradient on the pairs of two sorted sets of indices, scaled to all pairs."""


class WithGramians(WithGradient, Protocol):
    """An objective over all pairs of two sets, with gradients from some observed pairs and given Gramians."""

    @property
    def sizes(self) -> tuple[int, int, int]:
        """The numbers of left and right entities and of observed pairs."""

    def gramians_of(self, x: Any, chosen: Any) -> tuple[Any, ...]:
        """Return estimates of the Gramians from the entities of some observed pairs."""

    def pair_gradient(self, x: Any, chosen: Any, gramians: Any) -> tuple[float, Any]:
        """Return value and gradient on some observed pairs, scaled to all, with given Gramians."""


class WithInitial(Objective, Protocol):
    """An objective that knows where to start."""

    def initial(self, rng: np.random.Generator) -> np.ndarray:
        """Return the parameters of a model that has learned nothing."""


class Shuffled(Protocol):
    """The terms of an objective in random order."""

    def shuffle(self) -> None:
        """Draw a new order."""


class WithBatches(Objective, Protocol):
    """An objective with gradients of parts of its terms."""

    @property
    def unit_length(self) -> float:
        """The scale of the parameters at which the loss has its curvature."""

    def walk(self, rng: np.random.Generator) -> Shuffled:
        """Return the terms in random order."""

    def batch_gradient(self, x: np.ndarray, walk: Any, start: int, stop: int) -> tuple[float, np.ndarray]:
        """Return value and gradient on the terms start:stop of the walk alone."""


class WithStochasticEpochs(WithGradient, Protocol):
    """An objective that runs epochs of stochastic gradient descent."""

    def walk(self, rng: np.random.Generator) -> Shuffled:
        """Return the terms in random order."""

    def sgd_epoch(self, x: np.ndarray, walk: Any, steps: np.ndarray, batch_size: int) -> float:
        """Move x along one walk, batch s by `-steps[s]` times its gradient; return the mean value met."""


class WithSnapshots(WithGradient, Protocol):
    """An objective that runs epochs of variance-reduced steps."""

    def walk(self, rng: np.random.Generator, *, slopes: bool) -> Shuffled:
        """Return the terms in random order, with room for the slopes at a snapshot."""

    def snapshot_gradient(self, x: np.ndarray, walk: Any) -> tuple[float, np.ndarray]:
        """Return the objective and the gradient of its loss part; keep the slope of every term in the walk."""

    def with_penalty(self, gradient: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return the gradient of the loss part plus that of the penalty."""

    def svrg_epoch(
        self,
        x: np.ndarray,
        snapshot: np.ndarray,
        gradient: np.ndarray,
        walk: Any,
        step: float,
        batch_size: int,
        count: int,
    ) -> None:
        """Move x along `count` terms of the walk by variance-reduced steps of size `step` per batch."""


def members(protocol: type) -> frozenset[str]:
    """Return the names that a protocol adds to those of every objective.

    >>> sorted(members(WithPrecision))
    ['dtype', 'value_and_gradient']
    """
    return _names(protocol) - _names(Objective)


def _names(protocol: type) -> frozenset[str]:
    named = [
        name for part in protocol.__mro__ for name in (*vars(part), *vars(part).get("__annotations__", ()))
    ]
    return frozenset(name for name in named if not name.startswith("_"))
