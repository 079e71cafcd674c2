"""Losses of a comparison: functions of two squared distances, and nothing else.

`LOSSES` has the losses by name; `find` looks one up.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

from nearer._utils.namespaces import namespace
from nearer._utils.schema import Settings
from nearer._utils.validation import between
from nearer.errors import InputError
from nearer.losses.formulas import (
    Array,
    at_least,
    hinge,
    hinge_slope,
    negative_entropy,
    sigmoid,
    softplus,
)

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

    def rounded(self) -> Loss:
        """Return the loss to minimise for solvers that need a continuous derivative; the loss itself if it has one."""
        return self

    def resolved(self, n_components: int) -> Loss:
        """Return the same loss with parameters that depend on the dimension filled in."""
        return self

    def scalar_parameters(self) -> tuple[float, float]:
        """Return the numbers that the compiled version needs (see `nearer._compiled.scalar_losses`)."""
        return (0.0, 0.0)


@dataclass(frozen=True)
class GNMDS(Loss):
    """Generalised non-metric multidimensional scaling: hinge on squared distances, `max(0, near - far + margin)`.

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
        from nearer.losses.rounding import SmoothGNMDS  # which needs this module

        return SmoothGNMDS(self.margin, width, centre)

    def rounded(self) -> Loss:
        from nearer.losses.rounding import RoundedGNMDS  # which needs this module

        return RoundedGNMDS(self.margin, 2 * self.margin)

    def scalar_parameters(self) -> tuple[float, float]:
        return (self.margin, 0.0)


@dataclass(frozen=True)
class CKL(Loss):
    """Crowd kernel learning: minus log of `(far + mu) / (near + far + 2 mu)`.

    `mu`, from 1e-8 to 1e8, keeps the ratio finite where points coincide. It sets the scale of the embedding: without an
    L2 term the best map for `c * mu` is `sqrt(c)` times the best map for `mu`. With one, `l2 / c` affects the first
    as `l2` affects the second.

    Examples
    --------
    >>> import numpy as np
    >>> CKL().probability(np.array([1.0, 0.0]), np.array([1.0, 9.0])).round(3)
    array([0.5  , 0.909])
    """

    mu: float = 1.0
    name = "ckl"
    accepts_tensors = True
    has_probability = True

    def __post_init__(self) -> None:
        between("mu", self.mu, LEAST, MOST)

    @property
    def unit(self) -> float:
        return self.mu

    def value(self, near: Array, far: Array) -> Array:
        # log1p of the odds against: exact where the answer is nearly certain
        return namespace(near).log1p((near + self.mu) / (far + self.mu))

    def derivatives(self, near: Array, far: Array) -> tuple[Array, Array]:
        a, b = near + self.mu, far + self.mu
        return 1 / (a + b), -(a / (a + b)) / b

    def probability(self, near: Array, far: Array) -> Array:
        return (far + self.mu) / (near + far + 2 * self.mu)

    def scalar_parameters(self) -> tuple[float, float]:
        return (self.mu, 0.0)


# --8<-- [start:ste]
@dataclass(frozen=True)
class STE(Loss):
    """Stochastic triplet embedding: minus log-likelihood of a logistic choice, `log(1 + exp(near - far))`.

    Examples
    --------
    >>> import numpy as np
    >>> STE().probability(np.array([1.0, 0.0]), np.array([1.0, 3.0])).round(3)
    array([0.5  , 0.953])
    """

    name = "ste"
    accepts_tensors = True
    has_probability = True
    convex = True

    def value(self, near: Array, far: Array) -> Array:
        return softplus(near - far)

    def derivatives(self, near: Array, far: Array) -> tuple[Array, Array]:
        against = sigmoid(near - far)
        return against, -against

    def probability(self, near: Array, far: Array) -> Array:
        return sigmoid(far - near)

    def conjugate(self, slopes: Array) -> Array:
        return negative_entropy(slopes)


# --8<-- [end:ste]


