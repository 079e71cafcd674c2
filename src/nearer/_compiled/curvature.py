"""One iteration of L-BFGS between two gradients; `curvature_reference.py` has it in plain numpy.

Conventions: S and Y (m + 1, N) hold steps and changes of the gradient, one pair per row, and one spare row; SY and YY
(m + 1, m + 1), float64, hold `S @ Y.T` and `Y @ Y.T`; `order` (m + 1,), int64, lists the rows, the oldest pair first;
behind the pairs in use come the free rows. Vectors are read in pieces that stay in the cache, so that a piece is read
once for all products with it. Sums over pieces are float64. Loops of one statement over arrays of their own are those
that the compiler vectorises.
"""

from __future__ import annotations

import math

import numpy as np

from nearer._compiled.decorators import inline, loop

PIECE = 512


@loop
def _dot(x, y):
    """Return the inner product of two pieces, summed in their precision."""
    total = x.dtype.type(0)
    for c in range(x.shape[0]):
        total += x[c] * y[c]
    return np.float64(total)


@loop
def inner(x, y):
    """Return the inner product of two vectors."""
    total = 0.0
    for start in range(0, x.shape[0], PIECE):
        total += _dot(x[start : start + PIECE], y[start : start + PIECE])
    return total


@loop
def _scaled(a, x, out):
    for c in range(x.shape[0]):
        out[c] = a * x[c]


@loop
def _minus(x, y, out):
    for c in range(x.shape[0]):
        out[c] = x[c] - y[c]


@loop
def _add_two(a, x, b, y, out):
    """Add `a * x + b * y`."""
    for c in range(x.shape[0]):
        out[c] += a * x[c] + b * y[c]


@loop
def moved(x, direction, step, out):
    """Store `x + step * direction`."""
    step = x.dtype.type(step)
    for c in range(x.shape[0]):
        out[c] = x[c] + step * direction[c]


@loop
def add(x, gradient, new_x, new_gradient, S, Y, SY, YY, order, count, eps):
    """Keep the pair of a step in place of the oldest, unless its curvature is lost in rounding.

    Return the number of pairs and the length of the step.
    """
    row = order[count]
    s, y = S[row], Y[row]
    step_step = step_change = change_change = 0.0
    for start in range(0, x.shape[0], PIECE):
        stop = min(start + PIECE, x.shape[0])
        _minus(new_x[start:stop], x[start:stop], s[start:stop])
        _minus(new_gradient[start:stop], gradient[start:stop], y[start:stop])
        step_step += _dot(s[start:stop], s[start:stop])
        step_change += _dot(s[start:stop], y[start:stop])
        change_change += _dot(y[start:stop], y[start:stop])
    length = math.sqrt(step_step)
    if not step_change > eps * math.sqrt(change_change * step_step):
        return count, length
    if count == order.shape[0] - 1:  # the oldest row is the next spare one
        oldest = order[0]
        for k in range(count):
            order[k] = order[k + 1]
        order[count] = oldest
    else:
        count += 1
    for k in range(count):
        SY[order[k], row] = SY[row, order[k]] = YY[order[k], row] = 0.0
    for start in range(0, x.shape[0], PIECE):
        stop = min(start + PIECE, x.shape[0])
        for k in range(count - 1):
            other = order[k]
            SY[other, row] += _dot(S[other, start:stop], y[start:stop])
            SY[row, other] += _dot(s[start:stop], Y[other, start:stop])
            YY[other, row] += _dot(Y[other, start:stop], y[start:stop])
    for k in range(count - 1):
        YY[row, order[k]] = YY[order[k], row]
    SY[row, row], YY[row, row] = step_change, change_change
    return count, length


@loop
def direction(gradient, S, Y, SY, YY, order, count, out):
    """Store minus the product of the inverse curvature with the gradient; return the slope along it.

    This is the two-loop recursion, written over the inner products among the pairs.
    """
    size, kind = gradient.shape[0], gradient.dtype.type
    along, by_change = np.zeros(count), np.zeros(count)  # products of the steps and changes with the gradient
    for start in range(0, size, PIECE):
        stop = min(start + PIECE, size)
        for k in range(count):
            along[k] += _dot(S[order[k], start:stop], gradient[start:stop])
            by_change[k] += _dot(Y[order[k], start:stop], gradient[start:stop])
    scale, first, second = _coefficients(along, by_change, SY, YY, order, count)
    slope = 0.0
    for start in range(0, size, PIECE):
        stop = min(start + PIECE, size)
        piece = out[start:stop]
        _scaled(kind(-scale), gradient[start:stop], piece)
        for k in range(count):
            a, b = kind(scale * first[k]), kind(-second[k])
            _add_two(a, Y[order[k], start:stop], b, S[order[k], start:stop], piece)
        slope += _dot(gradient[start:stop], piece)
    return slope


@loop
def advance(x, gradient, new_x, new_gradient, S, Y, SY, YY, order, count, eps, out, trial):
    """Add the pair of a step; store the next direction, and the point at its end in `trial`.

    All between two gradients in one call: every return to Python waits for its lock if fits run in threads. Return the
    number of pairs, the length of the step and the slope along the direction.
    """
    count, length = add(x, gradient, new_x, new_gradient, S, Y, SY, YY, order, count, eps)
    slope = direction(new_gradient, S, Y, SY, YY, order, count, out)
    moved(new_x, out, 1.0, trial)
    return count, length, slope


@inline
def _coefficients(along, by_change, SY, YY, order, count):
    """Return the scale, and the coefficients of the changes and of the steps in the direction."""
    first, second = np.zeros(count), np.zeros(count)
    for k in range(count - 1, -1, -1):  # q = gradient - first @ changes
        row, total = order[k], along[k]
        for j in range(k + 1, count):
            total -= SY[row, order[j]] * first[j]
        first[k] = total / SY[row, row]
    scale = 1.0
    if count > 0:
        newest = order[count - 1]
        scale = SY[newest, newest] / YY[newest, newest]
    for k in range(count):  # r = scale * q + second @ steps
        row, total = order[k], by_change[k]
        for j in range(count):
            total -= YY[row, order[j]] * first[j]
        total *= scale
        for j in range(k):
            total += SY[order[j], row] * second[j]
        second[k] = first[k] - total / SY[row, row]
    return scale, first, second
