"""Sums over all pairs without pairs: equal to the plain double sum."""

import numpy as np
import pytest
from scipy import sparse

from nearer import solvers
from nearer.losses import LogisticLoss, MarginLoss
from nearer.objectives import AllPairs, all_pairs
from tests.pairwise import plain
from tests.refusals import refused
from tests.registries import MARGIN_LOSSES

EVERY_LOSS = pytest.mark.parametrize("loss", MARGIN_LOSSES.values(), ids=MARGIN_LOSSES)
BENDING = pytest.mark.parametrize(
    "loss", [loss for name, loss in MARGIN_LOSSES.items() if name != "hinge"], ids=str
)


def agrees(X, y, loss, w, **more):
    value, gradient = AllPairs(X, y, loss, 0.3, **more).value_and_gradient(w)
    plain_value, plain_gradient = plain.value_and_gradient(X, y, loss, 0.3, w, **more)
    assert value == pytest.approx(plain_value, rel=1e-12)
    np.testing.assert_allclose(gradient, plain_gradient, rtol=1e-10, atol=1e-11)
    assert AllPairs(X, y, loss, 0.3, **more).value(w) == value


@EVERY_LOSS
@pytest.mark.parametrize("levels", [2, 3, 5, 8, 60])
@pytest.mark.parametrize("n_groups", [None, 1, 7])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_double_sum(loss, levels, n_groups, weighted):
    X, y, rng = plain.drawn(levels=levels)
    more = {}
    if n_groups:
        more["groups"] = rng.integers(n_groups, size=len(y))
    if weighted:
        more["sample_weight"] = rng.choice([0.0, 0.3, 1.0, 7.0], size=len(y))
    for scale in (0.0, 0.2, 5.0):
        agrees(X, y, loss, scale * rng.normal(size=4), **more)


@EVERY_LOSS
def test_ties_of_scores_within_and_between_classes(loss):
    """Whole scores: differences of 0, and of exactly the margin."""
    rng = np.random.default_rng(1)
    X = rng.integers(-2, 3, size=(50, 2)).astype(float)
    y = rng.integers(0, 3, size=50)
    w = np.array([1.0, -1.0])
    value, _ = AllPairs(X, y, loss).value_and_gradient(w)
    assert value == pytest.approx(plain.value_and_gradient(X, y, loss, 0.0, w)[0], rel=1e-12)
    slopes = AllPairs(X, y, loss).of_scores(X @ w).slopes
    assert slopes.sum() == pytest.approx(0, abs=1e-12)


def test_the_gradient_at_a_kink_is_one_of_its_gradients():
    X, y = np.array([[1.0], [0.0], [1.0], [0.0]]), [1, 0, 1, 0]
    f = AllPairs(X, y, "hinge")
    kink = np.ones(1)
    _, gradient = f.value_and_gradient(kink)
    for other in (np.zeros(1), np.full(1, 3.0)):
        assert f.value(other) >= f.value(kink) + gradient @ (other - kink) - 1e-12


@EVERY_LOSS
def test_one_sample_in_a_class(loss):
    X, _, rng = plain.drawn()
    for alone in (0, 1):
        y = np.full(60, 1 - alone)
        y[17] = alone
        agrees(X, y, loss, rng.normal(size=4))


@EVERY_LOSS
def test_two_samples(loss):
    agrees(np.array([[1.0, 2.0], [0.5, -1.0]]), np.array([0, 1]), loss, np.array([0.3, 0.4]))


@EVERY_LOSS
def test_groups_of_one_class_and_of_one_sample_count_nothing(loss):
    X, y, rng = plain.drawn()
    groups = np.repeat(np.arange(6), 10)
    y[:10], y[10:20], groups[20] = 1, 0, 9
    w = rng.normal(size=4)
    agrees(X, y, loss, w, groups=groups)
    kept = np.r_[21:60]
    fewer = AllPairs(X[kept], y[kept], loss, 0.3, groups=groups[kept])
    whole = AllPairs(X, y, loss, 0.3, groups=groups)
    assert whole.n_pairs == fewer.n_pairs == len(plain.pairs_of(y, groups)[0])
    assert whole.value(w) == pytest.approx(fewer.value(w), rel=1e-12)


