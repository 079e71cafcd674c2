"""Objectives written by hand, each with exactly what one protocol declares: quadratics whose minimum is known."""

from __future__ import annotations

from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from nearer._compiled.pairwise_reference import T
from nearer.losses import SquareLoss
from nearer.objectives._pair_weights import length_of
from nearer.objectives.pair_rows import Pairs
from nearer.objectives.parameters import OneArray
from nearer.objectives.planes import factor_plane

EVERY_OBJECTIVE = frozenset({"parameters", "n_terms", "provides", "start", "value"})
SHAPE = (4, 2)


class Quadratic:
    """Mean over n terms of half the squared distance of x to a target; what it provides are its public names."""

    parameters = OneArray()
    n_terms = 60

    def __init__(self):
        self._targets = np.random.default_rng(0).normal(size=(self.n_terms, *SHAPE)) + 2.0
        self._minimum = self._targets.mean(axis=0)

    @property
    def provides(self):
        names = {name for name in (*dir(type(self)), *vars(self)) if not name.startswith("_")}
        return frozenset(names | self._marks) - EVERY_OBJECTIVE

    _marks = frozenset()  # what it promises without a member for it

    def start(self, x):
        return np.array(x)

    def value(self, x):
        return 0.5 * float(((x - self._targets) ** 2).sum()) / self.n_terms


class Gradient(Quadratic):
    def value_and_gradient(self, x):
        return self.value(x), x - self._minimum


class Precision(Gradient):
    dtype = np.dtype(np.float64)


class Curvature(Gradient):
    """Half the squared distance to the mean target, each coordinate weighted by its own curvature."""

    _scales = np.geomspace(1, 1e4, 8).reshape(SHAPE)

    def value(self, x):
        return 0.5 * float((self._scales * (x - self._minimum) ** 2).sum())

    def value_and_gradient(self, x):
        return self.value(x), self._scales * (x - self._minimum)

    def curvature(self, x):
        return lambda vector: self._scales * vector


class Noise(Gradient):
    def refresh(self, rng):
        """Move the minimum a little, or back."""
        self._shift = 0.0 if rng is None else 1e-3 * rng.normal(size=SHAPE)

    _shift = 0.0

    def value_and_gradient(self, x):
        return self.value(x), x - self._minimum - self._shift


class Matrices(Gradient):
    """A matrix whose columns have different curvatures along turned axes."""

    def __init__(self):
        super().__init__()
        self._minimum /= 4  # within reach of short steps

    _turn = np.array([[0.8, -0.6], [0.6, 0.8]]) * [1.0, 10.0]

    def value(self, x):
        return 0.5 * float((((x - self._minimum) @ self._turn) ** 2).sum())

    def value_and_gradient(self, x):
        return self.value(x), (x - self._minimum) @ self._turn @ self._turn.T

    def matrices(self, x):
        return [x]

    def products_of_matrices(self, x):
        return [(x @ x.T, x.T @ x)]


class NoisyMatrices(Matrices):
    def refresh(self, rng):
        """Move the minimum a little, or back."""
        self._shift = 0.0 if rng is None else 1e-3 * rng.normal(size=SHAPE)

    _shift = 0.0

    def value_and_gradient(self, x):
        return super().value_and_gradient(x - self._shift)


class LeastSquares(Quadratic):
    """Two sides: the rows of x of even and of odd numbers."""

    loss = SquareLoss()

    def least_squares(self, x, side, products):
        x = x.copy()
        x[side::2] = self._minimum[side::2]
        return x


class _Nearby(Gradient):
    """Targets that differ little, so that steps of constant length end close to their mean."""

    def __init__(self):
        super().__init__()
        self._targets = 0.5 + 0.02 * (self._targets - 2.0)
        self._minimum = self._targets.mean(axis=0)

    sizes = (6, 10, Quadratic.n_terms)


class Blocks(_Nearby):
    """Term 10 i + j is the pair (i, j)."""

    def block_gradient(self, x, left, right):
        terms = (10 * left[:, None] + right).ravel()
        return self.value(x), x - self._targets[terms].mean(axis=0)


class _Means(NamedTuple):
    mean: np.ndarray


