"""Compiled doubly stochastic steps on pairs of sparse rows: `pairwise.py` at the cost of the two rows' entries.

The numbers of one feature are adjacent in `table` (d, 3): the weight before scaling, the lag of the average, and a
workplace for the current row. In separate arrays each entry of a row would cost three cache misses. The workplace
yields the squared distance of two sparse rows without a merge.
"""

from __future__ import annotations

import numpy as np

from nearer._compiled.decorators import exact_loop, inline, loop
from nearer._compiled.pairwise import SMALL, _add_to_average, _advance, _place, fold, meet
from nearer._compiled.pairwise_reference import DECKS, MASS, POWER, SCALE

WEIGHT, LAG, WORK = 0, 1, 2


@exact_loop
def fold_table(table, held):
    """Do the same as `fold` for a table."""
    fold(table[:, WEIGHT], table[:, LAG], held)


# columns as unsigned numbers and rows as slices: numba then skips the check for negative indices, a third of the time


@inline
def _products(table, columns, numbers, columns2, numbers2):
    """Return the product of v with the difference of two rows, and its squared length; keep the first as workplace."""
    product = 0.0
    squared = 0.0
    for k in range(columns.shape[0]):
        x = np.float64(numbers[k])
        f = np.uint32(columns[k])
        product += table[f, WEIGHT] * x
        squared += x * x
        table[f, WORK] = x
    for k in range(columns2.shape[0]):
        x = np.float64(numbers2[k])
        f = np.uint32(columns2[k])
        product -= table[f, WEIGHT] * x
        squared += x * (x - 2.0 * table[f, WORK])
    # rounding may make it negative for two equal rows
    return product, max(squared, 0.0)


@inline
def _add_row(table, columns, numbers, change, behind):
    """Add a row to the weights, and clear its workplace."""
    for k in range(columns.shape[0]):
        x = np.float64(numbers[k])
        f = np.uint32(columns[k])
        table[f, WEIGHT] += change * x
        table[f, LAG] += behind * x
        table[f, WORK] = 0.0


@loop
def sparse_steps(
    indptr,
    indices,
    data,
    indptr2,
    indices2,
    data2,
    rows,
    others,
    walk,
    cursors,
    seed,
    count,
    code,
    rule,
    table,
    held,
):
    """Take `count` steps as `pairwise.dense_steps`; positive and negative rows are three arrays of CSR each."""
    n_first = indptr.shape[0] - 1 if walk == DECKS else rows.shape[0]
    n_second = indptr2.shape[0] - 1 if walk == DECKS else others.shape[0]
    total = 0.0
    for _ in range(count):
        i = _place(walk, rows, cursors[0], seed, cursors[2], 0)
        j = _place(walk, others, cursors[1], seed, cursors[2], 1)
        columns, numbers = indices[indptr[i] : indptr[i + 1]], data[indptr[i] : indptr[i + 1]]
        columns2, numbers2 = indices2[indptr2[j] : indptr2[j + 1]], data2[indptr2[j] : indptr2[j + 1]]
        product, squared = _products(table, columns, numbers, columns2, numbers2)
        value, step = meet(code, product, squared, rule, held)
        total += value
        if held[SCALE] < SMALL:
            fold_table(table, held)
        if step != 0:
            change = step / held[SCALE]
            behind = change * held[MASS]
            _add_row(table, columns, numbers, change, behind)
            _add_row(table, columns2, numbers2, -change, -behind)
        else:
            for k in range(columns.shape[0]):
                table[np.uint32(columns[k]), WORK] = 0.0
        _add_to_average(held, rule[POWER])
        _advance(cursors, n_first, n_second)
        cursors[2] += 1
    return total
