"""Links in one space: the definition pair by pair, derivatives, planes, and the minimum of a solver of cones."""

import numpy as np
import pytest
from scipy import sparse

import nearer
from nearer._compiled import link_loop_for
from nearer._compiled.links import link_losses as compiled
from nearer._compiled.links_reference import link_losses as plain_losses
from nearer.losses import HingeLoss, LinkLoss, LogisticLoss, SmoothHingeLoss
from nearer.objectives import LinkObjective
from nearer.objectives.planes import factor_plane
from nearer.solvers import ILA, Budget, minimise
from nearer.solvers.certificate import certify

KINDS = ("between", "features", "directed", "undirected", "few objects")
EVERY = pytest.mark.parametrize("kind", KINDS)
LOOKS = pytest.mark.parametrize("look", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])


def sides(kind, look=np.asarray):
    """Features of both sides: points of their own, or columns; within one set without direction, of one side."""
    rng = np.random.default_rng(0)
    if kind == "undirected":
        return look(rng.normal(size=(9, 4)) * (rng.random((9, 4)) > 0.3)), None
    if kind == "directed":
        return look(np.eye(6)), look(np.eye(6))
    if kind == "few objects":
        return look(rng.normal(size=(3, 20))), look(rng.normal(size=(4, 2)))
    if kind == "features":
        return look(rng.normal(size=(7, 3))), look(rng.normal(size=(8, 2)))
    return look(np.eye(7)), look(np.eye(8))


def problem(kind, look=np.asarray, loss=None, penalty=0.05, share=0.4):
    """Most pairs of a small problem, about some of which it is known that they are links."""
    rng = np.random.default_rng(1)
    left, right = sides(kind, look)
    n, m = left.shape[0], (left if right is None else right).shape[0]
    pairs = np.argwhere(np.ones((n, m)))
    if right is None:
        pairs = pairs[pairs[:, 0] < pairs[:, 1]]
    pairs = rng.permutation(pairs)[: max(len(pairs) - 3, 8)]
    links = rng.random(len(pairs)) < share
    weights = rng.uniform(0.5, 2, size=len(pairs))
    loss = LinkLoss(loss or LogisticLoss())
    f = LinkObjective(pairs, links, left, right, loss=loss, weights=weights, trace_penalty=penalty)
    return f, pairs, links, weights


def plain(kind, f, pairs, links, weights, Q):
    """The definition, one pair at a time."""
    left, right = sides(kind)
    k = left.shape[1]
    u = left @ Q[:k]
    v, u0, v0 = (u, Q[k], Q[k]) if right is None else (right @ Q[k:-2], Q[-2], Q[-1])
    h = lambda margin: float(f.loss.margin.value(np.array([margin]))[0])  # noqa: E731
    total = 0.0
    for (i, j), link, weight in zip(pairs, links, weights, strict=True):
        d = np.sum((u[i] - v[j]) ** 2)
        first, second = np.sum((u[i] - u0) ** 2) - d, np.sum((v[j] - v0) ** 2) - d
        loss = np.log(np.exp(h(first)) + np.exp(h(second))) if link else h(-first) + h(-second)
        total += weight * loss
    return total / weights.sum() + f.trace_penalty * np.sum(Q**2)


def factor(f, columns=3, seed=1):
    return np.random.default_rng(seed).normal(size=(f.shape[0], columns)) * 0.5


@EVERY
@LOOKS
@pytest.mark.parametrize("loss", [LogisticLoss(), SmoothHingeLoss()], ids=["logistic", "smooth-hinge"])
def test_the_definition(kind, look, loss):
    f, *known = problem(kind, look, loss)
    Q = factor(f)
    expected = plain(kind, f, *known, Q)
    assert f.value(Q) == pytest.approx(expected, rel=1e-10)
    assert f.value_and_factor_gradient(Q)[0] == pytest.approx(expected, rel=1e-10)


@EVERY
@LOOKS
def test_derivatives_against_finite_differences(kind, look):
    f, *_ = problem(kind, look)
    Q, D = factor(f), factor(f, seed=2)
    h = 1e-6
    numeric = (f.value(Q + h * D) - f.value(Q - h * D)) / (2 * h)
    gradient = f.value_and_factor_gradient(Q)[1]
    assert np.vdot(gradient, D) == pytest.approx(numeric, rel=1e-5, abs=1e-8)
    product = f.gradient_at(Q)
    np.testing.assert_allclose(2 * product(Q), gradient, atol=1e-10)
    risen = (f.value(np.hstack([Q, np.sqrt(h) * D])) - f.value(Q)) / h  # C + h D Dᵀ
    assert np.vdot(product(D), D) == pytest.approx(risen, rel=1e-3, abs=1e-5)


