"""Compiled doubly stochastic steps on pairs (positive row, negative row) for linear scores, dense rows.

`pairwise_reference.py` says the same in plain numpy; `pairwise_sparse.py` is the same for sparse rows.

A step at the weights w, of length g = 1 / (rule[A] + rule[MU] (t + 1)), is

    w <- (1 - g mu) w + g * pull * (positive - negative)

where `pull` is minus the loss's slope (`margin_losses.py`). The weights are held as w = scale * v, so shrinking costs
nothing, and the average of the iterates lazily: with `mass` the sum of weight * scale over the iterates so far,

    sum of weight * w = mass * v - lag,      lag <- lag + mass * (change of v)     at each step

touches what the step touches and nothing else. The t-th iterate since the average began weighs about t**power.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from nearer._compiled.factors import draw
from nearer._compiled.margin_losses import loss_and_pull
from nearer._compiled.pairwise_reference import (
    COUNT,
    DECKS,
    LISTED,
    MASS,
    MU,
    POWER,
    PROXIMAL,
    SCALE,
    TOTAL,
    A,
    T,
)
from nearer._compiled.points import _inline, _kernel

#: a scale this small is worked into v, long before anything underflows
SMALL = 1e-9


@_inline
def _place(walk, rows, cursor, seed, number, side):
    """The row to take; a deck is taken from its start to its end, a list too unless it is drawn from."""
    if walk == DECKS:
        return cursor
    if walk == LISTED:
        return rows[cursor]
    return rows[draw(seed, number, side, rows.shape[0])]


@_inline
def _add_to_average(held, power):
    """Count the present iterate in the average."""
    count = held[COUNT] + 1.0
    if count > 1.0:
        held[TOTAL] *= (count + power) / (count - 1.0)
    else:
        held[TOTAL] = 1.0
    held[COUNT] = count
    held[MASS] += held[SCALE] * held[TOTAL] * (power + 1.0) / (count + power)


@njit(cache=True, nogil=True)
def fold(v, lag, held):
    """Work the scale into v; the weights and the average stay what they are."""
    scale, mass = held[SCALE], held[MASS]
    for c in range(v.shape[0]):
        lag[c] -= mass * v[c]
        v[c] *= scale
    held[SCALE] = 1.0
    held[MASS] = 0.0


@_inline
def _advance(cursors, n_first, n_second):
    """Both sides to their next row, from the last to the first."""
    cursors[0] += 1
    if cursors[0] >= n_first:
        cursors[0] = 0
    cursors[1] += 1
    if cursors[1] >= n_second:
        cursors[1] = 0


@_kernel
def dense_steps(first, second, rows, others, walk, cursors, seed, count, code, rule, v, lag, held):
    """`count` steps, w (v, held) and its average (lag, held) in place; gives the sum of the losses met.

    `first` and `second` (k, d) hold the positive and the negative rows; `rows` and `others` name which to take where
    `walk` says so. `cursors` (3,) holds the places in both, and the number of steps ever made, which the draws hash.
    """
    d = v.shape[0]
    n_first = first.shape[0] if walk == DECKS else rows.shape[0]
    n_second = second.shape[0] if walk == DECKS else others.shape[0]
    mu, power, proximal = rule[MU], rule[POWER], rule[PROXIMAL]
    if (
        power < 0 and held[MASS] != 0
    ):  # an average that is to stay as it is: without mass, steps leave it alone
        fold(v, lag, held)
    total = 0.0
    for _ in range(count):
        i = _place(walk, rows, cursors[0], seed, cursors[2], 0)
        j = _place(walk, others, cursors[1], seed, cursors[2], 1)
        product = 0.0
        squared = 0.0
        for c in range(d):
            difference = np.float64(first[i, c]) - np.float64(second[j, c])
            product += v[c] * difference
            squared += difference * difference
        rule[T] += 1.0
        length = 1.0 / (rule[A] + mu * rule[T])
        value, pull = loss_and_pull(code, held[SCALE] * product, length * squared * proximal)
        total += value
        held[SCALE] *= 1.0 - length * mu
        if held[SCALE] < SMALL:
            fold(v, lag, held)
        if pull != 0:
            change = length * pull / held[SCALE]
            if power >= 0:
                behind = change * held[MASS]
                for c in range(d):
                    difference = np.float64(first[i, c]) - np.float64(second[j, c])
                    v[c] += change * difference
                    lag[c] += behind * difference
            else:
                for c in range(d):
                    v[c] += change * (np.float64(first[i, c]) - np.float64(second[j, c]))
        if power >= 0:
            _add_to_average(held, power)
        _advance(cursors, n_first, n_second)
        cursors[2] += 1
    return total
