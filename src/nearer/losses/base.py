"""What a loss is: a function of two squared distances, and nothing else."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from nearer._utils.schema import Settings

Array = NDArray[np.floating]

#: range of the settings of losses: beyond it squares of distances overflow in float32, or sums lose all their digits
LEAST, MOST = 1e-8, 1e8


class Loss(ABC):
    """How badly "the first pair is nearer than the second" is violated.

    A loss sees `near` and `far`, arrays of squared distances of the pair that was said to be nearer and of the
    other one. It knows no indices, no embedding and no device. Subclasses are frozen dataclasses whose fields are
    the loss's parameters; `value` and `derivatives` are all that a new loss needs to run everywhere.
    """

    name: ClassVar[str] = "own loss"
    #: whether :meth:`probability` exists
    has_probability: ClassVar[bool] = False
    #: whether the loss is a convex function of `near - far` alone, and :meth:`conjugate` exists: then learning a kernel
    #: is a convex problem
    convex: ClassVar[bool] = False
    _schema = Settings()

    @property
    def unit(self) -> float:
        """The squared distance at which the loss bends: the scale of default starts and steps."""
        return 1.0

    @abstractmethod
    def value(self, near: Array, far: Array) -> Array:
        """Loss of each comparison."""

    @abstractmethod
    def derivatives(self, near: Array, far: Array) -> tuple[Array, Array]:
        """Derivatives of the loss by `near` and by `far`."""

    def probability(self, near: Array, far: Array) -> Array:
        """Probability that the first pair is called nearer, where the loss is a model of answers."""
        raise AttributeError(f"the loss {self.name!r} has no probability")

    def conjugate(self, slopes: Array) -> Array:
        """Convex conjugate of the loss as a function of `near - far`, at its slopes, where the loss is convex.

        It gives lower bounds: the loss at z is at least `slope * z - conjugate(slope)` for every slope.
        """
        raise AttributeError(f"the loss {self.name!r} has no convex conjugate")

    def smoothed(self, width: float, centre: Array | float = 0.0) -> Loss:
        """A loss without kinks, at most `width / 2` below this one; itself where it has none.

        A kink lets slopes jump; here they move by the excess over `width`, beginning at `centre`.
        """
        return self

    def resolved(self, n_components: int) -> Loss:
        """The same loss with parameters that depend on the dimension filled in."""
        return self

    def scalar_parameters(self) -> tuple[float, float]:
        """The numbers handed to the compiled twin (see `nearer._compiled.scalar_losses`)."""
        return (0.0, 0.0)


def softplus(z: Array) -> Array:
    """`log(1 + exp(z))` without overflow."""
    return np.maximum(z, 0) + np.log1p(np.exp(-np.abs(z)))


def sigmoid(z: Array) -> Array:
    """`1 / (1 + exp(-z))` without overflow."""
    e = np.exp(-np.abs(z))
    return np.where(z >= 0, 1, e) / (1 + e)
