"""Compiled steps of OPAUC: the square loss of a row against all of the other class, by its mean and covariance.

The scatter matrix of a class (covariance times rows) has two parts: `factors[side]`, and up to `pending.shape[1]`
vectors whose outer products are still to be added to it, so that a step reads the large part but does not write it.
If `whole`, `factors[side]` is the matrix itself; otherwise a few rows whose outer products sum to it, plus
`ridges[side]` times the identity. Adding a row to the moments of its class adds one pending vector: the scatter grows
by (k - 1) / k times the outer product of its distance from the mean of the k - 1 rows before.

The average of the weights is not lazy, since a step costs far more than a pass over them.
"""

from __future__ import annotations

import math

import numpy as np

from nearer._compiled.decorators import inline, loop
from nearer._compiled.pairwise import next_length
from nearer._compiled.pairwise_reference import COUNT, MU, POWER


@inline
def _scatter_product(factor, ridge, pending, n_pending, whole, w, out):
    """Store the scatter matrix times w."""
    d = w.shape[0]
    for c in range(d):
        out[c] = ridge * w[c]
    if whole:
        for r in range(d):
            product = 0.0
            for c in range(d):
                product += factor[r, c] * w[c]
            out[r] += product
    else:
        _add_outer_products(factor, factor.shape[0], w, out)
    _add_outer_products(pending, n_pending, w, out)


@inline
def _add_outer_products(vectors, count, w, out):
    for r in range(count):
        product = 0.0
        for c in range(w.shape[0]):
            product += vectors[r, c] * w[c]
        if product != 0:
            for c in range(w.shape[0]):
                out[c] += product * vectors[r, c]


@inline
def _learn(x, side, means, counts, traces, pending, n_pending):
    """Add a row to the moments of its class."""
    counts[side] += 1.0
    share = (counts[side] - 1.0) / counts[side]
    root = math.sqrt(share)
    place = n_pending[side]
    squared = 0.0
    for c in range(x.shape[0]):
        difference = x[c] - means[side, c]
        squared += difference * difference
        pending[side, place, c] = root * difference
        means[side, c] += difference / counts[side]
    traces[side] += share * squared
    n_pending[side] += 1


@loop
def moment_steps(
    rows,
    sides,
    learns,
    means,
    counts,
    traces,
    factors,
    ridges,
    whole,
    pending,
    n_pending,
    rule,
    w,
    average,
    held,
):
    """Take a step per row (k, d) float64, until a class has no room for pending vectors.

    Return the number of rows taken and the sum of their mean losses against the other class.
    """
    d = w.shape[0]
    gradient = np.empty(d)
    total = 0.0
    for t in range(rows.shape[0]):
        side = sides[t]
        if learns and n_pending[side] >= pending.shape[1]:
            return t, total
        other = 1 - side
        if counts[other] > 0:
            _scatter_product(
                factors[other], ridges[other], pending[other], n_pending[other], whole, w, gradient
            )
            sign = 1.0 - 2.0 * side
            margin = 0.0
            squared = traces[other] / counts[other]
            for c in range(d):
                difference = sign * (rows[t, c] - means[other, c])
                margin += w[c] * difference
                squared += difference * difference
            length = next_length(rule)
            damped = 2.0 * length / (1.0 + 2.0 * length * squared)
            held[COUNT] += 1.0
            share = (rule[POWER] + 1.0) / (held[COUNT] + rule[POWER])
            spread = 0.0
            for c in range(d):
                gradient[c] /= counts[other]
                spread += w[c] * gradient[c]
                difference = sign * (rows[t, c] - means[other, c])
                w[c] -= length * rule[MU] * w[c] + damped * ((margin - 1.0) * difference + gradient[c])
                average[c] += share * (w[c] - average[c])
            total += (1.0 - margin) ** 2 + spread
        if learns:
            _learn(rows[t], side, means, counts, traces, pending, n_pending)
    return rows.shape[0], total
