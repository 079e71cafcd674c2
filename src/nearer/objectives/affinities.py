"""Affinities of rows with labels in one space, under a metric C = Q Qᵀ of the features of both.

A row x lies at u = Uᵀx and a label y at v = Vᵀy, where Q stacks U, V and the point of the threshold. The affinity of a
row with a label is by how much the row is nearer to the label than to the threshold,

    |u - v_0|² - |u - v|² = 2 u·v - |v|² - (2 u·v_0 - |v_0|²)

The square of u cancels: everything follows from inner products of rows with labels and from the lengths of labels.
With the threshold as one more label, the derivatives G by `2 u·v - |v|²` have rows that sum to 0, and the gradient by C
is zero between features of rows.

Inner products of rows with labels are `(X U) Vᵀ`, or `X (U Vᵀ)`. The second multiplies with the columns of Q once per
feature instead of once per row. It is cheaper if X is sparse and there are many more rows than features, as with ids of
users and items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from nearer._compiled import label_curvature_loops_for, label_loop_for
from nearer._utils.runtime import heed
from nearer.errors import InputError
from nearer.losses.label_sets import LabelSetLoss
from nearer.objectives.base import Plane, Product, Rescaled, WithFactors, members
from nearer.objectives.block_coordinates import RowCurvatures, coordinates
from nearer.objectives.inner_products import InnerProducts
from nearer.objectives.parameters import OneArray
from nearer.objectives.planes import checked_factor
from nearer.objectives.points import mean_one

#: affinities that exist at the same time
_BLOCK = 2**17
#: the range of the gradient is worth knowing if it has fewer dimensions than this share of all
_SMALL_RANGE = 0.6
#: what a number of a sparse product costs, in those of a dense one
_SPARSE_COST = 20


class AffinityObjective:
    """F(C) = weighted mean over rows of loss(affinities with all labels) + trace_penalty * tr C, for C = Q Qᵀ.

    Q has a row per feature of the rows, then per feature of the labels (or per label), then one for the threshold if
    there is one. No matrix of the size of C is formed, and never more than a block of affinities.

    Parameters
    ----------
    X : array or CSR matrix (t, n)
        Features of the rows.
    labels : CSR matrix (t, m)
        Which labels each row has; stored entries count.
    loss : LabelSetLoss
        Loss of the affinities of a row.
    label_features : array or CSR matrix (m, k), optional
        Features of the labels; by default every label has a point of its own.
    parts : int
        How many objects a row is made of, such as 2 for a user and an item. The affinity is then minus the sum of
        their squared distances from the label, up to a number that all labels of the row share.
    threshold : bool
        Whether affinities are measured from that of a threshold. Without one, the loss must be relative.
    weights : array (t,), optional
        Of the rows.
    trace_penalty : float
        Strength of the trace, for a *mean* over rows.

    Examples
    --------
    >>> import nearer
    >>> X, labels = np.array([[1.0], [-1.0]]), sparse.csr_matrix([[1, 0], [0, 1]])
    >>> f = AffinityObjective(X, labels, loss=nearer.losses.SoftMaxLoss())
    >>> Q = np.array([[1.0], [1.0], [-1.0], [0.0]])  # feature, both labels, threshold
    >>> f.affinities(Q), round(f.value(Q), 3)
    (array([[ 1., -3.],
           [-3.,  1.]]), 0.25)
    """

    parameters = OneArray()

    def __init__(
        self,
        X: Any,
        labels: Any,
        *,
        loss: LabelSetLoss,
        label_features: Any = None,
        parts: int = 1,
        threshold: bool = True,
        weights: np.ndarray | None = None,
        trace_penalty: float = 0.0,
    ):
        if labels.shape[0] != X.shape[0]:
            raise InputError(
                f"has {labels.shape[0]} rows, but X has {X.shape[0]}: give the labels of each row",
                parameter="labels",
            )
        if not threshold and not loss.relative:
            raise InputError(
                f"the loss {loss.name!r} compares affinities with a threshold", "pass threshold=True"
            )
        self.X, self.labels, self.loss = X, sparse.csr_matrix(labels), loss
        self.label_features, self.parts, self.threshold = label_features, parts, threshold
        self.trace_penalty = float(trace_penalty)
        self.n_rows, self.n_labels = self.labels.shape
        self.n_features = X.shape[1]
        n_label_features = self.n_labels if label_features is None else label_features.shape[1]
        self.shape = (size := self.n_features + n_label_features + threshold, size)
        self.n_terms = self.n_rows * self.n_labels
        #: no minimum has a higher rank: the gradient by C vanishes on Q, but on no vector of features of rows alone;
        #: with a threshold, growth is not limited by that: fits then ended further from their minimum
        self.most_rank = size if threshold else n_label_features
        shares = mean_one(weights, np.dtype(np.float64))
        self._shares = (shares if len(shares) else np.ones(self.n_rows)) / self.n_rows
        own = np.diff(self.labels.indptr)
        #: the certificate of a solver is tighter if it knows this
        self.least_loss = float(self._shares @ loss.least(own, self.n_labels - own))
        loops = label_loop_for(loss), label_curvature_loops_for(loss)
        self.blocks = list(_blocks(X, self.labels, self._shares, *loops))
        #: sparse rows are few numbers, so that features have blocks of second derivatives of their own
        self._has_curvature = loops[1] is not None and sparse.issparse(X) and label_features is None

    @property
    def provides(self) -> frozenset[str]:
        """Return what solvers may use; a loss with a kink is not smooth."""
        parts = members(WithFactors) | {"convexity"}
        parts |= {"smoothness"} if self.loss.smooth else set()
        parts |= (
            {"damped", "inner_products", "row_coordinates", "n_features"}
            if self._has_curvature and not self.threshold
            else set()
        )
        return parts | ({"gradient_range"} if self._range_is_small else set())

    def start(self, x: np.ndarray) -> np.ndarray:
        """Return a copy of a factor with any number of columns."""
        return checked_factor(x, self.shape[0])

    def affinities(self, Q: np.ndarray, into: np.ndarray | None = None) -> np.ndarray:
        """Return the affinities of all rows with all labels, at C = Q Qᵀ; `into` is an array to write them to."""
        found, end = np.empty((self.n_rows, self.n_labels)) if into is None else into, 0
        for block, look in self._looks(Q):
            start, end = end, end + block.X.shape[0]
            found[start:end] = look()
        return found

    def value(self, X: np.ndarray) -> float:
        """Return F(X Xᵀ)."""
        loss = sum(block.replace_by_slopes(look()) for block, look in self._looks(X))
        return loss + self.trace_penalty * float(np.vdot(X, X))

    def value_and_factor_gradient(self, X: np.ndarray) -> tuple[float, np.ndarray]:
        """Return F(X Xᵀ) and its gradient by X."""
        penalty = self.trace_penalty * float(np.vdot(X, X))
        if self._by_features(X.shape[1]):
            loss, across, sums = self._gradient_parts(X)
            return loss + penalty, 2 * self._times(across, sums, X)
        V, loss = self._label_points(X), 0.0
        gradient = 2 * self.trace_penalty * X
        of_features = gradient[: self.n_features]
        by_label = np.zeros_like(V)
        sums = np.zeros(len(V))
        for block in self.blocks:
            heed()
            points = block.X @ X[: self.n_features]
            value, slopes = self._slopes(block, affinities_of(points, V, self.parts, self.threshold))
            loss += value
            sums += slopes.sum(axis=0)
            by_label += slopes.T @ points
            of_features[block.columns] += block.XT @ (2 * (slopes @ V))
        by_label -= self.parts * sums[:, None] * V
        gradient[self.n_features :] += 2 * self._of_labels(by_label)
        return loss + penalty, gradient

    def gradient_at(self, X: np.ndarray) -> Product:
        """Return the product of the gradient by C, at C = X Xᵀ, with a vector or with columns."""
        _, across, sums = self._gradient_parts(X)
        return partial(self._times, across, sums)

    def gradient_range(self, X: np.ndarray) -> np.ndarray:
        """Return columns whose span holds all products of the gradient of the loss at X Xᵀ.

        Between features of rows the gradient is 0, so there are at most two columns per feature of a label.
        """
        n, k = self.n_features, self.shape[0] - self.n_features
        found = np.zeros((self.shape[0], 2 * k))
        found[:n, :k] = self._of_labels(self._gradient_parts(X)[1].T).T
        found[n:, k:] = np.eye(k)
        return found

    def plane(self, X: np.ndarray, U: np.ndarray) -> Plane:
        """Return F(a X Xᵀ + b U Uᵀ) and its derivatives by a and b, as a function of a and b."""
        looks = [
            (block, own, new) for (block, own), (_, new) in zip(self._looks(X), self._looks(U), strict=True)
        ]
        traces = float(np.vdot(X, X)), float(np.vdot(U, U))

        def at(a: float, b: float) -> tuple[float, float, float]:
            value, by_a, by_b = (
                self.trace_penalty * number for number in (a * traces[0] + b * traces[1], *traces)
            )
            for block, look, look_at_new in looks:
                heed()
                own, new = look(), look_at_new()
                slopes = a * own + b * new
                value += block.replace_by_slopes(slopes)
                by_a += float(np.vdot(slopes, own))
                by_b += float(np.vdot(slopes, new))
            return value, by_a, by_b

        return at

    @property
    def inner_products(self) -> InnerProducts:
        """Return the loss as a convex function of inner products of features with labels, and lengths of labels."""
        return InnerProducts(self)

    def damped(self, X: np.ndarray, damping: float) -> Rescaled:
        """Return descent from a factor X in coordinates in which each of its rows has about unit curvature.

        Second derivatives between labels of a row, and between features of a row, are left out. The damping is added to
        the trace penalty: the more the gradient by C exceeds the penalty, the less curvatures at X say about the way.
        """
        n = self.n_features
        first, second = self.row_coordinates(X, 2 * (self.trace_penalty + damping))

        def factor(changes: np.ndarray) -> np.ndarray:
            found = np.concatenate([first.out(changes[:n]), second.out(changes[n:])])
            found += X
            return found

        def value_and_gradient(changes: np.ndarray) -> tuple[float, np.ndarray]:
            value, gradient = self.value_and_factor_gradient(factor(changes))
            return value, np.concatenate([first.back(gradient[:n]), second.back(gradient[n:])])

        return Rescaled(np.zeros(X.shape), value_and_gradient, factor)

    def row_coordinates(self, X: np.ndarray, of_features: float, of_labels: Any = None) -> tuple[Any, Any]:
        """Return coordinates of the rows of features and of labels, in which each has about unit curvature.

        To second derivatives of the loss comes a multiple of the identity for every row: one for all features, and one
        for all labels or each of them, by default the same.
        """
        W, V = X[: self.n_features], X[self.n_features :]
        squares, means, sums = self.inner_products.curvatures(W @ (2 * V.T), np.einsum("ij,ij->i", V, V))
        totals = squares.sum(axis=1)
        centres = squares @ V / np.maximum(totals, 1e-300)[:, None]
        points = means.T @ W / np.maximum(sums, 1e-300)[:, None] - self.parts * V
        least = of_features if of_labels is None else of_labels
        first, second = coordinates(
            [
                RowCurvatures(4 * squares, V, centres, -4 * totals, of_features),
                RowCurvatures(4 * squares.T, W, points, 4 * sums, least),
            ]
        )
        return first, second

    # -- inside -------------------------------------------------------------------------------------------------

    @property
    def _range_is_small(self) -> bool:
        labels = self.shape[0] - self.n_features
        return 2 * labels < _SMALL_RANGE * self.shape[0]

    def _by_features(self, rank: int) -> bool:
        """Return whether scores of features cost less than points of rows."""
        if not sparse.issparse(self.X):
            return False
        dense = 3 * (self.n_rows - self.n_features) * self.n_labels * rank
        return dense > 2 * _SPARSE_COST * self.X.nnz * (self.n_labels - rank)

    def _looks(self, Q: np.ndarray) -> Iterator[tuple[_Block, Callable[[], np.ndarray]]]:
        """Yield blocks of rows, each with a function that returns its affinities."""
        V, W = self._label_points(Q), Q[: self.n_features]
        if self._by_features(Q.shape[1]):
            table = W @ (2 * V.T)
            for block in self.blocks:
                heed()
                yield block, partial(_affinities_by_table, block.X, table, V, self.parts, self.threshold)
        else:
            for block in self.blocks:
                heed()
                yield block, partial(affinities_of, block.X @ W, V, self.parts, self.threshold)

    def _gradient_parts(self, X: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the loss and its gradient by C: between features and labels, and on the diagonal of labels."""
        n_points, loss = len(self._label_points(X)), 0.0
        across, sums = np.zeros((self.n_features, n_points)), np.zeros(n_points)
        for block, look in self._looks(X):
            value, slopes = self._slopes(block, look())
            loss += value
            across[block.columns] += block.XT @ slopes
            sums += slopes.sum(axis=0)
        return loss, across, self.parts * sums

    def _times(self, across: np.ndarray, sums: np.ndarray, W: np.ndarray) -> np.ndarray:
        """Return the product of the gradient by C, from its parts, with a vector or with columns."""
        n, labels = self.n_features, self._label_points(W)
        found = self.trace_penalty * W
        found[:n] += across @ labels
        found[n:] += self._of_labels(across.T @ W[:n] - (sums * labels.T).T)
        return found

    def _label_points(self, Q: np.ndarray) -> np.ndarray:
        """Return the points of all labels, and of the threshold last."""
        rest = Q[self.n_features :]
        if self.label_features is None:
            return rest
        k = self.label_features.shape[1]
        return np.concatenate([np.asarray(self.label_features @ rest[:k]), rest[k:]])

    def _of_labels(self, by_label: np.ndarray) -> np.ndarray:
        """Return derivatives by the last rows of Q, from those by the points of labels and threshold."""
        if self.label_features is None:
            return by_label
        m = self.n_labels
        return np.concatenate([np.asarray(self.label_features.T @ by_label[:m]), by_label[m:]])

    def _slopes(self, block: _Block, slopes: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the loss of a block and its derivatives by `2 u·v - |v|²`, those of the threshold last."""
        value = block.replace_by_slopes(slopes)
        if self.threshold:
            slopes = np.hstack([slopes, -slopes.sum(axis=1, keepdims=True)])
        return value, slopes


def affinities_of(points: np.ndarray, V: np.ndarray, parts: int = 1, threshold: bool = True) -> np.ndarray:
    """Return the affinities of rows at some points with labels at V; the last row of V is the threshold, if any.

    >>> affinities_of(np.array([[1.0]]), np.array([[1.0], [3.0], [0.0]]))
    array([[ 1., -3.]])
    """
    return measured(points @ (2 * V.T), V, parts, threshold)


def measured(found: np.ndarray, V: np.ndarray, parts: int, threshold: bool) -> np.ndarray:
    """Return affinities from twice the inner products of rows with labels, which are overwritten."""
    found -= parts * np.einsum("ij,ij->i", V, V)
    return found[:, :-1] - found[:, -1:] if threshold else np.ascontiguousarray(found)


def _affinities_by_table(X: Any, table: np.ndarray, V: np.ndarray, parts: int, threshold: bool) -> np.ndarray:
    """Return affinities of rows from twice the inner products of every feature with labels."""
    return measured(X @ table, V, parts, threshold)


class _Block:
    """Some rows, their labels and their shares of the mean."""

    def __init__(
        self,
        X: Any,
        labels: Any,
        shares: np.ndarray,
        loop: Callable[..., float],
        curvature_loops: tuple[Callable[..., None], Callable[..., None]] | None,
    ):
        #: the features that occur in the block, and their transpose; of thousands of ids, a few
        self.columns: Any = slice(None)
        if sparse.issparse(X) and len(some := np.unique(X.indices)) <= X.shape[1] // 2:
            self.columns = some  # gathering most of them would take memory and save nothing
        self.X, self.XT = X, (X if isinstance(self.columns, slice) else X[:, self.columns]).T
        #: return the loss of the rows, and put its derivatives in place of the affinities
        self.replace_by_slopes: Callable[[np.ndarray], float] = partial(
            loop, labels.indptr, labels.indices, shares
        )
        if curvature_loops is not None:
            rows = labels.indptr, labels.indices, shares
            #: put second derivatives in place of the affinities
            self.replace_by_curvatures: Callable[[np.ndarray], None] = partial(curvature_loops[0], *rows)
            #: put changes of slopes in place of changes of affinities
            self.replace_by_products: Callable[[np.ndarray, np.ndarray], None] = partial(
                curvature_loops[1], *rows
            )


def _blocks(X: Any, labels: Any, shares: np.ndarray, *loops: Any) -> Iterator[_Block]:
    """Cut rows so that a block has a limited number of affinities."""
    count = max(_BLOCK // max(labels.shape[1], 1), 1)
    if len(shares) <= count:
        yield _Block(X, labels, shares, *loops)
        return
    for start in range(0, len(shares), count):
        part = slice(start, start + count)
        yield _Block(_rows_of(X, part), _rows_of(labels, part), shares[part], *loops)


def _rows_of(matrix: Any, part: slice) -> Any:
    """Return some rows of an array or a CSR matrix without a copy of their entries."""
    if not sparse.issparse(matrix):
        return matrix[part]
    starts = matrix.indptr[part.start : part.stop + 1]
    entries = slice(starts[0], starts[-1])
    return sparse.csr_matrix(
        (matrix.data[entries], matrix.indices[entries], starts - starts[0]),
        shape=(len(starts) - 1, matrix.shape[1]),
    )