@dataclass(frozen=True)
class TSTE(Loss):
    """t-distributed STE, heavy tails: logistic choice between similarities `(1 + d / alpha) ** (-(alpha + 1) / 2)`.

    Parameters
    ----------
    alpha : float, optional
        Degrees of freedom, from 1e-8 to 1e8; None means `max(n_components - 1, 1)`. Large values approach STE on half
        the squared distances.

    Examples
    --------
    >>> import numpy as np
    >>> TSTE(alpha=1).probability(np.array([0.0]), np.array([3.0])).round(3)
    array([0.8])
    """

    alpha: float | None = None
    name = "tste"
    accepts_tensors = True
    has_probability = True

    def __post_init__(self) -> None:
        if self.alpha is not None:
            between("alpha", self.alpha, LEAST, MOST)

    def resolved(self, n_components: int) -> TSTE:
        return replace(self, alpha=float(max(n_components - 1, 1))) if self.alpha is None else self

    def value(self, near: Array, far: Array) -> Array:
        return softplus(self._log_odds_against(near, far))

    def derivatives(self, near: Array, far: Array) -> tuple[Array, Array]:
        alpha = self._alpha()
        against = sigmoid(self._log_odds_against(near, far)) * ((alpha + 1) / 2)
        return against / (alpha + near), -against / (alpha + far)

    def probability(self, near: Array, far: Array) -> Array:
        return sigmoid(-self._log_odds_against(near, far))

    def scalar_parameters(self) -> tuple[float, float]:
        return (self._alpha(), 0.0)

    def _alpha(self) -> float:
        if self.alpha is None:
            raise ValueError("TSTE needs alpha: pass one, or call loss.resolved(n_components)")
        return self.alpha

    def _log_odds_against(self, near: Array, far: Array) -> Array:
        xp, alpha = namespace(near), self._alpha()
        return (alpha + 1) / 2 * (xp.log1p(near / alpha) - xp.log1p(far / alpha))


@dataclass(frozen=True)
class SOE(Loss):
    """Soft ordinal embedding: squared hinge on plain distances, `max(0, sqrt(near) - sqrt(far) + margin) ** 2`.

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


@dataclass(frozen=True)
class RobustSOE(SOE):
    """SOE for answers of which some are wrong: far violations cost only the logarithm of what they cost in SOE.

    With SOE's loss e in units of the squared margin, it is `tail * log(1 + e / tail)`; `tail` is from 1e-8 to 1e8.

    Examples
    --------
    >>> import numpy as np
    >>> RobustSOE().value(np.array([1.0, 9.0]), np.array([9.0, 1.0])).round(3)
    array([0.   , 2.303])
    """

    tail: float = 1.0
    name = "robust-soe"

    def __post_init__(self) -> None:
        super().__post_init__()
        between("tail", self.tail, LEAST, MOST)

    def value(self, near: Array, far: Array) -> Array:
        xp, (largest, small) = namespace(near), self._parts(near, far)
        return self.tail * self.unit * (2 * xp.log(largest) + xp.log1p(small**2 + (1 / largest) ** 2 - 1))

    def derivatives(self, near: Array, far: Array) -> tuple[Array, Array]:
        by_near, by_far = super().derivatives(near, far)
        largest, small = self._parts(near, far)
        weight = (1 / largest) ** 2 / ((1 / largest) ** 2 + small**2)
        return weight * by_near, weight * by_far

    def scalar_parameters(self) -> tuple[float, float]:
        return (self.margin, self.margin * math.sqrt(self.tail))

    def _parts(self, near: Array, far: Array) -> tuple[Array, Array]:
        """Return max(r, 1) and min(r, 1) for the excess r in units of the tail: no square of them overflows."""
        ratio = self._excess(near, far) / self.scalar_parameters()[1]
        largest = at_least(ratio, 1.0)
        return largest, ratio / largest


LOSSES: dict[str, type[Loss]] = {loss.name: loss for loss in (GNMDS, CKL, STE, TSTE, SOE, RobustSOE)}


def find(loss: str | Loss) -> Loss:
    """Return the loss with this name, or the object itself."""
    if isinstance(loss, Loss):
        return loss
    if isinstance(loss, str) and loss in LOSSES:
        return LOSSES[loss]()
    raise InputError(
        f"must be one of {', '.join(LOSSES)} or a nearer.losses.Loss object (for OrdinalEmbedding also "
        f"'auto'), not {loss!r}",
        parameter="loss",
    )
