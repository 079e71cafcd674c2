"""Interior-point method for co-embedding: derivatives, certificates, and the same minima as the growing factor."""

import numpy as np
import pytest
from scipy import sparse

from nearer.errors import InputError
from nearer.losses import RankingLoss, SmoothHingeLoss, SoftMaxLoss
from nearer.losses.margins import LogisticLoss
from nearer.objectives import AffinityObjective
from nearer.solvers import ILA, Budget, CentralPath, minimise
from nearer.solvers.barrier import Point
from tests.objectives.test_block_coordinates import tagged

LOSSES = pytest.mark.parametrize(
    "loss", [LogisticLoss(), SmoothHingeLoss()], ids=["logistic", "smooth hinge"]
)
BETA, MU = 0.03, 0.002


def solved(f, solver=None, **budget):
    start = np.zeros((f.shape[0], 1))
    rng = np.random.default_rng(0)
    return minimise(solver or CentralPath(), f, start, budget=Budget(**budget), rng=rng)


def some_point(seed=0, **settings):
    f = tagged(posts=60, users=5, items=4, tags=6, **settings)
    rng = np.random.default_rng(seed)
    return Point(f, rng.normal(size=(15, 6))), rng.normal(size=(15, 6))


def test_the_value_is_that_of_the_objective_with_the_barrier():
    point, _ = some_point(penalty=BETA)
    determinant = np.linalg.det(point.V @ point.V.T)
    assert point.value(BETA) == pytest.approx(point.objective.value(point.Q), rel=1e-12)
    assert point.value(BETA, MU) == pytest.approx(point.value(BETA) - MU * np.log(determinant), rel=1e-12)


@LOSSES
def test_derivatives_along_lines_are_finite_differences(loss):
    point, changes = some_point(loss=loss)
    line, h = point.line(0.01 * changes, BETA, MU), 1e-4
    assert line.longest > 1
    assert line(0.0)[0] == pytest.approx(point.value(BETA, MU), rel=1e-12)
    assert line(0.0)[1] == pytest.approx(0.01 * np.vdot(point.gradient(BETA, MU), changes), rel=1e-10)
    for t in (0.3, 0.9):
        moved = Point(point.objective, line.factor(t))
        assert line(t)[0] == pytest.approx(moved.value(BETA, MU), rel=1e-12)
        assert line(t)[1] == pytest.approx((line(t + h)[0] - line(t - h)[0]) / (2 * h), rel=1e-6)
    assert line(2 * line.longest) == (np.inf, np.inf)


@LOSSES
def test_curvature_is_the_second_derivative_along_lines_and_symmetric(loss):
    point, changes = some_point(loss=loss)
    product, h = point.curvature(BETA, MU), 1e-3
    other = np.random.default_rng(5).normal(size=changes.shape)
    line = point.line(0.01 * changes, BETA, MU)
    bend = (line(h)[1] - line(-h)[1]) / (2 * h)
    assert 1e-4 * np.vdot(changes, product(changes)) == pytest.approx(bend, rel=2e-2)
    assert np.vdot(other, product(changes)) == pytest.approx(np.vdot(changes, product(other)), rel=1e-4)


def test_turning_features_and_labels_together_changes_nothing():
    point, _ = some_point()
    turn = np.random.default_rng(1).normal(size=(6, 6))
    changes = point.Q @ (turn - turn.T)
    assert abs(np.vdot(point.gradient(BETA, MU), changes)) < 1e-10
    size = np.abs(point.curvature(BETA, MU)(np.abs(changes))).max()
    assert np.abs(point.curvature(BETA, MU)(changes)).max() < 1e-4 * size


def test_the_preconditioner_is_symmetric_and_positive_definite():
    point, changes = some_point()
    other, inverse = np.random.default_rng(5).normal(size=changes.shape), point.preconditioner(BETA, MU)
    assert np.vdot(other, inverse(changes)) == pytest.approx(np.vdot(changes, inverse(other)), rel=1e-4)
    assert np.vdot(changes, inverse(changes)) > 0