@EVERY
@LOOKS
def test_descent_in_other_coordinates_is_that_of_the_objective(kind, look):
    f, *_ = problem(kind, look)
    Q = factor(f)
    descent = f.rescaled(Q)
    np.testing.assert_allclose(descent.factor(descent.start), Q, rtol=1e-12)
    value, gradient = descent.value_and_gradient(descent.start)
    assert value == pytest.approx(f.value(Q), rel=1e-12)
    D, h = np.random.default_rng(2).normal(size=Q.shape), 1e-6
    ends = [descent.factor(descent.start + step * D) for step in (h, -h)]
    numeric = (f.value(ends[0]) - f.value(ends[1])) / (2 * h)
    assert np.vdot(gradient, D) == pytest.approx(numeric, rel=1e-5, abs=1e-8)


class _Unscaled(LinkObjective):
    """The same problem, over the factor itself."""

    @property
    def provides(self):
        return super().provides - {"rescaled"}


def test_descent_in_other_coordinates_takes_fewer_steps():
    """Some objects are part of nearly all pairs, most of a few."""
    rng = np.random.default_rng(0)
    pairs = np.argwhere(np.triu(np.ones((80, 80)), 1))
    pairs = pairs[(pairs[:, 0] < 3) | (rng.random(len(pairs)) < 0.08)]
    places = rng.normal(size=(80, 3))
    links = np.sum((places[pairs[:, 0]] - places[pairs[:, 1]]) ** 2, axis=1) < 3
    found = []
    for kind in (LinkObjective, _Unscaled):
        f = kind(pairs, links, np.eye(80), loss=LinkLoss(), trace_penalty=2e-3)
        found.append(
            minimise(
                ILA(memory=10), f, np.zeros((81, 1)), budget=Budget(tol=1e-4), rng=np.random.default_rng(0)
            )
        )
    (_, quick), (_, slow) = found
    assert quick.objective == pytest.approx(slow.objective, rel=2e-4)
    assert quick.n_evaluations < 0.7 * slow.n_evaluations


@EVERY
def test_the_plane_is_the_one_by_factors(kind):
    f, *_ = problem(kind, loss=SmoothHingeLoss())
    Q, U = factor(f), factor(f, 2, seed=3)
    for a, b in ((1.0, 0.0), (0.3, 0.8)):
        np.testing.assert_allclose(f.plane(Q, U)(a, b), factor_plane(f, Q, U)(a, b), rtol=1e-9)


def test_the_range_of_the_gradient():
    """With few objects of many features, the gradient maps everything into the span of these features."""
    f, *_ = problem("few objects")
    assert "gradient_range" in f.provides
    assert "gradient_range" not in problem("features")[0].provides
    Q, V = factor(f), factor(f, seed=4)
    basis = np.linalg.qr(f.gradient_range(Q))[0]
    product = f.gradient_at(Q)(V) - f.trace_penalty * V
    np.testing.assert_allclose(basis @ (basis.T @ product), product, atol=1e-10)
    rng = np.random.default_rng(0)
    nothing = np.zeros((f.shape[0], 0))
    S = f.gradient_at(nothing)(np.eye(f.shape[0]))
    found = certify(f, nothing, f.value(nothing), 1, rng).eigenvalue
    assert found == pytest.approx(-np.linalg.eigvalsh(S)[0], rel=1e-9)


@pytest.mark.parametrize("kind", ["between", "undirected"])
@pytest.mark.parametrize("margin", [LogisticLoss(), SmoothHingeLoss()], ids=["logistic", "smooth-hinge"])
def test_the_minimum_is_that_of_a_solver_of_cones(kind, margin):
    cvxpy = pytest.importorskip("cvxpy")
    f, pairs, links, weights = problem(kind, loss=margin, penalty=0.02)
    p, n = f.shape[0], sides(kind)[0].shape[0]
    C = cvxpy.Variable((p, p), PSD=True)
    rows = f.rows.toarray()
    first, second = pairs[:, 0], pairs[:, 1] + (0 if kind == "undirected" else n)
    distance = lambda D: cvxpy.sum(cvxpy.multiply(D @ C, D), axis=1)  # noqa: E731
    own = len(rows) - (1 if kind == "undirected" else 2)
    near = distance(rows[first] - rows[second])
    a, b = distance(rows[first] - rows[own]) - near, distance(rows[second] - rows[-1]) - near

    def h(z):
        return cvxpy.logistic(-z) if margin.name == "logistic" else cvxpy.huber(cvxpy.pos(2 - z), 2) / 4

    shares = weights / weights.sum()
    linked = [cvxpy.log_sum_exp(cvxpy.hstack([h(a[k]), h(b[k])])) * shares[k] for k in np.flatnonzero(links)]
    others = shares[~links] @ (h(-a) + h(-b))[np.flatnonzero(~links)]
    least = cvxpy.Problem(cvxpy.Minimize(sum(linked) + others + 0.02 * cvxpy.trace(C)))
    least.solve(solver=cvxpy.SCS, eps=1e-8, max_iters=50_000)
    Q, result = minimise(ILA(), f, np.zeros((p, 1)), budget=Budget(tol=1e-7), rng=np.random.default_rng(0))
    assert result.objective == pytest.approx(least.value, rel=1e-5)
    assert result.objective - result.details["lower_bound"] <= 1e-5 * result.objective
    assert Q.any()


