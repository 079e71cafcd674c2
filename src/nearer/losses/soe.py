"""Soft ordinal embedding: squared hinge on distances that are not squared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nearer._utils.validation import between
from nearer.losses.base import LEAST, MOST, Array, Loss


@dataclass(frozen=True)
class SOE(Loss):
    """Squared hinge on plain distances, `max(0, sqrt(near) - sqrt(far) + margin) ** 2`.

    `margin`, from 1e-8 to 1e8, sets the scale of the embedding.

    Examples
    --------
    >>> SOE().value(np.array([1.0, 9.0]), np.array([9.0, 1.0]))
    array([0., 9.])
    """

    margin: float = 1.0
    name = "soe"

    def __post_init__(self) -> None:
        between("margin", self.margin, LEAST, MOST)

    @property
    def unit(self) -> float:
        return self.margin**2

    def value(self, near: Array, far: Array) -> Array:
        return self._excess(near, far) ** 2

    def derivatives(self, near: Array, far: Array) -> tuple[Array, Array]:
        excess = self._excess(near, far)
        # Where points coincide the slope by the squared distance is infinite, but the gradient in the points,
        # slope times their difference, is not: any floor whose inverse float32 can hold gives zero there.
        return excess / np.maximum(np.sqrt(near), 1e-19), -excess / np.maximum(np.sqrt(far), 1e-19)

    def scalar_parameters(self) -> tuple[float, float]:
        return (self.margin, 0.0)

    def _excess(self, near: Array, far: Array) -> Array:
        return np.maximum(np.sqrt(near) - np.sqrt(far) + self.margin, 0)
