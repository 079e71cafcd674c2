"""Compiled products of one matrix per row with that row; in numpy in `blocks_reference.py`.

Blocks (e, d, d), of which nothing above the diagonal is read, and directions (e, k, d) may be in single precision,
which halves what is read. Sums are in double precision.
"""

from __future__ import annotations

import numpy as np

from nearer._compiled.decorators import loop


@loop
def times(blocks, rows):
    """Return the product of the lower triangle of every block with its row."""
    n, d = rows.shape
    found = np.empty((n, d))
    for e in range(n):
        for i in range(d):
            total = 0.0
            for j in range(i + 1):
                total += blocks[e, i, j] * rows[e, j]
            found[e, i] = total
    return found


@loop
def transposed_times(blocks, rows):
    """Return the product of the transposed lower triangle of every block with its row."""
    n, d = rows.shape
    found = np.zeros((n, d))
    for e in range(n):
        for i in range(d):
            here = rows[e, i]
            for j in range(i + 1):
                found[e, j] += blocks[e, i, j] * here
    return found


@loop
def without(directions, rows):
    """Return the product of `I - Zᵀ Z` with every row, for its directions Z."""
    n, k, d = directions.shape
    found = np.empty((n, d))
    for e in range(n):
        found[e] = rows[e]
        for i in range(k):
            total = 0.0
            for j in range(d):
                total += directions[e, i, j] * rows[e, j]
            for j in range(d):
                found[e, j] -= directions[e, i, j] * total
    return found
