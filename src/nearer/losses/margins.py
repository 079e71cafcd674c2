"""Losses of a pair of samples: one number, by how much the score that should be higher is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from nearer._utils.schema import Settings
from nearer._utils.validation import positive
from nearer.errors import InputError
from nearer.losses.base import Array, sigmoid, softplus


class MarginLoss(ABC):
    """How badly "the first sample scores higher than the second" is violated.

    A margin loss is a convex function of `margin`, the first score minus the second, and knows nothing else. All of
    ours fall while the margin is below 1 and are at least 0.
    """

    name: ClassVar[str]
    #: the largest second derivative; infinite where the loss has a kink
    curvature: ClassVar[float]
    _schema = Settings()

    @abstractmethod
    def value(self, margin: Array) -> Array:
        """Loss of each pair."""

    @abstractmethod
    def slope(self, margin: Array) -> Array:
        """Derivative of the loss by the margin (any of them at a kink)."""

    def bend(self, margin: Array) -> Array:
        """Second derivative of the loss by the margin (any of them where it jumps), where there is one."""
        raise AttributeError(f"the loss {self.name!r} has no second derivative")


@dataclass(frozen=True)
class SquareLoss(MarginLoss):
    """`(1 - margin)²`: the mean over all pairs follows from class means and covariances.

    Examples
    --------
    >>> SquareLoss().value(np.array([1.0, -1.0]))
    array([0., 4.])
    """

    name = "square"
    curvature = 2.0

    def value(self, margin: Array) -> Array:
        return (1 - margin) ** 2

    def slope(self, margin: Array) -> Array:
        return 2 * (margin - 1)

    def bend(self, margin: Array) -> Array:
        return np.full_like(margin, 2)


@dataclass(frozen=True)
class HingeLoss(MarginLoss):
    """`max(0, 1 - margin)`.

    Examples
    --------
    >>> HingeLoss().value(np.array([2.0, 0.5]))
    array([0. , 0.5])
    """

    name = "hinge"
    curvature = np.inf

    def value(self, margin: Array) -> Array:
        return np.maximum(1 - margin, 0)

    def slope(self, margin: Array) -> Array:
        return -(margin < 1).astype(margin.dtype)

    def smoothed(self, width: float) -> SmoothHingeLoss:
        """A loss without the kink, at most `width / 8` above this one."""
        return SmoothHingeLoss(width)


@dataclass(frozen=True)
class SmoothHingeLoss(MarginLoss):
    """The hinge with its corner rounded off: a parabola where the margin is within `width / 2` of 1.

    Examples
    --------
    >>> SmoothHingeLoss(width=1.0).value(np.array([2.0, 1.0, 0.0]))
    array([0.   , 0.125, 1.   ])
    """

    width: float = 1.0
    name = "smooth-hinge"

    def __post_init__(self) -> None:
        positive("width", self.width)

    @property
    def curvature(self) -> float:  # type: ignore[override]
        return 1 / self.width

    def value(self, margin: Array) -> Array:
        inside = np.clip(1 + self.width / 2 - margin, 0, self.width)
        return 0.5 * inside * (inside / self.width) + np.maximum(1 - self.width / 2 - margin, 0)

    def slope(self, margin: Array) -> Array:
        return -np.clip((1 - margin) / self.width + 0.5, 0, 1)

    def bend(self, margin: Array) -> Array:
        return (np.abs(1 - margin) < self.width / 2).astype(margin.dtype) / self.width


@dataclass(frozen=True)
class SquaredHingeLoss(MarginLoss):
    """`max(0, 1 - margin)²`.

    Examples
    --------
    >>> SquaredHingeLoss().value(np.array([2.0, 0.5]))
    array([0.  , 0.25])
    """

    name = "squared-hinge"
    curvature = 2.0

    def value(self, margin: Array) -> Array:
        return np.maximum(1 - margin, 0) ** 2

    def slope(self, margin: Array) -> Array:
        return -2 * np.maximum(1 - margin, 0)

    def bend(self, margin: Array) -> Array:
        return 2 * (margin < 1).astype(margin.dtype)


@dataclass(frozen=True)
class LogisticLoss(MarginLoss):
    """`log(1 + exp(-margin))`.

    Examples
    --------
    >>> LogisticLoss().value(np.array([0.0])).round(4)
    array([0.6931])
    """

    name = "logistic"
    curvature = 0.25

    def value(self, margin: Array) -> Array:
        return softplus(-margin)

    def slope(self, margin: Array) -> Array:
        return -sigmoid(-margin)

    def bend(self, margin: Array) -> Array:
        e = np.exp(-np.abs(margin))
        return e / (1 + e) ** 2


MARGIN_LOSSES: dict[str, type[MarginLoss]] = {
    loss.name: loss for loss in (SquareLoss, HingeLoss, SquaredHingeLoss, LogisticLoss)
}


def find_margin_loss(loss: str | MarginLoss) -> MarginLoss:
    """The margin loss for a name, or the object itself."""
    if isinstance(loss, MarginLoss):
        return loss
    if isinstance(loss, str) and loss in MARGIN_LOSSES:
        return MARGIN_LOSSES[loss]()
    raise InputError(
        f"must be one of {', '.join(MARGIN_LOSSES)} or a MarginLoss object, not {loss!r}", parameter="loss"
    )
