"""Projected gradient over a dense kernel, as papers have it, and quicker ways to the same step.

A step on the sum of the losses: K' = K - step * (gradient + tau I), then negative eigenvalues are removed.

- "full": all eigenpairs, and the kernel put together from the positive ones (what the paper's code does);
- "negative": LAPACK again, but only the negative eigenpairs, which are then taken off: the same kernel;
- "ours": nearer's proximal step on a factor of the kernel, K = X X', with the positive eigenpairs: the same distances.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from nearer import Comparisons
from nearer._utils.arrays import compared_distances
from nearer.kernels.base import kernel_distances
from nearer.losses import GNMDS
from nearer.objectives import GramObjective
from nearer.solvers.proximal import Iterate, stepped
from nearer.solvers.spectrum import PositivePart

#: distances that differ by less are equal: rounding must not decide who is nearer to objects that no answer has touched
_TIE = 1e-9


def wrong(near: np.ndarray, far: np.ndarray) -> float:
    """Share of comparisons that do not hold, a tie counting half."""
    return float(np.mean(near > far + _TIE) + np.mean(abs(near - far) <= _TIE) / 2)


class Dense:
    """A kernel that is held whole; `how` is "full" or "negative"."""

    def __init__(self, n: int, start: float, how: str):
        self.kernel, self.how = start * np.eye(n), how
        self.seen = 0

    def retrain(self, answers: Comparisons, step: float, tau: float, steps: int) -> None:
        """Some steps on these answers, from the kernel so far."""
        objective, self.seen = GramObjective(answers, GNMDS()), len(answers)
        for _ in range(steps):
            self._descend(objective, step * len(answers), step * tau)
            self.kernel = _all_eigenpairs(self.kernel) if self.how == "full" else _negative_ones(self.kernel)

    def _descend(self, objective: GramObjective, step: float, shrink: float) -> None:
        i, j = objective.pairs.T
        own = self.kernel.diagonal()
        slopes = objective.pair_slopes(*objective.derivatives(own[i] - 2 * self.kernel[i, j] + own[j]))
        gradient = objective.gradient(slopes).tocoo()
        self.kernel[gradient.row, gradient.col] -= step * gradient.data
        self.kernel[np.diag_indices_from(self.kernel)] -= shrink

    def error(self, answers: Comparisons) -> float:
        """Share of answers that do not hold."""
        return wrong(*kernel_distances(self.kernel, answers.indices))

    @property
    def rank(self) -> int | None:
        """Not known without further work."""
        return None


def _all_eigenpairs(kernel: np.ndarray) -> np.ndarray:
    values, vectors = eigh(kernel, driver="evd", overwrite_a=True, check_finite=False)
    kept = values > 0
    vectors = vectors[:, kept]
    return (vectors * values[kept]) @ vectors.T


def _negative_ones(kernel: np.ndarray) -> np.ndarray:
    values, vectors = eigh(kernel, subset_by_value=(-np.inf, 0.0), driver="evr", check_finite=False)
    if len(values):
        kernel -= (vectors * values) @ vectors.T
    return kernel


class Factored:
    """A kernel that is held as a factor: nearer's proximal step."""

    def __init__(self, n: int, start: float):
        self.factor = np.sqrt(start) * (np.eye(n) - 1 / n)  # centred, which changes no distance
        self.positive_part = PositivePart()
        self.seen = 0

    def retrain(self, answers: Comparisons, step: float, tau: float, steps: int) -> None:
        """Some steps on these answers, from the kernel so far."""
        objective = GramObjective(answers, GNMDS(), trace_penalty=tau / len(answers))
        now = Iterate.of(objective, self.factor)
        for _ in range(steps):
            slopes = objective.pair_slopes(*objective.derivatives(now.distances))
            origin = ((1.0, now.factor),)
            now = stepped(objective, origin, slopes, step * len(answers), self.positive_part)
        self.factor, self.seen = now.factor, len(answers)

    def error(self, answers: Comparisons) -> float:
        """Share of answers that do not hold."""
        return wrong(*compared_distances(np.ascontiguousarray(self.factor), answers.indices))

    @property
    def rank(self) -> int | None:
        """Columns of the factor."""
        return self.factor.shape[1]
