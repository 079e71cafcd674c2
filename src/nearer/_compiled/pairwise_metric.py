"""Compiled steps on pairs for a learned distance, dense and sparse; `pairwise_metric_reference.py` defines a step.

The weights of one feature are adjacent in memory, V (d, p). Shrinking and averaging are lazy as for linear scores
(`pairwise.py`): a step costs p times the entries of its two rows.
"""

from __future__ import annotations

import numpy as np

from nearer._compiled.decorators import inline, loop
from nearer._compiled.margin_losses import loss_and_descent
from nearer._compiled.pairwise import SMALL, _add_to_average, fold, next_length
from nearer._compiled.pairwise_reference import COUNT, MASS, MU, POWER, PROXIMAL, SCALE


@inline
def _measure(t, code, rule, held, threshold, z, squared):
    """Move the threshold; return the loss of pair t, its factor of (difference) zᵀ in the step, and the shrinking."""
    sign = 1.0 - 2.0 * (t % 2)
    distance = 0.0
    for c in range(z.shape[0]):
        distance += z[c] * z[c]
    distance *= held[SCALE] * held[SCALE]
    length = next_length(rule)
    reach = length * (4.0 * distance * squared + 1.0) * rule[PROXIMAL]
    value, descent = loss_and_descent(code, sign * (threshold[0] - distance), reach)
    change = 2.0 * length * descent * sign
    if change * squared > 1.0:
        change = 1.0 / squared
    threshold[0] += length * descent * sign
    return value, change, 1.0 - length * rule[MU]


@inline
def _count(rule, held, threshold):
    """Add the current weights to the average."""
    if rule[POWER] >= 0:
        _add_to_average(held, rule[POWER])
        share = (rule[POWER] + 1.0) / (held[COUNT] + rule[POWER])
        threshold[1] += share * (threshold[0] - threshold[1])


@inline
def _add(v, lag, f, times, behind, z):
    for c in range(z.shape[0]):
        v[f, c] += times * z[c]
        lag[f, c] += behind * z[c]


@loop
def dense_metric_steps(X, rows, others, unit, code, rule, v, lag, held, threshold):
    """Take one step per pair on V (v, held), its average (lag, held) and the threshold; return the sum of losses."""
    z = np.empty(v.shape[1])
    total = 0.0
    for t in range(rows.shape[0]):
        i, j = rows[t], others[t]
        z[:] = 0.0
        squared = 0.0
        for f in range(v.shape[0]):
            difference = unit * (np.float64(X[i, f]) - np.float64(X[j, f]))
            squared += difference * difference
            for c in range(z.shape[0]):
                z[c] += difference * v[f, c]
        value, change, shrink = _measure(t, code, rule, held, threshold, z, squared)
        total += value
        change *= held[SCALE]
        held[SCALE] *= shrink
        if held[SCALE] < SMALL:
            fold(v.reshape(-1), lag.reshape(-1), held)
        if change != 0:
            change /= held[SCALE]
            behind = change * held[MASS]
            for f in range(v.shape[0]):
                difference = unit * (np.float64(X[i, f]) - np.float64(X[j, f]))
                _add(v, lag, f, -change * difference, -behind * difference, z)
        _count(rule, held, threshold)
    return total


@loop
def sparse_metric_steps(indptr, indices, data, rows, others, unit, code, rule, v, lag, held, threshold, work):
    """Do the same as `dense_metric_steps` for the three arrays of CSR; `work` (d,) is zero before and after."""
    z = np.empty(v.shape[1])
    total = 0.0
    for t in range(rows.shape[0]):
        i, j = rows[t], others[t]
        z[:] = 0.0
        squared = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            x = unit * float(data[k])
            work[indices[k]] = x
            squared += x * x
            for c in range(z.shape[0]):
                z[c] += x * v[indices[k], c]
        for k in range(indptr[j], indptr[j + 1]):
            x = unit * float(data[k])
            squared += x * (x - 2.0 * work[indices[k]])
            for c in range(z.shape[0]):
                z[c] -= x * v[indices[k], c]
        for k in range(indptr[i], indptr[i + 1]):
            work[indices[k]] = 0.0
        # rounding may make it negative for two equal rows
        value, change, shrink = _measure(t, code, rule, held, threshold, z, max(squared, 0.0))
        total += value
        change *= held[SCALE]
        held[SCALE] *= shrink
        if held[SCALE] < SMALL:
            fold(v.reshape(-1), lag.reshape(-1), held)
        if change != 0:
            change *= unit / held[SCALE]
            behind = change * held[MASS]
            for k in range(indptr[i], indptr[i + 1]):
                x = float(data[k])
                _add(v, lag, indices[k], -change * x, -behind * x, z)
            for k in range(indptr[j], indptr[j + 1]):
                x = float(data[k])
                _add(v, lag, indices[k], change * x, behind * x, z)
        _count(rule, held, threshold)
    return total