@pytest.mark.parametrize("users", [5, 1], ids=["many features", "fewer features than labels"])
def test_the_certificate_is_that_of_the_whole_matrix(users):
    f = tagged(posts=60, users=users, items=4, tags=6, penalty=BETA)
    point = Point(f, np.random.default_rng(0).normal(size=(f.shape[0], 6)))
    S = f.gradient_at(point.Q)(np.eye(f.shape[0]))
    eigenvalue, slack = point.certificate(BETA)
    assert eigenvalue == pytest.approx(-np.linalg.eigvalsh(S)[0], rel=1e-10)
    assert slack == pytest.approx(np.vdot(S @ point.Q, point.Q), rel=1e-10)


@LOSSES
@pytest.mark.parametrize("penalty", [1e-2, 1e-3])
def test_the_minimum_is_that_of_the_growing_factor(loss, penalty):
    f = tagged(loss=loss, penalty=penalty)
    (Q, result), (_, other) = solved(f, tol=1e-6), solved(f, ILA(), tol=1e-6)
    assert result.stop_reason == other.stop_reason == "tolerance"
    assert result.objective == pytest.approx(other.objective, rel=2e-6)
    assert f.value(Q) == pytest.approx(result.objective, rel=1e-12)
    assert result.details["lower_bound"] <= other.objective * (1 + 1e-12)
    assert Q.shape[1] == result.details["rank"] < 15


def test_growth_from_its_end_finds_little_more():
    f = tagged(penalty=1e-3)
    Q, result = solved(f, tol=1e-6)
    _, more = minimise(ILA(), f, Q, budget=Budget(tol=1e-6), rng=np.random.default_rng(0))
    assert more.stop_reason == "tolerance"
    assert result.details["lower_bound"] <= more.objective <= result.objective


def test_weak_strengths_are_certified():
    """The growing factor ends 30% above this minimum, after 500 rounds."""
    f = tagged(loss=SmoothHingeLoss(), penalty=1e-5)
    _, result = solved(f, tol=1e-4)
    assert result.stop_reason == "tolerance"
    assert result.objective == pytest.approx(7.86021e-4, rel=2e-4)


def test_a_start_near_the_minimum_saves_the_way():
    f = tagged(penalty=1e-3)
    Q, cold = solved(f, tol=1e-4)
    _, warm = minimise(CentralPath(), f, Q, budget=Budget(tol=1e-4), rng=np.random.default_rng(0))
    assert warm.stop_reason == "tolerance"
    assert warm.objective == pytest.approx(cold.objective, rel=2e-4)
    assert warm.n_evaluations < 0.8 * cold.n_evaluations


def test_a_strength_that_leaves_nothing():
    f = tagged(penalty=1e3)
    Q, result = solved(f, tol=1e-4)
    assert result.stop_reason == "tolerance"
    assert result.objective == pytest.approx(f.value(np.zeros((f.shape[0], 1))), rel=1e-4)
    assert np.linalg.norm(Q) < 1e-2


@pytest.mark.parametrize("budget", [{"max_epochs": 3}, {"max_evaluations": 50000}, {"max_seconds": 1e-9}])
def test_budgets_end_it(budget):
    f = tagged(penalty=1e-4)
    Q, result = solved(f, **budget)
    (name,) = budget
    assert result.stop_reason == name.removeprefix("max_")
    assert f.value(Q) == pytest.approx(result.objective, rel=1e-12)
    assert result.objective <= f.value(np.zeros((f.shape[0], 1)))


def test_a_label_that_no_row_has_and_rows_with_all_or_none():
    X = sparse.csr_matrix(np.array([[1.0, 0, 1], [0, 1, 1], [1, 0, 0], [0, 1, 0]]))
    labels = sparse.csr_matrix(np.array([[1, 0, 0, 0], [0, 1, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0]]))
    f = AffinityObjective(X, labels, loss=RankingLoss(), parts=1, threshold=False, trace_penalty=0.01)
    (_, result), (_, other) = solved(f, tol=1e-6), solved(f, ILA(), tol=1e-6)
    assert result.stop_reason == "tolerance"
    assert result.objective == pytest.approx(other.objective, rel=2e-6)


def test_what_it_refuses():
    f = tagged(penalty=0.0)
    with pytest.raises(InputError, match="trace_penalty must be above 0"):
        solved(f)
    g = AffinityObjective(f.X, f.labels, loss=SoftMaxLoss(), trace_penalty=0.1)
    with pytest.raises(InputError, match="the solver 'central-path' needs inner_products"):
        solved(g)
