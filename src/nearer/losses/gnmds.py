"""Generalised non-metric multidimensional scaling: the hinge loss of the margin `far - near`."""

from __future__ import annotations

from dataclasses import dataclass

from nearer._utils.validation import between, positive
from nearer.losses.base import LEAST, MOST, Array, Loss
from nearer.losses.formulas import hinge, hinge_slope, rounded_hinge_slope


@dataclass(frozen=True)
class GNMDS(Loss):
    """Hinge on the difference of squared distances, `max(0, near - far + margin)`.

    `margin`, from 1e-8 to 1e8, sets the scale of the embedding.

    Examples
    --------
    >>> import numpy as np
    >>> GNMDS().value(np.array([1.0, 3.0]), np.array([3.0, 1.0]))
    array([0., 3.])
    """

    margin: float = 1.0
    name = "gnmds"
    accepts_tensors = True
    convex = True

    def __post_init__(self) -> None:
        between("margin", self.margin, LEAST, MOST)

    @property
    def unit(self) -> float:
        return self.margin

    def value(self, near: Array, far: Array) -> Array:
        return hinge(near - far + self.margin)

    def derivatives(self, near: Array, far: Array) -> tuple[Array, Array]:
        violated = hinge_slope(near - far + self.margin)
        return violated, -violated

    def conjugate(self, slopes: Array) -> Array:
        return -self.margin * slopes

    def smoothed(self, width: float, centre: Array | float = 0.0) -> Loss:
        return SmoothGNMDS(self.margin, width, centre)

    def scalar_parameters(self) -> tuple[float, float]:
        return (self.margin, 0.0)


@dataclass(frozen=True)
class SmoothGNMDS(Loss):
    """The hinge of `GNMDS` with its corner rounded over `width`.

    It is the maximum of `p * excess - width/2 * (p - centre)²` over slopes p from 0 to 1; without the second term that
    is the hinge. With `centre` at the slopes of the hinge's solution, rounding does not move that solution.

    Examples
    --------
    >>> import numpy as np
    >>> SmoothGNMDS(width=0.5).value(np.array([1.0, 3.0]), np.array([1.75, 1.0]))
    array([0.0625, 2.75  ])
    """

    margin: float = 1.0
    width: float = 1.0
    centre: Array | float = 0.0
    name = "smooth gnmds"
    accepts_tensors = True
    convex = True

    def __post_init__(self) -> None:
        positive("margin", self.margin)
        positive("width", self.width)

    @property
    def unit(self) -> float:
        return self.margin

    def value(self, near: Array, far: Array) -> Array:
        slope = self._slope(near, far)
        return slope * (near - far + self.margin) - self.width / 2 * (slope - self.centre) ** 2

    def derivatives(self, near: Array, far: Array) -> tuple[Array, Array]:
        slope = self._slope(near, far)
        return slope, -slope

    def conjugate(self, slopes: Array) -> Array:
        return self.width / 2 * (slopes - self.centre) ** 2 - self.margin * slopes

    def _slope(self, near: Array, far: Array) -> Array:
        return rounded_hinge_slope(near - far + self.margin, self.width, self.centre)
