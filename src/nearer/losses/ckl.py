"""Crowd kernel learning: the ratio of distances."""

from __future__ import annotations

from dataclasses import dataclass

from nearer._utils.namespaces import namespace
from nearer._utils.validation import between
from nearer.losses.base import LEAST, MOST, Array, Loss


@dataclass(frozen=True)
class CKL(Loss):
    """Minus log of `(far + mu) / (near + far + 2 mu)`.

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
