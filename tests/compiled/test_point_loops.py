"""Compiled loops equal their plain numpy versions, for every loss, precision and type of comparison."""

import numpy as np
import pytest

from nearer._compiled import CompiledLoops, StagedLoops, loops_for
from nearer._compiled.epochs import shuffle
from nearer._compiled.points import distances, pair_distances
from nearer._compiled.points_reference import squared_distances
from tests.registries import LOSSES, SquaredHinge, planted, start

EVERY_LOSS = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
KINDS = pytest.mark.parametrize("kind", ["triplets", "quadruplets"])
TYPES = pytest.mark.parametrize("dtype", [np.float64, np.float32])


def problem(kind, weighted, dtype):
    comparisons = planted(kind, weights=weighted)
    weights = np.empty(0, dtype) if comparisons.weights is None else comparisons.weights.astype(dtype)
    return start((25, 3), dtype=dtype), comparisons.indices, weights


def tolerance(dtype):
    return {"rtol": 1e-10, "atol": 1e-10} if dtype == np.float64 else {"rtol": 2e-4, "atol": 2e-4}


@EVERY_LOSS
@KINDS
@TYPES
@pytest.mark.parametrize("weighted", [False, True])
def test_value_and_gradient(loss, kind, dtype, weighted):
    X, Q, W = problem(kind, weighted, dtype)
    found = []
    for loops in (loops_for(loss), StagedLoops(loss)):
        G, C = np.zeros_like(X), np.empty((len(Q), 2), dtype)
        value = loops.gradient(X, Q, W, G, C)
        assert value == pytest.approx(loops.value(X, Q, W), rel=1e-6)
        found.append((value, G, C))
    assert found[0][0] == pytest.approx(found[1][0], rel=1e-10 if dtype == np.float64 else 1e-4)
    np.testing.assert_allclose(found[0][1], found[1][1], **tolerance(dtype))
    np.testing.assert_allclose(found[0][2], found[1][2], **tolerance(dtype))


@KINDS
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("slopes", [False, True])
def test_gradients_of_several_blocks(kind, weighted, slopes):
    X, Q, W = problem(kind, weighted, np.float64)
    starts, loss = np.array([0, 300, 301, len(Q)]), LOSSES["ste"]
    room = len(Q) if slopes else 0
    for loops in (loops_for(loss), StagedLoops(loss)):
        parts, totals, C = np.full((3, *X.shape), 7.0), np.empty(3), np.empty((room, 2))
        loops.gradients(X, Q, W, C, starts, parts, totals)
        for b in range(3):
            at, G = slice(starts[b], starts[b + 1]), np.zeros_like(X)
            expected = np.empty((room and len(Q[at]), 2))
            assert totals[b] == pytest.approx(loops.gradient(X, Q[at], W[at], G, expected), rel=1e-13)
            np.testing.assert_allclose(parts[b], G, atol=1e-12)
            np.testing.assert_allclose(C[at], expected, atol=1e-12)


@TYPES
@pytest.mark.parametrize("blocks", [1, 3])
@pytest.mark.parametrize("shrink", [0.0, 0.3])
def test_parts_are_joined(dtype, blocks, shrink):
    X, parts = (
        start((25, 3), dtype=dtype),
        np.random.default_rng(0).normal(size=(blocks, 25, 3)).astype(dtype),
    )
    expected = parts.mean(axis=0) * blocks / 7 + 2 * shrink * X
    for loops in (loops_for(LOSSES["ste"]), StagedLoops(LOSSES["ste"])):
        joined = parts.copy()
        assert loops.join(joined, 7, shrink, X) == pytest.approx(shrink * (X**2).sum(), rel=1e-5)
        np.testing.assert_allclose(joined[0], expected, **tolerance(dtype))


@EVERY_LOSS
@KINDS
@pytest.mark.parametrize("batch_size", [1, 7])
@pytest.mark.parametrize("shrink", [0.0, 1e-3])
def test_svrg_lazy_equals_dense(loss, kind, batch_size, shrink):
    X, Q, W = problem(kind, True, np.float64)
    ends = []
    for loops in (loops_for(loss), StagedLoops(loss)):
        G, C = np.zeros_like(X), np.empty((len(Q), 2))
        loops.gradient(X, Q, W, G, C)
        end = X.copy()
        loops.svrg(end, X, G / len(Q), Q, W, C, 0.004 * batch_size, batch_size, shrink)
        ends.append(end)
    assert np.abs(ends[0] - X).max() > 0.01  # it went somewhere
    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-8, atol=1e-8)


