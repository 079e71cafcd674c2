"""Compiled updates of a factored kernel K = Z Z' s^2, one answer at a time; in numpy in `factors_reference.py`.

Conventions: Z (n, r) points; Q (q, 3) triplets or (q, 4) quadruplets, int32; W (q,) weights, or empty for all ones.
The random draws of the replays are a hash of the answer's number: the same however the answers are cut into chunks.
"""

from __future__ import annotations

import math

from nearer._compiled.decorators import inline, loop
from nearer._compiled.draws import draw
from nearer._compiled.prefetch import AHEAD, WORTHWHILE, prefetch_row
from nearer._compiled.scalar_losses import hinge, logistic, sigmoid

PASSIVE_AGGRESSIVE, STE, GNMDS = 0, 1, 2
CONSTANT, INVERSE, INVERSE_ROOT = 0, 1, 2

#: a step shortens or lengthens a difference of two points by four times this share at most: longer ones overshoot
LONGEST = 0.125
#: share that one step may take off the kernel, and the logarithm of a scale that is worked into its points
MOST_SHRINK = 0.5
SMALL = -5.0
#: answers from one whose loss is measured to the next, early and later: measuring all would take as long as learning
EARLY, EARLY_APART, APART = 4096, 8, 512


@inline
def schedule(kind, size, number):
    """Return the step size for the answer with this number, counted from 1."""
    if kind == INVERSE:
        return size / number
    if kind == INVERSE_ROOT:
        return size / math.sqrt(number)
    return size


@inline
def passive_aggressive_length(violation, gain, weight, most, soft):
    """Return how far to step so that `violation` vanishes; at most `most` (infinite: no limit), softly if `soft`."""
    if violation <= 0 or gain <= 0:
        return 0.0
    if math.isinf(most):
        return min(weight, 1.0) * violation / gain
    if soft:
        bound = most * weight
        return violation / (gain + 0.5 / bound) if bound > 0 else 0.0
    return min(most * weight, violation / gain)


@inline
def step_length(rule, excess, gain, weight, margin, most, soft):
    """Return how far to go against the gradient of `excess` = near - far, whose squared length (or gain) is `gain`."""
    if rule == PASSIVE_AGGRESSIVE:
        return passive_aggressive_length(excess + margin, gain, weight, most, soft)
    if rule == GNMDS:
        return weight if hinge(excess + margin)[1] > 0 else 0.0
    return weight * sigmoid(excess)


@inline
def _learn(Z, Q, t, weight, squared_scale, rule, size, margin, most, soft, cap):
    """Take the step for answer t; return 1 if there was one, 0 if not, and -1 if distances exceed `cap`."""
    columns = Q.shape[1]
    i, j, l, k = Q[t, 0], Q[t, 1], Q[t, 0 if columns == 3 else 2], Q[t, columns - 1]
    near = 0.0
    far = 0.0
    between = 0.0
    for c in range(Z.shape[1]):
        p = Z[i, c] - Z[j, c]
        q = Z[l, c] - Z[k, c]
        near += p * p
        far += q * q
        between += p * q
    if not squared_scale * (near + far) <= cap:  # NaN compares false and is caught as well
        return -1
    # squared length of the gradient of near - far: +-2p and +-2q, which meet where an object is in both pairs
    meeting = (i == k) + (j == l) - (i == l) - (j == k)
    gain = 8 * squared_scale * (near + far + meeting * between)
    excess = squared_scale * (near - far)
    length = min(size * step_length(rule, excess, gain, weight, margin, most, soft), LONGEST)
    if length == 0:
        return 0
    scale = Z.dtype.type(2 * length)
    for c in range(Z.shape[1]):
        u = scale * (Z[i, c] - Z[j, c])
        v = scale * (Z[l, c] - Z[k, c])
        Z[i, c] -= u
        Z[j, c] += u
        Z[l, c] += v
        Z[k, c] -= v
    return 1


@loop
def learn(
    Z, Q, W, first, seen, n_new, passes, seed, rule, kind, size, margin, most, soft, shrink, cap, log_scale
):
    """Learn the answers seen..seen+n_new, each followed by passes - 1 answers drawn from those before it.

    Row t of Q is answer first + t; with one pass the answers before `seen` are not needed. The points are
    Z exp(log_scale). Return the new log_scale, the number of steps, and the number of answers learned: fewer than n_new
    if a squared distance of an answer exceeds `cap`.
    """
    steps = 0
    asks_ahead = Z.size * Z.itemsize > WORTHWHILE
    for number in range(seen, seen + n_new):
        if asks_ahead and number + AHEAD < seen + n_new:
            for c in range(Q.shape[1]):
                prefetch_row(Z, Q[number + AHEAD - first, c])
        delta = schedule(kind, size, number + 1)
        for repeat in range(passes if number > 0 else 1):
            t = (number if repeat == 0 else draw(seed, number, repeat, number)) - first
            weight = W[t] if W.shape[0] > 0 else 1.0
            stepped = _learn(Z, Q, t, weight, math.exp(2 * log_scale), rule, delta, margin, most, soft, cap)
            if stepped < 0:
                return log_scale, steps, number - seen
            steps += stepped
            if shrink > 0:
                log_scale += 0.5 * math.log1p(-min(delta * shrink, MOST_SHRINK))
                if log_scale < SMALL:
                    Z *= Z.dtype.type(math.exp(log_scale))
                    log_scale = 0.0
    return log_scale, steps, n_new


@inline
def loss_of(rule, excess, margin):
    """Return the loss of an answer with `excess` = near - far: logistic for STE, else the hinge."""
    if rule == STE:
        return logistic(excess)[0]
    return hinge(excess + margin)[0]


@inline
def _excess(Z, Q, t):
    """Return near - far of answer t."""
    columns = Q.shape[1]
    i, j, l, k = Q[t, 0], Q[t, 1], Q[t, 0 if columns == 3 else 2], Q[t, columns - 1]
    excess = 0.0
    for c in range(Z.shape[1]):
        p = Z[i, c] - Z[j, c]
        q = Z[l, c] - Z[k, c]
        excess += p * p - q * q
    return excess


@loop
def learn_and_measure(
    Z, Q, W, first, seen, n_new, passes, seed, rule, kind, size, margin, most, soft, shrink, cap, log_scale
):
    """Learn as `learn` does; also return the sum and number of the losses that some answers had when they came."""
    steps = 0
    losses = 0.0
    measured = 0
    number = seen
    while number < seen + n_new:
        apart = EARLY_APART if number < EARLY else APART
        count = min(apart - number % apart, seen + n_new - number)
        loss = loss_of(rule, math.exp(2 * log_scale) * _excess(Z, Q, number - first), margin)
        log_scale, stepped, learned = learn(
            Z,
            Q,
            W,
            first,
            number,
            count,
            passes,
            seed,
            rule,
            kind,
            size,
            margin,
            most,
            soft,
            shrink,
            cap,
            log_scale,
        )
        steps += stepped
        if number % apart == 0 and learned > 0:
            losses += loss
            measured += 1
        number += learned
        if learned < count:
            break
    return log_scale, steps, number - seen, losses, measured
