"""Losses of a margin: the score that should be higher minus the other one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from nearer._utils.namespaces import namespace
from nearer._utils.schema import Settings
from nearer._utils.validation import positive
from nearer.errors import InputError
from nearer.losses.formulas import (
    Array,
    hinge,
    hinge_slope,
    rounded_hinge,
    rounded_hinge_slope,
    sigmoid,
    sigmoid_slope,
    softplus,
)


class MarginLoss(ABC):
    """How badly "the first sample scores higher than the second" is violated.

    A margin loss is a convex function of `margin`, the first score minus the second, and knows nothing else. Those of
    nearer decrease while the margin is below 1 and are never negative. They accept numpy arrays and torch tensors, and
    return the same type, precision and device.
    """

    name: ClassVar[str]
    #: whether its methods accept torch tensors as well as numpy arrays
    accepts_tensors: ClassVar[bool] = False
    #: the largest second derivative; infinite if the loss has a kink
    curvature: ClassVar[float]
    _schema = Settings()

    @abstractmethod
    def value(self, margin: Array) -> Array:
        """Return the loss of each pair."""

    @abstractmethod
    def slope(self, margin: Array) -> Array:
        """Return the derivative of the loss with respect to the margin (any subgradient at a kink)."""

    def second_derivative(self, margin: Array) -> Array:
        """Return the second derivative (either of them where it jumps); not defined for every loss."""
        raise AttributeError(f"the loss {self.name!r} has no second derivative")

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "bend" in cls.__dict__:  # its older name, in losses that users wrote
            cls.second_derivative = cls.bend  # type: ignore[method-assign]

    def bend(self, margin: Array) -> Array:
        """Return `second_derivative(margin)`: its older name."""
        return self.second_derivative(margin)


@dataclass(frozen=True)
class SquareLoss(MarginLoss):
    """`(1 - margin)²`: the mean over all pairs follows from class means and covariances.

    Examples
    --------
    >>> SquareLoss().value(np.array([1.0, -1.0]))
    array([0., 4.])
    """

    name = "square"
    accepts_tensors = True
    curvature = 2.0

    def value(self, margin: Array) -> Array:
        return (1 - margin) ** 2

    def slope(self, margin: Array) -> Array:
        return 2 * (margin - 1)

    def second_derivative(self, margin: Array) -> Array:
        return namespace(margin).full_like(margin, 2)


@dataclass(frozen=True)
class HingeLoss(MarginLoss):
    """`max(0, 1 - margin)`.

    Examples
    --------
    >>> HingeLoss().value(np.array([2.0, 0.5]))
    array([0. , 0.5])
    """

    name = "hinge"
    accepts_tensors = True
    curvature = np.inf

    def value(self, margin: Array) -> Array:
        return hinge(1 - margin)

    def slope(self, margin: Array) -> Array:
        return -hinge_slope(1 - margin)

    def smoothed(self, width: float) -> SmoothHingeLoss:
        """Return a loss without the kink, at most `width / 8` above this one."""
        return SmoothHingeLoss(width)


@dataclass(frozen=True)
class SmoothHingeLoss(MarginLoss):
    """The hinge with its corner rounded: a parabola where the margin is within `width / 2` of 1.

    With the default width, it is `(2 - margin)² / 4` for margins from 0 to 2.

    Examples
    --------
    >>> SmoothHingeLoss().value(np.array([2.0, 1.0, 0.0, -1.0]))
    array([0.  , 0.25, 1.  , 2.  ])
    >>> SmoothHingeLoss(width=1.0).value(np.array([2.0, 1.0, 0.0]))
    array([0.   , 0.125, 1.   ])
    """

    width: float = 2.0
    name = "smooth-hinge"
    accepts_tensors = True

    def __post_init__(self) -> None:
        positive("width", self.width)

    @property
    def curvature(self) -> float:  # type: ignore[override]
        return 1 / self.width

    def value(self, margin: Array) -> Array:
        return rounded_hinge(1 - margin, self.width)

    def slope(self, margin: Array) -> Array:
        return -rounded_hinge_slope(1 - margin, self.width, centre=0.5)

    def second_derivative(self, margin: Array) -> Array:
        return (1 - hinge_slope(abs(1 - margin) - self.width / 2)) / self.width


@dataclass(frozen=True)
class SquaredHingeLoss(MarginLoss):
    """`max(0, 1 - margin)²`.

    Examples
    --------
    >>> SquaredHingeLoss().value(np.array([2.0, 0.5]))
    array([0.  , 0.25])
    """

    name = "squared-hinge"
    accepts_tensors = True
    curvature = 2.0

    def value(self, margin: Array) -> Array:
        return hinge(1 - margin) ** 2

    def slope(self, margin: Array) -> Array:
        return -2 * hinge(1 - margin)

    def second_derivative(self, margin: Array) -> Array:
        return 2 * hinge_slope(1 - margin)


@dataclass(frozen=True)
class LogisticLoss(MarginLoss):
    """`log(1 + exp(-margin))`.

    Examples
    --------
    >>> LogisticLoss().value(np.array([0.0])).round(4)
    array([0.6931])
    """

    name = "logistic"
    accepts_tensors = True
    curvature = 0.25

    def value(self, margin: Array) -> Array:
        return softplus(-margin)

    def slope(self, margin: Array) -> Array:
        return -sigmoid(-margin)

    def second_derivative(self, margin: Array) -> Array:
        return sigmoid_slope(margin)


MARGIN_LOSSES: dict[str, type[MarginLoss]] = {
    loss.name: loss for loss in (SquareLoss, HingeLoss, SmoothHingeLoss, SquaredHingeLoss, LogisticLoss)
}


def is_named(loss: MarginLoss) -> bool:
    """Return whether a loss is what its name in the table stands for: those have compiled versions.

    >>> is_named(SmoothHingeLoss()), is_named(SmoothHingeLoss(width=1.0))
    (True, False)
    """
    return MARGIN_LOSSES.get(loss.name) is type(loss) and loss == type(loss)()


def find_margin_loss(loss: str | MarginLoss) -> MarginLoss:
    """Return the margin loss with this name, or the object itself."""
    if isinstance(loss, MarginLoss):
        return loss
    if isinstance(loss, str) and loss in MARGIN_LOSSES:
        return MARGIN_LOSSES[loss]()
    raise InputError(
        f"must be one of {', '.join(MARGIN_LOSSES)} or a MarginLoss object, not {loss!r}", parameter="loss"
    )


def find_smooth_loss(loss: str | MarginLoss) -> MarginLoss:
    """Return the margin loss with this name, or the object itself; refuse one with a kink."""
    found = find_margin_loss(loss)
    if np.isfinite(found.curvature):
        return found
    smooth = [name for name, kind in MARGIN_LOSSES.items() if np.isfinite(kind().curvature)]
    raise InputError(f"is {found.name!r}, which has a kink", f"use {', '.join(smooth)}", parameter="loss")
