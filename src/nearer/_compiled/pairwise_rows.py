"""Lists of rows and rows of sparse matrices: shuffle, copy, and how far apart they are."""

from __future__ import annotations

import numpy as np
from numba import njit

from nearer._compiled.factors import draw


@njit(cache=True, nogil=True)
def shuffle_rows(rows, seed):
    """Shuffle a list of row numbers in place: the same order for the same seed on every machine."""
    for t in range(rows.shape[0] - 1, 0, -1):
        other = draw(seed, t, 0, t + 1)
        rows[t], rows[other] = rows[other], rows[t]


@njit(cache=True, nogil=True)
def gather_sparse(indptr, indices, data, rows, starts, columns, numbers):
    """Write the rows one after the other from `starts[0]` on; `starts` (k + 1,) is filled from its second entry."""
    for t in range(rows.shape[0]):
        begin, stop = indptr[rows[t]], indptr[rows[t] + 1]
        place, after = starts[t], starts[t] + stop - begin
        starts[t + 1] = after
        # in slices, of which numba knows that no index is negative, and one after the other, because the compiler must
        # fear that two arrays overlap: five times as fast
        columns_from, columns_to = indices[begin:stop], columns[place:after]
        for k in range(columns_to.shape[0]):
            columns_to[k] = columns_from[k]
        numbers_from, numbers_to = data[begin:stop], numbers[place:after]
        for k in range(numbers_to.shape[0]):
            numbers_to[k] = numbers_from[k]


@njit(cache=True, nogil=True)
def sparse_distances(indptr, indices, data, rows, others, n_features):
    """Sum of squared distances of the t-th row of one list and the t-th of the other."""
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
