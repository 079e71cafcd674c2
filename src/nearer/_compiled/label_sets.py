"""Compiled losses of rows against all labels; in numpy in `label_sets_reference.py`.

Conventions: affinities (n, m) hold every row with every label, and are overwritten by the derivatives of the loss. The
labels of row i are labels[starts[i]:starts[i + 1]]. Each row counts by its share.
"""

from __future__ import annotations

import math

import numpy as np

from nearer._compiled.decorators import loop, merged
from nearer._compiled.elementary import exp_of_negative
from nearer._compiled.margin_losses import LOGISTIC, SMOOTH_HINGE, SQUARE, loss_and_descent

#: labels of a row from which searching among them is quicker than trying all pairs, which is vector code
SEARCHED = 48
#: affinities of a row that differ by less have exponentials whose quotients are numbers
REACH = 600.0
#: factors between 1 and 2 whose product is a number
FACTORS = 512


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
def _ranked_by_search(labels, share, affinities):
    """Return the ranking loss of one row with the smooth hinge, in O(m log k) for k labels of m; replace as above.

    The loss of an affinity t of another label and s of the row's own is 0 for `t + 2 <= s`, linear for `t >= s` and a
    parabola in between. With the own affinities sorted, the linear ones are the first `a`, and those on the parabola
    come next, up to `b`. Sums of the own affinities and of their squares up to there give the loss of t with all of
    them. The slope of an own affinity follows from how many t have their `a` or `b` beyond it, and from their sum.
    """
    m, k = len(affinities), len(labels)
    bad = 0.0 * affinities.sum()  # comparisons would hide NaN
    middle = affinities[labels].mean()
    order = np.argsort(affinities[labels])
    s = affinities[labels[order]] - middle  # small numbers, so that sums of squares keep their digits
    sums, squares = np.zeros(k + 1), np.zeros(k + 1)
    for j in range(k):
        sums[j + 1] = sums[j] + s[j]
        squares[j + 1] = squares[j] + s[j] * s[j]
    # the other labels that are not 2 below all own ones, and their a and b by binary search, for all of them at a time
    for x in labels:
        affinities[x] = -np.inf
    near, count = np.empty(m, np.int64), 0
    for y in range(m):
        near[count] = y
        count += affinities[y] - middle + 2.0 > s[0]
    near = near[:count]
    t = affinities[near] - middle
    a, b = np.zeros(count, np.int64), np.zeros(count, np.int64)
    width = 1
    while 2 * width <= k:
        width *= 2
    padded = np.full(2 * width, np.inf)
    padded[:k] = s
    while width > 0:
        for e in range(count):
            a[e] += width if padded[a[e] + width - 1] <= t[e] else 0
            b[e] += width if padded[b[e] + width - 1] < t[e] + 2.0 else 0
        width //= 2
    affinities[:] = 0.0
    row = bad
    ends, sums_of_ends = np.zeros((2, k + 1)), np.zeros((2, k + 1))
    for e in range(count):
        edge, curved = t[e] + 2.0, b[e] - a[e]
        part = sums[b[e]] - sums[a[e]]
        row += a[e] * (1.0 + t[e]) - sums[a[e]]
        row += 0.25 * ((curved * edge - 2.0 * part) * edge + squares[b[e]] - squares[a[e]])
        affinities[near[e]] = share * (a[e] + 0.5 * (curved * edge - part))
        ends[0, a[e]] += 1.0
        ends[1, b[e]] += 1.0
        sums_of_ends[0, a[e]] += edge
        sums_of_ends[1, b[e]] += edge
    linear, curved, edges = float(count), 0.0, 0.0
    for j in range(k):
        linear -= ends[0, j]
        curved += ends[0, j] - ends[1, j]
        edges += sums_of_ends[0, j] - sums_of_ends[1, j]
        affinities[labels[order[j]]] = -share * (linear + 0.5 * (edges - curved * s[j]))
    return share * row


@loop
def _factors(others, up, down, slopes, here, rise, fall):
    """Return the product of all 1 + e and the sums of `max(t - s, 0)` and of slopes, which are added to `slopes`."""
    product, above, pulled = 1.0, 0.0, 0.0
    for y in range(len(others)):
        forward = up[y] * rise
        e = forward if forward < 1.0 else down[y] * fall
        part = 1.0 / (1.0 + e)
        descent = e * part if forward < 1.0 else part
        product *= 1.0 + e
        excess = others[y] - here
        above += 0.5 * (excess + abs(excess))
        slopes[y] += descent
        pulled += descent
    return product, above, pulled


