"""Scalar twins of the losses for compiled loops, chosen by an integer code.

An integer code is the one way to choose a loss that numba's on-disk cache survives in a new process; a function
argument, a closure or a jitclass compiles anew each time. To make a loss compiled: write its twin here, add a branch
to `evaluate` and a line to `CODES`.
"""

from __future__ import annotations

import math

from numba import njit

from nearer._compiled.elementary import exp_of_negative, log1p_of_share
from nearer.losses import CKL, GNMDS, SOE, STE, TSTE, Loss

CODES: dict[type[Loss], int] = {GNMDS: 0, CKL: 1, STE: 2, TSTE: 3, SOE: 4}

_inline = njit(inline="always", fastmath={"nsz", "arcp", "contract", "afn"}, error_model="numpy")


@_inline
def _logistic(z):
    """Softplus of z and its derivative, without overflow; a NaN stays one."""
    e = exp_of_negative(-abs(z))
    share = 1 / (1 + e)
    return 0.5 * (z + abs(z)) + log1p_of_share(e), share if z > 0 else e * share


@_inline
def _tste(near, far, alpha):
    power = 0.5 * (alpha + 1)
    value, against = _logistic(power * math.log((alpha + near) / (alpha + far)))
    return value, against * power / (alpha + near), -against * power / (alpha + far)


@_inline
def _ckl(near, far, mu):
    a = near + mu
    b = far + mu
    return math.log1p(a / b), 1 / (a + b), -(a / (a + b)) / b


@_inline
def _soe(near, far, margin):
    root_near = math.sqrt(near)
    root_far = math.sqrt(far)
    excess = root_near - root_far + margin
    if excess <= 0:  # a NaN is not, and goes on to be seen
        return 0.0, 0.0, 0.0
    # the floor of `nearer.losses.soe`: the slope must stay finite in float32 too
    return excess * excess, excess / max(root_near, 1e-19), -excess / max(root_far, 1e-19)


@_inline
def evaluate(code, parameters, near, far):
    """Value and the two derivatives of the loss with this code, in float64."""
    if code == 2:
        value, against = _logistic(near - far)
        return value, against, -against
    if code == 0:
        excess = near - far + parameters[0]
        if excess <= 0:  # a NaN is not, and goes on to be seen
            return 0.0, 0.0, 0.0
        return excess, 1.0, -1.0
    if code == 1:
        return _ckl(near, far, parameters[0])
    if code == 3:
        return _tste(near, far, parameters[0])
    return _soe(near, far, parameters[0])
