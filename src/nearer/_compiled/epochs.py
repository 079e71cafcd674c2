"""Compiled stochastic epochs over comparisons of points; `points_reference.py` has them in plain numpy.

Conventions as in `points.py`. Comparisons are walked in the order given: shuffle first (`shuffle`), because a random
index into a large array costs a cache miss per step. A mini-batch is three passes: the differences of all its
comparisons at the same X into a small buffer, the losses, the updates. A batch of one has its own loop without calls
that pass arrays: one such call takes longer than a whole step in few dimensions.
"""

from __future__ import annotations

import math

import numpy as np

from nearer._compiled.decorators import exact_loop, inline, loop
from nearer._compiled.draws import mixed
from nearer._compiled.points import BLOCK, _losses
from nearer._compiled.prefetch import AHEAD, WORTHWHILE, prefetch_row
from nearer._compiled.row_steps import (
    corrected_move,
    difference,
    drifted_difference,
    ends,
    move,
    move_triplet,
)
from nearer._compiled.scalar_losses import evaluate
from nearer._compiled.vectors import pointer_to

#: the points are a factor times X; when it falls below this, it is multiplied out
SMALL = 1e-6


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


@loop
def sgd(code, parameters, X, Q, W, steps, batch_size, log_kept):
    """Walk over Q once: step s is X <- (1 - shrink_s) X - steps[s] * mean gradient of its batch.

    `log_kept` holds 0 and the running sums of log(1 - shrink_s), or is empty if nothing shrinks. Until the end the
    points are `kept` times X: a step shrinks all of them by changing this number. Return the sum of the losses met.
    """
    if batch_size > 1:
        return _sgd_batches(code, parameters, X, Q, W, steps, batch_size, log_kept)
    if X.shape[1] == 2:  # the usual map: with a constant the loops over columns disappear
        return _sgd_singly(code, parameters, X, Q, W, steps, log_kept, 2)
    return _sgd_singly(code, parameters, X, Q, W, steps, log_kept, X.shape[1])


@inline
def _sgd_singly(code, parameters, X, Q, W, steps, log_kept, p):
    near = np.empty(BLOCK, X.dtype)
    far = np.empty(BLOCK, X.dtype)
    values = np.empty(BLOCK)
    D = np.empty(2 * p, X.dtype)
    x, q, d = pointer_to(X), pointer_to(Q), pointer_to(D)
    one = X.dtype.type(1)
    shrinks = log_kept.shape[0] > 0
    kept = 1.0
    total = 0.0
    met = 0
    for s in range(steps.shape[0]):
        i, j, l, k = ends(q, s, Q.shape[1], p)
        to_near = difference(p, x, x, i, j, d, 0, one, one)
        to_far = difference(p, x, x, l, k, d, p, one, one)
        if shrinks:
            to_near *= kept * kept
            to_far *= kept * kept
        _, by_near, by_far = evaluate(code, parameters, to_near, to_far)
        scale = 2 * steps[s]
        if W.shape[0] > 0:
            scale *= W[s]
        if shrinks:
            keep = math.exp(log_kept[s + 1] - log_kept[s])
            kept *= keep
            scale /= keep
        a, b = X.dtype.type(scale * by_near), X.dtype.type(scale * by_far)
        if Q.shape[1] == 3:
            move_triplet(p, x, k, i, j, d, p, a, b)
        else:
            move(p, x, x, i, j, d, 0, a, one)
            move(p, x, x, l, k, d, p, b, one)
        if kept < SMALL:
            _rescale(X, kept)
            kept = 1.0
        # the step does not need the loss itself: the losses of many steps in one loop are vector code
        near[met] = to_near
        far[met] = to_far
        met += 1
        if met == BLOCK or s + 1 == steps.shape[0]:
            total += _losses(near, far, values, W, s + 1 - met, s + 1, code, parameters)
            met = 0
    _rescale(X, kept)
    D[0] = 0  # numba frees an array after its last use, and does not see the uses of d
    return total


@inline
def _sgd_batches(code, parameters, X, Q, W, steps, batch_size, log_kept):
    p = X.shape[1]
    near = np.empty(batch_size, X.dtype)
    far = np.empty(batch_size, X.dtype)
    values = np.empty(batch_size)
    D = np.empty(2 * batch_size * p, X.dtype)
    x, q, d = pointer_to(X), pointer_to(Q), pointer_to(D)
    one = X.dtype.type(1)
    shrinks = log_kept.shape[0] > 0
    kept = 1.0
    total = 0.0
    for s in range(steps.shape[0]):
        start = s * batch_size
        count = min(batch_size, Q.shape[0] - start)
        for r in range(count):
            i, j, l, k = ends(q, start + r, Q.shape[1], p)
            near[r] = kept * kept * difference(p, x, x, i, j, d, 2 * r * p, one, one)
            far[r] = kept * kept * difference(p, x, x, l, k, d, (2 * r + 1) * p, one, one)
        total += _losses(near, far, values, W, start, start + count, code, parameters)
        scale = 2 * steps[s] / count
        if shrinks:
            keep = math.exp(log_kept[s + 1] - log_kept[s])
            kept *= keep
            scale /= keep
        for r in range(count):
            i, j, l, k = ends(q, start + r, Q.shape[1], p)
            move(p, x, x, i, j, d, 2 * r * p, X.dtype.type(scale * near[r]), one)
            move(p, x, x, l, k, d, (2 * r + 1) * p, X.dtype.type(scale * far[r]), one)
        if kept < SMALL:
            _rescale(X, kept)
            kept = 1.0
    _rescale(X, kept)
    D[0] = 0  # as in `_sgd_singly`
    return total


