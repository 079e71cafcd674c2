"""The observed pairs of two sets, in compressed rows of both orders: scores at pairs, and sums over them."""

from __future__ import annotations

import torch
from torch import Tensor

from nearer.errors import InputError
from nearer.losses.margins import MarginLoss, SquareLoss
from nearer.objectives.pair_products import Pattern, scores, sums
from nearer.objectives.tower_inputs import index_type, selected_rows

_ALL = slice(None)


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

    @property
    def rows(self) -> Tensor:
        """Return the left entity of each pair; computed each time, to save memory."""
        return self.by_left.row_of_entries()

    def left_of(self, chosen: Tensor) -> Tensor:
        """Return the left entities of some pairs."""
        return torch.searchsorted(self.starts, chosen.to(self.starts.dtype), right=True) - 1

    def scores(self, P: Tensor, Q: Tensor) -> Tensor:
        """Return the inner product of the two embeddings of each pair."""
        return scores(self.by_left, P, Q)

    def times_right(self, values: Tensor, Q: Tensor) -> Tensor:
        """Return, per left entity, the sum over its pairs of a value times the right embedding."""
        return sums(self.by_left, values, Q)

    def times_left(self, values: Tensor, P: Tensor) -> Tensor:
        """Return, per right entity, the sum over its pairs of a value times the left embedding."""
        return sums(self.by_right, values, P)

    def within(self, left: Tensor, right: Tensor) -> ObservedPairs:
        """Return the pairs of some left with some right entities, all sorted, by their positions among these."""
        position = torch.full((self.n_right,), -1, device=right.device)
        position[right] = torch.arange(len(right), device=right.device)
        numbers = torch.arange(self.count, device=left.device)
        starts, columns, at = selected_rows(self.starts, left, position[self.columns], numbers)
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


class PairLoss:
    """Values and derivatives of a margin loss by the score of each pair.

    The margin of a pair with label +1 or -1 is label times score. For the square loss and any label it is one minus
    the difference of label and score. For the label 1 both are the score.
    """

    def __init__(self, loss: MarginLoss, labels: Tensor | None, weights: Tensor | None, dtype: torch.dtype):
        if not loss.accepts_tensors:
            raise InputError(
                f"{loss!r} must accept torch tensors: write it with operators or nearer's namespace functions and set "
                "accepts_tensors = True",
                parameter="loss",
            )
        try:
            loss.second_derivative(torch.zeros(1, dtype=dtype))
        except AttributeError:
            raise InputError(
                f"{loss.name!r} has no second derivative: use logistic or square", parameter="loss"
            ) from None
        self.loss, self._weights = loss, weights
        self._offset: Tensor | None = None
        self._factor: Tensor | None = None
        if labels is not None and not bool((labels == 1).all()):
            if isinstance(loss, SquareLoss):
                self._offset = 1 - labels
            elif bool((labels.abs() == 1).all()):
                self._factor = labels
            else:
                wrong = float(labels[labels.abs() != 1][0])
                raise InputError(
                    f"{loss.name!r} needs labels of +1 or -1, not {wrong:g}: use square", parameter="loss"
                )

    def value(self, scores: Tensor, at: slice = _ALL) -> float:
        """Return the weighted sum of losses, in double precision; `at` says which pairs the scores are of."""
        return float(self._weighted(self.loss.value(self._margin(scores, at)), at).sum(dtype=torch.float64))

    def slopes(self, scores: Tensor, at: slice = _ALL) -> Tensor:
        """Return the derivative of each weighted loss by its score."""
        slopes = self._weighted(self.loss.slope(self._margin(scores, at)), at)
        return slopes if self._factor is None else slopes * self._factor[at]

    def curvatures(self, scores: Tensor, at: slice = _ALL) -> Tensor:
        """Return the second derivative of each weighted loss by its score."""
        return self._weighted(
            self.loss.second_derivative(self._margin(scores, at)), at
        )  # the factor's square is 1

    def _margin(self, scores: Tensor, at: slice) -> Tensor:
        if self._factor is not None:
            return scores * self._factor[at]
        return scores if self._offset is None else scores + self._offset[at]

    def _weighted(self, values: Tensor, at: slice) -> Tensor:
        return values if self._weights is None else values * self._weights[at]
