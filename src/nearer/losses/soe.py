"""Soft ordinal embedding: squared hinge on plain distances."""

from __future__ import annotations

from dataclasses import dataclass

from nearer._utils.namespaces import namespace
from nearer._utils.validation import between
from nearer.losses.base import LEAST, MOST, Array, Loss
from nearer.losses.formulas import at_least, hinge


@dataclass(frozen=True)
class SOE(Loss):
    """Squared hinge on plain distances, `max(0, sqrt(near) - sqrt(far) + margin) ** 2`.

    `margin`, from 1e-8 to 1e8, sets the scale of the embedding.

    Examples
    --------
    >>> import numpy as np
    >>> SOE().value(np.array([1.0, 9.0]), np.array([9.0, 1.0]))
    array([0., 9.])
    """

    margin: float = 1.0
    name = "soe"
    accepts_tensors = True

    def __post_init__(self) -> None:
        between("margin", self.margin, LEAST, MOST)

    @property
    def unit(self) -> float:
        return self.margin**2

    def value(self, near: Array, far: Array) -> Array:
        return self._excess(near, far) ** 2

    def derivatives(self, near: Array, far: Array) -> tuple[Array, Array]:
        xp, excess = namespace(near), self._excess(near, far)
        # Where points coincide the derivative by the squared distance is infinite, but the gradient in the points,
        # derivative times their difference, is zero: any lower bound whose inverse fits float32 makes it so.
        return excess / at_least(xp.sqrt(near), 1e-19), -excess / at_least(xp.sqrt(far), 1e-19)

    def scalar_parameters(self) -> tuple[float, float]:
        return (self.margin, 0.0)

    def _excess(self, near: Array, far: Array) -> Array:
        xp = namespace(near)
        return hinge(xp.sqrt(near) - xp.sqrt(far) + self.margin)
