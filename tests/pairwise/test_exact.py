"""The exact solver: the minimum that others find, and gaps that are true."""

import numpy as np
import pytest
from scipy import sparse

from nearer.errors import InputError
from nearer.losses import MARGIN_LOSSES, MarginLoss
from nearer.objectives import AllPairs
from nearer.solvers import Exact, exact, minimise, solve_exact
from tests.pairwise import plain

EVERY_LOSS = pytest.mark.parametrize("loss", MARGIN_LOSSES)


def by_cvxpy(X, y, loss, l2, groups=None, sample_weight=None):
    """The least value, as a modelling language writes the problem down."""
    cp = pytest.importorskip("cvxpy")
    w = cp.Variable(X.shape[1])
    i, j = plain.pairs_of(y, groups)
    weights = np.ones(len(i)) if sample_weight is None else sample_weight[i] * sample_weight[j]
    margins = (X[i] - X[j]) @ w
    losses = {
        "square": lambda: cp.square(1 - margins),
        "hinge": lambda: cp.pos(1 - margins),
        "smooth-hinge": lambda: cp.huber(cp.pos(2 - margins), 2) / 4,
        "squared-hinge": lambda: cp.square(cp.pos(1 - margins)),
        "logistic": lambda: cp.logistic(-margins),
    }[loss]()
    problem = cp.Problem(cp.Minimize(weights @ losses / weights.sum() + l2 / 2 * cp.sum_squares(w)))
    problem.solve(solver=cp.CLARABEL)
    return problem.value


@EVERY_LOSS
@pytest.mark.parametrize("l2", [1.0, 1e-2, 1e-4])
@pytest.mark.parametrize("kind", ["two classes", "few rows", "graded, groups, weights"])
def test_the_minimum_that_a_general_solver_finds(loss, l2, kind):
    rich = kind.startswith("graded")
    X, y, rng = plain.drawn(n=12 if kind == "few rows" else 40, d=4, levels=4 if rich else 2, seed=3)
    more = {"groups": rng.integers(3, size=40), "sample_weight": rng.uniform(0.2, 2, size=40)} if rich else {}
    found = solve_exact(AllPairs(X, y, loss, l2, **more), tol=1e-7)
    least = by_cvxpy(X, y, loss, l2, **more)
    assert found.converged
    assert found.value == pytest.approx(least, rel=1e-6, abs=1e-8)
    assert found.gap <= 1e-7 * found.value
    assert found.value - found.gap <= least * (1 + 1e-6) + 1e-8


@EVERY_LOSS
def test_bounds_hold_at_every_iteration(loss):
    X, y, _ = plain.drawn(n=200, d=6)
    f = AllPairs(X, y, loss, 1e-3)
    history = solve_exact(f, tol=1e-6).history
    least = solve_exact(f, tol=1e-9).value
    assert (history["objective"] - history["gap"] <= least * (1 + 1e-9)).all()
    assert (history["objective"] >= least * (1 - 1e-9)).all()
    assert (np.diff(history["gap"]) <= 0).all()
    assert (np.diff(history["objective"]) <= 0).all()


@EVERY_LOSS
def test_what_is_reported_is_the_objective(loss):
    X, y, _ = plain.drawn(n=100, levels=3)
    found = solve_exact(AllPairs(X, y, loss, 0.01))
    assert found.value == pytest.approx(plain.value_and_gradient(X, y, loss, 0.01, found.w)[0], rel=1e-10)
    assert found.history["objective"][-1] == found.value
    assert found.history["iteration"][-1] == found.iterations


@EVERY_LOSS
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_many_features_and_sparse_rows(loss, dtype, monkeypatch):
    """Without the matrix of second moments, the same minimum."""
    X, y, _ = plain.drawn(n=300, d=40)
    X[np.abs(X) < 0.5] = 0
    X = X.astype(dtype)
    small = solve_exact(AllPairs(X, y, loss, 1e-3), tol=1e-5)
    monkeypatch.setattr(exact, "MOST_DENSE", 10)
    large = solve_exact(AllPairs(sparse.csr_array(X), y, loss, 1e-3), tol=1e-5)
    assert large.converged
    assert large.value == pytest.approx(small.value, rel=2e-5)


def test_the_square_loss_takes_one_step():
    X, y, _ = plain.drawn(n=400, d=50)
    X *= np.logspace(-3, 3, 50)
    f = AllPairs(X, y, "square", 1e-4)
    found = solve_exact(f, tol=1e-9)
    assert found.iterations <= 2
    positive, negative = X[y == 1], X[y == 0]
    apart = positive.mean(axis=0) - negative.mean(axis=0)
    spread = np.cov(positive.T, bias=True) + np.cov(negative.T, bias=True) + np.outer(apart, apart)
    closed = np.linalg.solve(2 * spread + 1e-4 * np.eye(50), 2 * apart)
    assert found.value <= f.value(closed) * (1 + 1e-12)
    np.testing.assert_allclose(X @ found.w, X @ closed, atol=1e-6)


@pytest.mark.parametrize("loss", ["hinge", "squared-hinge"])
@pytest.mark.parametrize("c", [0.01, 1.0])
def test_thousands_of_rows_take_few_iterations(loss, c):
    """Binary features, most of them rare, as in the data sets of the field, and as little L2 as is usual there."""
    rng = np.random.default_rng(0)
    X = sparse.csr_array((rng.random((5000, 80)) < rng.uniform(0.01, 0.5, 80)).astype(float))
    y = (X @ rng.normal(size=80) + 2 * rng.normal(size=5000) > 2).astype(int)
    found = solve_exact(AllPairs(X, y, loss, c / np.sqrt(5000)), tol=1e-5)
    assert found.converged
    assert found.iterations <= 40


