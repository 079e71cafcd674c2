"""The updates of `factors.py` in plain numpy, with the gradient written out and nothing scaled lazily."""

from __future__ import annotations

import numpy as np

from nearer._compiled.draws_reference import draw
from nearer._compiled.factors import (
    GNMDS,
    LONGEST,
    MOST_SHRINK,
    PASSIVE_AGGRESSIVE,
    passive_aggressive_length,
    schedule,
)
from nearer.losses.formulas import sigmoid


def step_length(
    rule: int, excess: float, gain: float, weight: float, margin: float, most: float, soft: bool
) -> float:
    """Return `factors.step_length`; a single call is not worth compiling.

    >>> step_length(GNMDS, 0.5, 1.0, 2.0, 1.0, np.inf, False)
    2.0
    """
    if rule == PASSIVE_AGGRESSIVE:
        return passive_aggressive_length.py_func(excess + margin, gain, weight, most, soft)
    if rule == GNMDS:
        return weight if excess + margin > 0 else 0.0
    return weight * float(sigmoid(excess))


def learn(
    points: np.ndarray,
    Q: np.ndarray,
    W: np.ndarray,
    *,
    passes: int,
    seed: int,
    rule: int,
    kind: int,
    size: float,
    margin: float,
    most: float,
    soft: bool,
    shrink: float,
) -> tuple[np.ndarray, int]:
    """Return the points after all answers, one by one in their order, and the number of steps."""
    points, steps = points.copy(), 0
    for number in range(len(Q)):
        delta = schedule.py_func(kind, size, number + 1)
        for repeat in range(passes if number > 0 else 1):
            t = number if repeat == 0 else draw(seed, number, repeat, number)
            excess, gradient = _excess(points, Q[t])
            gain = float(np.sum(gradient**2))
            weight = float(W[t]) if len(W) else 1.0
            length = min(delta * step_length(rule, excess, gain, weight, margin, most, soft), LONGEST)
            points -= length * gradient
            steps += length > 0
            points *= np.sqrt(1 - min(delta * shrink, MOST_SHRINK))
    return points, steps


def _excess(points: np.ndarray, answer: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the squared distance of the near pair less that of the far pair, and its gradient by the points."""
    i, j, l, k = answer[0], answer[1], answer[0 if len(answer) == 3 else 2], answer[-1]
    near, far = points[i] - points[j], points[l] - points[k]
    gradient = np.zeros_like(points)
    for row, change in ((i, near), (j, -near), (l, -far), (k, far)):
        gradient[row] += 2 * change
    return float(near @ near - far @ far), gradient
