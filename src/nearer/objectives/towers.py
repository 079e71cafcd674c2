"""Two towers over all pairs: value, gradient and Gauss-Newton product at the cost of the rows, not of their product.

The sums over pairs are functions of the embeddings (`similarity_sums.py`), and the embeddings are functions of the
parameters (`tower.py`). This is the chain rule between the two, and the estimates of it from some of the pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor

from nearer._utils.group import Shares
from nearer.errors import InputError
from nearer.losses.margins import MarginLoss
from nearer.objectives.observed import ObservedPairs
from nearer.objectives.parameters import OneTensor
from nearer.objectives.similarity_sums import Gramians, ScoredPairs, SimilaritySums, Slopes, Weights, grams
from nearer.objectives.spread import SpreadParts, SpreadTensor
from nearer.objectives.tower import Tower, TowerPass
from nearer.objectives.tower_inputs import NoisyBlock


class Embedded(NamedTuple):
    """What is known at some parameters: sums, and the graphs that lead back if they fit into memory."""

    scored: ScoredPairs
    passes: tuple[TowerPass | None, TowerPass | None]


class _Occurring(NamedTuple):
    """Entities of this process that occur in some pairs: their numbers here and in all processes, and how often."""

    own: Tensor
    in_all: Tensor
    times: Tensor


class Ends(NamedTuple):
    """Some observed pairs and their entities.

    Attributes
    ----------
    pairs, rows, columns : Tensor
        The pairs of this process, its left entity and the right entity of each.
    left, right : _Occurring
        The entities of this process that occur in pairs of any process.
    rights, shares : Tensor, Shares
        All right entities that occur, and how they are spread.
    """

    pairs: Tensor
    rows: Tensor
    columns: Tensor
    left: _Occurring
    right: _Occurring
    rights: Tensor
    shares: Shares


class TowerObjective:
    """The loss of two towers over all pairs, plus `l2 / 2` times the sum of scaled squares of their parameters.

    Parameters
    ----------
    pairs : ObservedPairs
        The observed pairs.
    left, right : Tower
        The towers. Their parameters, one after the other, are the parameters of the objective.
    loss : MarginLoss
        The loss of an observed pair; it must be smooth.
    weights : Weights
        Weights and imputed scores of all other pairs.
    l2 : float
        Strength of the L2 term.
    scales : Tensor, optional
        Factor on the L2 term of each parameter.
    chunk_rows : int
        Entities whose activations are in memory at a time. With more entities a gradient repeats the forward pass.
    dropout : float
        Share of the entries of noisy inputs that each `refresh` leaves out.
    noisy : sequence of NoisyBlock
        These inputs.
    parts : SpreadParts, optional
        How entities and pairs are spread over processes: pairs, towers, scales and parameters are then those of this
        process, as are the left weights; the right weights are whole. Every process calls the same methods in the same
        order.
    """

    provides: ClassVar[frozenset[str]] = frozenset(
        {
            *("value_and_gradient", "refresh", "curvature"),
            *("matrices", "products_of_matrices"),
            *("sizes", "block_gradient", "pair_gradient", "gramians_of"),
        }
    )

    def __init__(
        self,
        pairs: ObservedPairs,
        left: Tower,
        right: Tower,
        loss: MarginLoss,
        weights: Weights,
        *,
        l2: float = 0.0,
        scales: Tensor | None = None,
        chunk_rows: int = 65536,
        dropout: float = 0.0,
        noisy: Sequence[NoisyBlock] = (),
        parts: SpreadParts | None = None,
    ):
        self.noisy = list(noisy)
        self.dropout = dropout
        self.sums = SimilaritySums(pairs, loss, weights, parts)
        self.left, self.right = left, right
        self.l2, self.scales, self.chunk_rows = l2, scales, chunk_rows
        self.parts, self.group = self.sums.parts, self.sums.group
        self.n_terms = self.parts.pairs.count
        self.n_parameters = left.n_parameters + right.n_parameters
        self.dtype, self.device = weights.left.dtype, weights.left.device
        self.spread = SpreadTensor((left, right), self.parts, self.device, self.dtype)
        self.parameters = OneTensor(self.device, self.dtype) if self.group.alone else self.spread
        #: the pairs of each entity, in all processes
        self._counts = pairs.left_counts, self.group.sum_of(pairs.right_counts)
        self._latest: tuple[Tensor, int, Embedded] | None = None
        #: what it needs of a card's memory, for messages; set by who made it
        self.memory: object = ""

    @property
    def n_components(self) -> int:
        """The columns of the embeddings."""
        return self.left.n_components

    def start(self, x: Tensor) -> Tensor:
        """Return a copy of the parameters on the device of the objective."""
        if tuple(x.shape) != (self.n_parameters,):
            raise InputError(
                f"the start has shape {tuple(x.shape)} but the towers have {self.n_parameters} parameters"
            )
        return x.detach().to(self.device, self.dtype, copy=True)

    def value(self, x: Tensor) -> float:
        """Return the objective."""
        return self._total(self.sums, self._at(x).scored, x)

    def value_and_gradient(self, x: Tensor) -> tuple[float, Tensor]:
        """Return the objective and its gradient."""
        at = self._at(x)
        gradient = self._pulled(x, x, at.passes, self.sums.slopes(at.scored))
        return self._total(self.sums, at.scored, x), gradient

    def curvature(self, x: Tensor) -> Callable[[Tensor], Tensor]:
        """Return the product of the Gauss-Newton matrix at x with a vector."""
        at, (left, right) = self._at(x), self.split(x)
        turned = self.sums.turned(at.scored)

        def product(direction: Tensor) -> Tensor:
            by_left, by_right = self.split(direction)
            W = self._in_chunks(self.left, lambda rows: self.left.push(left, by_left, rows))
            H = self._in_chunks(self.right, lambda rows: self.right.push(right, by_right, rows))
            return self._pulled(direction, x, at.passes, turned(W, H))

        return product

    def refresh(self, rng: np.random.Generator | None) -> None:
        """Leave out other entries of the noisy inputs than before; without a generator, none."""
        for block in self.noisy:
            block.redraw(self.dropout, rng)
        self._latest = None

    def matrices(self, x: Tensor) -> list[Tensor]:
        """Return views of the matrices among the parameters."""
        return self.spread.matrices(x)

    def products_of_matrices(self, x: Tensor) -> list[tuple[Tensor | None, Tensor | None]]:
        """Return MM' and M'M for each of them, over all processes; None for large ones, and for rows of entities."""
        return self.spread.products_of_matrices(x)

    def embeddings(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the embeddings of all entities."""
        scored = self._at(x).scored
        return self.parts.left.joined(scored.P), scored.Q

    def own_embeddings(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the embeddings of the entities of this process."""
        scored = self._at(x).scored
        return scored.P, scored.Q[self.parts.right.own]

    # -- estimates from some of the pairs ----------------------------------------------------------------------

    @property
    def sizes(self) -> tuple[int, int, int]:
        """The numbers of left entities, right entities and observed pairs, of all processes."""
        return self.parts.left.count, self.parts.right.count, self.n_terms

    def block_gradient(self, x: Tensor, left: Tensor, right: Tensor) -> tuple[float, Tensor]:
        """Return value and gradient on all pairs of some left and some right entities, scaled to all pairs.

        Both are ascending. Over random sets of entities, the expectation of both is that of all pairs.
        """
        n_left, n_right, _ = self.sizes
        own = self.parts.left.own_of(left), self.parts.right.own_of(right)
        passes = self._forward(x, *own)
        parts = SpreadParts(self.parts.left.of(left), self.parts.right.of(right), self.parts.pairs)
        within = self.sums.within(own[0], right, parts)
        scored = within.at(*(passed.output.detach() for passed in passes))
        scale = n_left * n_right / (len(left) * len(right))
        by_left, by_right = within.slopes(scored)
        gradient = self._pulled(x, x, passes, (scale * by_left, scale * by_right))
        return self._total(within, scored, x, scale), gradient

    def gramians_of(self, x: Tensor, chosen: Tensor) -> Gramians:
        """Return estimates of the Gramians from the entities of some observed pairs.

        An entity counts a_i or b_j divided by the number of its pairs, so that over random pairs the expectation is
        that of all entities with at least one pair.
        """
        w, scale = self.sums.weights, self.n_terms / len(chosen)
        ends = self._ends(chosen)
        found: list[Tensor] = []
        for tower, theta, own, in_all, times, weights, counts, imputed in (
            (self.left, self.split(x)[0], *ends.left, w.left, self._counts[0], w.imputed_left),
            (self.right, self.split(x)[1], *ends.right, w.right, self._counts[1], w.imputed_right),
        ):
            shares = scale * weights[in_all] * times / counts[in_all]
            found += grams(tower.embed(theta, own), imputed[in_all], shares)
        left, hat_left, right, hat_right = self.group.sums_of(*found)
        return Gramians(left, right, hat_left, hat_right)

    def pair_gradient(self, x: Tensor, chosen: Tensor, gramians: Gramians) -> tuple[float, Tensor]:
        """Return value and gradient on some observed pairs, scaled to all, with given Gramians (eq. 60 and 65)."""
        w, scale, ends = self.sums.weights, self.n_terms / len(chosen), self._ends(chosen)
        rows, columns = ends.rows, ends.columns
        passes = self._forward(x, ends.left.own, ends.right.own)
        at_left, at_right = torch.searchsorted(ends.left.own, rows), torch.searchsorted(ends.rights, columns)
        P = passes[0].output.detach()[at_left]
        Q = ends.shares.joined(passes[1].output.detach())[at_right]
        loss, by_score = self.sums.of_pairs(ends.pairs, (P * Q).sum(dim=1))
        from_right, from_left = self.sums.from_all(gramians)
        share_left = (w.left[rows] / self._counts[0][rows])[:, None]
        share_right = (w.right[columns] / self._counts[1][columns])[:, None]
        slopes = (
            by_score[:, None] * Q + share_left * from_right(P, w.imputed_left[rows]),
            by_score[:, None] * P + share_right * from_left(Q, w.imputed_right[columns]),
        )
        sizes = len(ends.left.own), len(ends.rights)
        by_left, by_right = (
            P.new_zeros(size, P.shape[1]).index_add_(0, at, scale * slope)
            for size, at, slope in zip(sizes, (at_left, at_right), slopes, strict=True)
        )
        gradient = self._pulled(x, x, passes, (by_left, ends.shares.own_sums(by_right)))
        return self.group.total(scale * loss + self._penalty(x)), gradient

    def _ends(self, chosen: Tensor) -> Ends:
        """Return the entities of some observed pairs of all processes."""
        if not self.group.alone:
            chosen = chosen.sort().values
        pairs = self.parts.pairs.own_of(chosen)
        rows, columns = self.sums.pairs.left_of(pairs), self.sums.pairs.right_of(pairs)
        lefts, left_times = torch.unique(rows, return_counts=True)
        of_all = self.parts.pairs.of(chosen).joined(columns)
        rights, right_times = torch.unique(of_all, return_counts=True)
        shares = self.parts.right.of(rights)
        left = _Occurring(lefts, lefts, left_times)
        right = _Occurring(self.parts.right.own_of(rights), rights[shares.own], right_times[shares.own])
        return Ends(pairs, rows, columns, left, right, rights, shares)

    # -- inside -------------------------------------------------------------------------------------------------

    def _at(self, x: Tensor) -> Embedded:
        """Return embeddings and sums at x; those of the latest x are kept, as a line search asks for them twice."""
        if self._latest is not None and self._latest[0] is x and self._latest[1] == x._version:
            return self._latest[2]
        self._latest = None  # before the new ones are made: both would take twice the memory
        left, right = self.split(x)
        (P, from_left), (Q, from_right) = self._through(self.left, left), self._through(self.right, right)
        at = Embedded(self.sums.at(P, Q), (from_left, from_right))
        self._latest = x, x._version, at
        return at

    def _through(self, tower: Tower, x: Tensor) -> tuple[Tensor, TowerPass | None]:
        """Return all embeddings, and the graph if it fits."""
        if tower.n_rows <= self.chunk_rows:
            passed = tower.forward(x, slice(0, tower.n_rows))
            return passed.output.detach(), passed
        return self._in_chunks(tower, lambda rows: tower.embed(x, rows)), None

    def _in_chunks(self, tower: Tower, function: Callable[[slice], Tensor]) -> Tensor:
        """Return what a function finds for all rows of a tower, written chunk by chunk into one matrix."""
        chunks = self.chunks(tower)
        first = function(next(chunks))
        if len(first) == tower.n_rows:
            return first
        found = first.new_empty(tower.n_rows, first.shape[1])
        found[: len(first)] = first
        for rows in chunks:
            found[rows] = function(rows)
        return found

    def _forward(self, x: Tensor, left: Tensor, right: Tensor) -> tuple[TowerPass, TowerPass]:
        """Return the passes of some entities of this process."""
        of_left, of_right = self.split(x)
        return self.left.forward(of_left, left), self.right.forward(of_right, right)

    def _pulled(
        self, vector: Tensor, x: Tensor, passes: tuple[TowerPass | None, TowerPass | None], slopes: Slopes
    ) -> Tensor:
        """Return l2 times the scaled vector plus the products of both transposed Jacobians, summed over processes."""
        result = self._penalty_gradient(vector)
        if self.group.alone:
            self._pull(result, x, passes, slopes)
            return result
        self._pull(self.spread.once(result), x, passes, slopes)
        return self.spread.summed(result)

    def _pull(
        self, into: Tensor, x: Tensor, passes: tuple[TowerPass | None, TowerPass | None], slopes: Slopes
    ) -> None:
        """Add the products of both transposed Jacobians with slopes by embeddings."""
        towers = (self.left, self.right)
        for tower, part, theta, passed, slope in zip(
            towers, self.split(into), self.split(x), passes, slopes, strict=True
        ):
            if passed is not None:
                tower.add_gradient(part, passed, slope)
                continue
            for rows in self.chunks(tower):
                tower.add_gradient(part, tower.forward(theta, rows), slope[rows])

    def _total(self, sums: SimilaritySums, at: ScoredPairs, x: Tensor, scale: float = 1.0) -> float:
        """Return a multiple of a sum plus the L2 term."""
        return self.group.total(scale * sums.own_value(at) + self._penalty(x))

    def _penalty(self, x: Tensor) -> float:
        """Return this process's share of the L2 term."""
        if not self.l2:
            return 0.0
        inner = self.parameters.inner if self.group.alone else self.spread.own_inner
        return self.l2 / 2 * inner(x, x if self.scales is None else self.scales * x)

    def _penalty_gradient(self, x: Tensor) -> Tensor:
        """Return l2 times the scaled vector: the gradient of the L2 term, and the product of its Hessian."""
        scaled = x.detach() * self.l2
        return scaled if self.scales is None else scaled.mul_(self.scales)

    def split(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return views of the parameters of both towers."""
        return x[: self.left.n_parameters], x[self.left.n_parameters :]

    def chunks(self, tower: Tower) -> Iterator[slice]:
        """Yield the parts of a tower's entities whose activations are in memory together."""
        for start in range(0, tower.n_rows, self.chunk_rows):
            yield slice(start, min(start + self.chunk_rows, tower.n_rows))