def test_planted_directions_come_back():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=5)
    X = rng.normal(size=(4000, 5))
    y = X @ truth + 0.3 * rng.normal(size=4000) > 1.5  # one in eight or so
    for loss in ("square", "hinge", "squared-hinge"):
        w = solve_exact(AllPairs(X, y, loss, 1e-4)).w
        assert w @ truth / np.linalg.norm(w) / np.linalg.norm(truth) > 0.995


def test_groups_with_levels_of_their_own_do_not_disturb():
    """Within a group the direction is clear; between groups it points the other way."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(50), 10)
    level = rng.normal(size=50)[groups] * 5
    x = rng.normal(size=500)
    X = np.stack([x + level, rng.normal(size=500)], axis=1)
    y = x - 2 * level > 0
    assert solve_exact(AllPairs(X, y, "squared-hinge", 0.01)).w[0] < 0
    y = x > 0
    within = solve_exact(AllPairs(X, y, "squared-hinge", 0.01, groups=groups)).w
    assert within[0] > 10 * abs(within[1])


def test_a_start_close_to_the_minimum_saves_work():
    X, y, _ = plain.drawn(n=300)
    f = AllPairs(X, y, "squared-hinge", 1e-3)
    cold = solve_exact(f)
    assert solve_exact(f, start=cold.w).iterations == 0
    assert solve_exact(f, start=cold.w + 1e-3).iterations < cold.iterations


def test_ways_to_stop():
    X, y, _ = plain.drawn(n=300)
    f = AllPairs(X, y, "hinge", 1e-3)
    assert solve_exact(f, max_iterations=2).stop_reason == "iterations"
    assert solve_exact(f, max_iterations=2).iterations == 2
    assert solve_exact(f, max_seconds=1e-9).stop_reason == "seconds"
    seen = []
    found = solve_exact(f, callback=lambda progress: seen.append(progress) or len(seen) == 3)
    assert found.stop_reason == "callback"
    assert not found.converged
    assert [progress.epoch for progress in seen] == [0, 1, 2]
    assert (seen[-1].gap, seen[-1].objective) == (found.gap, found.value)
    np.testing.assert_array_equal(seen[-1].parameters, found.w)
    assert not seen[-1].w.flags.writeable  # or a callback could spoil the fit


def test_a_fit_beyond_the_digits_ends_and_does_not_claim_to_have_converged():
    X, y, _ = plain.drawn(n=30)
    f = AllPairs(X, y, "hinge", 1e-3)
    _, result = minimise(Exact(tol=1e-17, max_iterations=1000), f, np.zeros(4))
    assert result.stop_reason == "precision"
    assert 1e-17 * result.objective < result.details["gap"] < 1e-9
    assert solve_exact(f, tol=1e-6).stop_reason == "tolerance"


def test_interruption_keeps_the_best():
    X, y, _ = plain.drawn(n=300)

    def interrupt(progress):
        if progress.epoch == 2:
            raise KeyboardInterrupt

    found = solve_exact(AllPairs(X, y, "hinge", 1e-3), callback=interrupt)
    assert found.stop_reason == "interrupted"
    assert found.value < 1


@EVERY_LOSS
def test_features_that_say_nothing(loss):
    found = solve_exact(AllPairs(np.ones((10, 3)), np.arange(10) % 2, loss, 0.1))
    assert found.converged
    np.testing.assert_array_equal(found.w, 0)


@EVERY_LOSS
def test_separable_data(loss):
    X = np.r_[np.full(20, -1.0), np.full(20, 1.0)][:, None]
    found = solve_exact(AllPairs(X, X[:, 0] > 0, loss, 1e-6), tol=1e-4)
    assert found.converged
    if "hinge" in loss:  # half of the margin from which there is no loss
        assert found.w[0] == pytest.approx(1.0 if loss == "smooth-hinge" else 0.5, rel=1e-3)


class Kinked(MarginLoss):
    name = "kinked"
    curvature = np.inf

    def value(self, margin):
        return np.maximum(2 - margin, 0)

    def slope(self, margin):
        return -(margin < 2).astype(float)


F = AllPairs(*plain.drawn()[:2], "hinge", 0.1)


@pytest.mark.parametrize(
    ("objective", "settings", "names"),
    [
        (AllPairs(*plain.drawn()[:2]), {}, ["l2", "above 0"]),
        (F, {"tol": 0}, ["tol", "above 0"]),
        (F, {"max_iterations": 0}, ["max_iterations", "1 or more"]),
        (F, {"max_seconds": -1}, ["max_seconds", "above 0"]),
        (F, {"start": np.zeros(3)}, ["start", r"\(3,\)", r"\(4,\)"]),
        (F.with_loss(Kinked()), {}, ["'kinked'", "second_derivative"]),
        *((F, {"start": np.full(4, number)}, ["start", "smaller"]) for number in (np.nan, np.inf, 1e101)),
    ],
)
def test_what_is_refused(objective, settings, names):
    with pytest.raises(InputError, match=".*".join(names)):
        solve_exact(objective, **settings)
