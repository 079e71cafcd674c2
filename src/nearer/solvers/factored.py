"""Descent in the factor of a kernel: no constraint to keep, no eigenvectors, and one cheap gradient an iteration.

Over X, f(X Xᵀ) + trace_penalty * |X|² is not convex, so this alone could stop short: at a saddle, or at a rank too low.
Between steps of proximal gradient, which find the rank and certify the end, it does most of the way.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nearer.solvers.lbfgs import descend
from nearer.solvers.run import Run

#: iterations of L-BFGS between two proximal steps
ITERATIONS = 30


def factor_descent(objective: Any, surface: Any, X: np.ndarray, run: Run) -> np.ndarray:
    """Lower `surface`, the objective or its rounded form, by the factor X; the run is told the objective."""

    def value_and_gradient(X: np.ndarray) -> tuple[float, np.ndarray]:
        distances = surface.distances(X)
        slopes = surface.pair_slopes(*surface.derivatives(distances))
        run.count(surface.n_terms)
        value = surface.mean_loss(distances) + surface.trace_penalty * float(np.vdot(X, X))
        return value, 2 * (surface.gradient(slopes) @ X + surface.trace_penalty * X)

    def record(X: np.ndarray, value: float, length: float) -> None:
        value = value if surface is objective else objective.value(X)
        run.record(X, value, length, settled=False)

    return descend(value_and_gradient, X, record, iterations=ITERATIONS)[0]
