"""Scalar twins of the losses of a pair for compiled loops, chosen by an integer code (see `scalar_losses.py`).

A stochastic step on one pair is either explicit, `length` times the slope where the weights are, or proximal: the
slope is the one that the pair has after the step. A proximal step moves to the minimum of the loss of the pair plus
`|change of the weights|² / (2 length)`, so it never overshoots, however long the rows and the step are. For the
logistic loss, whose minimum has no formula, the lowest parabola above the loss stands for it: no overshooting either.
"""

from __future__ import annotations

from numba import njit

from nearer._compiled.elementary import exp_of_negative, log1p_of_share
from nearer.losses.margins import HingeLoss, LogisticLoss, MarginLoss, SquaredHingeLoss, SquareLoss

SQUARE, HINGE, SQUARED_HINGE, LOGISTIC = 0, 1, 2, 3
MARGIN_CODES: dict[type[MarginLoss], int] = {
    SquareLoss: SQUARE,
    HingeLoss: HINGE,
    SquaredHingeLoss: SQUARED_HINGE,
    LogisticLoss: LOGISTIC,
}

_inline = njit(inline="always", fastmath={"nsz", "arcp", "contract", "afn"}, error_model="numpy")


@_inline
def _logistic(margin, reach):
    """As `loss_and_pull`: the pull is that of the lowest parabola above the loss that touches it at the margin."""
    size = abs(margin)
    e = exp_of_negative(-size)
    share = 1.0 / (1.0 + e)
    value = 0.5 * (size - margin) + log1p_of_share(e)
    bend = (1.0 - e) * share / (2.0 * size) if size > 1e-3 else 0.25
    return value, (e * share if margin > 0 else share) / (1.0 + reach * bend)


@_inline
def loss_and_pull(code, margin, reach):
    """Loss of a pair at this margin, and minus its slope at the margin it has after a step.

    `reach` is by how much a slope of -1 raises the margin: the step's length times the squared distance of the two
    rows. Zero makes the step explicit.
    """
    if code == LOGISTIC:
        return _logistic(margin, reach)
    lacking = 1.0 - margin
    if code == HINGE:
        if lacking <= 0:  # a NaN is not, and goes on to be seen
            return 0.0, 0.0
        return lacking, lacking / reach if reach > lacking else 1.0
    if code == SQUARED_HINGE and lacking <= 0:
        return 0.0, 0.0
    return lacking * lacking, 2.0 * lacking / (1.0 + 2.0 * reach)


@njit(cache=True)
def loss_and_pull_of(code, margin, reach):
    """`loss_and_pull` as a function of its own, for tests and for single calls."""
    return loss_and_pull(code, margin, reach)
