"""The hinge of GNMDS without its kink, for solvers that need a continuous derivative."""

from __future__ import annotations

from dataclasses import dataclass

from nearer._utils.validation import between, positive
from nearer.losses.distances import LEAST, MOST, Loss
from nearer.losses.formulas import Array, rounded_hinge, rounded_hinge_slope


@dataclass(frozen=True)
class RoundedGNMDS(Loss):
    """The hinge of `GNMDS` with its corner rounded: a parabola where the excess is within `rounding / 2` of 0.

    With the defaults it is the smooth hinge of the co-embedding paper: `(2 + z)² / 4` for z = near - far from -2 to 0.
    Both settings are from 1e-8 to 1e8.

    Examples
    --------
    >>> import numpy as np
    >>> RoundedGNMDS().value(np.array([1.0, 1.0, 3.0]), np.array([3.0, 2.0, 1.0]))
    array([0.  , 0.25, 3.  ])
    """

    margin: float = 1.0
    rounding: float = 2.0
    name = "rounded gnmds"
    accepts_tensors = True
    convex = True

    def __post_init__(self) -> None:
        between("margin", self.margin, LEAST, MOST)
        between("rounding", self.rounding, LEAST, MOST)

    @property
    def unit(self) -> float:
        return self.margin

    def value(self, near: Array, far: Array) -> Array:
        return rounded_hinge(near - far + self.margin, self.rounding)

    def derivatives(self, near: Array, far: Array) -> tuple[Array, Array]:
        slope = rounded_hinge_slope(near - far + self.margin, self.rounding, 0.5)
        return slope, -slope

    def conjugate(self, slopes: Array) -> Array:
        return self.rounding / 2 * slopes * (slopes - 1) - self.margin * slopes


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
