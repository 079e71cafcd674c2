"""The compiled loops of the stochastic solvers against plain numpy, step by step."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import sparse

from nearer._compiled import pairwise_reference as reference
from nearer._compiled.margin_losses import MARGIN_CODES, loss_and_descent_of
from nearer._compiled.pairwise import dense_steps
from nearer._compiled.pairwise_buffer import dense_buffer_steps, sparse_buffer_steps
from nearer._compiled.pairwise_moments import moment_steps
from nearer._compiled.pairwise_reference import (
    COUNT,
    DECKS,
    DRAWN,
    LISTED,
    MASS,
    SCALE,
    TOTAL,
    step_curvature,
)
from nearer._compiled.pairwise_rows import gather_sparse, shuffle_rows, sparse_distances
from nearer._compiled.pairwise_saddle import dense_saddle_steps, sparse_saddle_steps
from nearer._compiled.pairwise_sparse import sparse_steps
from nearer.losses.margins import MARGIN_LOSSES, MarginLoss
from nearer.pairwise._weights import rule_of
from nearer.pairwise.pairs import sparse_arrays

LOSSES = [loss() for loss in MARGIN_LOSSES.values()]
NAMES = [loss.name for loss in LOSSES]
D = 9


@pytest.fixture
def X():
    """Rows with many zeros, as far apart as the steps below are long."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(30, D)) * (rng.random((30, D)) < 0.5)


