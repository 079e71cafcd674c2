"""Compiled losses of rows against all labels; in numpy in `label_sets_reference.py`.

Conventions: affinities (n, m) hold every row with every label, and are overwritten by the derivatives of the loss. The
labels of row i are labels[starts[i]:starts[i + 1]]. Each row counts by its share.
"""

from __future__ import annotations

import math

import numpy as np

from nearer._compiled.decorators import loop
from nearer._compiled.elementary import exp_of_negative
from nearer._compiled.margin_losses import loss_and_descent


@loop
def soft_max(code, starts, labels, shares, affinities):
    """Return the sum of both soft maxima over rows, times their shares; replace affinities by slopes."""
    n, m = affinities.shape
    sign = np.full(m, -1.0)
    values = np.empty(m)
    total = 0.0
    for i in range(n):
        for t in range(starts[i], starts[i + 1]):
            sign[labels[t]] = 1.0
        # losses of all labels, their derivatives by the affinities, and the largest loss on either side
        most_own, most_other = -1.0, -1.0
        for y in range(m):
            value, descent = loss_and_descent(code, sign[y] * affinities[i, y], 0.0)
            values[y] = value
            affinities[i, y] = -sign[y] * descent
            if sign[y] > 0:
                most_own = max(most_own, value)
            else:
                most_other = max(most_other, value)
        sum_own, sum_other = 0.0, 0.0
        for y in range(m):
            own = sign[y] > 0
            each = exp_of_negative(values[y] - (most_own if own else most_other))
            values[y] = each
            sum_own += each if own else 0.0
            sum_other += 0.0 if own else each
        by_own = shares[i] / sum_own if sum_own > 0 else 0.0
        by_other = shares[i] / sum_other if sum_other > 0 else 0.0
        for y in range(m):
            affinities[i, y] *= values[y] * (by_own if sign[y] > 0 else by_other)
        if sum_own > 0:
            total += shares[i] * (most_own + math.log(sum_own))
        if sum_other > 0:
            total += shares[i] * (most_other + math.log(sum_other))
        for t in range(starts[i], starts[i + 1]):
            sign[labels[t]] = -1.0
    return total


@loop
def ranking(code, starts, labels, shares, affinities):
    """Return the sum over rows of the losses of all pairs of a label of the row and another; replace as above."""
    n, m = affinities.shape
    own = np.zeros(m)
    slopes = np.empty(m)
    total = 0.0
    for i in range(n):
        for t in range(starts[i], starts[i + 1]):
            own[labels[t]] = 1.0
        slopes[:] = 0.0
        row = 0.0
        for t in range(starts[i], starts[i + 1]):
            x = labels[t]
            here, pulled = affinities[i, x], 0.0
            for y in range(m):
                value, descent = loss_and_descent(code, here - affinities[i, y], 0.0)
                other = 1.0 - own[y]
                row += other * value
                slopes[y] += other * descent
                pulled += other * descent
            slopes[x] -= pulled
        total += shares[i] * row
        for y in range(m):
            affinities[i, y] = shares[i] * slopes[y]
        for t in range(starts[i], starts[i + 1]):
            own[labels[t]] = 0.0
    return total
