"""What a loss is: a function of two squared distances, and nothing else."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from nearer._utils.schema import Settings
from nearer.losses.formulas import Array, sigmoid, softplus

__all__ = ["LEAST", "MOST", "Array", "Loss", "sigmoid", "softplus"]

#: range of the settings of losses: beyond it squares of distances overflow in float32, or sums lose all their digits
LEAST, MOST = 1e-8, 1e8


class Loss(ABC):
    """How badly "the first pair is nearer than the second" is violated.

    A loss sees `near` and `far`, the squared distances of the pair that was said to be nearer and of the other one. It
    knows no indices, no embedding and no device. The losses of nearer accept numpy arrays and torch tensors, and return
    the same type, precision and device. Subclasses are frozen dataclasses whose fields are the parameters of the loss;
    `value` and `derivatives` are all that a new loss needs to run everywhere.
    """

    name: ClassVar[str] = "own loss"
    #: whether its methods accept torch tensors as well as numpy arrays
    accepts_tensors: ClassVar[bool] = False
    #: whether :meth:`probability` exists
    has_probability: ClassVar[bool] = False
    #: whether the loss is a convex function of `near - far` alone, and :meth:`conjugate` exists: then learning a kernel
    #: is a convex problem
    convex: ClassVar[bool] = False
    _schema = Settings()

    @property
    def unit(self) -> float:
        """The squared distance at which the loss has its curvature: the scale of default starts and steps."""
        return 1.0

    @abstractmethod
    def value(self, near: Array, far: Array) -> Array:
        """Return the loss of each comparison."""

    @abstractmethod
    def derivatives(self, near: Array, far: Array) -> tuple[Array, Array]:
        """Return the derivatives of the loss with respect to `near` and to `far`."""

    def probability(self, near: Array, far: Array) -> Array:
        """Return the probability that the first pair is called nearer; only for losses with a probability model."""
        raise AttributeError(f"the loss {self.name!r} has no probability")

    def conjugate(self, slopes: Array) -> Array:
        """Return the convex conjugate of the loss as a function of `near - far`; only for convex losses.

        It bounds the loss from below: at z the loss is at least `slope * z - conjugate(slope)` for every slope.
        """
        raise AttributeError(f"the loss {self.name!r} has no convex conjugate")

    def smoothed(self, width: float, centre: Array | float = 0.0) -> Loss:
        """Return a loss without kinks, at most `width / 2` below this one; the loss itself if it has none.

        The derivative jumps at a kink. In the smoothed loss it grows by the excess over `width`, starting at `centre`.
        """
        return self

    def resolved(self, n_components: int) -> Loss:
        """Return the same loss with parameters that depend on the dimension filled in."""
        return self

    def scalar_parameters(self) -> tuple[float, float]:
        """Return the numbers that the compiled version needs (see `nearer._compiled.scalar_losses`)."""
        return (0.0, 0.0)
