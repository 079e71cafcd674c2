"""Steps on pairs for a learned distance in plain numpy: the reference for the tests, and how a user's own loss runs.

The distance is |L (x - x')|² with L = unit * scale * Vᵀ, and the margin of a pair `sign * (threshold - distance)`, sign
+1 for rows that belong together. A step of length g goes along the margin's gradient,

    V <- (1 - g mu) V - 2 g descent sign (difference) (Vᵀ difference)ᵀ,      threshold <- threshold + g descent sign,

where `descent` is minus the loss's slope at the margin after the step, as if the margin were linear, so a step does not
overshoot. Nor does a distance that should shrink pass zero. `rule` and `held` are those of `pairwise_reference.py`;
`threshold` (2,) holds the latest one and the average.
"""

from __future__ import annotations

import numpy as np

from nearer._compiled.pairwise_reference import (
    COUNT,
    MU,
    POWER,
    PROXIMAL,
    Eager,
    Matrix,
    _row,
    descent,
    next_length,
)
from nearer.losses.margins import MarginLoss


def metric_steps(
    matrix: Matrix,
    rows: np.ndarray,
    others: np.ndarray,
    unit: float,
    loss: MarginLoss,
    rule: np.ndarray,
    v: np.ndarray,
    lag: np.ndarray,
    held: np.ndarray,
    threshold: np.ndarray,
) -> float:
    """Take one step per pair (rows[t], others[t]), of one label if t is even; return the sum of the losses met."""
    eager = Eager(v, lag, held)
    total = 0.0
    for t, (i, j) in enumerate(zip(rows, others, strict=True)):
        sign = 1.0 - 2.0 * (t % 2)
        difference = unit * (_row(matrix, i, len(v)) - _row(matrix, j, len(v)))
        z = difference @ eager.w
        distance, squared = float(z @ z), float(difference @ difference)
        margin = sign * (threshold[0] - distance)
        length = next_length(rule)
        total += float(loss.value(np.array([margin]))[0])
        slope = descent(loss, margin, length * (4 * distance * squared + 1) * rule[PROXIMAL])
        change = 2 * length * slope * sign
        if change * squared > 1:
            change = 1 / squared
        eager.w *= 1 - length * rule[MU]
        eager.w -= change * np.outer(difference, z)
        threshold[0] += length * slope * sign
        if rule[POWER] >= 0:
            eager.count(rule[POWER])
            share = (rule[POWER] + 1) / (held[COUNT] + rule[POWER])
            threshold[1] += share * (threshold[0] - threshold[1])
    eager.store()
    return total
