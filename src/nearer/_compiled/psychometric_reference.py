"""The sums over comparisons from which a psychometric function is fitted, in numpy."""

from __future__ import annotations

import numpy as np

from nearer.losses.formulas import sigmoid, sigmoid_slope


def sums(
    margins: np.ndarray, weights: np.ndarray, slope: float, lapse: float, tiny: float
) -> tuple[float, float, float, float, float]:
    """Return the two derivatives of the log likelihood, and the three entries of Fisher's information.

    >>> np.round(sums(np.array([1.0, -1.0]), np.array([0.5, 0.5]), 1.0, 0.0, 1e-12), 3)
    array([-0.231,  0.272,  0.197, -0.231,  0.272])
    """
    right = sigmoid(slope * margins)
    p = lapse / 2 + (1 - lapse) * right
    by_slope, by_lapse = (1 - lapse) * sigmoid_slope(slope * margins) * margins, 0.5 - right
    spread = weights / np.maximum(p * (1 - p), tiny)
    g0, g1 = (by_slope / p) @ weights, (by_lapse / p) @ weights
    return g0, g1, (by_slope**2) @ spread, (by_slope * by_lapse) @ spread, (by_lapse**2) @ spread
