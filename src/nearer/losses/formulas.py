"""The formulas that losses are made of, one home each, for numpy arrays and torch tensors alike.

`excess` is by how much an answer is violated: 1 minus the margin of two scores, or a difference of distances plus a
margin. Losses of comparisons and losses of margins both use these. `nearer._compiled.scalar_losses` has the same
formulas for compiled loops.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nearer._utils.namespaces import namespace

#: a numpy array or a torch tensor; no static type describes both
Array = Any


def softplus(z: Array) -> Array:
    """Return `log(1 + exp(z))` without overflow: the logistic loss of the margin `-z`.

    >>> softplus(np.array([-1000.0, 0.0, 3.0])).round(3)
    array([0.   , 0.693, 3.049])
    """
    xp = namespace(z)
    if xp is not np:  # one smooth function: torch differentiates the terms below wrongly at 0
        return -xp.nn.functional.logsigmoid(-z)
    return np.maximum(z, 0) + np.log1p(np.exp(-np.abs(z)))


def sigmoid(z: Array) -> Array:
    """Return `1 / (1 + exp(-z))` without overflow: the derivative of `softplus`.

    >>> sigmoid(np.array([-1000.0, 0.0, 1000.0]))
    array([0. , 0.5, 1. ])
    """
    xp = namespace(z)
    if xp is not np:
        return xp.sigmoid(z)
    e = np.exp(-np.abs(z))
    return np.where(z >= 0, 1, e) / (1 + e)


def sigmoid_slope(z: Array) -> Array:
    """Return the derivative of `sigmoid`, the second one of `softplus`, to full relative precision."""
    e = namespace(z).exp(-abs(z))
    return e / (1 + e) ** 2


def hinge(excess: Array) -> Array:
    """Return `max(0, excess)`; torch too takes the derivative at the kink to be 0."""
    xp = namespace(excess)
    return np.maximum(excess, 0) if xp is np else xp.relu(excess)


def hinge_slope(excess: Array) -> Array:
    """Return the derivative of `hinge`: 1 above 0, and 0 from there down, the kink included."""
    return namespace(excess).asarray(excess > 0, dtype=excess.dtype)


def rounded_hinge(excess: Array, width: float) -> Array:
    """Return the hinge with its corner rounded: a parabola where the excess is within `width / 2` of 0.

    >>> rounded_hinge(np.array([-1.0, 0.0, 1.0, 2.0]), 2.0)
    array([0.  , 0.25, 1.  , 2.  ])
    """
    inside = namespace(excess).clip(excess + width / 2, 0, width)
    return 0.5 * inside * (inside / width) + hinge(excess - width / 2)


def at_least(x: Array, bound: float) -> Array:
    """Return `max(x, bound)`."""
    xp = namespace(x)
    return np.maximum(x, bound) if xp is np else xp.clamp(x, min=bound)


def rounded_hinge_slope(excess: Array, width: float, centre: Array | float) -> Array:
    """Return the derivative of a hinge rounded over `width`: it rises from 0 to 1, and is `centre` at the kink."""
    return namespace(excess).clip(centre + excess / width, 0, 1)


def negative_entropy(p: Array) -> Array:
    """Return `p log p + (1 - p) log(1 - p)`, the convex conjugate of `softplus`; 0 at both ends."""
    xp = namespace(p)
    tiny = float(xp.finfo(p.dtype).tiny)  # 0 log 0 is 0
    other = 1 - p
    return p * xp.log(at_least(p, tiny)) + other * xp.log(at_least(other, tiny))
