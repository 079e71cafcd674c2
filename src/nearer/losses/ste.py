"""Stochastic triplet embedding: the logistic loss of the margin `far - near`."""

from __future__ import annotations

from dataclasses import dataclass

from nearer.losses.base import Array, Loss
from nearer.losses.formulas import negative_entropy, sigmoid, softplus


@dataclass(frozen=True)
class STE(Loss):
    """Minus log-likelihood of a logistic choice, `log(1 + exp(near - far))`.

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
