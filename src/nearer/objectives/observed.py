"""The observed pairs of two sets, in compressed rows of both orders: scores at pairs, and sums over them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from nearer.losses.margins import MarginLoss
from nearer.objectives.pair_losses import PairLoss
from nearer.objectives.pair_products import Pattern, scores
from nearer.objectives.tower_inputs import index_type, selected_entries


class PairBlock(NamedTuple):
    """Some consecutive left entities with all their pairs, where products with them are computed.

    Attributes
    ----------
    pairs, lefts : slice
        Which pairs and which left entities they are.
    by_left, by_right : Pattern
        The pairs in compressed rows: of these left entities, and of all right entities.
    """

    pairs: slice
    lefts: slice
    by_left: Pattern
    by_right: Pattern


class ObservedPairs:
    """Pairs (i, j) with optional labels and weights.

    Parameters
    ----------
    starts, columns : Tensor of whole numbers
        Where the pairs of each left entity start and the end of the last, and the right entity of each pair. Sorted.
    n_right : int
        Number of right entities.
    labels : Tensor, optional
        +1 or -1, or any numbers with the square loss. All 1 by default.
    weights : Tensor, optional
        How much each pair counts. All 1 by default.

    Examples
    --------
    >>> pairs = ObservedPairs(torch.tensor([0, 1, 3]), torch.tensor([1, 0, 1]), 2)
    >>> pairs.scores(torch.eye(2), torch.eye(2))
    tensor([0., 0., 1.])
    """

    def __init__(
        self,
        starts: Tensor,
        columns: Tensor,
        n_right: int,
        labels: Tensor | None = None,
        weights: Tensor | None = None,
    ):
        whole = index_type(max(len(columns), len(starts), n_right))
        self.starts, self.columns, self.n_right = starts.to(whole), columns.to(whole), n_right
        self.n_left, self.count = len(starts) - 1, len(columns)
        self.labels, self.weights = labels, weights
        #: the pairs of left entities, and those of right entities with where they are among the former
        self.by_left = Pattern(self.starts, self.columns, n_right)
        self.by_right = self.by_left.transposed
        self.left_counts, self.right_counts = self.starts.diff(), self.by_right.starts.diff()

    #: blocks that pairs are in
    n_blocks = 1

    @property
    def rows(self) -> Tensor:
        """Return the left entity of each pair; computed each time, to save memory."""
        return self.by_left.row_of_entries()

    def left_of(self, chosen: Tensor) -> Tensor:
        """Return the left entities of some pairs."""
        return torch.searchsorted(self.starts, chosen.to(self.starts.dtype), right=True) - 1

    def right_of(self, chosen: Tensor) -> Tensor:
        """Return the right entities of some pairs."""
        return self.columns[chosen]

    def blocks(self) -> Iterator[PairBlock]:
        """Yield blocks of pairs, where products with them are computed: here, all pairs in one."""
        yield PairBlock(slice(0, self.count), slice(0, self.n_left), self.by_left, self.by_right)

    def scores(self, P: Tensor, Q: Tensor) -> Tensor:
        """Return the inner product of the two embeddings of each pair."""
        found = [scores(block.by_left, P[block.lefts], Q) for block in self.blocks()]
        return found[0] if len(found) == 1 else torch.cat(found)

    def within(self, left: Tensor, right: Tensor) -> ObservedPairs:
        """Return the pairs of some left with some right entities, all sorted, by their positions among these."""
        position = torch.full((self.n_right,), -1, device=right.device)
        position[right] = torch.arange(len(right), device=right.device)
        starts, at = selected_entries(self.starts, left)
        columns = position[self.right_of(at)]
        kept = columns >= 0
        before = torch.cat([starts.new_zeros(1), kept.cumsum(0)])
        at, columns = at[kept], columns[kept]
        return ObservedPairs(before[starts], columns, len(right), *self._told(at))

    def _told(self, at: Tensor) -> tuple[Tensor | None, Tensor | None]:
        """Return the labels and weights of some pairs."""
        return (
            None if self.labels is None else self.labels[at],
            None if self.weights is None else self.weights[at],
        )

    def labelled(self, loss: MarginLoss, dtype: torch.dtype, at: Tensor | None = None) -> PairLoss:
        """Return the loss of every pair, or of some pairs, as a function of its score."""
        labels, weights = (self.labels, self.weights) if at is None else self._told(at)
        return PairLoss(loss, labels, weights, dtype)
