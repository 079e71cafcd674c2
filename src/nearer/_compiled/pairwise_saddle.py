"""Compiled steps of SOLAM, which turns the square loss over pairs into a saddle point over single rows.

Let c be the inverse share of a row's class and s its score. Besides the weights there are three numbers: a and b, the
mean scores of the positive and of the negative rows, and alpha = b - a. The mean over rows of

    positive: c ((s - a)² - 2 (1 + alpha) s) - alpha²        negative: c ((s - b)² + 2 (1 + alpha) s) - alpha²

plus 1, minimised over w, a and b and maximised over alpha, is the mean square loss over all pairs. Each step is
proximal in each variable with the others fixed. `unit` is the mean squared length of the rows: the three numbers move
on that scale, or they would lag far behind the weights if rows are long. Alpha moves towards b - a plus the row's own
deviation. That has the mean of the plain c s without the noise of the score that both classes share, which is large if
features are not centred. The weights and their average are stored as in `pairwise.py`; `pairwise_reference.py` has the
steps in plain numpy.
"""

from __future__ import annotations

import numpy as np

from nearer._compiled.decorators import inline, loop
from nearer._compiled.pairwise import SMALL, _add_to_average, fold, next_length
from nearer._compiled.pairwise_reference import ALPHA, MASS, MU, POWER, SCALE
from nearer._compiled.pairwise_sparse import LAG, WEIGHT, fold_table


@inline
def _saddle(numbers, side, weight, score, squared, length, unit):
    """Move the three numbers; return the value met and minus the slope by the score after the step."""
    alpha = numbers[ALPHA]
    own = numbers[side]
    sign = 1.0 - 2.0 * side
    value = weight * ((score - own) ** 2 - 2.0 * sign * (1.0 + alpha) * score) - alpha * alpha + 1.0
    descent = 2.0 * weight * (own + sign * (1.0 + alpha) - score) / (1.0 + 2.0 * weight * length * squared)
    reach = 2.0 * length * unit
    apart = numbers[1] - numbers[0] - sign * weight * (score - own)
    numbers[side] = own + reach * weight * (score - own) / (1.0 + reach * weight)
    numbers[ALPHA] = (alpha + reach * apart) / (1.0 + reach)
    return value, descent


@loop
def dense_saddle_steps(X, order, sides, shares, numbers, unit, rule, v, lag, held):
    """Take one step per row of `order`, whose class is in `sides`; return the sum of values. `shares` (2,) by class."""
    d = v.shape[0]
    total = 0.0
    for t in range(order.shape[0]):
        i, side = order[t], sides[t]
        score = 0.0
        squared = 0.0
        for c in range(d):
            x = np.float64(X[i, c])
            score += v[c] * x
            squared += x * x
        length = next_length(rule)
        value, descent = _saddle(
            numbers, side, 1.0 / shares[side], held[SCALE] * score, squared, length, unit
        )
        total += value
        held[SCALE] *= 1.0 - length * rule[MU]
        if held[SCALE] < SMALL:
            fold(v, lag, held)
        change = length * descent / held[SCALE]
        behind = change * held[MASS]
        for c in range(d):
            v[c] += change * X[i, c]
            lag[c] += behind * X[i, c]
        _add_to_average(held, rule[POWER])
    return total


@loop
def sparse_saddle_steps(indptr, indices, data, order, sides, shares, numbers, unit, rule, table, held):
    """Do the same as `dense_saddle_steps` for the three arrays of CSR, with the table of `pairwise_sparse.py`."""
    total = 0.0
    for t in range(order.shape[0]):
        i, side = order[t], sides[t]
        columns, entries = indices[indptr[i] : indptr[i + 1]], data[indptr[i] : indptr[i + 1]]
        score = 0.0
        squared = 0.0
        for k in range(columns.shape[0]):
            x = np.float64(entries[k])
            score += table[np.uint32(columns[k]), WEIGHT] * x
            squared += x * x
        length = next_length(rule)
        value, descent = _saddle(
            numbers, side, 1.0 / shares[side], held[SCALE] * score, squared, length, unit
        )
        total += value
        held[SCALE] *= 1.0 - length * rule[MU]
        if held[SCALE] < SMALL:
            fold_table(table, held)
        change = length * descent / held[SCALE]
        behind = change * held[MASS]
        for k in range(columns.shape[0]):
            f = np.uint32(columns[k])
            table[f, WEIGHT] += change * entries[k]
            table[f, LAG] += behind * entries[k]
        _add_to_average(held, rule[POWER])
    return total
