"""Compiled products of lower triangles with vectors, one triangle per row; in numpy in `blocks_reference.py`.

Blocks (e, d, d) may be in single precision, which halves what is read; sums are in double precision. What is above the
diagonal is never read.
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
