"""Compiled loops over the entries of a sparse matrix equal their plain numpy versions, however rows are cut."""

import numpy as np
import pytest

from nearer._compiled import pair_products as loops
from nearer._compiled import pair_products_reference as plain

TYPES = pytest.mark.parametrize("dtype", [np.float64, np.float32])
INDICES = pytest.mark.parametrize("whole", [np.int32, np.int64])
M, N = 23, 17
#: sizes around those of vector registers, and one that needs several
WIDTHS = pytest.mark.parametrize("k", [1, 5, 16, 37])


def pattern(whole, seed=0):
    """Rows of zero to seventeen entries; one row and one column are empty, one row is full but for that column."""
    observed = np.random.default_rng(seed).random((M, N)) < np.linspace(0, 0.9, M)[:, None]
    observed[4], observed[:, 3], observed[9] = False, False, True
    observed[9, 3] = False
    rows, columns = observed.nonzero()
    starts = np.concatenate([[0], np.bincount(rows, minlength=M).cumsum()])
    return starts.astype(whole), columns.astype(whole)


def drawn(dtype, *shape, seed=1):
    return np.random.default_rng(seed + sum(shape)).normal(size=shape).astype(dtype)


def close(found, wanted):
    size = np.abs(wanted).max()
    np.testing.assert_allclose(
        found, wanted, atol=size * (1e-12 if wanted.dtype == np.float64 else 2e-6), rtol=0
    )


def in_parts(call):
    """Call a loop for all rows, and again in blocks: the bits are the same."""
    whole, cut = call([(0, M)]), call([(0, 8), (8, 16), (16, M)])
    for one, other in zip(whole, cut, strict=True):
        np.testing.assert_array_equal(one, other)
    return whole


@TYPES
@INDICES
@WIDTHS
def test_scores(dtype, whole, k):
    starts, columns = pattern(whole)
    P, Q = drawn(dtype, M, k), drawn(dtype, N, k)

    def call(blocks, loop=loops.scores):
        out = np.full(len(columns), np.nan, dtype)
        for first, stop in blocks:
            loop(first, stop, starts, columns, P, Q, out)
        return (out,)

    close(in_parts(call)[0], call([(0, M)], plain.scores)[0])


@TYPES
@INDICES
@WIDTHS
@pytest.mark.parametrize("ordered", [False, True])
def test_sums(dtype, whole, k, ordered):
    starts, columns = pattern(whole)
    values, Q = drawn(dtype, len(columns)), drawn(dtype, N, k)
    order = np.random.default_rng(2).permutation(len(columns) if ordered else 0).astype(whole)

    def call(blocks, loop=loops.add_sums):
        out = np.ones((M, k), dtype)
        for first, stop in blocks:
            loop(first, stop, starts, columns, order, values, Q, out)
        return (out,)

    close(in_parts(call)[0], call([(0, M)], plain.add_sums)[0])


@TYPES
@INDICES
@WIDTHS
def test_moves(dtype, whole, k):
    starts, columns = pattern(whole)
    factors, sides = drawn(dtype, len(columns)), [drawn(dtype, n, k, seed=s) for s in (1, 7) for n in (M, N)]

    def call(blocks, loop=loops.add_moves):
        moves, out = np.full(len(columns), np.nan, dtype), np.ones((M, k), dtype)
        for first, stop in blocks:
            loop(first, stop, starts, columns, factors, *sides, moves, out)
        return moves, out

    for found, wanted in zip(in_parts(call), call([(0, M)], plain.add_moves), strict=True):
        close(found, wanted)


@TYPES
@INDICES
@pytest.mark.parametrize("k", [1, 5, 16])
@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("products", [1, 3])
def test_solve(dtype, whole, k, ordered, products):
    starts, columns = pattern(whole)
    Q, residuals, x = drawn(dtype, N, k), drawn(dtype, M, k), drawn(dtype, M, k, seed=5)
    factors = np.abs(drawn(dtype, len(columns)))
    order = np.random.default_rng(2).permutation(len(columns) if ordered else 0).astype(whole)
    scales, strengths = np.abs(drawn(dtype, M)), np.abs(drawn(dtype, M, seed=9)) + dtype(0.5)

    def call(blocks, loop=loops.solve):
        rest, out = residuals.copy(), x.copy()
        for first, stop in blocks:
            loop(
                first,
                stop,
                starts,
                columns,
                order,
                factors,
                Q,
                Q.T @ Q,
                scales,
                strengths,
                rest,
                out,
                products,
            )
        return (out,)

    found, wanted = in_parts(call)[0], call([(0, M)], plain.solve)[0]
    np.testing.assert_allclose(found, wanted, atol=1e-8 if dtype == np.float64 else 1e-3, rtol=0)


@TYPES
@pytest.mark.parametrize("ordered", [False, True])
def test_rows_of_large_embeddings_are_asked_for_ahead(dtype, ordered):
    n, k = 40_000, 32
    starts = np.array([0, 7, 7, 40, 41, 60], np.int32)
    rng = np.random.default_rng(0)
    columns = rng.integers(n, size=60).astype(np.int32)
    values, Q, H = drawn(dtype, 60), drawn(dtype, n, k), drawn(dtype, n, k, seed=2)
    assert Q.nbytes >= loops._LARGE
    order = rng.permutation(60 if ordered else 0).astype(np.int32)
    found, wanted = np.zeros((5, k), dtype), np.zeros((5, k), dtype)
    loops.add_sums(0, 5, starts, columns, order, values, Q, found)
    plain.add_sums(0, 5, starts, columns, order, values, Q, wanted)
    close(found, wanted)
    P, W = drawn(dtype, 5, k), drawn(dtype, 5, k, seed=2)
    moves = np.empty((2, 60), dtype)
    loops.add_moves(0, 5, starts, columns, values, P, Q, W, H, moves[0], found)
    plain.add_moves(0, 5, starts, columns, values, P, Q, W, H, moves[1], wanted)
    close(moves[0], moves[1])
    close(found, wanted)


@INDICES
def test_transpose(whole):
    starts, columns = pattern(whole)
    before = np.concatenate([[0], np.bincount(columns, minlength=N).cumsum()]).astype(whole)
    found = []
    for loop in (loops.transpose, plain.transpose):
        ends, order, rows = before[:-1].copy(), np.empty_like(columns), np.empty_like(columns)
        loop(starts, columns, ends, order, rows)
        found.append((ends, order, rows))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(found[0][0], before[1:])