@loop
def _ranked_by_exponentials(labels, share, affinities, top):
    """Return the ranking loss of one row with the logistic loss; replace as above. The largest affinity is `top`.

    The loss of an affinity t of another label and s of the row's own is `log(1 + exp(t - s))`. The exponential is a
    product of one number for t and one for s. With e = exp(-|t - s|), the loss is `max(t - s, 0) + log(1 + e)`, and the
    logarithm of a product of many factors is all that is needed. So a pair costs one division and no function.
    """
    m = len(affinities)
    others, up, down, slopes = np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    for y in range(m):
        others[y] = affinities[y]
        up[y] = exp_of_negative(affinities[y] - top)
        down[y] = 1.0 / up[y]
        slopes[y] = 0.0
    for x in labels:
        others[x], up[x], down[x] = -1e300, 0.0, 1e300
    row = 0.0
    for x in labels:
        here, pulled = affinities[x], 0.0
        fall = exp_of_negative(here - top)
        rise = 1.0 / fall
        for start in range(0, m, FACTORS):
            stop = min(start + FACTORS, m)
            product, above, part_pulled = _factors(
                others[start:stop], up[start:stop], down[start:stop], slopes[start:stop], here, rise, fall
            )
            row += above + math.log(product)
            pulled += part_pulled
        slopes[x] -= pulled
    for y in range(m):
        affinities[y] = share * slopes[y]
    return share * row


@loop
def ranking(code, starts, labels, shares, affinities):
    """Return the sum over rows of the losses of all pairs of a label of the row and another; replace as above.

    The smooth hinge of a row with many labels needs no pairs: see `_ranked_by_search`. The logistic loss needs no
    exponential per pair unless affinities are far apart.
    """
    n, m = affinities.shape
    own = np.zeros(m)
    slopes = np.empty(m)
    total = 0.0
    for i in range(n):
        if code == SMOOTH_HINGE and starts[i + 1] - starts[i] >= SEARCHED:
            total += _ranked_by_search(labels[starts[i] : starts[i + 1]], shares[i], affinities[i])
            continue
        if code == LOGISTIC:
            top, bottom = affinities[i].max(), affinities[i].min()
            if top - bottom < REACH:  # false for NaN, which stays visible below
                mine = labels[starts[i] : starts[i + 1]]
                total += _ranked_by_exponentials(mine, shares[i], affinities[i], top)
                continue
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


@merged
def _second(code, margin):
    """Return the second derivative of the loss of a margin."""
    e = exp_of_negative(-abs(margin))
    logistic = e / ((1.0 + e) * (1.0 + e))
    hinge = 0.5 if abs(1.0 - margin) <= 1.0 else 0.0
    square = 2.0 if code == SQUARE or margin <= 1.0 else 0.0
    return logistic if code == LOGISTIC else (hinge if code == SMOOTH_HINGE else square)


@loop
def _second_factors(up, changes, bent, rise, change):
    """Return the sum of second derivatives times differences of changes, which are added to `bent`.

    With e = exp(t - s), the second derivative of `log(1 + e)` is `e / (1 + e)^2`.
    """
    pulled = 0.0
    for y in range(len(up)):
        e = up[y] * rise
        part = 1.0 / (1.0 + e)
        second = e * part * part * (changes[y] - change)
        bent[y] += second
        pulled += second
    return pulled


@loop
def _changed_by_exponentials(labels, share, affinities, changes, top):
    """Replace the changes of one row by those of its slopes; exponentials are products, as in the loss above."""
    m = len(affinities)
    up, bent = np.empty(m), np.zeros(m)
    for y in range(m):
        up[y] = exp_of_negative(affinities[y] - top)
    for x in labels:
        up[x] = 0.0
    for x in labels:
        rise = 1.0 / exp_of_negative(affinities[x] - top)
        bent[x] -= _second_factors(up, changes, bent, rise, changes[x])
    for y in range(m):
        changes[y] = share * bent[y]


@loop
def ranking_products(code, starts, labels, shares, affinities, changes):
    """Replace changes of affinities by those of the slopes of the ranking loss: products of its second derivatives."""
    n, m = affinities.shape
    other = np.ones(m)
    bent = np.empty(m)
    for i in range(n):
        mine = labels[starts[i] : starts[i + 1]]
        if code == LOGISTIC:
            top, bottom = affinities[i].max(), affinities[i].min()
            if top - bottom < REACH:
                _changed_by_exponentials(mine, shares[i], affinities[i], changes[i], top)
                continue
        other[mine] = 0.0
        bent[:] = 0.0
        for x in mine:
            pulled = 0.0
            for y in range(m):
                second = other[y] * _second(code, affinities[i, x] - affinities[i, y])
                second *= changes[i, y] - changes[i, x]
                bent[y] += second
                pulled += second
            bent[x] -= pulled
        for y in range(m):
            changes[i, y] = shares[i] * bent[y]
        other[mine] = 1.0


@loop
def ranking_curvatures(code, starts, labels, shares, affinities):
    """Replace affinities by the second derivatives of the ranking loss by each of them, times the share of the row."""
    n, m = affinities.shape
    other = np.ones(m)
    bent = np.empty(m)
    for i in range(n):
        for t in range(starts[i], starts[i + 1]):
            other[labels[t]] = 0.0
        bent[:] = 0.0
        for t in range(starts[i], starts[i + 1]):
            x = labels[t]
            here, sum_of_pairs = affinities[i, x], 0.0
            for y in range(m):
                second = other[y] * _second(code, here - affinities[i, y])
                bent[y] += second
                sum_of_pairs += second
            bent[x] += sum_of_pairs
        for y in range(m):
            affinities[i, y] = shares[i] * bent[y]
        for t in range(starts[i], starts[i + 1]):
            other[labels[t]] = 1.0
