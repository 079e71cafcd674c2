"""One iteration of L-BFGS between two gradients, in numpy; `curvature.py` explains the arguments.

>>> (S, Y), (SY, YY), order = np.zeros((2, 3, 2)), np.zeros((2, 3, 3)), np.arange(3)
>>> add(np.zeros(2), np.zeros(2), np.ones(2), np.array([2.0, 2.0]), S, Y, SY, YY, order, 0, 1e-16)
(1, 1.4142135623730951)
>>> out = np.empty(2)
>>> direction(np.array([2.0, 0.0]), S, Y, SY, YY, order, 1, out), out
(-2.0, array([-1., -0.]))
"""

from __future__ import annotations

import math

import numpy as np


def inner(x: np.ndarray, y: np.ndarray) -> float:
    """Return the inner product of two vectors."""
    return float(x.astype(np.float64) @ y.astype(np.float64))


def moved(x: np.ndarray, direction: np.ndarray, step: float, out: np.ndarray) -> None:
    """Store `x + step * direction`."""
    out[:] = x + x.dtype.type(step) * direction


def add(
    x: np.ndarray,
    gradient: np.ndarray,
    new_x: np.ndarray,
    new_gradient: np.ndarray,
    S: np.ndarray,
    Y: np.ndarray,
    SY: np.ndarray,
    YY: np.ndarray,
    order: np.ndarray,
    count: int,
    eps: float,
) -> tuple[int, float]:
    """Keep the pair of a step in place of the oldest, unless its curvature is lost in rounding.

    Return the number of pairs and the length of the step.
    """
    row = order[count]
    S[row], Y[row] = new_x - x, new_gradient - gradient
    step, change = S[row].astype(np.float64), Y[row].astype(np.float64)
    length = math.sqrt(step @ step)
    if not step @ change > eps * math.sqrt((change @ change) * (step @ step)):
        return count, length
    if count == len(order) - 1:
        order[:] = np.roll(order, -1)
    else:
        count += 1
    used = order[:count]
    SY[used, row], SY[row, used], YY[used, row] = S[used] @ change, Y[used] @ step, Y[used] @ change
    YY[row, used] = YY[used, row]
    return count, length


def direction(
    gradient: np.ndarray,
    S: np.ndarray,
    Y: np.ndarray,
    SY: np.ndarray,
    YY: np.ndarray,
    order: np.ndarray,
    count: int,
    out: np.ndarray,
) -> float:
    """Store minus the product of the inverse curvature with the gradient: the two-loop recursion; return the slope."""
    rows = order[:count].tolist()
    q, first = gradient.astype(np.float64), dict.fromkeys(rows, 0.0)
    for row in reversed(rows):
        first[row] = S[row] @ q / SY[row, row]
        q -= first[row] * Y[row]
    r = q * (SY[rows[-1], rows[-1]] / YY[rows[-1], rows[-1]] if rows else 1.0)
    for row in rows:
        r += S[row] * (first[row] - Y[row] @ r / SY[row, row])
    out[:] = -r
    return inner(gradient, out)


def advance(
    x: np.ndarray,
    gradient: np.ndarray,
    new_x: np.ndarray,
    new_gradient: np.ndarray,
    S: np.ndarray,
    Y: np.ndarray,
    SY: np.ndarray,
    YY: np.ndarray,
    order: np.ndarray,
    count: int,
    eps: float,
    out: np.ndarray,
    trial: np.ndarray,
) -> tuple[int, float, float]:
    """Add the pair of a step; store the next direction, and the point at its end in `trial`.

    Return the number of pairs, the length of the step and the slope along the direction.
    """
    count, length = add(x, gradient, new_x, new_gradient, S, Y, SY, YY, order, count, eps)
    slope = direction(new_gradient, S, Y, SY, YY, order, count, out)
    moved(new_x, out, 1.0, trial)
    return count, length, slope
