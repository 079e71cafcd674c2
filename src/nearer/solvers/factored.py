"""Descent in the factor of a kernel: no constraint, no eigenvectors, and one cheap gradient per iteration.

Over X, f(X Xᵀ) + trace_penalty * |X|² is not convex, so this alone could stop short: at a saddle, or at too low a rank.
It goes most of the way between steps of proximal gradient, which find the rank and certify the end.
"""

from __future__ import annotations

import numpy as np

from nearer.objectives.gram import FactorObjective
from nearer.solvers.lbfgs import descend
from nearer.solvers.run import Run

#: iterations of L-BFGS between two proximal steps
ITERATIONS = 30


def factor_descent(
    objective: FactorObjective, surface: FactorObjective, X: np.ndarray, run: Run
) -> np.ndarray:
    """Lower `surface`, the objective or its smoothed form, over the factor X; record the objective."""

    def value_and_gradient(X: np.ndarray) -> tuple[float, np.ndarray]:
        run.count(surface.n_terms)
        return surface.value_and_factor_gradient(X)

    def record(X: np.ndarray, value: float, length: float) -> None:
        value = value if surface is objective else objective.value(X)
        run.record(X, value, length, settled=False)

    return descend(value_and_gradient, X, record, iterations=ITERATIONS)[0]
