"""Compiled steps of one row against a buffer of rows of the other class; in plain numpy in `pairwise_reference.py`.

Rows come in the order of a list; `sides` holds the class of each (0 positive, 1 negative). A row takes one step, along
the mean gradient of its pairs with some rows of the other class's buffer, and then enters the buffer of its own class:
every row of a class seen so far is in it with the same probability. The weights and their average are stored as in
`pairwise.py`. A proximal step is divided by 1 + length * curvature * (mean squared distance of its pairs), where
`curvature` is the largest second derivative of the loss: an upper bound in any direction.
"""

from __future__ import annotations

import numpy as np

from nearer._compiled.decorators import inline, loop
from nearer._compiled.draws import draw
from nearer._compiled.margin_losses import loss_and_descent
from nearer._compiled.pairwise import SMALL, _add_to_average, fold, next_length
from nearer._compiled.pairwise_reference import MASS, MU, POWER, PROXIMAL, SCALE
from nearer._compiled.pairwise_sparse import LAG, WEIGHT, WORK, fold_table


@inline
def _enter(buffers, seen, side, row, seed, number):
    """Add a row to the buffer of its class."""
    size = buffers.shape[1]
    seen[side] += 1
    slot = seen[side] - 1 if seen[side] <= size else draw(seed, number, 1, seen[side])
    if slot < size:
        buffers[side, slot] = row


@inline
def _step_length(rule, held, curvature, squared):
    """Shrink the weights by their scale; return the length of the step after damping."""
    length = next_length(rule)
    held[SCALE] *= 1.0 - length * rule[MU]
    return length / (1.0 + length * curvature * squared * rule[PROXIMAL])


@inline
def _compare_dense(X, i, buffer, begin, count, filled, factor, code, v, descents):
    """Return sums over the pairs of row i: losses, squared distances, descents; and whether any descent is not 0."""
    value = 0.0
    squared = 0.0
    together = 0.0
    active = False
    for k in range(count):
        j = buffer[(begin + k) % filled]
        product = 0.0
        apart = 0.0
        for c in range(v.shape[0]):
            difference = np.float64(X[i, c]) - np.float64(X[j, c])
            product += v[c] * difference
            apart += difference * difference
        loss, descent = loss_and_descent(code, factor * product, 0.0)
        descents[k] = descent
        value += loss
        squared += apart
        together += descent
        active = active or descent != 0
    return value, squared, together, active


@inline
def _move_dense(v, lag, X, row, share, mass):
    for c in range(v.shape[0]):
        moved = share * X[row, c]
        v[c] += moved
        lag[c] += mass * moved


@loop
def dense_buffer_steps(X, order, sides, buffers, seen, n_pairs, seed, code, curvature, rule, v, lag, held):
    """Take one step per row of `order`; return the sum of the mean losses met, and the number of steps."""
    size = buffers.shape[1]
    descents = np.empty(min(n_pairs, size))
    total = 0.0
    made = 0
    for t in range(order.shape[0]):
        i, side = order[t], sides[t]
        number = seen[0] + seen[1]
        filled = min(seen[1 - side], size)
        if filled > 0:
            buffer = buffers[1 - side]
            count = min(n_pairs, filled)
            begin = draw(seed, number, 0, filled)
            sign = 1.0 - 2.0 * side
            value, squared, together, active = _compare_dense(
                X, i, buffer, begin, count, filled, sign * held[SCALE], code, v, descents
            )
            damped = _step_length(rule, held, curvature, squared / count)
            if held[SCALE] < SMALL:
                fold(v, lag, held)
            change = sign * damped / (held[SCALE] * count)
            if active:
                _move_dense(v, lag, X, i, change * together, held[MASS])
                for k in range(count):
                    if descents[k] != 0:
                        j = buffer[(begin + k) % filled]
                        _move_dense(v, lag, X, j, -change * descents[k], held[MASS])
            _add_to_average(held, rule[POWER])
            total += value / count
            made += 1
        _enter(buffers, seen, side, i, seed, number)
    return total, made


@inline
def _compare_sparse(indptr, indices, data, i, buffer, begin, count, filled, factor, code, table, descents):
    """Return what `_compare_dense` does; the workplace of the table holds row i meanwhile."""
    columns, numbers = indices[indptr[i] : indptr[i + 1]], data[indptr[i] : indptr[i + 1]]
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
        j = buffer[(begin + k) % filled]
        product, apart = _against_workplace(table, indptr, indices, data, j, score, own)
        loss, descent = loss_and_descent(code, factor * product, 0.0)
        descents[k] = descent
        value += loss
        squared += max(apart, 0.0)
        together += descent
        active = active or descent != 0
    for k in range(columns.shape[0]):
        table[np.uint32(columns[k]), WORK] = 0.0
    return value, squared, together, active


@inline
def _against_workplace(table, indptr, indices, data, j, score, own):
    """Return the product of v with the row in the workplace minus row j, and the squared length of that difference."""
    columns, numbers = indices[indptr[j] : indptr[j + 1]], data[indptr[j] : indptr[j + 1]]
    for k in range(columns.shape[0]):
        f = np.uint32(columns[k])
        x = np.float64(numbers[k])
        score -= table[f, WEIGHT] * x
        own += x * (x - 2.0 * table[f, WORK])
    return score, own


@inline
def _move_sparse(table, indptr, indices, data, row, share, mass):
    columns, numbers = indices[indptr[row] : indptr[row + 1]], data[indptr[row] : indptr[row + 1]]
    for k in range(columns.shape[0]):
        moved = share * numbers[k]
        f = np.uint32(columns[k])
        table[f, WEIGHT] += moved
        table[f, LAG] += mass * moved


@loop
def sparse_buffer_steps(
    indptr, indices, data, order, sides, buffers, seen, n_pairs, seed, code, curvature, rule, table, held
):
    """Do the same as `dense_buffer_steps` for the three arrays of CSR, with the table of `pairwise_sparse.py`."""
    size = buffers.shape[1]
    descents = np.empty(min(n_pairs, size))
    total = 0.0
    made = 0
    for t in range(order.shape[0]):
        i, side = order[t], sides[t]
        number = seen[0] + seen[1]
        filled = min(seen[1 - side], size)
        if filled > 0:
            buffer = buffers[1 - side]
            count = min(n_pairs, filled)
            begin = draw(seed, number, 0, filled)
            sign = 1.0 - 2.0 * side
            value, squared, together, active = _compare_sparse(
                indptr,
                indices,
                data,
                i,
                buffer,
                begin,
                count,
                filled,
                sign * held[SCALE],
                code,
                table,
                descents,
            )
            damped = _step_length(rule, held, curvature, squared / count)
            if held[SCALE] < SMALL:
                fold_table(table, held)
            change = sign * damped / (held[SCALE] * count)
            if active:
                _move_sparse(table, indptr, indices, data, i, change * together, held[MASS])
                for k in range(count):
                    if descents[k] != 0:
                        j = buffer[(begin + k) % filled]
                        _move_sparse(table, indptr, indices, data, j, -change * descents[k], held[MASS])
            _add_to_average(held, rule[POWER])
            total += value / count
            made += 1
        _enter(buffers, seen, side, i, seed, number)
    return total, made
