"""The loops of `pair_products.py` in numpy, entry by entry."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

Array = np.ndarray


def _entries(first: int, stop: int, starts: Array) -> Iterator[tuple[int, int]]:
    """Yield the row and the number of each entry."""
    for i in range(first, stop):
        for t in range(starts[i], starts[i + 1]):
            yield i, t


def scores(first: int, stop: int, starts: Array, columns: Array, P: Array, Q: Array, out: Array) -> None:
    """Store the inner product of the two rows of each entry."""
    for i, t in _entries(first, stop, starts):
        out[t] = P[i] @ Q[columns[t]]


def add_sums(
    first: int, stop: int, starts: Array, columns: Array, order: Array, values: Array, Q: Array, out: Array
) -> None:
    """Add to each row of `out` the sum over its entries of their number times a row of Q."""
    numbers = values[order] if len(order) else values
    for i, t in _entries(first, stop, starts):
        out[i] += numbers[t] * Q[columns[t]]


def add_moves(
    first: int,
    stop: int,
    starts: Array,
    columns: Array,
    factors: Array,
    P: Array,
    Q: Array,
    W: Array,
    H: Array,
    moves: Array,
    out: Array,
) -> None:
    """Store by how much scores move if P moves by W and Q by H, times factors; add the sums of moves times Q."""
    for i, t in _entries(first, stop, starts):
        j = columns[t]
        moves[t] = factors[t] * (W[i] @ Q[j] + P[i] @ H[j])
        out[i] += moves[t] * Q[j]


def solve(
    first: int,
    stop: int,
    starts: Array,
    columns: Array,
    order: Array,
    factors: Array,
    Q: Array,
    gram: Array,
    scales: Array,
    strengths: Array,
    residuals: Array,
    x: Array,
    products: int,
) -> None:
    """Take steps of conjugate gradients in each row; x moves, `residuals` are those at its start."""
    numbers = factors[order] if len(order) else factors
    for i in range(first, stop):
        at = slice(starts[i], starts[i + 1])
        rows = Q[columns[at]]
        matrix = scales[i] * gram + strengths[i] * np.eye(Q.shape[1]) + (rows.T * numbers[at]) @ rows
        direction = residuals[i].copy()
        length = direction @ direction
        for _ in range(products):
            image = matrix @ direction
            step = length / (direction @ image + 1e-30)
            x[i] += step * direction
            residuals[i] -= step * image
            length, before = residuals[i] @ residuals[i], length
            direction = residuals[i] + length / (before + 1e-30) * direction


def transpose(starts: Array, columns: Array, ends: Array, order: Array, rows: Array) -> None:
    """Store where the entries of the transposed matrix are in this one, and their columns there."""
    order[:] = np.argsort(columns, kind="stable")
    rows[:] = np.repeat(np.arange(len(starts) - 1), np.diff(starts))[order]
    ends += np.bincount(columns, minlength=len(ends)).astype(ends.dtype)
