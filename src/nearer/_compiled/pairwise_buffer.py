"""Compiled steps of one row against a buffer of rows of the other class; `pairwise_reference.py` in plain numpy.

Rows come in the order of a list, `sides` saying of which class each is (0 positive, 1 negative). A row makes one step,
along the mean gradient of its pairs with some rows of the other class's buffer, and is then let into the buffer of its
own class: every row of a class seen so far is in it with the same probability. The weights and their average are held
as in `pairwise.py`. A proximal step is shortened by 1 + length * bend * (mean squared distance of its pairs), where
`bend` is the loss's largest second derivative: along any direction the step's mean loss bends less than that.
"""

from __future__ import annotations

import numpy as np

from nearer._compiled.factors import draw
from nearer._compiled.margin_losses import loss_and_pull
from nearer._compiled.pairwise import SMALL, _add_to_average, fold
from nearer._compiled.pairwise_reference import MASS, MU, POWER, PROXIMAL, SCALE, A, T
from nearer._compiled.pairwise_sparse import LAG, WEIGHT, WORK, fold_table
from nearer._compiled.points import _inline, _kernel


@_inline
def _enter(buffers, seen, side, row, seed, number):
    """Let a row into the buffer of its class."""
    size = buffers.shape[1]
    seen[side] += 1
    slot = seen[side] - 1 if seen[side] <= size else draw(seed, number, 1, seen[side])
    if slot < size:
        buffers[side, slot] = row


@_inline
def _step_length(rule, bend, squared):
    rule[T] += 1.0
    length = 1.0 / (rule[A] + rule[MU] * rule[T])
    return length, length / (1.0 + length * bend * squared * rule[PROXIMAL])


@_kernel
def dense_buffer_steps(X, order, sides, buffers, seen, n_pairs, seed, code, bend, rule, v, lag, held):
    """One step for every row of `order`; gives the sum of the mean losses met, and how many steps there were."""
    d = v.shape[0]
    size = buffers.shape[1]
    pulls = np.empty(min(n_pairs, size))
    total = 0.0
    made = 0
    for t in range(order.shape[0]):
        i, side = order[t], sides[t]
        number = seen[0] + seen[1]
        filled = min(seen[1 - side], size)
        if filled > 0:
            count = min(n_pairs, filled)
            begin = draw(seed, number, 0, filled)
            sign = 1.0 - 2.0 * side
            value = 0.0
            squared = 0.0
            together = 0.0
            active = False
            for k in range(count):
                j = buffers[1 - side, (begin + k) % filled]
                product = 0.0
                apart = 0.0
                for c in range(d):
                    difference = np.float64(X[i, c]) - np.float64(X[j, c])
                    product += v[c] * difference
                    apart += difference * difference
                loss, pull = loss_and_pull(code, sign * held[SCALE] * product, 0.0)
                pulls[k] = pull
                value += loss
                squared += apart
                together += pull
                active = active or pull != 0
            length, damped = _step_length(rule, bend, squared / count)
            held[SCALE] *= 1.0 - length * rule[MU]
            if held[SCALE] < SMALL:
                fold(v, lag, held)
            change = sign * damped / (held[SCALE] * count)
            mass = held[MASS]
            if active:
                for c in range(d):
                    moved = change * together * X[i, c]
                    v[c] += moved
                    lag[c] += mass * moved
                for k in range(count):
                    j = buffers[1 - side, (begin + k) % filled]
                    share = change * pulls[k]
                    if share != 0:
                        for c in range(d):
                            moved = share * X[j, c]
                            v[c] -= moved
                            lag[c] -= mass * moved
            if rule[POWER] >= 0:
                _add_to_average(held, rule[POWER])
            total += value / count
            made += 1
        _enter(buffers, seen, side, i, seed, number)
    return total, made


@_inline
def _move_row(table, columns, numbers, share, mass):
    for k in range(columns.shape[0]):
        moved = share * numbers[k]
        f = np.uint32(columns[k])
        table[f, WEIGHT] += moved
        table[f, LAG] += mass * moved


@_kernel
def sparse_buffer_steps(
    indptr,
    indices,
    data,
    order,
    sides,
    buffers,
    seen,
    n_pairs,
    seed,
    code,
    bend,
    rule,
    table,
    held,
):
    """`dense_buffer_steps` for the three arrays of CSR, with the table of `pairwise_sparse.py`."""
    size = buffers.shape[1]
    pulls = np.empty(min(n_pairs, size))
    total = 0.0
    made = 0
    for t in range(order.shape[0]):
        i, side = order[t], sides[t]
        number = seen[0] + seen[1]
        filled = min(seen[1 - side], size)
        if filled > 0:
            columns, numbers = indices[indptr[i] : indptr[i + 1]], data[indptr[i] : indptr[i + 1]]
            count = min(n_pairs, filled)
            begin = draw(seed, number, 0, filled)
            sign = 1.0 - 2.0 * side
            score = 0.0
            own = 0.0
            for k in range(columns.shape[0]):
                f = np.uint32(columns[k])
                x = np.float64(numbers[k])
                score += table[f, WEIGHT] * x
                own += x * x
                table[f, WORK] = x
            value = 0.0
            squared = 0.0
            together = 0.0
            active = False
            for k in range(count):
                j = buffers[1 - side, (begin + k) % filled]
                columns2, numbers2 = indices[indptr[j] : indptr[j + 1]], data[indptr[j] : indptr[j + 1]]
                product = score
                apart = own
                for l in range(columns2.shape[0]):
                    f = np.uint32(columns2[l])
                    x = np.float64(numbers2[l])
                    product -= table[f, WEIGHT] * x
                    apart += x * (x - 2.0 * table[f, WORK])
                loss, pull = loss_and_pull(code, sign * held[SCALE] * product, 0.0)
                pulls[k] = pull
                value += loss
                squared += max(apart, 0.0)
                together += pull
                active = active or pull != 0
            for k in range(columns.shape[0]):
                table[np.uint32(columns[k]), WORK] = 0.0
            length, damped = _step_length(rule, bend, squared / count)
            held[SCALE] *= 1.0 - length * rule[MU]
            if held[SCALE] < SMALL:
                fold_table(table, held)
            change = sign * damped / (held[SCALE] * count)
            if active:
                _move_row(table, columns, numbers, change * together, held[MASS])
                for k in range(count):
                    j = buffers[1 - side, (begin + k) % filled]
                    if pulls[k] != 0:
                        columns2, numbers2 = (
                            indices[indptr[j] : indptr[j + 1]],
                            data[indptr[j] : indptr[j + 1]],
                        )
                        _move_row(table, columns2, numbers2, -change * pulls[k], held[MASS])
            if rule[POWER] >= 0:
                _add_to_average(held, rule[POWER])
            total += value / count
            made += 1
        _enter(buffers, seen, side, i, seed, number)
    return total, made
