"""The parts of a stochastic step that run over the columns of two rows, in vector instructions.

A step on rows i and j first stores their difference in a small buffer, then moves both along it. All functions take
(p, x, y, i, j, d, r, a, b): the number of columns; pointers x and y to arrays, in both of which rows i and j begin at
numbers i and j; a pointer d to the buffer, whose row begins at number r; and two factors.
"""

from __future__ import annotations

from nearer._compiled.decorators import merged
from nearer._compiled.vectors import loader, rolled, store, total


@merged
def ends(q, t, columns, p):
    """Return where the rows i, j, l, k of comparison t begin; q points to triplets or quadruplets."""
    at = columns * t
    third = 0 if columns == 3 else 2
    return p * q[at], p * q[at + 1], p * q[at + third], p * q[at + columns - 1]


def _by_columns(of_width):
    """Return a function that runs `of_width(w)` on w columns at a time and sums the results."""
    eight, four, two, one = (of_width(width) for width in (8, 4, 2, 1))

    @merged
    def by_columns(p, x, y, i, j, d, r, a, b):
        result = 0.0
        c = 0
        while c + 8 <= p:
            rolled()
            result += eight(x, y, i, j, d, r, a, b, c)
            c += 8
        if c + 4 <= p:
            result += four(x, y, i, j, d, r, a, b, c)
            c += 4
        if c + 2 <= p:
            result += two(x, y, i, j, d, r, a, b, c)
            c += 2
        if c < p:
            result += one(x, y, i, j, d, r, a, b, c)
        return result

    return by_columns


@_by_columns
def difference(width):
    """Store x_i - x_j; return its squared length."""
    load = loader(width)

    @merged
    def columns(x, y, i, j, d, r, a, b, c):
        found = load(x, i + c) - load(x, j + c)
        store(d, r + c, found)
        return total(found * found)

    return columns


@_by_columns
def drifted_difference(width):
    """Store a (x_i - x_j) + b (y_i - y_j); return its squared length."""
    load = loader(width)

    @merged
    def columns(x, y, i, j, d, r, a, b, c):
        found = a * (load(x, i + c) - load(x, j + c)) + b * (load(y, i + c) - load(y, j + c))
        store(d, r + c, found)
        return total(found * found)

    return columns


@_by_columns
def move(width):
    """Subtract a times the stored difference from x_i and add it to x_j."""
    load = loader(width)

    @merged
    def columns(x, y, i, j, d, r, a, b, c):
        change = a * load(d, r + c)
        store(x, i + c, load(x, i + c) - change)
        store(x, j + c, load(x, j + c) + change)
        return 0.0

    return columns


@_by_columns
def corrected_move(width):
    """Subtract a times the stored difference minus b (y_i - y_j) from x_i and add it to x_j."""
    load = loader(width)

    @merged
    def columns(x, y, i, j, d, r, a, b, c):
        change = a * load(d, r + c) - b * (load(y, i + c) - load(y, j + c))
        store(x, i + c, load(x, i + c) - change)
        store(x, j + c, load(x, j + c) + change)
        return 0.0

    return columns


@_by_columns
def move_triplet(width):
    """Move x_i, x_j and x_k along both stored differences: the first at d, times a, the second at d + r, times b.

    Here y is where row k begins. Row i is written once; otherwise its second change would wait for the first.
    """
    load = loader(width)

    @merged
    def columns(x, y, i, j, d, r, a, b, c):
        near = a * load(d, c)
        far = b * load(d, r + c)
        store(x, i + c, load(x, i + c) - (near + far))
        store(x, j + c, load(x, j + c) + near)
        store(x, y + c, load(x, y + c) + far)
        return 0.0

    return columns
