"""Compiled loops over the entries of a sparse matrix in compressed rows; in numpy in `pair_products_reference.py`.

Conventions: row i has the entries starts[i]:starts[i + 1], in columns `columns`; P (rows, k) and Q (columns, k) are
embeddings of both sides. The number of entry t is values[order[t]], or values[t] if `order` is empty. Every loop works
on the rows first:stop and writes to those alone, so that its result does not depend on how rows are cut into blocks.

Entries are taken four at a time. A row of P, or the sum that is built, is then read and written once per four rows of
Q, and the four sums do not wait for each other.
"""

from __future__ import annotations

import numpy as np

from nearer._compiled.decorators import exact_loop, inline, loop
from nearer._compiled.prefetch import prefetch_line, prefetch_to_read

#: rows that `solve` works on together: their product with the Gramian is one product of matrices
TOGETHER = 8
_TINY = 1e-30
#: bytes of Q from which its rows are asked for ahead, by how many entries, and the longest such rows in bytes: the
#: processor itself asks for the rest of longer ones
_LARGE, _AHEAD, _LONGEST = 4 * 2**20, 24, 256


@inline
def _rows_ahead(Q):
    """Return how many entries ahead to ask for rows of Q; 0 if that does not pay."""
    row = Q.shape[1] * Q.itemsize
    return _AHEAD if row <= _LONGEST and Q.shape[0] * row >= _LARGE else 0


@inline
def _ask(first, count, columns, Q):
    """Ask for the rows of Q of some entries."""
    for t in range(first, min(first + count, columns.shape[0])):
        prefetch_to_read(Q, columns[t])


@inline
def _number(values, order, t):
    return values[order[t]] if order.shape[0] > 0 else values[t]


@inline
def _add_rows(t, stop, ahead, columns, order, values, Q, out):
    """Add to `out` the rows of Q in the columns of entries t:stop, times the numbers of the entries."""
    k = Q.shape[1]
    while t + 4 <= stop:
        if ahead > 0:
            _ask(t + ahead, 4, columns, Q)
            for s in range(t + ahead, min(t + ahead + 4, order.shape[0])):
                prefetch_line(values, order[s], 0)
        a = columns[t]
        b = columns[t + 1]
        c = columns[t + 2]
        d = columns[t + 3]
        u = _number(values, order, t)
        v = _number(values, order, t + 1)
        w = _number(values, order, t + 2)
        z = _number(values, order, t + 3)
        for y in range(k):
            out[y] += (u * Q[a, y] + v * Q[b, y]) + (w * Q[c, y] + z * Q[d, y])
        t += 4
    if ahead > 0:
        _ask(t + ahead, stop - t, columns, Q)
        for s in range(t + ahead, min(stop + ahead, order.shape[0])):
            prefetch_line(values, order[s], 0)
    while t < stop:
        a = columns[t]
        u = _number(values, order, t)
        for y in range(k):
            out[y] += u * Q[a, y]
        t += 1


@loop
def scores(first, stop, starts, columns, P, Q, out):
    """Store the inner product of the two rows of each entry."""
    k = P.shape[1]
    zero = P.dtype.type(0)
    for i in range(first, stop):
        p = P[i]
        t = starts[i]
        while t + 4 <= starts[i + 1]:
            a = columns[t]
            b = columns[t + 1]
            c = columns[t + 2]
            d = columns[t + 3]
            u = zero
            v = zero
            w = zero
            z = zero
            for y in range(k):
                u += p[y] * Q[a, y]
                v += p[y] * Q[b, y]
                w += p[y] * Q[c, y]
                z += p[y] * Q[d, y]
            out[t] = u
            out[t + 1] = v
            out[t + 2] = w
            out[t + 3] = z
            t += 4
        while t < starts[i + 1]:
            a = columns[t]
            u = zero
            for y in range(k):
                u += p[y] * Q[a, y]
            out[t] = u
            t += 1


@loop
def add_sums(first, stop, starts, columns, order, values, Q, out):
    """Add to each row of `out` the sum over its entries of their number times a row of Q."""
    ahead = _rows_ahead(Q)
    for i in range(first, stop):
        _add_rows(starts[i], starts[i + 1], ahead, columns, order, values, Q, out[i])


