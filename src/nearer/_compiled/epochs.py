"""Compiled stochastic epochs over comparisons of points; `points_reference.py` has them in plain numpy.

Conventions as in `points.py`. Comparisons are walked in the order given: shuffle first (`shuffle`), because a random
index into a large array costs a cache miss per step. A mini-batch is two passes: differences of all its comparisons at
the same X into a small buffer, then the updates.
"""

from __future__ import annotations

import math

import numpy as np

from nearer._compiled.decorators import exact_loop, inline, loop
from nearer._compiled.draws import mixed
from nearer._compiled.points import _distances, _losses
from nearer._compiled.prefetch import AHEAD, WORTHWHILE, prefetch_row


@exact_loop
def shuffle(Q, W, C, seed):
    """Shuffle the rows of Q, and of W and C where they are not empty, alike and in place."""
    state = np.uint64(seed)
    for t in range(Q.shape[0] - 1, 0, -1):
        # splitmix64: a few operations per draw, and the same numbers on every machine
        state += np.uint64(0x9E3779B97F4A7C15)
        other = mixed(state, t + 1)
        for c in range(Q.shape[1]):
            Q[t, c], Q[other, c] = Q[other, c], Q[t, c]
        if W.shape[0] > 0:
            W[t], W[other] = W[other], W[t]
        if C.shape[0] > 0:
            C[t, 0], C[other, 0] = C[other, 0], C[t, 0]
            C[t, 1], C[other, 1] = C[other, 1], C[t, 1]


@inline
def _apply(X, Q, t, D, r, scale):
    """Move the points of comparison t by -scale times the differences in row r of the buffer."""
    p = X.shape[1]
    if Q.shape[1] == 3:
        i, j, k = Q[t, 0], Q[t, 1], Q[t, 2]
        for c in range(p):
            u = scale * D[r, c]
            v = scale * D[r, p + c]
            X[i, c] -= u + v
            X[j, c] += u
            X[k, c] += v
    else:
        for pair in range(2):
            i, j = Q[t, 2 * pair], Q[t, 2 * pair + 1]
            for c in range(p):
                u = scale * D[r, pair * p + c]
                X[i, c] -= u
                X[j, c] += u


@loop
def sgd(code, parameters, X, Q, W, steps, batch_size, log_kept):
    """Walk over Q once: step s is X <- (1 - shrink_s) X - steps[s] * mean gradient of its batch.

    `log_kept` holds 0 and the running sums of log(1 - shrink_s), or is empty if nothing shrinks; a row is shrunk when
    it is next needed, as in `svrg`. Return the sum of the losses met.
    """
    p = X.shape[1]
    columns = Q.shape[1]
    third = 0 if columns == 3 else 2
    shrinks = log_kept.shape[0] > 0
    near = np.empty(batch_size, X.dtype)
    far = np.empty(batch_size, X.dtype)
    values = np.empty(batch_size)
    D = np.empty((batch_size, 2 * p), X.dtype)
    done = np.zeros(X.shape[0] if shrinks else 0, np.int64)
    total = 0.0
    for s in range(steps.shape[0]):
        start = s * batch_size
        stop = min(start + batch_size, Q.shape[0])
        if shrinks:
            _shrink_rows(X, Q, start, stop, log_kept, done, s)
        _distances(X, Q, start, stop, near, far)
        total += _losses(near, far, values, W, start, stop, code, parameters)
        for t in range(start, stop):
            i, j, l, k = Q[t, 0], Q[t, 1], Q[t, third], Q[t, columns - 1]
            a = near[t - start]
            b = far[t - start]
            for c in range(p):
                D[t - start, c] = a * (X[i, c] - X[j, c])
                D[t - start, p + c] = b * (X[l, c] - X[k, c])
        if shrinks:  # the step's own shrinking applies to X as it was, not as the batch leaves it
            _shrink_rows(X, Q, start, stop, log_kept, done, s + 1)
        scale = X.dtype.type(2 * steps[s] / (stop - start))
        for t in range(start, stop):
            _apply(X, Q, t, D, t - start, scale)
    if shrinks:
        for row in range(X.shape[0]):
            X[row] *= X.dtype.type(math.exp(log_kept[steps.shape[0]] - log_kept[done[row]]))
    return total