def fresh(seed=1):
    """Weights and an average that have already come some way."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=D), rng.normal(size=D), np.array([0.7, 2.0, 3.0, 2.0])


def in_table(v, lag):
    return np.stack([v, lag, np.zeros_like(v)], axis=1)


def told(v, lag, held):
    """What the lazily held numbers stand for: the weights, the weighted sum of iterates, its weight and count."""
    return [held[SCALE] * v, held[MASS] * v - lag, held[TOTAL], held[COUNT]]


def assert_same(one, other, tolerance=1e-10):
    for a, b in zip(told(*one), told(*other), strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


WALKS = pytest.mark.parametrize("walk", [DECKS, LISTED, DRAWN], ids=["decks", "listed", "drawn"])
POWERS = pytest.mark.parametrize("power", [3.0, 0.0, -1.0], ids=["weighted", "uniform", "none"])


def pair_arguments(walk, count):
    rows, others = np.array([4, 0, 7, 2, 9]), np.array([1, 3, 5, 6, 8, 10, 12])
    cursors = np.array([3, 2, 11], np.int64)
    return rows, others, walk, cursors, 12345, count


@pytest.mark.parametrize("loss", LOSSES, ids=NAMES)
@pytest.mark.parametrize("proximal", [True, False], ids=["proximal", "explicit"])
@WALKS
@POWERS
def test_dense_steps_are_the_reference(X, loss, proximal, walk, power):
    first, second = X[:11].copy(), X[11:].copy()
    if walk != DECKS:
        first = second = X
    one, other = fresh(), fresh()
    rules = [rule_of(0.4, 0.3, power, proximal) for _ in range(2)]
    arguments = [pair_arguments(walk, 40) for _ in range(2)]
    code = MARGIN_CODES[type(loss)]
    met = dense_steps(first, second, *arguments[0], code, rules[0], *one)
    expected = reference.pair_steps((first,), (second,), *arguments[1], loss, rules[1], *other)
    np.testing.assert_allclose(met, expected, rtol=1e-9)
    assert_same(one, other, 1e-9)
    np.testing.assert_array_equal(arguments[0][3], arguments[1][3])
    np.testing.assert_array_equal(rules[0], rules[1])


@pytest.mark.parametrize("loss", LOSSES, ids=NAMES)
@WALKS
@POWERS
def test_sparse_steps_are_those_of_the_same_dense_rows(X, loss, walk, power):
    first, second = X[:11].copy(), X[11:].copy()
    if walk != DECKS:
        first = second = X
    matrices = [sparse_arrays(sparse.csr_matrix(part)) for part in (first, second)]
    one, (v, lag, held) = fresh(), fresh()
    table = in_table(v, lag)
    rules = [rule_of(0.4, 0.3, power) for _ in range(2)]
    code = MARGIN_CODES[type(loss)]
    met = dense_steps(first, second, *pair_arguments(walk, 60), code, rules[0], *one)
    same = sparse_steps(*matrices[0], *matrices[1], *pair_arguments(walk, 60), code, rules[1], table, held)
    np.testing.assert_allclose(met, same, rtol=1e-9)
    assert_same(one, (table[:, 0], table[:, 1], held), 1e-9)
    assert not table[:, 2].any(), "the workplace must be left empty"


def test_features_by_the_hundred_thousand(X):
    """Where the weights are asked for ahead, the numbers stay the same."""
    rng = np.random.default_rng(0)
    chosen = np.sort(rng.choice(200_000, D, replace=False))
    wide = sparse.csr_matrix(X).tocoo()
    wide = sparse.csr_matrix((wide.data, (wide.row, chosen[wide.col])), shape=(len(X), 200_000))
    for walk in (DECKS, LISTED, DRAWN):
        one, (v, lag, held) = fresh(), fresh()
        table = np.zeros((200_000, 3))
        table[chosen] = in_table(v, lag)
        dense_steps(X, X, *pair_arguments(walk, 60), 1, rule_of(0.4, 0.3), *one)
        matrix = sparse_arrays(wide)
        sparse_steps(*matrix, *matrix, *pair_arguments(walk, 60), 1, rule_of(0.4, 0.3), table, held)
        assert_same(one, (table[chosen, 0], table[chosen, 1], held), 1e-9)


@pytest.mark.parametrize("power", [3.0, 0.0])
def test_the_lazy_average_is_the_average_of_the_iterates(X, power):
    """One step at a time shows every iterate; weights t**power as `rule` has it."""
    v, lag, held = np.zeros(D), np.zeros(D), np.array([1.0, 0.0, 0.0, 0.0])
    rule = rule_of(0.2, 0.5, power)
    _, _, walk, cursors, seed, _ = pair_arguments(DECKS, 1)
    none = np.empty(0, np.int64)
    iterates = []
    for _ in range(50):
        dense_steps(X[:11], X[11:], none, none, walk, cursors, seed, 1, 1, rule, v, lag, held)
        iterates.append(held[SCALE] * v)
    count = np.arange(1, 51)
    weights = np.cumprod(np.r_[1.0, (count[1:] + power) / count[:-1]]) * (power + 1) / (count + power)
    expected = weights @ np.array(iterates) / weights.sum()
    np.testing.assert_allclose(weights.sum(), held[TOTAL])
    np.testing.assert_allclose((held[MASS] * v - lag) / held[TOTAL], expected, rtol=1e-10, atol=1e-12)
    if power == 3:  # the weights grow like t**3
        assert weights[-1] / weights[24] == pytest.approx((50 / 25) ** 3, rel=0.1)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_a_scale_that_vanishes_is_worked_into_the_weights(X, kind):
    """The printed first step multiplies the weights by zero; many strong ones by almost nothing."""
    one, other = fresh(), fresh()
    rules = [rule_of(0.0, 2.0, 3.0, proximal=False) for _ in range(2)]
    arguments = [pair_arguments(LISTED, 3) for _ in range(2)]
    reference.pair_steps((X,), (X,), *arguments[1], LOSSES[1], rules[1], *other)
    if kind == "dense":
        dense_steps(X, X, *arguments[0], 1, rules[0], *one)
        assert_same(one, other)
    else:
        table = in_table(*one[:2])
        matrix = sparse_arrays(sparse.csr_matrix(X))
        sparse_steps(*matrix, *matrix, *arguments[0], 1, rules[0], table, one[2])
        assert_same((table[:, 0], table[:, 1], one[2]), other)


def test_float32_rows_are_stepped_on_in_float64(X):
    X = X.astype(np.float32)
    one, other = fresh(), fresh()
    (v, lag, held) = fresh()
    table = in_table(v, lag)
    matrix = sparse_arrays(sparse.csr_matrix(X))
    dense_steps(X, X, *pair_arguments(LISTED, 40), 3, rule_of(0.4, 0.3), *one)
    sparse_steps(*matrix, *matrix, *pair_arguments(LISTED, 40), 3, rule_of(0.4, 0.3), table, held)
    wide = X.astype(np.float64)
    dense_steps(wide, wide, *pair_arguments(LISTED, 40), 3, rule_of(0.4, 0.3), *other)
    assert_same(one, other)
    assert_same((table[:, 0], table[:, 1], held), other)


@pytest.mark.parametrize("loss", LOSSES, ids=NAMES)
def test_blocks_of_steps_add_up(X, loss):
    code = MARGIN_CODES[type(loss)]
    one, other = fresh(), fresh()
    rules = [rule_of(0.4, 0.3) for _ in range(2)]
    arguments = [pair_arguments(DRAWN, 40), list(pair_arguments(DRAWN, 0))]
    dense_steps(X, X, *arguments[0], code, rules[0], *one)
    for count in (1, 17, 22):
        arguments[1][-1] = count
        dense_steps(X, X, *arguments[1], code, rules[1], *other)
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


class TestPull:
    """Minus the slope after a step, for margins and reaches of every size."""

    MARGINS = (-1e8, -50.0, -3.0, -1e-4, 0.0, 1e-4, 0.5, 1.0, 2.0, 50.0, 1e8)
    REACHES = (0.0, 1e-6, 0.3, 4.0, 1e8)

    @pytest.mark.parametrize("loss", LOSSES, ids=NAMES)
    def test_compiled_is_plain(self, loss):
        for margin in self.MARGINS:
            for reach in self.REACHES:
                value, pull = loss_and_descent_of(MARGIN_CODES[type(loss)], margin, reach)
                assert value == pytest.approx(float(loss.value(np.array([margin]))[0]), rel=1e-9, abs=1e-300)
                assert pull == pytest.approx(reference.descent(loss, margin, reach), rel=1e-7, abs=1e-300)

    @pytest.mark.parametrize("loss", LOSSES, ids=NAMES)
    def test_a_proximal_step_lowers_the_loss_and_never_overshoots(self, loss):
        for margin in (-50.0, -3.0, 0.0, 0.5, 1.5):
            for reach in (1e-6, 0.3, 4.0, 1e8):
                pull = reference.descent(loss, margin, reach)
                after = np.array([margin, margin + reach * pull])
                before, now = loss.value(after)
                assert now + reach * pull**2 / 2 <= before * (1 + 1e-9)

    @pytest.mark.parametrize("loss", [loss for loss in LOSSES if loss.name != "logistic"])
    def test_the_slope_is_that_after_the_step(self, loss):
        for margin in (-3.0, 0.0, 0.9):
            for reach in (0.01, 0.3, 4.0):
                pull = reference.descent(loss, margin, reach)
                slope = float(loss.slope(np.array([margin + reach * pull]))[0])
                # at the hinge's kink any slope between -1 and 0 is one
                at_kink = loss.name == "hinge" and margin + reach * pull == pytest.approx(1)
                assert at_kink or slope == pytest.approx(-pull)

    def test_a_loss_of_ones_own_is_damped_by_its_curvature(self):
        @dataclass(frozen=True)
        class Huge(MarginLoss):
            name = "huge"
            curvature = 8.0

            def value(self, margin):
                return 4 * (1 - margin) ** 2

            def slope(self, margin):
                return 8 * (margin - 1)

        assert reference.descent(Huge(), 0.0, 0.5) == pytest.approx(8 / 5)


class TestBuffer:
    @pytest.mark.parametrize("loss", LOSSES, ids=NAMES)
    @pytest.mark.parametrize("n_pairs", [3, 100])
    def test_compiled_is_plain(self, X, loss, n_pairs):
        rng = np.random.default_rng(3)
        order, sides = rng.integers(0, 30, 80), rng.integers(0, 2, 80)
        results = []
        for kind in ("dense", "sparse", "plain"):
            v, lag, held = fresh()
            buffers, seen, rule = np.zeros((2, 6), np.int64), np.zeros(2, np.int64), rule_of(0.4, 0.3)
            how = (order, sides, buffers, seen, n_pairs, 77)
            code = (MARGIN_CODES[type(loss)], step_curvature(loss))
            if kind == "dense":
                answer = dense_buffer_steps(X, *how, *code, rule, v, lag, held)
            elif kind == "sparse":
                table = in_table(v, lag)
                matrix = sparse_arrays(sparse.csr_matrix(X))
                answer = sparse_buffer_steps(*matrix, *how, *code, rule, table, held)
                v, lag = table[:, 0], table[:, 1]
                assert not table[:, 2].any()
            else:
                answer = reference.buffer_steps((X,), *how, loss, rule, v, lag, held)
            results.append((answer, buffers, seen, told(v, lag, held)))
        for answer, buffers, seen, numbers in results[:2]:
            np.testing.assert_allclose(answer, results[2][0], rtol=1e-9)
            np.testing.assert_array_equal(buffers, results[2][1])
            np.testing.assert_array_equal(seen, results[2][2])
            for a, b in zip(numbers, results[2][3], strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-10)

    def test_every_row_is_kept_with_the_same_probability(self):
        X, n = np.zeros((40, 1)), 40
        kept = np.zeros(n)
        for seed in range(3000):
            buffers, seen = np.zeros((2, 8), np.int64), np.zeros(2, np.int64)
            weights = (np.zeros(1), np.zeros(1), np.array([1.0, 0, 0, 0]))
            order, sides = np.arange(n), np.zeros(n, np.int64)
            dense_buffer_steps(X, order, sides, buffers, seen, 1, seed, 1, 1.0, rule_of(1.0, 0.0), *weights)
            np.add.at(kept, buffers[0], 1)
        assert abs(kept / 3000 - 8 / 40).max() < 0.04


@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.1, 0.9)])
def test_saddle_steps_are_the_reference(X, shares):
    rng = np.random.default_rng(3)
    order, sides = rng.integers(0, 30, 80), rng.integers(0, 2, 80)
    results = []
    for kind in ("dense", "sparse", "plain"):
        v, lag, held = fresh()
        numbers, rule = np.array([0.3, -0.2, 0.1]), rule_of(9.0, 0.3)
        how = (order, sides, np.array(shares), numbers, 4.5, rule)
        if kind == "dense":
            value = dense_saddle_steps(X, *how, v, lag, held)
        elif kind == "sparse":
            table = in_table(v, lag)
            value = sparse_saddle_steps(*sparse_arrays(sparse.csr_matrix(X)), *how, table, held)
            v, lag = table[:, 0], table[:, 1]
        else:
            value = reference.saddle_steps((X,), *how, v, lag, held)
        results.append((value, numbers, *told(v, lag, held)))
    for result in results[:2]:
        for a, b in zip(result, results[2], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("whole", [True, False])
def test_moment_steps_are_the_reference(X, whole):
    """Without room for all pending rows the loop stops; with it, matrices of rank d are the covariance itself."""
    sides = np.random.default_rng(3).integers(0, 2, 30)
    w, average, held = np.zeros(D), np.zeros(D), np.zeros(4)
    expected = reference.moment_steps(X, sides, rule := rule_of(0.5, 0.3), w, average, held)
    means, counts, traces = np.zeros((2, D)), np.zeros(2), np.zeros(2)
    moments = (means, counts, traces, np.zeros((2, D, D)), np.zeros(2))
    own = (rule_of(0.5, 0.3), np.zeros(D), np.zeros(D), np.zeros(4))
    pending = (np.zeros((2, 40, D)), np.zeros(2, np.int64))
    taken, met = moment_steps(X, sides, True, *moments, whole, *pending, *own)
    assert taken == 30
    assert met == pytest.approx(expected)
    for mine, plain in zip(own, (rule, w, average, held), strict=True):
        np.testing.assert_allclose(mine, plain, rtol=1e-9, atol=1e-12)
    for side in (0, 1):
        rows = X[sides == side]
        np.testing.assert_allclose(means[side], rows.mean(axis=0))
        assert traces[side] == pytest.approx(((rows - rows.mean(axis=0)) ** 2).sum())


class TestRows:
    def test_shuffle_is_a_permutation_that_the_seed_decides(self):
        rows = np.arange(1000)
        again, other = rows.copy(), rows.copy()
        shuffle_rows(rows, 1), shuffle_rows(again, 1), shuffle_rows(other, 2)
        assert (rows == again).all()
        assert (rows != other).mean() > 0.9
        assert (np.sort(rows) == np.arange(1000)).all()

    def test_gathered_rows_are_those_that_were_asked_for(self, X):
        matrix, rows = sparse.csr_matrix(X), np.array([5, 2, 2, 29])
        starts, columns, numbers = np.zeros(5, np.int64), np.empty(99, np.int32), np.empty(99)
        gather_sparse(*sparse_arrays(matrix), rows, starts, columns, numbers)
        gathered = sparse.csr_matrix((numbers[: starts[-1]], columns[: starts[-1]], starts), shape=(4, D))
        np.testing.assert_array_equal(gathered.toarray(), X[rows])

    def test_distances_of_sparse_rows(self, X):
        rows, others = np.array([3, 4, 5]), np.array([10, 11, 5])
        total = sparse_distances(*sparse_arrays(sparse.csr_matrix(X)), rows, others, D)
        assert total == pytest.approx(((X[rows] - X[others]) ** 2).sum())
