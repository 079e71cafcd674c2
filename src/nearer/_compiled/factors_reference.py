"""The updates of `factors.py` in plain numpy, with the gradient written out and nothing scaled lazily."""

from __future__ import annotations

import numpy as np

from nearer._compiled.draws_reference import draw
from nearer._compiled.factors import (
    EARLY_APART,
    GNMDS,
    LONGEST,
    MOST_SHRINK,
    PASSIVE_AGGRESSIVE,
    STE,
    passive_aggressive_length,
    schedule,
)
from nearer.losses.formulas import sigmoid, softplus


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


def loss_of(rule: int, excess: float, margin: float) -> float:
    """Return `factors.loss_of`.

    >>> loss_of(GNMDS, -0.25, 1.0)
    0.75
    """
    return float(softplus(excess)) if rule == STE else max(excess + margin, 0.0)


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
) -> tuple[np.ndarray, int, float]:
    """Return the points after all answers, in their order, the number of steps and the sum of measured losses."""
    points, steps, losses = points.copy(), 0, 0.0
    for number in range(len(Q)):
        delta = schedule.py_func(kind, size, number + 1)
        for repeat in range(passes if number > 0 else 1):
            t = number if repeat == 0 else draw(seed, number, repeat, number)
            excess, gradient = _excess(points, Q[t])
            if repeat == 0 and number % EARLY_APART == 0:
                losses += loss_of(rule, excess, margin)
            gain = float(np.sum(gradient**2))
            weight = float(W[t]) if len(W) else 1.0
            length = min(delta * step_length(rule, excess, gain, weight, margin, most, soft), LONGEST)
            points -= length * gradient
            steps += length > 0
            points *= np.sqrt(1 - min(delta * shrink, MOST_SHRINK))
    return points, steps, losses


def _excess(points: np.ndarray, answer: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the squared distance of the near pair less that of the far pair, and its gradient by the points."""
    i, j, l, k = answer[0], answer[1], answer[0 if len(answer) == 3 else 2], answer[-1]
    near, far = points[i] - points[j], points[l] - points[k]
    gradient = np.zeros_like(points)
    for row, change in ((i, near), (j, -near), (l, -far), (k, far)):
        gradient[row] += 2 * change
    return float(near @ near - far @ far), gradient
