"""Losses of a margin for compiled steps on pairs, made of the formulas in `scalar_losses.py`.

A stochastic step on one pair is either explicit, `length` times the slope at the current weights, or proximal: the
slope is the one that the pair has after the step. A proximal step minimises the loss of the pair plus
`|change of the weights|² / (2 length)`, so it never overshoots, however long the rows and the step are. For the
logistic loss this minimum has no formula; the lowest parabola above the loss replaces it and does not overshoot either.
"""

from __future__ import annotations

from numba import njit

from nearer._compiled.decorators import inline
from nearer._compiled.scalar_losses import hinge, logistic
from nearer.losses.margins import (
    HingeLoss,
    LogisticLoss,
    MarginLoss,
    SmoothHingeLoss,
    SquaredHingeLoss,
    SquareLoss,
)

SQUARE, HINGE, SQUARED_HINGE, LOGISTIC, SMOOTH_HINGE = 0, 1, 2, 3, 4
MARGIN_CODES: dict[type[MarginLoss], int] = {
    SquareLoss: SQUARE,
    HingeLoss: HINGE,
    SquaredHingeLoss: SQUARED_HINGE,
    LogisticLoss: LOGISTIC,
    SmoothHingeLoss: SMOOTH_HINGE,
}


@inline
def loss_and_descent(code, margin, reach):
    """Return the loss of a pair at this margin, and minus its slope at the margin it has after a step.

    `reach` is by how much a slope of -1 raises the margin: the step's length times the squared distance of the two
    rows. Zero makes the step explicit.
    """
    if code == LOGISTIC:
        value, against, tilt = logistic(-margin)
        size = abs(margin)
        # curvature of the lowest parabola above the loss that touches it at the margin
        curvature = tilt / (2.0 * size) if size > 1e-3 else 0.25
        return value, against / (1.0 + reach * curvature)
    excess = 1.0 - margin
    if code == SMOOTH_HINGE:  # of width 2
        above, falling = hinge(excess + 1.0)
        if falling == 0:
            return 0.0, 0.0
        slope = min(0.5 * above, 1.0)
        return slope * above - slope * slope, min(above / (2.0 + reach), 1.0)
    if code != SQUARE and hinge(excess)[1] == 0:  # early, because few pairs of a good model have a loss
        return 0.0, 0.0
    if code == HINGE:
        return excess, excess / reach if reach > excess else 1.0
    return excess * excess, 2.0 * excess / (1.0 + 2.0 * reach)


@njit(cache=True)
def loss_and_descent_of(code, margin, reach):
    """Call `loss_and_descent` for one margin, for tests."""
    return loss_and_descent(code, margin, reach)
