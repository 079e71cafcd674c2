"""Formulas and losses for single numbers, in compiled loops; `nearer.losses` has them for arrays.

Loops choose a loss by its integer code: this is the only choice that numba's cache on disk keeps for a new process. A
function argument, a closure or a jitclass is compiled again each time. To compile a loss, write its scalar version
here, and add a branch to `evaluate` and a line to `CODES`.
"""

from __future__ import annotations

import math

from nearer._compiled.decorators import merged
from nearer._compiled.elementary import exp_of_negative, log1p_of_share
from nearer.losses import CKL, GNMDS, SOE, STE, TSTE, Loss, RobustSOE

CODES: dict[type[Loss], int] = {GNMDS: 0, CKL: 1, STE: 2, TSTE: 3, SOE: 4, RobustSOE: 5}


@merged
def logistic(z):
    """Return `softplus(z)`, its derivative s, and |1 - 2 s| without cancellation; nothing overflows, NaN stays NaN."""
    e = exp_of_negative(-abs(z))
    slope = (1.0 if z > 0 else e) / (1 + e)
    return 0.5 * (z + abs(z)) + log1p_of_share(e), slope, (1 - e) / (1 + e)


@merged
def sigmoid(z):
    """Return the derivative s alone, for single steps: there the exponential of the C library is quicker."""
    e = math.exp(-abs(z))
    share = 1 / (1 + e)
    return share if z > 0 else e * share


@merged
def hinge(excess):
    """Return `max(0, excess)` and its derivative."""
    if excess <= 0:  # NaN compares false and stays visible
        return 0.0, 0.0
    return excess, 1.0


@merged
def _tste(near, far, alpha):
    power = 0.5 * (alpha + 1)
    value, against, _ = logistic(power * math.log((alpha + near) / (alpha + far)))
    return value, against * power / (alpha + near), -against * power / (alpha + far)


@merged
def _ckl(near, far, mu):
    a = near + mu
    b = far + mu
    return math.log1p(a / b), 1 / (a + b), -(a / (a + b)) / b


@merged
def _soe(near, far, margin):
    root_near = math.sqrt(near)
    root_far = math.sqrt(far)
    excess, _ = hinge(root_near - root_far + margin)
    # the lower bound of `nearer.losses.SOE`: derivatives must stay finite in float32 too
    return excess * excess, excess / max(root_near, 1e-19), -excess / max(root_far, 1e-19)


@merged
def _robust_soe(near, far, margin, width):
    _, by_near, by_far = _soe(near, far, margin)
    ratio = hinge(math.sqrt(near) - math.sqrt(far) + margin)[0] / width
    square = ratio * ratio
    value = math.log1p(square) if ratio <= 1 else 2 * math.log(ratio) + math.log1p(1 / square)
    return width * width * value, by_near / (1 + square), by_far / (1 + square)


@merged
def evaluate(code, parameters, near, far):
    """Return the value and both derivatives of the loss with this code, in float64."""
    if code == 2:
        value, against, _ = logistic(near - far)
        return value, against, -against
    if code == 0:
        value, slope = hinge(near - far + parameters[0])
        return value, slope, -slope
    if code == 1:
        return _ckl(near, far, parameters[0])
    if code == 3:
        return _tste(near, far, parameters[0])
    if code == 5:
        return _robust_soe(near, far, parameters[0], parameters[1])
    return _soe(near, far, parameters[0])