@KINDS
@TYPES
@pytest.mark.parametrize("batch_size", [1, 7])
@pytest.mark.parametrize("shrink", [0.0, 1e-3])
def test_sgd_lazy_equals_dense(kind, dtype, batch_size, shrink):
    X, Q, W = problem(kind, True, dtype)
    steps = np.linspace(0.01, 0.001, -(-len(Q) // batch_size)) * batch_size
    log_kept = (
        np.concatenate([[0.0], np.cumsum(np.log1p(-shrink * steps / steps[0]))]) if shrink else np.empty(0)
    )
    ends = []
    for loops in (loops_for(LOSSES["tste"]), StagedLoops(LOSSES["tste"])):
        end = X.copy()
        ends.append((loops.sgd(end, Q, W, steps, batch_size, log_kept), end))
    assert np.abs(ends[0][1] - X).max() > 0.01
    assert ends[0][0] == pytest.approx(ends[1][0], rel=1e-8 if dtype == np.float64 else 1e-4)
    np.testing.assert_allclose(ends[0][1], ends[1][1], **tolerance(dtype))


def test_svrg_prefetch_changes_nothing():
    """Arrays beyond the second-level cache take the path with prefetching."""
    rng = np.random.default_rng(0)
    n = 20_000
    X = rng.normal(size=(n, 3))
    Q = np.stack([rng.permutation(n)[:3] for _ in range(300)]).astype(np.int32)
    W, ends = np.empty(0), []
    for loops in (loops_for(LOSSES["ste"]), StagedLoops(LOSSES["ste"])):
        G, C = np.zeros_like(X), np.empty((len(Q), 2))
        loops.gradient(X, Q, W, G, C)
        end = X.copy()
        loops.svrg(end, X, G / len(Q), Q, W, C, 0.05, 4, 0.0)
        ends.append(end)
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-12)


@EVERY_LOSS
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_in_nan_out(loss, bad):
    """Neither fast math nor a hinge may hide a divergence."""
    X, Q, W = problem("triplets", False, np.float64)
    X[3] = bad
    X[4] = bad
    for loops in (loops_for(loss), StagedLoops(loss)):
        with np.errstate(invalid="ignore"):
            assert not np.isfinite(loops.value(X, Q, W))


@EVERY_LOSS
@TYPES
@pytest.mark.parametrize("scale", [0.0, 1e-12, 1e6])
def test_extreme_distances(loss, dtype, scale):
    """Points that coincide, or are very far apart: the same finite numbers in both."""
    X, Q, W = problem("triplets", False, dtype)
    X[5] = X[6]
    X *= dtype(scale)
    found = []
    for loops in (loops_for(loss), StagedLoops(loss)):
        G = np.zeros_like(X)
        found.append((loops.gradient(X, Q, W, G, np.empty((0, 2), dtype)), G))
    assert np.isfinite(found[0][0])
    assert np.isfinite(found[0][1]).all()
    size = max(np.abs(found[1][1]).max(), 1e-30)
    np.testing.assert_allclose(
        found[0][1] / size, found[1][1] / size, atol=1e-9 if dtype == np.float64 else 1e-3
    )


def test_shuffle_keeps_rows_together():
    Q = np.arange(3000, dtype=np.int32).reshape(1000, 3)
    W, C = Q[:, 0].astype(float), Q[:, 1:].astype(float)
    shuffle(Q, W, C, 7)
    assert not np.array_equal(Q[:, 0], np.sort(Q[:, 0]))
    np.testing.assert_array_equal(np.sort(Q[:, 0]), np.arange(0, 3000, 3))
    np.testing.assert_array_equal(Q[:, 0], W)
    np.testing.assert_array_equal(Q[:, 1:], C)


def test_shuffle_is_uniform_and_seeded():
    counts = np.zeros((4, 4))
    for seed in range(4000):
        Q = np.arange(4, dtype=np.int32)[:, None]
        shuffle(Q, np.empty(0), np.empty((0, 2)), seed)
        counts[Q[:, 0], np.arange(4)] += 1
    assert np.abs(counts / 4000 - 0.25).max() < 0.04
    one, same = (np.arange(30, dtype=np.int32).reshape(10, 3) for _ in range(2))
    shuffle(one, np.empty(0), np.empty((0, 2)), 5)
    shuffle(same, np.empty(0), np.empty((0, 2)), 5)
    np.testing.assert_array_equal(one, same)


def test_which_losses_are_compiled():
    assert all(isinstance(loops_for(loss), CompiledLoops) for loss in LOSSES.values())
    assert isinstance(loops_for(SquaredHinge()), StagedLoops)


def test_elementary_functions_hold_to_the_last_places():
    from numba import njit

    from nearer._compiled.elementary import exp_of_negative, log1p_of_share

    @njit
    def both(x, e):
        return exp_of_negative(x), log1p_of_share(e)

    for x in -np.concatenate([[0.0], np.logspace(-12, np.log10(700), 400)]):
        assert both(x, 0.5)[0] == pytest.approx(np.exp(x), rel=1e-13)
    for e in np.concatenate([[1e-300, 1e-20], np.linspace(1e-6, 1.0, 400)]):
        assert both(-1.0, e)[1] == pytest.approx(np.log1p(e), rel=2e-15)
    assert both(-1e300, 0.0) == pytest.approx((0.0, 0.0), abs=1e-300)


@KINDS
@TYPES
def test_distances_of_comparisons(kind, dtype):
    X, Q, _ = problem(kind, False, dtype)
    near, far = np.empty((2, len(Q)), dtype)
    distances(X, Q, near, far)
    for found, expected in zip((near, far), squared_distances(X, Q), strict=True):
        np.testing.assert_allclose(found, expected, **tolerance(dtype))


@TYPES
def test_pair_distances(dtype):
    X, Q, _ = problem("quadruplets", False, dtype)
    found = np.empty(len(Q))
    pair_distances(X, np.ascontiguousarray(Q[:, :2]), found)
    np.testing.assert_allclose(found, squared_distances(X, Q)[0], **tolerance(dtype))
