"""Losses of distances under a metric: the definition, derivatives, planes, and the objective over kernels as a case."""

import numpy as np
import pytest
from scipy import sparse

import nearer
from nearer.losses import GNMDS, HingeLoss, LogisticLoss, SmoothHingeLoss
from nearer.objectives import GramObjective, MetricDistances
from nearer.objectives.planes import factor_plane
from nearer.solvers import ILA, Budget, minimise
from tests.registries import planted

KINDS = ("differences", "near", "far", "mixed")
EVERY = pytest.mark.parametrize("kind", KINDS)
LOOKS = pytest.mark.parametrize("look", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])


def problem(kind, look=np.asarray, loss=None, penalty=0.05):
    """Margins of one or two distances, with offsets and weights; some pairs occur several times."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(12, 5)) * (rng.random((12, 5)) > 0.3)
    ends = np.array([rng.permutation(12)[:4] for _ in range(40)])
    near = None if kind == "far" else ends[:, :2]
    far = None if kind == "near" else ends[:, 2:]
    if kind == "mixed":  # margins of one pair, of the other, or of both
        which = np.arange(40)[:, None] % 3
        near, far = np.where(which == 0, -1, near), np.where(which == 1, -1, far)
    settings = {
        "offset": rng.normal(size=40),
        "weights": rng.uniform(0.5, 2, size=40),
        "trace_penalty": penalty,
    }
    f = MetricDistances(look(rows), near, far, loss=loss or LogisticLoss(), **settings)
    return f, rows, near, far, settings


def plain(rows, near, far, settings, loss, C):
    """The definition, one margin at a time."""
    total = 0.0
    for at, (offset, weight) in enumerate(zip(settings["offset"], settings["weights"], strict=True)):
        margin = offset
        for sign, pairs in ((-1, near), (1, far)):
            if pairs is not None and pairs[at, 0] >= 0:
                difference = rows[pairs[at, 0]] - rows[pairs[at, 1]]
                margin += sign * difference @ C @ difference
        total += weight * float(loss.value(np.array([margin]))[0])
    return total / settings["weights"].sum() + settings["trace_penalty"] * np.trace(C)


def factor(columns=3, seed=1):
    return np.random.default_rng(seed).normal(size=(5, columns)) * 0.4


@EVERY
@LOOKS
def test_the_definition(kind, look):
    f, *rest = problem(kind, look)
    Q = factor()
    expected = plain(*rest, LogisticLoss(), Q @ Q.T)
    assert f.value(Q) == pytest.approx(expected, rel=1e-10)
    assert f.value_and_factor_gradient(Q)[0] == pytest.approx(expected, rel=1e-10)


@EVERY
@LOOKS
def test_derivatives_against_finite_differences(kind, look):
    f, *_ = problem(kind, look)
    Q, D = factor(), factor(seed=2)
    h = 1e-6
    numeric = (f.value(Q + h * D) - f.value(Q - h * D)) / (2 * h)
    gradient = f.value_and_factor_gradient(Q)[1]
    assert np.vdot(gradient, D) == pytest.approx(numeric, rel=1e-5, abs=1e-8)
    product = f.gradient_at(Q)
    np.testing.assert_allclose(2 * product(Q), gradient, atol=1e-10)
    risen = (f.value(np.hstack([Q, np.sqrt(h) * D])) - f.value(Q)) / h  # C + h D Dᵀ
    assert np.vdot(product(D), D) == pytest.approx(risen, rel=1e-3, abs=1e-5)


@EVERY
def test_the_plane_is_the_one_by_factors(kind):
    f, *_ = problem(kind, loss=SmoothHingeLoss())
    Q, U = factor(), factor(2, seed=3)
    for a, b in ((1.0, 0.0), (0.3, 0.8)):
        np.testing.assert_allclose(f.plane(Q, U)(a, b), factor_plane(f, Q, U)(a, b), rtol=1e-9)


def test_objects_without_features_are_a_kernel():
    """Rows of the identity: the metric is the kernel, and margins are differences of its distances."""
    answers = planted(weights=True)
    ends = answers.quadruplets()
    metric = MetricDistances(
        np.eye(25),
        ends[:, :2],
        ends[:, 2:],
        loss=SmoothHingeLoss(),
        weights=answers.weights,
        trace_penalty=0.01,
    )
    kernel = GramObjective(answers, GNMDS().rounded(), trace_penalty=0.01)
    X = np.random.default_rng(0).normal(size=(25, 2)) * 0.5
    assert metric.value(X) == pytest.approx(kernel.value(X), rel=1e-12)
    np.testing.assert_allclose(
        metric.value_and_factor_gradient(X)[1], kernel.value_and_factor_gradient(X)[1], atol=1e-12
    )


@pytest.mark.parametrize("loss", ["logistic", "smooth-hinge"])
def test_the_minimum_is_that_of_a_solver_of_cones(loss):
    cvxpy = pytest.importorskip("cvxpy")
    f, rows, near, far, settings = problem(
        "differences", loss=nearer.losses.find_margin_loss(loss), penalty=0.1
    )
    C = cvxpy.Variable((5, 5), PSD=True)
    first, second = rows[near[:, 0]] - rows[near[:, 1]], rows[far[:, 0]] - rows[far[:, 1]]
    distance = lambda D: cvxpy.sum(cvxpy.multiply(D @ C, D), axis=1)  # noqa: E731
    margins = settings["offset"] + distance(second) - distance(first)
    losses = cvxpy.logistic(-margins) if loss == "logistic" else cvxpy.huber(cvxpy.pos(2 - margins), 2) / 4
    weights = settings["weights"] / settings["weights"].sum()
    least = cvxpy.Problem(cvxpy.Minimize(weights @ losses + 0.1 * cvxpy.trace(C)))
    least.solve(solver=cvxpy.SCS, eps=1e-8, max_iters=50_000)
    _, result = minimise(ILA(), f, np.zeros((5, 1)), budget=Budget(tol=1e-8), rng=np.random.default_rng(0))
    assert result.objective == pytest.approx(least.value, rel=1e-5)


def test_a_kink_is_no_smooth_problem():
    assert "smoothness" not in problem("near", loss=HingeLoss())[0].provides
    assert "smoothness" in problem("near")[0].provides
