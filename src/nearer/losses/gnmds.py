"""Generalised non-metric multidimensional scaling: a hinge."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nearer._validation import positive
from nearer.losses.base import Array, Loss


@dataclass(frozen=True)
class GNMDS(Loss):
    """Hinge on the difference of squared distances, `max(0, near - far + margin)`.

    Examples
    --------
    >>> GNMDS().value(np.array([1.0, 3.0]), np.array([3.0, 1.0]))
    array([0., 3.])
    """

    margin: float = 1.0
    name = "gnmds"

    def __post_init__(self) -> None:
        positive("margin", self.margin)

    @property
    def unit(self) -> float:
        return self.margin

    def value(self, near: Array, far: Array) -> Array:
        return np.maximum(near - far + self.margin, 0)

    def derivatives(self, near: Array, far: Array) -> tuple[Array, Array]:
        violated = (near - far + self.margin > 0).astype(near.dtype)
        return violated, -violated

    def scalar_parameters(self) -> tuple[float, float]:
        return (self.margin, 0.0)
