"""What observed pairs cost as a function of their scores: values and derivatives, pair by pair.

Losses of nearer go through one kernel each on a GPU, if Triton is installed; all else goes through torch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from nearer.errors import InputError
from nearer.losses.margins import MarginLoss, SquareLoss, is_named
from nearer.objectives.pair_products import kernels, on_card

ALL = slice(None)
#: observed pairs at a time: temporaries fit the caches, and torch leaves them to one thread
_BLOCK_PAIRS = 2**15
#: losses with a kernel for GPUs
_WITH_KERNEL = ("logistic", "square")


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
        self.loss, self.weights = loss, weights
        self.offset: Tensor | None = None
        self.factor: Tensor | None = None
        if labels is not None and not bool((labels == 1).all()):
            if isinstance(loss, SquareLoss):
                self.offset = 1 - labels
            elif bool((labels.abs() == 1).all()):
                self.factor = labels
            else:
                wrong = float(labels[labels.abs() != 1][0])
                raise InputError(
                    f"{loss.name!r} needs labels of +1 or -1, not {wrong:g}: use square", parameter="loss"
                )

    def value(self, scores: Tensor, at: slice = ALL) -> float:
        """Return the weighted sum of losses, in double precision; `at` says which pairs the scores are of."""
        return float(self._weighted(self.loss.value(self._margin(scores, at)), at).sum(dtype=torch.float64))

    def slopes(self, scores: Tensor, at: slice = ALL) -> Tensor:
        """Return the derivative of each weighted loss by its score."""
        slopes = self._weighted(self.loss.slope(self._margin(scores, at)), at)
        return slopes if self.factor is None else slopes * self.factor[at]

    def curvatures(self, scores: Tensor, at: slice = ALL) -> Tensor:
        """Return the second derivative of each weighted loss by its score."""
        return self._weighted(
            self.loss.second_derivative(self._margin(scores, at)), at
        )  # the factor's square is 1

    def _margin(self, scores: Tensor, at: slice) -> Tensor:
        if self.factor is not None:
            return scores * self.factor[at]
        return scores if self.offset is None else scores + self.offset[at]

    def _weighted(self, values: Tensor, at: slice) -> Tensor:
        return values if self.weights is None else values * self.weights[at]


class Unobserved(NamedTuple):
    """What observed pairs would count if they were unobserved: omega / 2 * count * (score - imputed)².

    Attributes
    ----------
    omega : float
        The weight of all of them.
    imputed, counts : Tensor or float
        Of each pair; one number if all are equal.
    """

    omega: float
    imputed: Tensor | float
    counts: Tensor | float


class ExcessLoss:
    """What observed pairs count beyond what they would if they were unobserved, as a function of their scores.

    Parameters
    ----------
    loss : PairLoss
        What they count.
    unobserved : Unobserved
        What they would.

    Examples
    --------
    >>> excess = ExcessLoss(PairLoss(SquareLoss(), None, None, torch.float32), Unobserved(2.0, 0.0, 1.0))
    >>> excess.value(torch.tensor([3.0])), excess.slopes(torch.tensor([3.0]))  # (1 - 3)² - 3²
    (-5.0, tensor([-2.]))
    """

    def __init__(self, loss: PairLoss, unobserved: Unobserved):
        self.loss, self.unobserved = loss, unobserved
        self._numbers: Tensor | None = None

    def value(self, scores: Tensor, at: slice = ALL) -> float:
        """Return the sum over pairs, in double precision; `at` says which pairs the scores are of."""
        if self._on_card(scores):
            return float(self._by_kernel("VALUES", scores, at).sum(dtype=torch.float64))
        return sum(self._value(scores[part], where) for part, where in _parts(scores, at))

    def slopes(self, scores: Tensor, at: slice = ALL) -> Tensor:
        """Return the derivative of each by its score."""
        if self._on_card(scores):
            return self._by_kernel("SLOPES", scores, at)
        slopes = torch.empty_like(scores)
        for part, where in _parts(scores, at):
            torch.sub(
                self.loss.slopes(scores[part], where),
                self._unobserved(scores[part], where)[1],
                out=slopes[part],
            )
        return slopes

    def curvatures(self, scores: Tensor, at: slice = ALL) -> Tensor:
        """Return the second derivative of each by its score."""
        if self._on_card(scores):
            return self._by_kernel("CURVATURES", scores, at)
        curvatures = torch.empty_like(scores)
        for part, where in _parts(scores, at):
            curvatures[part] = self.loss.curvatures(scores[part], where)
            curvatures[part] -= self.unobserved.omega * _at(self.unobserved.counts, where)
        return curvatures

    def _value(self, scores: Tensor, at: slice) -> float:
        apart, slopes = self._unobserved(scores, at)
        return self.loss.value(scores, at) - float((apart.mul_(slopes)).sum(dtype=torch.float64)) / 2

    def _unobserved(self, scores: Tensor, at: slice) -> tuple[Tensor, Tensor]:
        """Return how far scores are from the imputed ones, and the slopes of what unobserved pairs count."""
        omega, imputed, counts = self.unobserved
        apart = scores - _at(imputed, at)
        return apart, apart * (omega * _at(counts, at))

    def _on_card(self, scores: Tensor) -> bool:
        return is_named(self.loss.loss) and self.loss.loss.name in _WITH_KERNEL and on_card(scores)

    def _by_kernel(self, what: str, scores: Tensor, at: slice) -> Tensor:
        """Return sums of values of blocks of pairs, or slopes or curvatures of pairs."""
        module, loss, (omega, imputed, counts) = kernels("pair_loss_kernels"), self.loss, self.unobserved
        if self._numbers is None:  # kept: a copy to a card makes the program wait
            given = (omega, *(0.0 if torch.is_tensor(values) else values for values in (imputed, counts)))
            self._numbers = scores.new_tensor(given)
        per_pair = (loss.factor, loss.offset, loss.weights, imputed, counts)
        known = module.PerPair(*(values[at] if torch.is_tensor(values) else None for values in per_pair))
        return module.excess(
            scores.contiguous(), getattr(module, what), loss.loss.name == "square", known, self._numbers
        )


def _parts(scores: Tensor, at: slice) -> Iterator[tuple[slice, slice]]:
    """Yield parts of some pairs, by their places among these and among all pairs.

    Temporaries of a part stay in the caches of a CPU; elsewhere, all pairs are one part.
    """
    step = _BLOCK_PAIRS if scores.device.type == "cpu" else max(len(scores), 1)
    first = at.start or 0
    for start in range(0, len(scores), step):
        stop = min(start + step, len(scores))
        yield slice(start, stop), slice(first + start, first + stop)


def _at(values: Tensor | float, part: slice) -> Tensor | float:
    """Return some of the values of pairs, or the one that all have."""
    return values if isinstance(values, float) else values[part]