@loop
def _rescale(X, kept):
    if kept < 1:
        for row in range(X.shape[0]):
            for c in range(X.shape[1]):
                X[row, c] *= X.dtype.type(kept)


@loop
def svrg(code, parameters, X, S, G, Q, W, C, step, batch_size, shrink):
    """Run one SVRG epoch from X = S: for each batch, X -= step * (mean over it of grad(X) - grad(S), + G) + shrink * X.

    G is the loss's full gradient at the snapshot S and C the slopes there. The dense term touches all n rows at every
    step, but in the same way: until the end the points are `kept` times X plus `along` times G, and a dense step
    changes these two numbers. They are multiplied out after every 2 n comparisons, before rounding errors can grow.
    The result is the same at O(p) per step instead of O(n p).
    """
    if batch_size > 1:
        _svrg_batches(code, parameters, X, S, G, Q, W, C, step, batch_size, shrink)
    else:
        _svrg_singly(code, parameters, X, S, G, Q, W, C, step, shrink)


@inline
def _svrg_singly(code, parameters, X, S, G, Q, W, C, step, shrink):
    p = X.shape[1]
    D = np.empty(2 * p, X.dtype)
    x, y, g, q, d = pointer_to(X), pointer_to(S), pointer_to(G), pointer_to(Q), pointer_to(D)
    asks_ahead = 3 * X.size * X.itemsize > WORTHWHILE
    kept = 1.0
    along = 0.0
    settled = 0
    for t in range(Q.shape[0]):
        if asks_ahead and t + AHEAD < Q.shape[0]:
            for c in range(Q.shape[1]):
                row = Q[t + AHEAD, c]
                prefetch_row(X, row)
                prefetch_row(S, row)
                prefetch_row(G, row)
        i, j, l, k = ends(q, t, Q.shape[1], p)
        keep, drift = X.dtype.type(kept), X.dtype.type(along)
        to_near = drifted_difference(p, x, g, i, j, d, 0, keep, drift)
        to_far = drifted_difference(p, x, g, l, k, d, p, keep, drift)
        _, by_near, by_far = evaluate(code, parameters, to_near, to_far)
        kept *= 1 - shrink
        along = (1 - shrink) * along - step
        scale = 2 * step / kept
        a0, b0 = X.dtype.type(scale * C[t, 0]), X.dtype.type(scale * C[t, 1])
        if W.shape[0] > 0:
            scale *= W[t]
        corrected_move(p, x, y, i, j, d, 0, X.dtype.type(scale * by_near), a0)
        corrected_move(p, x, y, l, k, d, p, X.dtype.type(scale * by_far), b0)
        if kept < SMALL or t - settled >= 2 * X.shape[0]:
            _settle(X, G, kept, along)
            kept = 1.0
            along = 0.0
            settled = t
    _settle(X, G, kept, along)
    D[0] = 0  # as in `_sgd_singly`


@inline
def _svrg_batches(code, parameters, X, S, G, Q, W, C, step, batch_size, shrink):
    p = X.shape[1]
    near = np.empty(batch_size, X.dtype)
    far = np.empty(batch_size, X.dtype)
    values = np.empty(batch_size)
    D = np.empty(2 * batch_size * p, X.dtype)
    x, y, g, q, d = pointer_to(X), pointer_to(S), pointer_to(G), pointer_to(Q), pointer_to(D)
    asks_ahead = 3 * X.size * X.itemsize > WORTHWHILE
    kept = 1.0
    along = 0.0
    settled = 0
    for start in range(0, Q.shape[0], batch_size):
        count = min(batch_size, Q.shape[0] - start)
        keep, drift = X.dtype.type(kept), X.dtype.type(along)
        for r in range(count):
            if asks_ahead and start + r + AHEAD < Q.shape[0]:
                for c in range(Q.shape[1]):
                    row = Q[start + r + AHEAD, c]
                    prefetch_row(X, row)
                    prefetch_row(S, row)
                    prefetch_row(G, row)
            i, j, l, k = ends(q, start + r, Q.shape[1], p)
            near[r] = drifted_difference(p, x, g, i, j, d, 2 * r * p, keep, drift)
            far[r] = drifted_difference(p, x, g, l, k, d, (2 * r + 1) * p, keep, drift)
        _losses(near, far, values, W, start, start + count, code, parameters)
        kept *= 1 - shrink
        along = (1 - shrink) * along - step
        scale = X.dtype.type(2 * step / (count * kept))
        for r in range(count):
            t = start + r
            i, j, l, k = ends(q, t, Q.shape[1], p)
            corrected_move(p, x, y, i, j, d, 2 * r * p, scale * near[r], scale * C[t, 0])
            corrected_move(p, x, y, l, k, d, (2 * r + 1) * p, scale * far[r], scale * C[t, 1])
        if kept < SMALL or start - settled >= 2 * X.shape[0]:
            _settle(X, G, kept, along)
            kept = 1.0
            along = 0.0
            settled = start
    _settle(X, G, kept, along)
    D[0] = 0  # as in `_sgd_singly`


@loop
def _settle(X, G, kept, along):
    for row in range(X.shape[0]):
        for c in range(X.shape[1]):
            X[row, c] = X.dtype.type(kept) * X[row, c] + X.dtype.type(along) * G[row, c]
