"""Sums over all pairs of two sets of embeddings, and their derivatives by the embeddings, without a loop over pairs.

With embeddings P (m, k) and Q (n, k), observed pairs O and imputed scores P~ Q~' for all others, the sum is

    sum over O of loss(y_ij, p_i'q_j)  +  omega / 2 * sum over the others of a_i b_j (p_i'q_j - p~_i'q~_j)²

The sum over the others is the sum over all pairs minus that over O. The sum over all pairs follows from matrices of
k x k numbers: the sum over i and j of a_i b_j (p_i'q_j)² is the inner product of P'AP and Q'BQ, because (p'q)² =
<pp', qq'>. The same holds for derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from nearer.losses.margins import MarginLoss
from nearer.objectives.observed import ObservedPairs, PairBlock
from nearer.objectives.pair_losses import ExcessLoss, Unobserved
from nearer.objectives.pair_products import RowMatrices, add_moves, add_sums, solve, solve_by
from nearer.objectives.spread import SpreadParts

#: numbers per block of rows that is converted to double precision. In small ones, threads wait for each other
_BLOCK_NUMBERS, _CARD_NUMBERS = 2**19, 2**25
#: one side of the derivatives by embeddings, and the other
Slopes = tuple[Tensor, Tensor]


class Gramians(NamedTuple):
    """P'AP, Q'BQ and the products with the imputed embeddings, P~'AP and Q~'BQ, in double precision."""

    left: Tensor
    right: Tensor
    imputed_left: Tensor
    imputed_right: Tensor


class ScoredPairs(NamedTuple):
    """Embeddings with their Gramians and the scores of the observed pairs.

    Of a fit in several processes, P, the scores and the pairs are those of this process, and Q is whole.
    """

    P: Tensor
    Q: Tensor
    gramians: Gramians
    scores: Tensor


@dataclass(frozen=True)
class Weights:
    """How much unobserved pairs count, and the scores that are imputed to them.

    Attributes
    ----------
    omega : float
        The weight of all of them.
    left, right : Tensor
        Further weights a_i and b_j of each entity.
    imputed_left, imputed_right : Tensor
        Matrices whose product has the imputed scores.
    """

    omega: float
    left: Tensor
    right: Tensor
    imputed_left: Tensor
    imputed_right: Tensor

    @classmethod
    def constant(cls, omega: float, n_left: int, n_right: int, score: float, like: Tensor) -> Weights:
        """Return equal weights, with one score imputed to all pairs."""
        ones = like.new_ones(n_left), like.new_ones(n_right)
        return cls(omega, *ones, score * ones[0][:, None], ones[1][:, None])

    def to(self, device: Any) -> Weights:
        """Return the weights on a device."""
        tensors = self.left, self.right, self.imputed_left, self.imputed_right
        return Weights(self.omega, *(tensor.to(device) for tensor in tensors))

    def of(self, left: Tensor, right: Tensor) -> Weights:
        """Return the weights of some entities."""
        return Weights(
            self.omega, self.left[left], self.right[right], self.imputed_left[left], self.imputed_right[right]
        )


class SimilaritySums:
    """The sum over all pairs as a function of the embeddings.

    Parameters
    ----------
    pairs : ObservedPairs
        The observed pairs.
    loss : MarginLoss
        The loss of an observed pair; it must be smooth.
    weights : Weights
        Weights and imputed scores of all other pairs.
    parts : SpreadParts, optional
        How entities and pairs are spread over processes: pairs and the left side of the weights are then those of this
        process, the right side is whole, and embeddings that go in and slopes that come out are those of its entities.

    Examples
    --------
    >>> from nearer.losses import SquareLoss
    >>> pairs = ObservedPairs(torch.tensor([0, 1, 1]), torch.tensor([0]), 2)
    >>> sums = SimilaritySums(pairs, SquareLoss(), Weights.constant(2.0, 2, 2, 0.0, torch.ones(1)))
    >>> sums.value(sums.at(torch.ones(2, 1), 3 * torch.ones(2, 1)))  # (1 - 3)² + three times 2 / 2 * 3²
    31.0
    """

    def __init__(
        self, pairs: ObservedPairs, loss: MarginLoss, weights: Weights, parts: SpreadParts | None = None
    ):
        self.pairs, self.loss, self.weights = pairs, loss, weights
        self.parts = parts or SpreadParts.alone(pairs.n_left, pairs.n_right, pairs.count)
        self.group, own = self.parts.group, self.parts.right.own
        #: weights and imputed factors of this process's entities
        self._own = (
            (weights.left, weights.imputed_left),
            (weights.right[own], weights.imputed_right[own]),
        )
        self._unobserved = Unobserved(
            weights.omega,
            imputed=_of_pairs(pairs, weights.imputed_left, weights.imputed_right),
            counts=_of_pairs(pairs, weights.left[:, None], weights.right[:, None]),
        )
        self._excess = ExcessLoss(pairs.labelled(loss, weights.left.dtype), self._unobserved)
        imputed = (self._grams(side, factors) for side, (_, factors) in enumerate(self._own))
        left, right = self.group.sums_of(*(gram for gram, _ in imputed))
        self._baseline = float((left * right).sum())

    def at(self, P: Tensor, Q: Tensor) -> ScoredPairs:
        """Return embeddings with what all sums over them need."""
        (left, hat_left), (right, hat_right) = self._grams(0, P), self._grams(1, Q)
        gramians = Gramians(*self.group.sums_of(left, right, hat_left, hat_right))
        Q = self.parts.right.joined(Q)
        return ScoredPairs(P, Q, gramians, self.pairs.scores(P, Q))

    def replaced(self, at: ScoredPairs, side: int, embeddings: Tensor) -> ScoredPairs:
        """Return what `at` would for other embeddings of one side."""
        g, found = at.gramians, self.group.sums_of(*self._grams(side, embeddings))
        if side == 0:
            gramians, P, Q = Gramians(found[0], g.right, found[1], g.imputed_right), embeddings, at.Q
        else:
            gramians, P, Q = Gramians(g.left, found[0], g.imputed_left, found[1]), at.P, embeddings
            Q = self.parts.right.joined(Q)
        return ScoredPairs(P, Q, gramians, self.pairs.scores(P, Q))

    def _grams(self, side: int, embeddings: Tensor) -> tuple[Tensor, Tensor]:
        weights, imputed = self._own[side]
        return grams(embeddings, imputed, weights)

    def value(self, at: ScoredPairs) -> float:
        """Return the sum."""
        return self.group.total(self.own_value(at))

    def own_value(self, at: ScoredPairs) -> float:
        """Return this process's share of the sum; process 0 has that over all pairs."""
        observed = self._excess.value(at.scores)
        if not self.group.is_first:
            return observed
        g = at.gramians
        squares, products = float((g.left * g.right).sum()), float((g.imputed_left * g.imputed_right).sum())
        everywhere = self.weights.omega * (self._baseline / 2 - products + squares / 2)
        return everywhere + observed

    def slopes(self, at: ScoredPairs) -> Slopes:
        """Return the derivatives by both embeddings."""
        by_left, by_right = self._from_all(at, 0), self._from_all(at, 1)

        def values_of(block: PairBlock) -> Tensor:
            by_score = self._by_score(at, block)
            add_sums(block.by_left, by_score, at.Q, by_left[block.lefts])
            return by_score

        return by_left, self._add_from_left(values_of, at.P, by_right)

    def slopes_of(self, at: ScoredPairs, side: int) -> Tensor:
        """Return the derivative by the embeddings of one side."""
        slopes = self._from_all(at, side)
        if side == 1:
            return self._add_from_left(lambda block: self._by_score(at, block), at.P, slopes)
        for block in self.pairs.blocks():
            add_sums(block.by_left, self._by_score(at, block), at.Q, slopes[block.lefts])
        return slopes

    def _from_all(self, at: ScoredPairs, side: int) -> Tensor:
        """Return what all entities of the other side add to the slopes of one side."""
        own = at.P if side == 0 else self._own_right(at.Q)
        from_all, (weights, imputed) = self.from_all(at.gramians)[side], self._own[side]
        slopes = torch.empty_like(own)
        for rows in _parts_of_rows(own):
            torch.mul(from_all(own[rows], imputed[rows]), weights[rows, None], out=slopes[rows])
        return slopes

    def _by_score(self, at: ScoredPairs, block: PairBlock) -> Tensor:
        """Return the slope of each observed pair beyond what it would have if it were unobserved."""
        return self._excess.slopes(at.scores[block.pairs], block.pairs)

    def _own_right(self, Q: Tensor) -> Tensor:
        """Return the rows of this process's right entities."""
        return Q[self.parts.right.own]

    def _add_from_left(self, values_of: Callable[[PairBlock], Tensor], P: Tensor, into: Tensor) -> Tensor:
        """Add to the rows of right entities the sums over their pairs, which may be of other processes."""
        alone = self.group.alone
        whole = into if alone else P.new_zeros(self.parts.right.count, P.shape[1])
        for block in self.pairs.blocks():
            add_sums(block.by_right, values_of(block), P[block.lefts], whole)
        return into if alone else into.add_(self.parts.right.own_sums(whole))

    def from_all(self, gramians: Gramians) -> tuple[Callable[[Tensor, Tensor], Tensor], ...]:
        """Return, for either side, what all entities of the other side add to slopes, but for a_i and b_j."""
        dtype = self.weights.left.dtype
        left, right, hat_left, hat_right = (self.weights.omega * gram.to(dtype) for gram in gramians)
        return (
            lambda P, imputed: (P @ right).addmm_(imputed, hat_right, alpha=-1),
            lambda Q, imputed: (Q @ left).addmm_(imputed, hat_left, alpha=-1),
        )

    def turned(self, at: ScoredPairs) -> Callable[[Tensor, Tensor], Slopes]:
        """Return the product of the Gauss-Newton matrix of the embeddings with a move of both."""
        omega = self.weights.omega
        left, right = (gram.to(at.P.dtype) for gram in at.gramians[:2])
        (a, _), (b, _) = self._own
        curvatures, Q = self._excess.curvatures(at.scores), self._own_right(at.Q)

        def product(W: Tensor, H: Tensor) -> Slopes:
            W_c, H_c = self.group.sums_of(_mixed(W, a, at.P), _mixed(H, b, Q))
            by_left = (W @ right).addmm_(at.P, H_c).mul_(omega * a[:, None])
            by_right = (H @ left).addmm_(Q, W_c).mul_(omega * b[:, None])
            H = self.parts.right.joined(H)

            def values_of(block: PairBlock) -> Tensor:
                factors, rows = curvatures[block.pairs], block.lefts
                return add_moves(block.by_left, factors, (at.P[rows], at.Q), (W[rows], H), by_left[rows])

            return by_left, self._add_from_left(values_of, at.P, by_right)

        return product

    def solve(
        self, at: ScoredPairs, side: int, strengths: Tensor, residuals: Tensor, x: Tensor, products: int
    ) -> Tensor:
        """Return x after this many steps of conjugate gradients in each row of one side's Gauss-Newton matrix.

        `strengths` are added to the diagonals, `residuals` are those of x; both are overwritten.
        """
        matrices_of = self.row_matrices(at, side)
        if side == 0:
            found = []
            for block in self.pairs.blocks():
                rows = block.lefts
                given = strengths[rows], residuals[rows], x[rows]
                found.append(solve(matrices_of(block), *given, products))
            return found[0] if len(found) == 1 else torch.cat(found)
        if self.group.alone and self.pairs.n_blocks == 1:
            (block,) = self.pairs.blocks()
            return solve(matrices_of(block), strengths, residuals, x, products)
        shares = self.parts.right

        def product(
            rows: Tensor,
        ) -> Tensor:  # the pairs of a right entity are spread over processes or blocks
            joined = shares.joined(rows)
            turned = torch.zeros_like(joined)
            for block in self.pairs.blocks():
                matrices = matrices_of(block)
                turned += matrices.times_pairs(joined)
            return matrices.times_gram(rows) + shares.own_sums(turned) + strengths[:, None] * rows

        return solve_by(product, residuals, x, products)

    def row_matrices(self, at: ScoredPairs, side: int) -> Callable[[PairBlock], RowMatrices]:
        """Return one side's block of the Gauss-Newton matrix, one matrix per entity, for the pairs of a block."""
        curvatures, gram = self._excess.curvatures(at.scores), at.gramians[1 - side].to(at.P.dtype)
        scales = self.weights.omega * self._own[side][0]

        def of(block: PairBlock) -> RowMatrices:
            factors = curvatures[block.pairs]
            if side == 0:
                return RowMatrices(block.by_left, factors, at.Q, gram, scales[block.lefts])
            return RowMatrices(block.by_right, factors, at.P[block.lefts], gram, scales)

        return of

    def within(self, left: Tensor, right: Tensor, parts: SpreadParts | None = None) -> SimilaritySums:
        """Return the sum over all pairs of some left and some right entities."""
        return SimilaritySums(self.pairs.within(left, right), self.loss, self.weights.of(left, right), parts)

    def of_pairs(self, chosen: Tensor, scores: Tensor) -> tuple[float, Tensor]:
        """Return the sum of losses of some observed pairs, and what their scores add to slopes."""
        part = self.pairs.labelled(self.loss, scores.dtype, chosen)
        rows, columns, w = self.pairs.left_of(chosen), self.pairs.right_of(chosen), self.weights
        imputed = self._unobserved.imputed
        apart = scores - (imputed[chosen] if torch.is_tensor(imputed) else imputed)
        unobserved = w.omega * w.left[rows] * w.right[columns] * apart
        return part.value(scores), part.slopes(scores) - unobserved