@loop
def add_moves(first, stop, starts, columns, factors, P, Q, W, H, moves, out):
    """Store by how much scores move if P moves by W and Q by H, times factors; add the sums of moves times Q.

    One reading of the rows of Q and H serves all three products.
    """
    k = P.shape[1]
    zero = P.dtype.type(0)
    ahead = _rows_ahead(Q)
    for i in range(first, stop):
        p = P[i]
        m = W[i]
        into = out[i]
        t = starts[i]
        while t + 2 <= starts[i + 1]:
            if ahead > 0:
                _ask(t + ahead, 2, columns, Q)
                _ask(t + ahead, 2, columns, H)
            a = columns[t]
            b = columns[t + 1]
            u = zero
            v = zero
            for y in range(k):
                u += m[y] * Q[a, y] + p[y] * H[a, y]
                v += m[y] * Q[b, y] + p[y] * H[b, y]
            u *= factors[t]
            v *= factors[t + 1]
            moves[t] = u
            moves[t + 1] = v
            for y in range(k):
                into[y] += u * Q[a, y] + v * Q[b, y]
            t += 2
        if t < starts[i + 1]:
            if ahead > 0:
                _ask(t + ahead, 1, columns, Q)
                _ask(t + ahead, 1, columns, H)
            a = columns[t]
            u = zero
            for y in range(k):
                u += m[y] * Q[a, y] + p[y] * H[a, y]
            u *= factors[t]
            moves[t] = u
            for y in range(k):
                into[y] += u * Q[a, y]


@inline
def _add_product(t, stop, columns, order, factors, Q, x, out):
    """Add to `out` the sum over entries t:stop of number * q (q'x), reading each row q of Q once."""
    k = Q.shape[1]
    zero = Q.dtype.type(0)
    while t + 4 <= stop:
        a = columns[t]
        b = columns[t + 1]
        c = columns[t + 2]
        d = columns[t + 3]
        u = zero
        v = zero
        w = zero
        z = zero
        for y in range(k):
            u += x[y] * Q[a, y]
            v += x[y] * Q[b, y]
            w += x[y] * Q[c, y]
            z += x[y] * Q[d, y]
        u *= _number(factors, order, t)
        v *= _number(factors, order, t + 1)
        w *= _number(factors, order, t + 2)
        z *= _number(factors, order, t + 3)
        for y in range(k):
            out[y] += (u * Q[a, y] + v * Q[b, y]) + (w * Q[c, y] + z * Q[d, y])
        t += 4
    while t < stop:
        a = columns[t]
        u = zero
        for y in range(k):
            u += x[y] * Q[a, y]
        u *= _number(factors, order, t)
        for y in range(k):
            out[y] += u * Q[a, y]
        t += 1


@loop
def solve(first, stop, starts, columns, order, factors, Q, gram, scales, strengths, residuals, x, products):
    """Take steps of conjugate gradients in each row; x (rows, k) moves, `residuals` are those at its start.

    The matrix of row i is scales[i] * gram + strengths[i] * identity + the sum over its entries of number * q q'. Its
    rows of Q stay in the cache from one product to the next.
    """
    k = Q.shape[1]
    directions = np.zeros((TOGETHER, k), Q.dtype)
    turned = np.empty((TOGETHER, k), Q.dtype)
    lengths = np.empty(TOGETHER, Q.dtype)
    tiny = Q.dtype.type(_TINY)
    for begin in range(first, stop, TOGETHER):
        count = min(TOGETHER, stop - begin)
        for b in range(count):
            r = residuals[begin + b]
            total = Q.dtype.type(0)
            for y in range(k):
                directions[b, y] = r[y]
                total += r[y] * r[y]
            lengths[b] = total
        for _ in range(products):
            np.dot(directions, gram, turned)
            for b in range(count):
                i = begin + b
                d = directions[b]
                image = turned[b]
                for y in range(k):
                    image[y] = scales[i] * image[y] + strengths[i] * d[y]
                _add_product(starts[i], starts[i + 1], columns, order, factors, Q, d, image)
                lengths[b] = _step(x[i], residuals[i], d, image, lengths[b], tiny)


@inline
def _step(x, r, d, image, length, tiny):
    """Move x along d, turn d to the next direction, and return the squared length of the next residual."""
    k = len(x)
    along = length * 0
    for y in range(k):
        along += d[y] * image[y]
    step = length / (along + tiny)
    total = length * 0
    for y in range(k):
        x[y] += step * d[y]
        rest = r[y] - step * image[y]
        r[y] = rest
        total += rest * rest
    share = total / (length + tiny)
    for y in range(k):
        d[y] = r[y] + share * d[y]
    return total


@exact_loop
def transpose(starts, columns, ends, order, rows):
    """Store where the entries of the transposed matrix are in this one, and their columns there.

    `ends` has where each row of the transposed matrix starts; when this returns, where it ends.
    """
    for i in range(starts.shape[0] - 1):
        for t in range(starts[i], starts[i + 1]):
            at = ends[columns[t]]
            ends[columns[t]] = at + 1
            order[at] = t
            rows[at] = i
