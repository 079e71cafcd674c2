"""Compiled loops over comparisons of points; `reference.py` says the same in plain numpy.

Conventions: X (n, p) points; Q (q, 3) triplets or (q, 4) quadruplets, int32; W (q,) weights, or empty for all ones;
C (q, 2) derivatives of each comparison's loss by its two squared distances, times its weight. All sums are plain sums:
the caller divides. Blocks of comparisons go through three short loops (distances, loss, scatter), because loops
that do one thing each are the ones that the compiler vectorises.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from nearer._compiled.rows import add_triplet
from nearer._compiled.scalar_losses import evaluate

BLOCK = 64
# all of fast math but "no NaN, no infinity": divergence must stay visible
_FAST = {"reassoc", "nsz", "arcp", "contract", "afn"}
_kernel = njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
_inline = njit(inline="always", fastmath=_FAST, error_model="numpy")


@_inline
def _squared_distance(X, i, j):
    total = X.dtype.type(0)
    for c in range(X.shape[1]):
        difference = X[i, c] - X[j, c]
        total += difference * difference
    return total


@_inline
def _distances(X, Q, start, stop, near, far):
    """Squared distances of the two pairs of each comparison in start:stop."""
    third = 0 if Q.shape[1] == 3 else 2
    last = Q.shape[1] - 1
    for t in range(start, stop):
        near[t - start] = _squared_distance(X, Q[t, 0], Q[t, 1])
        far[t - start] = _squared_distance(X, Q[t, third], Q[t, last])


@_kernel
def _losses(near, far, values, W, start, stop, code, parameters):
    """Turn distances into the weighted derivatives by them, in place; gives the sum of weighted losses."""
    count = stop - start
    # a loop for each loss: with the code a constant the branches inside `evaluate` go, and vector code remains
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
    else:  # a loss that has no loop of its own yet: right, and slower
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


@_inline
def _evaluate_all(near, far, values, count, code, parameters):
    for t in range(count):
        value, by_near, by_far = evaluate(code, parameters, float(near[t]), float(far[t]))
        values[t] = value
        near[t] = by_near
        far[t] = by_far


@_inline
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


@_inline
def _scatter_pair(X, i, j, slope, G):
    for c in range(X.shape[1]):
        u = 2 * slope * (X[i, c] - X[j, c])
        G[i, c] += u
        G[j, c] -= u


@_kernel
def value(X, Q, W, code, parameters):
    """Sum of weighted losses."""
    near = np.empty(BLOCK, X.dtype)
    far = np.empty(BLOCK, X.dtype)
    values = np.empty(BLOCK)
    total = 0.0
    for start in range(0, Q.shape[0], BLOCK):
        stop = min(start + BLOCK, Q.shape[0])
        _distances(X, Q, start, stop, near, far)
        total += _losses(near, far, values, W, start, stop, code, parameters)
    return total


@_kernel
def gradient(X, Q, W, code, parameters, G, C):
    """Sum of weighted losses; adds the gradient to G and, where C is not empty, stores the slopes there."""
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
