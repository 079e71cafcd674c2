"""Stochastic triplet embedding: logistic."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nearer.losses.base import Array, Loss, sigmoid, softplus


@dataclass(frozen=True)
class STE(Loss):
    """Minus log-likelihood of a logistic choice, `log(1 + exp(near - far))`.

    Examples
    --------
    >>> STE().probability(np.array([1.0, 0.0]), np.array([1.0, 3.0])).round(3)
    array([0.5  , 0.953])
    """

    name = "ste"
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
        other = 1 - slopes
        tiny = np.finfo(np.float64).tiny  # 0 log 0 is 0
        return slopes * np.log(np.maximum(slopes, tiny)) + other * np.log(np.maximum(other, tiny))
