"""Loops over lists of rows and over sparse rows: shuffle, copy, sum of squared distances."""

from __future__ import annotations

import numpy as np

from nearer._compiled.decorators import exact_loop
from nearer._compiled.draws import draw


@exact_loop
def shuffle_rows(rows, seed):
    """Shuffle a list of row numbers in place: the same order for the same seed on every machine."""
    for t in range(rows.shape[0] - 1, 0, -1):
        other = draw(seed, t, 0, t + 1)
        rows[t], rows[other] = rows[other], rows[t]


@exact_loop
def gather_sparse(indptr, indices, data, rows, starts, columns, numbers):
    """Write the rows one after the other from `starts[0]` on; `starts` (k + 1,) is filled from its second entry."""
    for t in range(rows.shape[0]):
        begin, stop = indptr[rows[t]], indptr[rows[t] + 1]
        place, after = starts[t], starts[t] + stop - begin
        starts[t + 1] = after
        # slices, whose indices numba knows are not negative, and one array after the other, because the compiler must
        # assume that two arrays overlap: five times as fast
        columns_from, columns_to = indices[begin:stop], columns[place:after]
        for k in range(columns_to.shape[0]):
            columns_to[k] = columns_from[k]
        numbers_from, numbers_to = data[begin:stop], numbers[place:after]
        for k in range(numbers_to.shape[0]):
            numbers_to[k] = numbers_from[k]


@exact_loop
def sparse_distances(indptr, indices, data, rows, others, n_features):
    """Return the sum of squared distances between row t of one list and row t of the other."""
    work = np.zeros(n_features)
    total = 0.0
    for t in range(rows.shape[0]):
        i, j = rows[t], others[t]
        for k in range(indptr[i], indptr[i + 1]):
            work[indices[k]] = data[k]
            total += np.float64(data[k]) * data[k]
        for k in range(indptr[j], indptr[j + 1]):
            total += np.float64(data[k]) * (data[k] - 2.0 * work[indices[k]])
        for k in range(indptr[i], indptr[i + 1]):
            work[indices[k]] = 0.0
    return total