def test_an_offset_is_added_to_margins():
    f, pairs, links, weights = problem("between")
    offset = LinkObjective(pairs, links, *sides("between"), loss=f.loss, offset=-1.5, weights=weights)
    Q = factor(f)
    a, b = f.margins(Q)
    np.testing.assert_allclose(offset.margins(Q), np.stack([a, b]) - 1.5)
    parts = f.loss.of_links(a - 1.5, b - 1.5).values, f.loss.of_others(a - 1.5, b - 1.5).values
    assert offset.value(Q) == pytest.approx(np.average(np.where(links, *parts), weights=weights))


def test_objects_without_pairs_stay_at_the_origin():
    pairs, links = np.array([[0, 0], [1, 0]]), np.array([True, False])
    f = LinkObjective(pairs, links, np.eye(4), np.eye(3), loss=LinkLoss(), trace_penalty=0.01)
    Q, _ = minimise(ILA(), f, np.zeros((9, 1)), budget=Budget(tol=1e-6), rng=np.random.default_rng(0))
    np.testing.assert_allclose(Q[[2, 3, 5, 6]], 0, atol=1e-6)
    assert np.all(np.minimum(*f.margins(Q)) * [1, -1] > 0)


def test_a_kink_is_no_smooth_problem():
    f, *_ = problem("between", loss=HingeLoss())
    assert "smoothness" not in f.provides
    assert "smoothness" in problem("between")[0].provides


@pytest.mark.parametrize("margin", nearer.losses.MARGIN_LOSSES.values(), ids=lambda kind: kind.name)
def test_losses_of_pairs(margin):
    """Values against the formula, slopes against finite differences, convexity on random chords."""
    rng = np.random.default_rng(0)
    loss, (a, b, c, d) = LinkLoss(margin()), rng.normal(size=(4, 200)) * 2
    h = loss.margin.value
    np.testing.assert_allclose(loss.of_links(a, b).values, np.log(np.exp(h(a)) + np.exp(h(b))), rtol=1e-9)
    np.testing.assert_allclose(loss.of_others(a, b).values, h(-a) + h(-b), rtol=1e-12)
    for of in (loss.of_links, loss.of_others):
        middle = of((a + c) / 2, (b + d) / 2).values
        assert np.all(middle <= (of(a, b).values + of(c, d).values) / 2 + 1e-12)
        if loss.smooth:
            step = 1e-6
            by_first = (of(a + step, b).values - of(a - step, b).values) / (2 * step)
            by_second = (of(a, b + step).values - of(a, b - step).values) / (2 * step)
            np.testing.assert_allclose(of(a, b).by_first, by_first, atol=1e-5)
            np.testing.assert_allclose(of(a, b).by_second, by_second, atol=1e-5)


@pytest.mark.parametrize("margin", nearer.losses.MARGIN_LOSSES.values(), ids=lambda kind: kind.name)
def test_the_compiled_loss_is_the_one_in_numpy(margin):
    rng = np.random.default_rng(0)
    loss, n_links, m, objects = LinkLoss(margin()), 150, 400, 20
    loop = link_loop_for(loss)
    assert loop.func is compiled
    distances = np.append(rng.exponential(3, size=m + objects), [0.0, 1e8])
    first, second = (rng.integers(m, m + objects + 2, size=(2, m))).astype(np.int32)
    shares = rng.uniform(size=m)
    slopes, expected = rng.normal(size=(1, len(distances))).repeat(2, axis=0)
    value = loop(-0.7, n_links, shares, first, second, distances, slopes)
    assert value == pytest.approx(
        plain_losses(loss, -0.7, n_links, shares, first, second, distances, expected)
    )
    np.testing.assert_allclose(slopes, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    distances[0] = np.nan
    assert np.isnan(loop(0.0, n_links, shares, first, second, distances, slopes))


def test_a_loss_without_a_compiled_version_is_staged():
    loss = LinkLoss(SmoothHingeLoss(width=1.0))
    assert link_loop_for(loss).func is plain_losses
    f, *known = problem("between", loss=SmoothHingeLoss(width=1.0))
    Q = factor(f)
    assert f.value(Q) == pytest.approx(plain("between", f, *known, Q), rel=1e-10)


def test_the_loss_of_a_far_link_is_finite():
    found = LinkLoss().of_links(np.array([-1e6, 5.0]), np.array([3.0, -1e6]))
    np.testing.assert_allclose(found.values, 1e6 + 1)
    np.testing.assert_allclose(found.by_first, [-1, 0])