@EVERY_LOSS
@pytest.mark.parametrize(
    "make", [sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix], ids=lambda m: m.__name__
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sparse_equals_dense(loss, make, dtype):
    X, y, rng = plain.drawn(d=30)
    X[np.abs(X) < 1] = 0
    X = X.astype(dtype)
    w = rng.normal(size=30) / 5
    dense, spared = AllPairs(X, y, loss, 0.1), AllPairs(make(X), y, loss, 0.1)
    np.testing.assert_allclose(spared.value_and_gradient(w)[1], dense.value_and_gradient(w)[1], atol=1e-12)
    assert spared.value(w) == pytest.approx(dense.value(w), rel=1e-12)
    np.testing.assert_allclose(spared.second_moments(), dense.second_moments(), atol=1e-12)
    np.testing.assert_allclose(spared.spreads(), dense.spreads(), atol=1e-12)


def test_sparse_input_is_never_made_dense():
    n, d = 300, 10**7  # 24 GB if it were
    rng = np.random.default_rng(0)
    X = sparse.csr_array((rng.normal(size=n), (np.arange(n), rng.integers(d, size=n))), shape=(n, d))
    f = AllPairs(X, np.arange(n) % 2, "squared-hinge", 0.1)
    assert f.design.X.format == "csr"
    assert f.value_and_gradient(np.zeros(d))[0] == 1.0


@EVERY_LOSS
def test_float32_is_kept_and_summed_in_float64(loss):
    X, y, rng = plain.drawn(n=500, d=300)
    X = X.astype(np.float32)
    w = rng.normal(size=300) / 20
    f, double = AllPairs(X, y, loss, 0.1), AllPairs(X.astype(np.float64), y, loss, 0.1)
    assert np.shares_memory(f.design.X, X)
    value, gradient = f.value_and_gradient(w)
    assert gradient.dtype == np.float64
    assert value == pytest.approx(double.value(w), rel=1e-12)
    np.testing.assert_allclose(gradient, double.value_and_gradient(w)[1], atol=1e-13)


@EVERY_LOSS
def test_gradients_match_finite_differences(loss):
    X, y, rng = plain.drawn(levels=3)
    f = AllPairs(X, y, loss, 0.2, groups=rng.integers(3, size=60))
    w, direction, h = rng.normal(size=4), rng.normal(size=4), 1e-6
    numeric = (f.value(w + h * direction) - f.value(w - h * direction)) / (2 * h)
    assert f.value_and_gradient(w)[1] @ direction == pytest.approx(numeric, rel=1e-6)


@BENDING
@pytest.mark.parametrize("levels", [2, 5])
def test_hessians_match_finite_differences_of_gradients(loss, levels):
    X, y, rng = plain.drawn(levels=levels)
    f = AllPairs(X, y, loss, 0.2, groups=rng.integers(3, size=60), sample_weight=rng.uniform(0.5, 2, size=60))
    w, h = rng.normal(size=4) / 2, 1e-7
    hessian = f.hessian(w) @ np.eye(4)
    numeric = [
        (f.value_and_gradient(w + h * e)[1] - f.value_and_gradient(w - h * e)[1]) / (2 * h) for e in np.eye(4)
    ]
    np.testing.assert_allclose(hessian, numeric, atol=1e-5)
    np.testing.assert_allclose(hessian, hessian.T, atol=1e-12)


def test_the_hinge_offers_no_hessian():
    X, y, _ = plain.drawn()
    f = AllPairs(X, y, "hinge")
    assert "hessian" not in f.provides
    assert "hessian" in f.with_loss("square").provides
    with pytest.raises(AttributeError, match="'hinge' has no second derivative"):
        f.hessian(np.zeros(4))


def test_mean_slope_is_the_derivative_by_a_common_shift_of_all_margins():
    X, y, rng = plain.drawn(levels=3)
    scores = X @ rng.normal(size=4)
    for loss in MARGIN_LOSSES.values():
        i, j = plain.pairs_of(y)
        expected = loss.slope(scores[i] - scores[j]).mean()
        assert AllPairs(X, y, loss).of_scores(scores).slope == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("levels", [2, 4])
def test_second_moments(levels):
    X, y, rng = plain.drawn(d=70, levels=levels)  # more columns than are made dense at a time
    X += 1000.0  # a shift changes no pair
    groups = rng.integers(4, size=60)
    i, j = plain.pairs_of(y, groups)
    expected = (X[i] - X[j]).T @ (X[i] - X[j]) / len(i)
    f = AllPairs(X, y, groups=groups)
    np.testing.assert_allclose(f.second_moments(), expected, atol=1e-9)
    assert (f.spreads() / np.diag(expected)).round().max() <= 2


def test_large_offsets_and_scales_of_scores_lose_few_digits():
    """10^5 rows: 2.5 billion pairs, and a constant on all scores."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=100_000)
    y = np.arange(100_000) % 2
    for name in ("square", "hinge", "squared-hinge"):
        f = AllPairs(scores[:, None], y, name)
        assert f.n_pairs == 2_500_000_000
        here, there = f.of_scores(scores), f.of_scores(scores + 1e6)
        assert here.loss == pytest.approx(there.loss, rel=1e-9)
        assert abs(here.slopes.sum()) < 1e-12
        # a histogram of positives and negatives would give about the same
        few = AllPairs(scores[:1000, None], y[:1000], name).of_scores(scores[:1000])
        assert here.loss == pytest.approx(few.loss, rel=0.2)
    heavy = AllPairs(scores[:, None], y, "squared-hinge").of_scores(np.where(y == 1, 0.0, 3.0))
    assert heavy.loss == pytest.approx(16.0, rel=1e-11)  # every pair falls short by 4
    np.testing.assert_allclose(heavy.slopes, np.where(y == 1, -8.0, 8.0) / 50_000, rtol=1e-10)


def test_rows_in_another_order_are_the_same_problem():
    X, y, rng = plain.drawn(levels=4)
    groups, weights, order = rng.integers(3, size=60), rng.uniform(size=60), rng.permutation(60)
    w = rng.normal(size=4)
    one = AllPairs(X, y, "hinge", groups=groups, sample_weight=weights).value(w)
    other = AllPairs(X[order], y[order], "hinge", groups=groups[order], sample_weight=weights[order]).value(w)
    assert one == pytest.approx(other, rel=1e-12)


def test_a_whole_weight_is_a_repetition_and_its_scale_is_nothing():
    X, y, rng = plain.drawn()
    times = rng.integers(0, 4, size=60)
    w = rng.normal(size=4)
    repeated = AllPairs(np.repeat(X, times, axis=0), np.repeat(y, times), "squared-hinge").value(w)
    for scale in (1.0, 1e-200, 1e200):
        assert AllPairs(X, y, "squared-hinge", sample_weight=times * scale).value(w) == pytest.approx(
            repeated
        )


def test_labels_and_groups_may_be_words():
    X, y, rng = plain.drawn()
    w = rng.normal(size=4)
    words = np.array(["no", "yes"])[y]
    f = AllPairs(X, words, "hinge", groups=np.array(["a", "b"])[np.arange(60) % 2])
    assert f.value(w) == AllPairs(X, y, "hinge", groups=np.arange(60) % 2).value(w)


def test_a_solver_of_the_library_descends():
    X, y, _ = plain.drawn()
    f = AllPairs(X, y, "squared-hinge", 0.1)
    w, result = solvers.minimise(solvers.LBFGS(), f, np.zeros(4), budget=solvers.Budget(tol=0))
    assert np.linalg.norm(f.value_and_gradient(w)[1]) < 1e-6
    assert result.objective == pytest.approx(f.value(w))


class Exponential(MarginLoss):
    """A loss that nearer does not have, as a user would write it."""

    name = "exponential"
    curvature = np.inf

    def value(self, margin):
        return np.exp(-margin)

    def slope(self, margin):
        return -np.exp(-margin)


def test_a_loss_of_ones_own():
    X, y, rng = plain.drawn(levels=3)
    agrees(X, y, Exponential(), rng.normal(size=4) / 3)


def test_pairs_are_visited_in_pieces(monkeypatch):
    X, y, rng = plain.drawn()
    monkeypatch.setattr("nearer.objectives._pair_sums._CHUNK_PAIRS", 7)
    agrees(X, y, "logistic", rng.normal(size=4))


def test_too_many_pairs_to_visit(monkeypatch):
    monkeypatch.setattr(all_pairs, "_MOST_PAIRS", 800)
    X, y = np.ones((60, 1)), np.arange(60) % 2
    with refused("'logistic'", 800, 60, 900, "'squared-hinge'"):
        AllPairs(X, y, "logistic")
    AllPairs(X, y, "hinge")
    with refused("'logistic'", 900):
        AllPairs(X, y, "hinge").with_loss(LogisticLoss())
    AllPairs(X, y, "logistic", groups=np.arange(60) // 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.ones(6)}, "y holds one label only"),
        ({"y": [0, 1]}, r"y has shape \(2,\), but X has 6 rows"),
        ({"y": [0, 1, np.nan, 1, 0, 1]}, "y holds nan in row 2"),
        ({"groups": np.arange(6)}, "no group has samples with different labels"),
        ({"groups": [1]}, r"groups has shape \(1,\)"),
        ({"sample_weight": [1, 1, 1, -1, 1, 1]}, "sample_weight holds -1.0 in row 3"),
        ({"sample_weight": [1, 0, 1, 0, 1, 0]}, "all samples with weights above 0 have the same label"),
        ({"sample_weight": np.zeros(6)}, "all samples with weights above 0"),
        ({"sample_weight": [1.0]}, r"sample_weight has shape \(1,\)"),
        ({"l2": -1}, "l2 must be a number of 0 or more"),
        ({"loss": "hings"}, "loss must be one of square"),
        ({"X": np.array([[np.inf]] * 6)}, "infinity"),
    ],
)
def test_what_is_refused(change, message):
    given = {"X": np.ones((6, 1)), "y": np.arange(6) % 2, **change}
    with pytest.raises(ValueError, match=message):
        AllPairs(given.pop("X"), given.pop("y"), **given)
