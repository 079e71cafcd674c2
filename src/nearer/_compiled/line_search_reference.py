"""Line searches in numpy, and the positions in the array of one; `line_search.py` explains them.

>>> from nearer.solvers.lbfgs import new_bracket
>>> bracket = new_bracket(1.0, -2.0, 4.0)  # value and slope of (1 - t)² at t = 0, and a step that is too long
>>> judge(bracket, 9.0, 6.0), float(bracket[STEP])
(False, 1.0)
"""

from __future__ import annotations

import math

import numpy as np

from nearer._compiled.curvature_reference import inner, moved
from nearer._compiled.points_reference import gradients, join
from nearer.losses import Loss

STEP, VALUE, SLOPE, LOW, LOW_VALUE, LOW_SLOPE, HIGH, HIGH_VALUE, HIGH_SLOPE = range(9)
#: a step must bring this share of the decrease that the slope promises, and leave at most the second share of the slope
DECREASE, SLOPE_LEFT = 1e-4, 0.9
#: bounds on how much longer the next trial is, and on how close it comes to an end of the bracket
SHORTEST, LONGEST, INSIDE = 2.0, 10.0, 0.1
MOST_TRIALS = 25


def judge(bracket: np.ndarray, value: float, rise: float) -> bool:
    """Return whether the step that was tried will do; if not, put the next one into the bracket."""
    step, start_value, slope = bracket[:LOW].tolist()
    if not value <= start_value + DECREASE * step * slope:
        bracket[HIGH:] = step, value, rise
    elif rise < SLOPE_LEFT * slope:
        bracket[LOW:HIGH] = step, value, rise
    else:
        return True
    if bracket[HIGH] == math.inf:
        share = slope / (slope - rise) if rise > slope else math.inf
        bracket[STEP] = step * min(max(share, SHORTEST), LONGEST)
    else:
        bracket[STEP] = _between(*bracket[LOW:].tolist())
    return False


def search(
    loss: Loss,
    Q: np.ndarray,
    W: np.ndarray,
    C: np.ndarray,
    shrink: float,
    x: np.ndarray,
    direction: np.ndarray,
    bracket: np.ndarray,
    trial: np.ndarray,
    G: np.ndarray,
) -> tuple[int, float]:
    """Return how many gradients a search takes with the objective of points, negative if it fails, and the value."""
    for count in range(1, MOST_TRIALS + 1):
        moved(x, direction, bracket[STEP], trial)
        X = trial.reshape(G.shape)
        totals = np.empty(1)
        gradients(loss, X, Q, W, C, np.array([0, len(Q)]), G[None], totals)
        value = float(join(G[None], len(Q), shrink, X) + totals[0] / len(Q))
        if judge(bracket, value, inner(G.ravel(), direction)):
            return count, value
    return -MOST_TRIALS, math.nan


def _between(
    low: float, low_value: float, low_slope: float, high: float, high_value: float, high_slope: float
) -> float:
    """Return the minimum of the cubic through both ends of a bracket, but not too close to either."""
    width = high - low
    if not (math.isfinite(high_value) and math.isfinite(high_slope)):
        return low + INSIDE * width
    mean = 3 * (low_value - high_value) / width + low_slope + high_slope
    root = mean * mean - low_slope * high_slope
    step = low + width / 2
    if root > 0:
        root = math.sqrt(root)
        step = high - width * (high_slope + root - mean) / (high_slope - low_slope + 2 * root)
    return min(max(step, low + INSIDE * width), high - INSIDE * width)
