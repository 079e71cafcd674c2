"""Linear scores: mean loss over all pairs of samples whose labels differ, and an L2 term."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nearer._utils.validation import not_negative
from nearer.errors import InputError
from nearer.losses.margins import MarginLoss, find_margin_loss
from nearer.objectives._design import Design
from nearer.objectives._layers import pair_layers
from nearer.objectives._pair_sums import Curvature, OverPairs, PairSums, SquareSums, pair_sums
from nearer.objectives.parameters import OneArray

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator

#: most pairs that are visited one by one: those of 20,000 samples, half of them positive
_MOST_PAIRS = 10**8


class AllPairs:
    """F(w) = mean over pairs of loss(x·w - x'·w) + l2/2 * |w|², over all pairs whose first sample has the higher label.

    For two classes these are all pairs of a positive and a negative sample, and the mean loss is a convex stand-in for
    one minus the area under the ROC curve. Pairs are never formed: the square loss follows from the means and spreads
    of the scores, hinge and squared hinge from running sums over the sorted scores. A value or a gradient costs a
    product with X, one with its transpose, and a sort. Other losses are summed pair by pair, up to 10^8 pairs.

    Parameters
    ----------
    X : (n, d) array or CSR matrix
        float64 or float32, which is kept; sums are float64 always.
    y : (n,) array
        Labels. The higher of two classes is the positive one; more than two values are grades.
    loss : str or MarginLoss, default="hinge"
        "square", "hinge", "squared-hinge" or "logistic".
    l2 : float, default=0
        Strength of the L2 term, which is added to the *mean* loss.
    groups : (n,) array, optional
        Only samples of the same group make pairs: the answers to one query, for instance. The mean is over all pairs,
        so large groups count more.
    sample_weight : (n,) array, optional
        The weight of a pair is the product of the weights of its samples.

    Attributes
    ----------
    n_pairs : int
        How many pairs there are.

    Examples
    --------
    >>> X = np.array([[2.0], [0.0], [0.5]])
    >>> f = AllPairs(X, [1, 0, 0], "hinge", l2=0.5)
    >>> f.n_pairs
    2
    >>> round(f.value(np.array([0.5])), 4)  # margins 1 and 0.75, so the mean loss is 0.125
    0.1875
    >>> f.value_and_gradient(np.array([0.4]))[1]
    array([-1.55])
    """

    parameters = OneArray()
    provides: frozenset[str] = frozenset(
        {
            "value_and_gradient",
            "dtype",
            "convexity",
            "hessian",
            "loss",
            "l2",
            "with_loss",
            "scores",
            "penalty",
        }
        | {"gradient", "of_scores", "has_curvature", "curvature_at", "quadratic", "shape", "second_moments"}
        | {"spreads"}
    )

    def __init__(
        self,
        X: Any,
        y: Any,
        loss: str | MarginLoss = "hinge",
        l2: float = 0.0,
        *,
        groups: Any = None,
        sample_weight: Any = None,
    ):
        not_negative("l2", l2)
        self.design = Design(X)
        n = self.n_samples = self.design.n_samples
        self.shape = (self.design.n_features,)
        self.dtype = np.dtype(np.float64)
        self.l2 = float(l2)
        ranks = _codes(y, "y", n)
        group_codes = np.zeros(n, np.int64) if groups is None else _codes(groups, "groups", n)
        self._layers = pair_layers(ranks, group_codes, _weights(sample_weight, n))
        self.n_pairs = self.n_terms = sum(layer.n_pairs for layer in self._layers)
        if not self.n_pairs:
            raise InputError(_why_no_pairs(ranks, groups, sample_weight))
        self._weight = sum(layer.weight for layer in self._layers)
        self._use(find_margin_loss(loss))

    def with_loss(self, loss: str | MarginLoss) -> AllPairs:
        """Return the same pairs with another loss; nothing is copied.

        Examples
        --------
        >>> f = AllPairs(np.array([[2.0], [0.0]]), [1, 0], "hinge")
        >>> f.with_loss("square").value(np.array([2.0])), f.value(np.array([2.0]))
        (9.0, 0.0)
        """
        other = object.__new__(AllPairs)
        other.__dict__.update(self.__dict__)
        other._use(find_margin_loss(loss))
        return other

    def _use(self, loss: MarginLoss) -> None:
        self.loss = loss
        every = type(self).provides
        self.provides = every if self.has_curvature else every - {"hessian"}
        self._sums: PairSums = pair_sums(loss)
        if self._sums.visits_pairs and self.n_pairs > _MOST_PAIRS:
            raise InputError(
                f"the loss {loss.name!r} is summed pair by pair, up to {_MOST_PAIRS:,} pairs, and {self.n_samples:,} "
                f"samples make {self.n_pairs:,}: take fewer samples, the loss 'squared-hinge', which has no such "
                f"limit, or a solver that draws pairs"
            )

    def initial(self, rng: np.random.Generator) -> np.ndarray:
        """Return weights to begin with: zeros, whatever is drawn."""
        del rng
        return np.zeros(self.shape)

    def start(self, x: np.ndarray) -> np.ndarray:
        """Return a copy of the weights to begin with."""
        w = np.array(x, dtype=self.dtype)
        if w.shape != self.shape:
            raise InputError(f"the start has shape {w.shape} but the objective needs {self.shape}")
        return w

    @property
    def has_curvature(self) -> bool:
        """Whether the loss has a second derivative."""
        return type(self.loss).second_derivative is not MarginLoss.second_derivative

    @property
    def quadratic(self) -> bool:
        """Whether F is a quadratic function."""
        return self._sums.constant_curvature

    # -- by the weights of the features -----------------------------------------------------------------------------

    def value(self, w: np.ndarray) -> float:
        """Return F(w)."""
        return self.of_scores(self.scores(w)).loss + self.penalty(w)

    def value_and_gradient(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """Return F(w) and its gradient (one of them where the loss has a kink)."""
        found = self.of_scores(self.scores(w))
        return found.loss + self.penalty(w), self.gradient(w, found.slopes)

    def hessian(self, w: np.ndarray) -> LinearOperator:
        """Return the second derivatives at w, as a product with vectors.

        A product costs one with X and one with its transpose; the scores at w are sorted once.
        """
        from scipy.sparse.linalg import LinearOperator

        product = self.curvature_at(self.scores(w)).product

        def matvec(v: np.ndarray) -> np.ndarray:
            v = v.ravel()
            return self.gradient(v, product(self.scores(v)))

        return LinearOperator(self.shape * 2, matvec=matvec, rmatvec=matvec, dtype=self.dtype)

    def scores(self, w: np.ndarray) -> np.ndarray:
        """Return X w."""
        return self.design.times(np.asarray(w, np.float64))

    def penalty(self, w: np.ndarray) -> float:
        """Return the L2 term."""
        return self.l2 / 2 * float(w @ w)

    def gradient(self, w: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        """Return the gradient of F from the derivatives of the mean loss by the scores."""
        return self.design.back(slopes) + self.l2 * w

    # -- by the scores ----------------------------------------------------------------------------------------------

    def of_scores(self, scores: np.ndarray) -> OverPairs:
        """Return the mean loss and its derivatives by the scores, whatever they come from."""
        scores = scores - scores.mean()  # only differences count, and these keep more digits
        loss, slope, slopes = 0.0, 0.0, np.zeros(self.n_samples)
        with np.errstate(over="ignore", invalid="ignore"):  # solvers watch for values that are not finite
            for layer in self._layers:
                sums = self._sums.first(layer, scores[layer.rows])
                loss += sums.loss
                slope += sums.slope
                slopes[layer.rows] += sums.slopes
        return OverPairs(loss / self._weight, slope / self._weight, slopes / self._weight)

    def curvature_at(self, scores: np.ndarray) -> Curvature:
        """Return second derivatives of the mean loss by the scores, if the loss has them."""
        if not self.has_curvature:
            raise AttributeError(f"the loss {self.loss.name!r} has no second derivative")
        return self._curvature(self._sums, scores - scores.mean())

    def _curvature(self, sums: PairSums, scores: np.ndarray) -> Curvature:
        parts = [(layer.rows, sums.second(layer, scores[layer.rows])) for layer in self._layers]

        def product(z: np.ndarray) -> np.ndarray:
            out = np.zeros(self.n_samples)
            for rows, curvature in parts:
                out[rows] += curvature.product(z[rows])
            return out / self._weight

        return Curvature(sum(curvature.level for _, curvature in parts) / self._weight, product)

    # -- of the features --------------------------------------------------------------------------------------------

    def second_moments(self) -> np.ndarray:
        """Mean over pairs of (x - x')(x - x')ᵀ, dense (d, d).

        Examples
        --------
        >>> AllPairs(np.array([[2.0, 1.0], [0.0, 0.0]]), [1, 0]).second_moments()
        array([[4., 2.],
               [2., 1.]])
        """
        # half of the Hessian of the square loss; pair differences of a column are those of a column of scores
        product = self._curvature(SquareSums(), np.zeros(self.n_samples)).product
        moments = np.empty(self.shape * 2)
        for part, columns in self.design.columns():
            moments[:, part] = self.design.back(
                np.stack([product(column) / 2 for column in columns.T], axis=1)
            )
        return (moments + moments.T) / 2

    def spreads(self) -> np.ndarray:
        """Return an estimate of the diagonal of `second_moments`, for any number of features: twice the variances.

        Samples count by the pairs that they are in.
        """
        shares = np.zeros(self.n_samples)
        for layer in self._layers:
            upper, lower = layer.side_weights
            partners = layer.by_row(lower, upper)
            shares[layer.rows] += layer.weights * partners
        return 2 * self.design.variances(shares)


def _codes(values: Any, name: str, n: int) -> np.ndarray:
    """Return numbers 0, 1, ... for the distinct values, in their order."""
    values = np.asarray(values)
    if values.shape != (n,):
        raise InputError(f"{name} has shape {values.shape}, but X has {n} rows: give one value per row")
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0])
        raise InputError(f"{name} holds {values[row]} in row {row}: leave out rows without a value")
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def _weights(sample_weight: Any, n: int) -> np.ndarray:
    if sample_weight is None:
        return np.ones(n)
    weights = np.asarray(sample_weight, np.float64)
    if weights.shape != (n,):
        raise InputError(
            f"sample_weight has shape {weights.shape}, but X has {n} rows: give one number per row"
        )
    if not (np.isfinite(weights) & (weights >= 0)).all():
        row = int(np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))[0])
        raise InputError(f"sample_weight holds {weights[row]} in row {row}: weights are numbers of 0 or more")
    return weights / max(weights.max(), np.finfo(float).tiny)  # products of tiny weights would vanish


def _why_no_pairs(ranks: np.ndarray, groups: Any, sample_weight: Any) -> str:
    if ranks.max() == 0:
        return "y holds one label only: a pair takes two samples with different labels"
    if groups is not None:
        return "no group has samples with different labels and weights above 0: make larger groups"
    return (
        "all samples with weights above 0 have the same label: a pair takes two samples with different labels"
    )
