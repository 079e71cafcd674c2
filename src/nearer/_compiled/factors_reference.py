"""The updates of `factors.py` in plain numpy, with the gradient written out and nothing scaled lazily."""

from __future__ import annotations

import numpy as np

from nearer._compiled.factors import EARLY_APART, LONGEST, MOST_SHRINK, draw, loss_of, schedule, step_length


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
        delta = schedule(kind, size, number + 1)
        for repeat in range(passes if number > 0 else 1):
            t = number if repeat == 0 else int(draw(np.uint64(seed), number, repeat, number))
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
