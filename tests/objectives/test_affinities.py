"""Affinities of rows with labels: the definition by distances, derivatives, planes, blocks, and a solver of cones."""

import numpy as np
import pytest
from scipy import sparse

from nearer._compiled.label_sets_reference import replace_by_slopes as plain
from nearer._utils.runtime import polling
from nearer.errors import InputError
from nearer.losses import HingeLoss, RankingLoss, SmoothHingeLoss, SoftMaxLoss
from nearer.objectives import AffinityObjective, affinities
from nearer.objectives.planes import factor_plane
from nearer.solvers import ILA, Budget, minimise
from nearer.solvers.certificate import certify
from nearer.solvers.ila import principal

KINDS = ("labels", "features", "ranking", "two parts")
EVERY = pytest.mark.parametrize("kind", KINDS)
LOOKS = pytest.mark.parametrize("look", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])


def problem(kind, look=np.asarray, penalty=0.05, rows=30, labels=5):
    """Rows with no, some or all labels, and weights; labels with or without features, a threshold or parts."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 4)) * (rng.random((rows, 4)) > 0.3)
    Y = rng.random((rows, labels)) < rng.choice([0.0, 0.4, 1.0], size=rows, p=[0.1, 0.8, 0.1])[:, None]
    features = rng.normal(size=(labels, 3)) if kind == "features" else None
    loss = (
        RankingLoss()
        if kind == "ranking"
        else RankingLoss(SmoothHingeLoss())
        if kind == "two parts"
        else SoftMaxLoss()
    )
    f = AffinityObjective(
        look(X),
        sparse.csr_matrix(Y),
        loss=loss,
        label_features=None if features is None else look(features),
        parts=2 if kind == "two parts" else 1,
        threshold=kind in ("labels", "features"),
        weights=rng.uniform(0.5, 2, size=rows),
        trace_penalty=penalty,
    )
    return f, X, Y, features


def factor(f, columns=3, seed=1):
    return np.random.default_rng(seed).normal(size=(f.shape[0], columns)) * 0.4


def distances_by_the_matrix(kind, C, X, features, labels):
    """Affinities as the paper defines them: squared distances under C of joint feature vectors."""
    own = np.eye(labels) if features is None else features
    threshold = int(kind in ("labels", "features"))
    found = np.empty((len(X), labels))
    for i, x in enumerate(X):
        at = lambda label, top, x=x: np.concatenate([x, -label, np.full(threshold, -top)])  # noqa: E731
        distance = lambda z: z @ C @ z  # noqa: E731
        nothing = np.zeros(own.shape[1])
        for y, label in enumerate(own):
            if kind == "two parts":  # of each part; two that sum to x
                part = x / 2 + 0.1
                found[i, y] = -distance(at(label, 0, part)) - distance(at(label, 0, x - part))
            else:
                found[i, y] = threshold * distance(at(nothing, 1)) - distance(at(label, 0))
    return found


@pytest.fixture(params=["by points", "by features"], autouse=True)
def order_of_products(request, monkeypatch):
    """Test everything with both orders of the products of sparse rows, factor and labels."""
    chosen = request.param == "by features"
    monkeypatch.setattr(
        AffinityObjective, "_by_features", lambda self, rank: chosen and sparse.issparse(self.X)
    )


@EVERY
@LOOKS
def test_affinities_are_differences_of_distances(kind, look):
    f, X, Y, features = problem(kind, look)
    Q = factor(f)
    expected = distances_by_the_matrix(kind, Q @ Q.T, X, features, Y.shape[1])
    found = f.affinities(Q)
    if f.loss.relative:  # up to a number per row
        expected, found = (each - each[:, :1] for each in (expected, found))
    np.testing.assert_allclose(found, expected, atol=1e-10)


@EVERY
@LOOKS
def test_the_value_is_the_mean_loss_plus_the_trace(kind, look):
    f, _, Y, _ = problem(kind, look)
    Q = factor(f)
    found = f.affinities(Q)
    labels = sparse.csr_matrix(Y)
    total = plain(f.loss, labels.indptr, labels.indices, f._shares, found)
    assert f._shares.sum() == pytest.approx(1)
    assert f.value(Q) == pytest.approx(total + 0.05 * np.sum(Q**2), rel=1e-12)
    assert f.value_and_factor_gradient(Q)[0] == pytest.approx(f.value(Q), rel=1e-12)


@EVERY
@LOOKS
def test_derivatives_against_finite_differences(kind, look):
    f, *_ = problem(kind, look)
    Q, D, h = factor(f), factor(f, seed=2), 1e-6
    numeric = (f.value(Q + h * D) - f.value(Q - h * D)) / (2 * h)
    gradient = f.value_and_factor_gradient(Q)[1]
    assert np.vdot(gradient, D) == pytest.approx(numeric, rel=1e-5)
    product = f.gradient_at(Q)
    np.testing.assert_allclose(2 * product(Q), gradient, atol=1e-10)
    np.testing.assert_allclose(product(D)[:, 1], product(D[:, 1]), atol=1e-12)
    risen = (f.value(np.hstack([Q, np.sqrt(h) * D])) - f.value(Q)) / h  # C + h D Dᵀ
    assert np.vdot(product(D), D) == pytest.approx(risen, rel=1e-3, abs=1e-5)


@EVERY
def test_the_plane_is_the_one_by_factors(kind):
    f, *_ = problem(kind)
    Q, U = factor(f), factor(f, 2, seed=3)
    for a, b in ((1.0, 0.0), (0.3, 0.8)):
        np.testing.assert_allclose(f.plane(Q, U)(a, b), factor_plane(f, Q, U)(a, b), rtol=1e-9)


@EVERY
@LOOKS
def test_blocks_change_nothing(kind, look, monkeypatch):
    whole = problem(kind, look)[0]
    monkeypatch.setattr(affinities, "_BLOCK", 35)  # seven rows of five labels
    parts = problem(kind, look)[0]
    assert len(parts.blocks) == 5
    Q = factor(whole)
    np.testing.assert_allclose(parts.affinities(Q), whole.affinities(Q), atol=1e-12)
    for one, other in zip(
        parts.value_and_factor_gradient(Q), whole.value_and_factor_gradient(Q), strict=True
    ):
        np.testing.assert_allclose(one, other, atol=1e-12)
    np.testing.assert_allclose(parts.gradient_at(Q)(Q), whole.gradient_at(Q)(Q), atol=1e-12)
    np.testing.assert_allclose(parts.plane(Q, Q)(0.3, 0.2), whole.plane(Q, Q)(0.3, 0.2), rtol=1e-12)


@LOOKS
@pytest.mark.parametrize(
    "work",
    [
        lambda f, Q: f.value(Q),
        lambda f, Q: f.value_and_factor_gradient(Q),
        lambda f, Q: f.gradient_at(Q),
        lambda f, Q: f.plane(Q, Q)(1.0, 1.0),
    ],
    ids=["value", "gradient", "gradient by C", "plane"],
)
def test_a_pass_over_blocks_asks_whether_to_go_on(look, work, monkeypatch):
    class EnoughError(Exception):
        pass

    asked = []

    def poll():
        asked.append(1)
        if len(asked) == 3:
            raise EnoughError

    monkeypatch.setattr(affinities, "_BLOCK", 35)
    f, *_ = problem("labels", look)
    with polling(poll), pytest.raises(EnoughError):
        work(f, factor(f))
    assert len(asked) == 3
    work(f, factor(f))


@pytest.mark.parametrize("kind", ["labels", "features"])
def test_the_minimum_is_that_of_a_solver_of_cones(kind):
    """Eq. 13 with the corrected smooth hinge."""
    cvxpy = pytest.importorskip("cvxpy")
    f, X, Y, features = problem(kind, penalty=0.02, rows=12, labels=3)
    size = f.shape[0]
    C = cvxpy.Variable((size, size), PSD=True)
    own, zero = np.eye(3) if features is None else features, np.zeros(3)
    distance = lambda z: z @ C @ z  # noqa: E731
    hinge = lambda z: cvxpy.huber(cvxpy.pos(2 + z), 2) / 4  # noqa: E731
    terms = []
    for x, mine, share in zip(X, Y, f._shares, strict=True):
        at_threshold = distance(np.concatenate([x, zero, [-1]]))
        gaps = [distance(np.concatenate([x, -label, [0]])) - at_threshold for label in own]
        for sign, side in ((1, mine), (-1, ~mine)):
            if side.any():
                terms.append(
                    share
                    * cvxpy.log_sum_exp(cvxpy.hstack([hinge(sign * gaps[y]) for y in np.flatnonzero(side)]))
                )
    least = cvxpy.Problem(cvxpy.Minimize(sum(terms) + 0.02 * cvxpy.trace(C)))
    least.solve(solver=cvxpy.SCS, eps=1e-8, max_iters=50_000)
    _, result = minimise(ILA(), f, np.zeros((size, 1)), budget=Budget(tol=1e-8), rng=np.random.default_rng(0))
    assert result.objective == pytest.approx(least.value, rel=1e-5)


def test_the_minimum_is_certified_and_of_low_rank():
    """The rank never exceeds the number of labels plus one: between features of rows the gradient is the penalty."""
    f, *_ = problem("labels", penalty=0.01)
    Q, result = minimise(
        ILA(), f, np.zeros((f.shape[0], 1)), budget=Budget(tol=1e-6), rng=np.random.default_rng(0)
    )
    assert result.history["gap"][-1] <= 1e-6 * result.objective
    assert Q.shape[1] <= 6


def test_bad_input():
    X, labels = np.zeros((3, 2)), sparse.csr_matrix(np.eye(2))
    with pytest.raises(InputError, match="2 rows, but X has 3"):
        AffinityObjective(X, labels, loss=SoftMaxLoss())
    with pytest.raises(InputError, match="threshold"):
        AffinityObjective(X[:2], labels, loss=SoftMaxLoss(), threshold=False)
    assert "smoothness" not in AffinityObjective(X[:2], labels, loss=SoftMaxLoss(HingeLoss())).provides


@EVERY
@LOOKS
def test_the_gradient_of_the_loss_has_a_small_range(kind, look):
    f, *_ = problem(kind, look)
    Q = factor(f)
    loss = lambda W: f.gradient_at(Q)(W) - f.trace_penalty * W  # noqa: E731
    basis = np.linalg.qr(f.gradient_range(Q))[0]
    image = loss(np.random.default_rng(3).normal(size=(f.shape[0], 4)))
    np.testing.assert_allclose(basis @ (basis.T @ image), image, atol=1e-12)


def test_eigenpairs_within_the_range_are_those_of_the_whole_matrix():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(60, 20)), rng.random((60, 3)) < 0.4
    f = AffinityObjective(X, sparse.csr_matrix(Y), loss=SoftMaxLoss(), trace_penalty=0.02)
    assert "gradient_range" in f.provides
    for columns in (0, 1, 2):
        Q = principal(rng.normal(size=(24, columns)) * 0.3)
        small = certify(f, Q, f.value(Q), 4, rng)
        unknowing = Unknowing(f)
        whole = certify(unknowing, Q, f.value(Q), 4, rng)
        assert small.eigenvalue == pytest.approx(whole.eigenvalue, rel=1e-9)
        assert small.directions.shape == whole.directions.shape
        np.testing.assert_allclose(
            small.directions @ small.directions.T, whole.directions @ whole.directions.T, atol=1e-8
        )
        np.testing.assert_allclose(Q.T @ small.directions, 0, atol=1e-10)


class Unknowing:
    """The same objective, which does not know the range of its gradient."""

    def __init__(self, objective):
        self.objective = objective
        self.provides = objective.provides - {"gradient_range"}

    def __getattr__(self, name):
        return getattr(self.objective, name)


def test_the_least_loss_makes_the_certificate_tighter(monkeypatch):
    f, *_ = problem("labels", penalty=0.02)
    start, budget = np.zeros((f.shape[0], 1)), Budget(tol=1e-8)
    _, result = minimise(ILA(), f, start, budget=budget, rng=np.random.default_rng(0))
    Q = principal(factor(f))

    def gap():
        return certify(f, Q, f.value(Q), 1, np.random.default_rng(0)).gap

    tight = gap()
    assert f.value(Q) - result.objective <= tight
    assert 0 < f.least_loss < result.objective
    monkeypatch.setattr(f, "least_loss", 0.0)
    assert tight < gap()


def test_scores_of_features_are_taken_with_many_more_rows_than_features(monkeypatch):
    monkeypatch.undo()  # the fixture
    rows = sparse.csr_matrix((np.ones(4000), np.arange(4000) % 20, np.arange(0, 4001, 2)), shape=(2000, 20))
    labels = sparse.random(2000, 300, 0.01, format="csr", random_state=0)
    f = AffinityObjective(rows, labels, loss=RankingLoss(), threshold=False, parts=2)
    assert [f._by_features(rank) for rank in (1, 30, 300)] == [False, True, True]
    assert not AffinityObjective(rows.toarray(), labels, loss=RankingLoss(), threshold=False)._by_features(
        300
    )