class Gramians(_Nearby):
    """Half of the gradient comes from the chosen terms, half from a mean over others."""

    def gramians_of(self, x, chosen):
        return _Means(self._targets[chosen].mean(axis=0))

    def pair_gradient(self, x, chosen, gramians):
        mean = self._targets[chosen].mean(axis=0)
        return self.value(x), x - (mean + gramians.mean) / 2


class _Walk:
    def __init__(self, n_terms, rng):
        self.order, self._rng = np.arange(n_terms), rng

    def shuffle(self):
        self._rng.shuffle(self.order)


class _Walked(Quadratic):
    def walk(self, rng, *, slopes=False):
        return _Walk(self.n_terms, rng)

    def _mean_target(self, walk, start, stop):
        return self._targets[walk.order[start:stop]].mean(axis=0)


class Batches(_Walked):
    unit_length = 1.0

    def batch_gradient(self, x, walk, start, stop):
        return self.value(x), x - self._mean_target(walk, start, stop)


class StochasticEpochs(_Walked, Gradient):
    def sgd_epoch(self, x, walk, steps, batch_size):
        for number, step in enumerate(steps):
            x -= step * (x - self._mean_target(walk, number * batch_size, (number + 1) * batch_size))
        return self.value(x)


class Snapshots(_Walked, Gradient):
    def snapshot_gradient(self, x, walk):
        return self.value_and_gradient(x)

    def with_penalty(self, gradient, x):
        return gradient

    def svrg_epoch(self, x, snapshot, gradient, walk, step, batch_size, count):
        for start in range(0, count, batch_size):
            target = self._mean_target(walk, start, start + batch_size)
            x -= step * ((x - target) - (snapshot - target) + gradient)


class BatchesAndSnapshots(Batches, Snapshots):
    pass


class Kernel(Quadratic):
    """Half the squared distance of K = X Xᵀ to a matrix, plus a trace penalty; `distances` are the entries of K."""

    trace_penalty, loss, _n = 0.1, SimpleNamespace(unit=1.0, name="quadratic"), 6

    def __init__(self):
        root = np.random.default_rng(0).normal(size=(self._n, 2))
        self._target = (root @ root.T).ravel()
        # the eigenvalues of the minimum are those of the matrix less the penalty
        self._minimum = root @ root.T - self.trace_penalty * root @ np.linalg.pinv(root)

    def value(self, x):
        return self.mean_loss(self.distances(x)) + self.trace_penalty * float(np.vdot(x, x))

    def distances(self, x):
        return (x @ x.T).ravel()

    def mean_loss(self, distances):
        return 0.5 * float(((distances - self._target) ** 2).sum())

    def derivatives(self, distances):
        return distances - self._target, self._target - distances

    def pair_slopes(self, by_near, by_far):
        return by_near

    def gradient(self, slopes):
        return csr_array(slopes.reshape(self._n, self._n))

    def value_and_factor_gradient(self, x):
        slopes = self.derivatives(self.distances(x))[0]
        return self.value(x), 2 * (self.gradient(slopes) @ x + self.trace_penalty * x)


class RankedKernel(Kernel):
    max_rank = 3


class ConvexKernel(Kernel):
    _marks = frozenset({"convexity"})

    def lower_bound(self, by_near, scale):
        slopes = scale * by_near
        return -0.5 * float(slopes @ slopes) - float(slopes @ self._target)

    def smoothed(self, width, centre=0.0):
        return ConvexKernel()


class Factors(Quadratic):
    """The problem of `Kernel` as solvers see it that grow factors."""

    trace_penalty = Kernel.trace_penalty
    _marks = frozenset({"convexity", "smoothness"})
    shape = (6, 6)

    def __init__(self):
        self._whole = Kernel()
        self._minimum, self.value = self._whole._minimum, self._whole.value

    def value_and_factor_gradient(self, X):
        return self._whole.value_and_factor_gradient(X)

    def gradient_at(self, X):
        residual = X @ X.T - self._whole._target.reshape(len(X), -1)
        return lambda V: residual @ V + self.trace_penalty * V

    def plane(self, X, U):
        return factor_plane(self, X, U)


