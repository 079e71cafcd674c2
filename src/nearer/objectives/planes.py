"""An objective over positive semidefinite matrices on the plane a X Xᵀ + b U Uᵀ, for searches over (a, b).

If the loss acts through numbers that are linear in the matrix, such as squared distances, these are worked out once
for X and for U. A step of the search then costs one loss, without products of factors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nearer.errors import InputError
from nearer.objectives.base import Plane, WithFactors

#: the loss of the linear numbers, and its derivatives by each of them
Loss = Callable[[np.ndarray], tuple[float, np.ndarray]]


def linear_plane(
    loss: Loss, numbers: tuple[np.ndarray, np.ndarray], traces: tuple[float, float], penalty: float
) -> Plane:
    """Return the plane of an objective whose loss acts through numbers that are linear in the matrix.

    `numbers` and `traces` are those of X Xᵀ and of U Uᵀ.

    >>> plane = linear_plane(lambda z: (float(z @ z), 2 * z), (np.array([1.0]), np.array([2.0])), (1.0, 1.0), 0.5)
    >>> plane(1.0, 1.0)
    (10.0, 6.5, 12.5)
    """
    first, second = numbers

    def at(a: float, b: float) -> tuple[float, float, float]:
        value, slopes = loss(a * first + b * second)
        value += penalty * (a * traces[0] + b * traces[1])
        return (
            value,
            float(slopes @ first) + penalty * traces[0],
            float(slopes @ second) + penalty * traces[1],
        )

    return at


def factor_plane(objective: WithFactors, X: np.ndarray, U: np.ndarray) -> Plane:
    """Return the plane of any objective, by products of factors in every step."""
    both = np.hstack([X, U])

    def at(a: float, b: float) -> tuple[float, float, float]:
        factor = np.hstack([np.sqrt(a) * X, np.sqrt(b) * U])
        slopes = np.einsum("ij,ij->j", objective.gradient_at(factor)(both), both)
        return objective.value(factor), float(slopes[: X.shape[1]].sum()), float(slopes[X.shape[1] :].sum())

    return at


def checked_factor(x: Any, n_rows: int) -> np.ndarray:
    """Return a copy of a factor with any number of columns; refuse one with another number of rows."""
    x = np.array(x, dtype=np.float64, order="C")
    if x.ndim != 2 or len(x) != n_rows:
        raise InputError(f"the start has shape {x.shape} but the objective needs {n_rows} rows")
    return x
