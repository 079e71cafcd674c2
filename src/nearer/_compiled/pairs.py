"""Compiled loop over pairs of points: what a kernel held as a factor is asked at every step."""

from __future__ import annotations

from nearer._compiled.points import _kernel, _squared_distance


@_kernel
def pair_distances(X, pairs, out):
    """Squared distance of every pair of rows of X; `pairs` (m, 2) int32, `out` (m,)."""
    for t in range(pairs.shape[0]):
        out[t] = _squared_distance(X, pairs[t, 0], pairs[t, 1])