class InnerProducts(Quadratic):
    """Half the squared distance of 2 U Vᵀ to a target, whose singular values the trace penalty lowers by itself."""

    trace_penalty, n_features, shape = 0.5, 3, (5, 5)
    _marks = frozenset({"convexity", "smoothness"})

    def __init__(self):
        self._target = np.array([[3.0, 1.0], [0.0, 2.0], [1.0, -1.0]])
        left, sizes, right = np.linalg.svd(self._target, full_matrices=False)
        both = np.vstack([left, right.T]) * np.sqrt((sizes - self.trace_penalty) / 2)
        self._minimum = both @ both.T

    def value(self, x):
        U, V = x[: self.n_features], x[self.n_features :]
        return 0.5 * float(((2 * U @ V.T - self._target) ** 2).sum()) + self.trace_penalty * float(
            np.vdot(x, x)
        )

    @property
    def inner_products(self):
        def slopes(P, lengths):
            residual = P - self._target
            return 0.5 * float((residual**2).sum()), residual, np.zeros(len(lengths))

        return SimpleNamespace(slopes=slopes, products=lambda *at: lambda P, lengths: (P, 0 * lengths))

    def row_coordinates(self, X, of_features, of_labels=None):
        same = SimpleNamespace(out=lambda rows: rows, back=lambda rows: rows)
        return same, same


class Scores(Quadratic):
    """Its scores are the parameters themselves, and `l2` pulls them to zero."""

    loss, l2, shape, has_curvature, quadratic = SquareLoss(), 0.5, (3,), True, True

    def __init__(self):
        self._target = np.array([1.0, -2.0, 3.0])
        self._minimum = self._target / (1 + self.l2)

    def value(self, x):
        return self.of_scores(x).loss + self.penalty(x)

    def with_loss(self, loss):
        return self

    def scores(self, w):
        return w

    def penalty(self, w):
        return self.l2 / 2 * float(w @ w)

    def gradient(self, w, slopes):
        return slopes + self.l2 * w

    def of_scores(self, scores):
        slopes = scores - self._target
        return SimpleNamespace(loss=0.5 * float(slopes @ slopes), slope=0.0, slopes=slopes)

    def curvature_at(self, scores):
        return SimpleNamespace(level=1.0, product=lambda v: v)

    def second_moments(self):
        return np.eye(3)

    def spreads(self):
        return np.ones(3)


class PairSteps(Quadratic):
    """A step of its walk goes towards the target of one term."""

    loss, regularization = SquareLoss(), 0.01

    def __init__(self, stream=False):
        super().__init__()
        self.stream = stream

    def pair_walk(self, x, memory, rng, *, order, buffer):
        return _PairWalk(self._targets, x, rng)


class _PairWalk:
    """The walk, and the weights on their way."""

    has_pairs = True

    def __init__(self, targets, x, rng):
        self._targets, self._x, self._rng, self.weights = targets, x, rng, self
        self.restart_average()

    def restart_average(self):
        self._sum, self._count = np.zeros_like(self._x), 0

    def begin(self, size):
        self.restart_average()

    def steps(self, count, rule):
        for target in self._targets[self._rng.integers(len(self._targets), size=count)]:
            self._x -= min(length_of(rule), 1.0) * (self._x - target)
            self._sum, self._count = self._sum + self._x, self._count + 1
            rule[T] += 1
        return count, 0.0

    def last(self):
        return self._x

    def average(self):
        return self._sum / self._count if self._count else self._x

    def store(self, arrays):
        arrays["x"] = self._x


class Rows(Quadratic):
    """Rows of two classes, two of whose pairs differ by (1, 0) and (0, 1): all margins are 1 at (1, 1)."""

    loss, regularization = SquareLoss(), 1e-3

    def __init__(self, stream=False):
        X = np.tile([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], (self.n_terms // 3, 1))
        self.pairs = Pairs.from_labels(X, X.any(axis=1), np.random.default_rng(0))
        self.stream, self._minimum = stream, np.ones(2)

    def value(self, x):
        return 0.5 * float(((x - self._minimum) ** 2).sum())

    def count_rows(self, numbers):
        numbers |= {"positives": 2.0 * self.n_terms / 3, "negatives": self.n_terms / 3}


#: one objective for each set of names that solvers require
OBJECTIVES = (
    *(
        Gradient,
        Precision,
        Curvature,
        Matrices,
        NoisyMatrices,
        Noise,
        LeastSquares,
        Blocks,
        Gramians,
        Batches,
        StochasticEpochs,
        Snapshots,
        BatchesAndSnapshots,
    ),
    *(RankedKernel, ConvexKernel, Factors, InnerProducts, Scores, PairSteps, Rows),
)