def _of_pairs(pairs: ObservedPairs, left: Tensor, right: Tensor) -> Tensor | float:
    """Return the inner product of a row of each matrix for each observed pair; one number if all are equal."""
    both = _constant(left), _constant(right)
    if both[0] is None or both[1] is None:
        return pairs.scores(left, right)
    return both[0] * both[1] * left.shape[1]


def _mixed(X: Tensor, weights: Tensor, Y: Tensor) -> Tensor:
    """Return the weighted sum of outer products of rows of X and Y, without a weighted copy of either."""
    total = X.new_zeros(X.shape[1], Y.shape[1])
    for rows in _parts_of_rows(X):
        total.addmm_(X[rows].T, weights[rows, None] * Y[rows])
    return total


def _parts_of_rows(X: Tensor) -> Iterator[slice]:
    """Yield parts of the rows of a matrix: few calls keep a card busy, and small parts the caches of a CPU."""
    numbers = _BLOCK_NUMBERS if X.device.type == "cpu" else _CARD_NUMBERS
    step = max(numbers // X.shape[1], 1)
    for start in range(0, len(X), step):
        yield slice(start, start + step)


def grams(X: Tensor, imputed: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Return the weighted sums of outer products of rows of X, and of `imputed` with X, in double precision."""
    k, half = X.shape[1], X.shape[1] // 2
    total = torch.zeros(k, k, dtype=torch.float64, device=X.device)
    mixed = torch.zeros(imputed.shape[1], k, dtype=torch.float64, device=X.device)
    for rows in _parts_of_rows(X):
        x = X[rows].double()
        weighted = weights[rows, None] * x
        mixed.addmm_(imputed[rows].double().T, weighted)
        total[:half].addmm_(x[:, :half].T, weighted)
        total[half:, half:].addmm_(x[:, half:].T, weighted[:, half:])
    total[half:, :half] = total[:half, half:].T  # the weights leave it symmetric
    return total, mixed


def _constant(values: Tensor) -> float | None:
    """Return the number that all values are; None if they differ.

    >>> _constant(torch.ones(2, 1)), _constant(torch.arange(2.0))
    (1.0, None)
    """
    return float(values.ravel()[0]) if values.numel() and bool((values == values.ravel()[0]).all()) else None
