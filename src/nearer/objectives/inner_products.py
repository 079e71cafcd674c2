"""A loss of affinities as a convex function of what it depends on: inner products, and lengths of labels.

With features at the rows u of U and labels at the rows v of V, affinities are sums over the features of a row of
`P = 2 U Vᵀ`, less the squared lengths `l = |v|²`. They are linear in P and l, so the loss is convex in both together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nearer._utils.runtime import heed

if TYPE_CHECKING:
    from nearer.objectives.affinities import AffinityObjective

#: changes of P and l to changes of the derivatives by them
Products = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


class Slopes(NamedTuple):
    """The mean loss, and its derivatives by P and l."""

    value: float
    by_products: np.ndarray
    by_lengths: np.ndarray


class Curvatures(NamedTuple):
    """Sums over rows of second derivatives by affinities: times squared features, times features, and alone."""

    squares: np.ndarray
    means: np.ndarray
    sums: np.ndarray


class InnerProducts:
    """The mean loss over rows of an `AffinityObjective` without a threshold, by P (n, m) and l (m,).

    Examples
    --------
    >>> from scipy import sparse
    >>> import nearer
    >>> X, labels = sparse.eye(2, format="csr"), sparse.csr_matrix([[1, 0], [0, 1]])
    >>> f = nearer.objectives.AffinityObjective(X, labels, loss=nearer.losses.RankingLoss(), threshold=False)
    >>> slopes = f.inner_products.slopes(np.zeros((2, 2)), np.zeros(2))
    >>> round(slopes.value, 4), slopes.by_products
    (0.6931, array([[-0.25,  0.25],
           [ 0.25, -0.25]]))
    """

    def __init__(self, objective: AffinityObjective):
        self._f = objective

    def slopes(self, P: np.ndarray, lengths: np.ndarray) -> Slopes:
        """Return the loss and its derivatives."""
        value, by_products, sums = 0.0, np.zeros(P.shape), np.zeros(P.shape[1])
        for block, slopes in self._affinities(P, lengths):
            value += block.replace_by_slopes(slopes)
            by_products[block.columns] += block.XT @ slopes
            sums += slopes.sum(axis=0)
        return Slopes(value, by_products, -self._f.parts * sums)

    def products(self, P: np.ndarray, lengths: np.ndarray) -> Products:
        """Return a function that multiplies the second derivatives with changes of P and l."""

        def product(by_P: np.ndarray, by_lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            across, sums = np.zeros(P.shape), np.zeros(P.shape[1])
            looks = self._affinities(P, lengths), self._affinities(by_P, by_lengths)
            for (block, affinities), (_, changes) in zip(*looks, strict=True):
                block.replace_by_products(affinities, changes)
                across[block.columns] += block.XT @ changes
                sums += changes.sum(axis=0)
            return across, -self._f.parts * sums

        return product

    def curvatures(self, P: np.ndarray, lengths: np.ndarray) -> Curvatures:
        """Return sums over rows of the second derivatives by single affinities."""
        squares, means = np.zeros((2, *P.shape))
        sums = np.zeros(P.shape[1])
        for block, bent in self._affinities(P, lengths):
            block.replace_by_curvatures(bent)
            means[block.columns] += block.XT @ bent
            squares[block.columns] += block.XT.multiply(block.XT) @ bent
            sums += bent.sum(axis=0)
        return Curvatures(squares, means, sums)

    def _affinities(self, P: np.ndarray, lengths: np.ndarray) -> Iterator[tuple[Any, np.ndarray]]:
        """Yield blocks of rows with their affinities."""
        own = self._f.parts * lengths
        for block in self._f.blocks:
            heed()
            found = np.asarray(block.X @ P)
            found -= own
            yield block, found
