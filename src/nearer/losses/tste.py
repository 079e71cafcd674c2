"""t-distributed stochastic triplet embedding: heavy tails."""

from __future__ import annotations

from dataclasses import dataclass, replace

from nearer._utils.namespaces import namespace
from nearer._utils.validation import between
from nearer.losses.base import LEAST, MOST, Array, Loss
from nearer.losses.formulas import sigmoid, softplus


@dataclass(frozen=True)
class TSTE(Loss):
    """Logistic choice between Student-t similarities `(1 + d / alpha) ** (-(alpha + 1) / 2)`.

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