@inline
def _shrink_rows(X, Q, start, stop, log_kept, done, upto):
    """Bring the rows of comparisons start:stop to the shrinking of the first `upto` steps."""
    for t in range(start, stop):
        for c in range(Q.shape[1]):
            row = Q[t, c]
            if done[row] < upto:
                kept = X.dtype.type(math.exp(log_kept[upto] - log_kept[done[row]]))
                for d in range(X.shape[1]):
                    X[row, d] *= kept
                done[row] = upto


@inline
def _catch_up(X, G, row, missed, step, shrink):
    """Apply the dense part x <- (1 - shrink) x - step g, `missed` times at once."""
    if shrink == 0:
        factor = X.dtype.type(missed * step)
        for c in range(X.shape[1]):
            X[row, c] -= factor * G[row, c]
    else:
        kept = math.exp(missed * math.log1p(-shrink))
        keep = X.dtype.type(kept)
        factor = X.dtype.type(step * (1 - kept) / shrink)
        for c in range(X.shape[1]):
            X[row, c] = keep * X[row, c] - factor * G[row, c]


@loop
def svrg(code, parameters, X, S, G, Q, W, C, step, batch_size, shrink):
    """Run one SVRG epoch from X = S: for each batch, X -= step * (mean over it of grad(X) - grad(S), + G) + shrink * X.

    G is the loss's full gradient at the snapshot S and C the slopes there. The dense term touches all n rows at every
    step; it is applied to a row only when that row is next needed, and to all rows at the end: the same numbers at
    O(p) per step instead of O(n p). Return the sum of the losses met.
    """
    n, p = X.shape
    columns = Q.shape[1]
    third = 0 if columns == 3 else 2
    near = np.empty(batch_size, X.dtype)
    far = np.empty(batch_size, X.dtype)
    values = np.empty(batch_size)
    D = np.empty((batch_size, 2 * p), X.dtype)
    done = np.zeros(n, np.int32)  # dense steps already applied to each row
    asks_ahead = 3 * X.size * X.itemsize > WORTHWHILE
    total = 0.0
    n_steps = (Q.shape[0] + batch_size - 1) // batch_size
    for s in range(n_steps):
        start = s * batch_size
        stop = min(start + batch_size, Q.shape[0])
        for t in range(start, stop):
            if asks_ahead and t + AHEAD < Q.shape[0]:
                for c in range(columns):
                    row = Q[t + AHEAD, c]
                    prefetch_row(X, row)
                    prefetch_row(S, row)
                    prefetch_row(G, row)
            for c in range(columns):
                row = Q[t, c]
                if done[row] < s:
                    _catch_up(X, G, row, s - done[row], step, shrink)
                    done[row] = s
        _distances(X, Q, start, stop, near, far)
        total += _losses(near, far, values, W, start, stop, code, parameters)
        for t in range(start, stop):
            i, j, l, k = Q[t, 0], Q[t, 1], Q[t, third], Q[t, columns - 1]
            a = near[t - start]
            b = far[t - start]
            a0 = C[t, 0]
            b0 = C[t, 1]
            for c in range(p):
                D[t - start, c] = a * (X[i, c] - X[j, c]) - a0 * (S[i, c] - S[j, c])
                D[t - start, p + c] = b * (X[l, c] - X[k, c]) - b0 * (S[l, c] - S[k, c])
        scale = X.dtype.type(2 * step / (stop - start))
        for t in range(start, stop):
            if shrink != 0:  # the dense step comes first: it shrinks X as it was, not as the batch leaves it
                for c in range(columns):
                    row = Q[t, c]
                    if done[row] == s:
                        _catch_up(X, G, row, 1, step, shrink)
                        done[row] = s + 1
            _apply(X, Q, t, D, t - start, scale)
    for row in range(n):
        if done[row] < n_steps:
            _catch_up(X, G, row, n_steps - done[row], step, shrink)
    return total
