"""Compiled loops over comparisons of points; `points_reference.py` has them in plain numpy.

Conventions: X (n, p) points; Q (q, 3) triplets or (q, 4) quadruplets, int32; W (q,) weights, or empty for all ones;
C (q, 2) derivatives of each comparison's loss by its two squared distances, times its weight. All sums are plain sums:
the caller divides. Blocks of comparisons go through three short loops (distances, loss, scatter), because loops
that do one thing each are those that the compiler vectorises.
"""

from __future__ import annotations

import numpy as np

from nearer._compiled.decorators import inline, loop
from nearer._compiled.scalar_losses import evaluate
from nearer._compiled.triplet_rows import add_triplet

BLOCK = 64


@inline
def _squared_distance(X, i, j):
    total = X.dtype.type(0)
    for c in range(X.shape[1]):
        difference = X[i, c] - X[j, c]
        total += difference * difference
    return total


@inline
def _distances(X, Q, start, stop, near, far):
    """Store the squared distances of the two pairs of each comparison in start:stop."""
    third = 0 if Q.shape[1] == 3 else 2
    last = Q.shape[1] - 1
    for t in range(start, stop):
        near[t - start] = _squared_distance(X, Q[t, 0], Q[t, 1])
        far[t - start] = _squared_distance(X, Q[t, third], Q[t, last])


@loop
def distances(X, Q, near, far):
    """Store the squared distances of the two pairs of every comparison."""
    _distances(X, Q, 0, Q.shape[0], near, far)


@loop
def _losses(near, far, values, W, start, stop, code, parameters):
    """Turn distances into the weighted derivatives by them, in place; return the sum of weighted losses."""
    count = stop - start
    # one loop per loss: with a constant code the branches inside `evaluate` disappear, and vector code remains
    if code == 0:
        _evaluate_all(near, far, values, count, 0, parameters)
    elif code == 1:
        _evaluate_all(near, far, values, count, 1, parameters)
    elif code == 2:
        _evaluate_all(near, far, values, count, 2, parameters)
    elif code == 3:
        _evaluate_all(near, far, values, count, 3, parameters)
    elif code == 4:
        _evaluate_all(near, far, values, count, 4, parameters)
    elif code == 5:
        _evaluate_all(near, far, values, count, 5, parameters)
    else:  # a loss without its own loop yet: right, and slower
        _evaluate_all(near, far, values, count, code, parameters)
    if W.shape[0] > 0:
        for t in range(count):
            weight = W[start + t]
            values[t] *= weight
            near[t] *= weight
            far[t] *= weight
    total = 0.0
    for t in range(count):
        total += values[t]
    return total


@inline
def _evaluate_all(near, far, values, count, code, parameters):
    for t in range(count):
        value, by_near, by_far = evaluate(code, parameters, float(near[t]), float(far[t]))
        values[t] = value
        near[t] = by_near
        far[t] = by_far


@inline
def _scatter(X, Q, start, stop, by_near, by_far, G):
    """Add each comparison's gradient to the rows it touches."""
    if Q.shape[1] == 3:  # row i takes part in both pairs
        for t in range(start, stop):
            a = 2 * by_near[t - start]
            b = 2 * by_far[t - start]
            add_triplet(X, G, Q[t, 0], Q[t, 1], Q[t, 2], a, b)
    else:
        for t in range(start, stop):
            _scatter_pair(X, Q[t, 0], Q[t, 1], by_near[t - start], G)
            _scatter_pair(X, Q[t, 2], Q[t, 3], by_far[t - start], G)


@inline
def _scatter_pair(X, i, j, slope, G):
    for c in range(X.shape[1]):
        u = 2 * slope * (X[i, c] - X[j, c])
        G[i, c] += u
        G[j, c] -= u


@loop
def value(code, parameters, X, Q, W):
    """Return the sum of weighted losses."""
    near = np.empty(BLOCK, X.dtype)
    far = np.empty(BLOCK, X.dtype)
    values = np.empty(BLOCK)
    total = 0.0
    for start in range(0, Q.shape[0], BLOCK):
        stop = min(start + BLOCK, Q.shape[0])
        _distances(X, Q, start, stop, near, far)
        total += _losses(near, far, values, W, start, stop, code, parameters)
    return total


@loop
def gradient(code, parameters, X, Q, W, G, C):
    """Return the sum of weighted losses; add the gradient to G and, unless C is empty, store the slopes there."""
    near = np.empty(BLOCK, X.dtype)
    far = np.empty(BLOCK, X.dtype)
    values = np.empty(BLOCK)
    total = 0.0
    for start in range(0, Q.shape[0], BLOCK):
        stop = min(start + BLOCK, Q.shape[0])
        _distances(X, Q, start, stop, near, far)
        total += _losses(near, far, values, W, start, stop, code, parameters)
        _scatter(X, Q, start, stop, near, far, G)
        if C.shape[0] > 0:
            for t in range(start, stop):
                C[t, 0] = near[t - start]
                C[t, 1] = far[t - start]
    return total


@loop
def gradients(code, parameters, X, Q, W, C, starts, parts, totals):
    """Store the gradient of comparisons starts[b]:starts[b + 1] in part b, and the sum of their losses in totals."""
    for b in range(parts.shape[0]):
        _clear(parts[b].reshape(-1))
        at = slice(starts[b], starts[b + 1])
        totals[b] = gradient(code, parameters, X, Q[at], W[at], parts[b], C[at])


@loop
def _clear(out):
    for c in range(out.shape[0]):
        out[c] = 0


@loop
def join(parts, count, shrink, X):
    """Leave in the first of the parts (blocks, n, p) their sum / count + 2 shrink X; return shrink |X|²."""
    total = parts[0].reshape(-1)
    for b in range(1, parts.shape[0]):  # a fixed order, whichever thread finished first
        _add(parts[b].reshape(-1), total)
    return _finish(X.reshape(-1), X.dtype.type(1 / count), X.dtype.type(2 * shrink), total) * shrink


@loop
def _add(x, out):
    for c in range(x.shape[0]):
        out[c] += x[c]


@loop
def _finish(x, scale, shrink, out):
    """Store scale * out + shrink * x; return |x|²."""
    squares = 0.0
    for c in range(x.shape[0]):
        out[c] = scale * out[c] + shrink * x[c]
        squares += np.float64(x[c]) * np.float64(x[c])
    return squares


@loop
def pair_distances(X, pairs, out):
    """Store the squared distance of every pair of rows of X; `pairs` (m, 2) int32, `out` (m,)."""
    for t in range(pairs.shape[0]):
        out[t] = _squared_distance(X, pairs[t, 0], pairs[t, 1])
