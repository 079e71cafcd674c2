"""Compiled doubly stochastic steps on pairs (positive row, negative row) for linear scores, dense rows.

`pairwise_reference.py` has them in plain numpy, `pairwise_sparse.py` for sparse rows.

A step at the weights w, of length g = 1 / (rule[A] + rule[MU] (t + 1)), is

    w <- (1 - g mu) w + g * descent * (positive - negative)

where `descent` is minus the loss's slope (`margin_losses.py`). The weights are stored as w = scale * v, so that
shrinking costs nothing. The average of the iterates is lazy: with `mass` the sum of weight * scale over all iterates,

    sum of weight * w = mass * v - lag,      lag <- lag + mass * (change of v)     at each step

touches what the step touches and nothing else. The t-th iterate since the average began weighs about t**power.
"""

from __future__ import annotations

import numpy as np

from nearer._compiled.decorators import exact_loop, inline, loop
from nearer._compiled.draws import draw
from nearer._compiled.margin_losses import loss_and_descent
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

#: below this the scale is multiplied into v, long before anything underflows
SMALL = 1e-9


@inline
def _place(walk, rows, cursor, seed, number, side):
    """Return the row to take: decks and lists are read in order, unless rows are drawn from a list."""
    if walk == DECKS:
        return cursor
    if walk == LISTED:
        return rows[cursor]
    return rows[draw(seed, number, side, rows.shape[0])]


@inline
def next_length(rule):
    """Count a step; return its length."""
    rule[T] += 1.0
    return 1.0 / (rule[A] + rule[MU] * rule[T])


@inline
def meet(code, product, squared, rule, held):
    """Shrink the weights by their scale; return the loss of a pair, and how far to go along its difference."""
    length = next_length(rule)
    value, descent = loss_and_descent(code, held[SCALE] * product, length * squared * rule[PROXIMAL])
    held[SCALE] *= 1.0 - length * rule[MU]
    return value, length * descent


@inline
def _add_to_average(held, power):
    """Add the current iterate to the average; below power 0 there is none."""
    if power >= 0:
        count = held[COUNT] + 1.0
        if count > 1.0:
            held[TOTAL] *= (count + power) / (count - 1.0)
        else:
            held[TOTAL] = 1.0
        held[COUNT] = count
        held[MASS] += held[SCALE] * held[TOTAL] * (power + 1.0) / (count + power)


@exact_loop
def fold(v, lag, held):
    """Multiply v by the scale and reset it; the weights and the average do not change."""
    scale, mass = held[SCALE], held[MASS]
    for c in range(v.shape[0]):
        lag[c] -= mass * v[c]
        v[c] *= scale
    held[SCALE] = 1.0
    held[MASS] = 0.0


@inline
def _advance(cursors, n_first, n_second):
    """Move both sides to their next row, and from the last to the first."""
    cursors[0] += 1
    if cursors[0] >= n_first:
        cursors[0] = 0
    cursors[1] += 1
    if cursors[1] >= n_second:
        cursors[1] = 0


@loop
def dense_steps(first, second, rows, others, walk, cursors, seed, count, code, rule, v, lag, held):
    """Take `count` steps, w (v, held) and its average (lag, held) in place; return the sum of the losses met.

    `first` and `second` (k, d) hold the positive and the negative rows; `rows` and `others` list those to take, unless
    `walk` is DECKS. `cursors` (3,) holds the places in both, and the total number of steps, which the draws hash.
    """
    d = v.shape[0]
    n_first = first.shape[0] if walk == DECKS else rows.shape[0]
    n_second = second.shape[0] if walk == DECKS else others.shape[0]
    power = rule[POWER]
    if power < 0 and held[MASS] != 0:
        fold(v, lag, held)  # the average is to stay as it is: without mass, steps do not change it
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
        value, step = meet(code, product, squared, rule, held)
        total += value
        if held[SCALE] < SMALL:
            fold(v, lag, held)
        if step != 0:
            change = step / held[SCALE]
            if power >= 0:
                behind = change * held[MASS]
                for c in range(d):
                    difference = np.float64(first[i, c]) - np.float64(second[j, c])
                    v[c] += change * difference
                    lag[c] += behind * difference
            else:
                for c in range(d):
                    v[c] += change * (np.float64(first[i, c]) - np.float64(second[j, c]))
        _add_to_average(held, power)
        _advance(cursors, n_first, n_second)
        cursors[2] += 1
    return total
