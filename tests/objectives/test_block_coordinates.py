"""Coordinates in which every row of a factor has about unit curvature."""

import numpy as np
import pytest
from scipy import sparse

from nearer._compiled import blocks, blocks_reference
from nearer.losses import MarginLoss, RankingLoss, SmoothHingeLoss, SoftMaxLoss
from nearer.losses.margins import LogisticLoss
from nearer.objectives import AffinityObjective, block_coordinates
from nearer.objectives.block_coordinates import Blocks, Diagonal, Directions, RowCurvatures
from nearer.solvers import ILA, Budget, minimise

LOSSES = pytest.mark.parametrize(
    "loss", [LogisticLoss(), SmoothHingeLoss()], ids=["logistic", "smooth hinge"]
)


def some_rows(n=5, k=7, d=4, seed=0, shift=1.0):
    rng = np.random.default_rng(seed)
    weights, points = rng.uniform(0, 2, size=(n, k)), rng.normal(size=(k, d))
    return RowCurvatures(weights, points, rng.normal(size=(n, d)), np.full(n, shift), 0.1)


def tagged(posts=300, users=12, items=9, tags=15, penalty=1e-3, loss=None, seed=0):
    """Posts of a user and an item with the nearest of some tags, of which some are much more frequent."""
    rng = np.random.default_rng(seed)
    points = [rng.normal(size=(count, 3)) for count in (users, items, tags)]
    who = np.stack([rng.integers(users, size=posts), rng.integers(items, size=posts)], axis=1)
    distances = [((points[at][who[:, at], None] - points[2]) ** 2).sum(axis=2) for at in range(2)]
    nearest = np.argsort(sum(distances) + np.arange(tags), axis=1)[:, :3]
    pairs = np.ravel(who + np.array([0, users]))
    X = sparse.csr_matrix((np.ones(2 * posts), pairs, np.arange(0, 2 * posts + 1, 2)))
    labels = sparse.csr_matrix((np.ones(3 * posts), nearest.ravel(), np.arange(0, 3 * posts + 1, 3)))
    return AffinityObjective(
        X, labels, loss=RankingLoss(loss or LogisticLoss()), parts=2, threshold=False, trace_penalty=penalty
    )


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_compiled_products_agree_with_numpy(kind):
    rng = np.random.default_rng(0)
    triangles, rows = rng.normal(size=(6, 5, 5)).astype(kind), rng.normal(size=(6, 5))
    for name in ("times", "transposed_times", "without"):
        found, expected = (getattr(loops, name)(triangles, rows) for loops in (blocks, blocks_reference))
        np.testing.assert_allclose(found, expected, rtol=1e-6 if kind is np.float32 else 1e-13)


def test_blocks_become_the_identity():
    these = some_rows()
    found = these.blocks()
    for i in range(5):
        block = (these._points.T * these._weights[i]) @ these._points + 0.1 * np.eye(4)
        block += np.outer(these._shifts[i], these._shifts[i])
        root = np.tril(found.roots[i]).astype(float)
        np.testing.assert_allclose(root @ block @ root.T, np.eye(4), atol=1e-5)
        np.testing.assert_allclose(these.diagonal().scales[i], 1 / np.sqrt(np.diagonal(block)), rtol=1e-12)


@pytest.mark.parametrize("least", [0.1, np.linspace(0.1, 2, 5)], ids=["one", "of each row"])
@pytest.mark.parametrize("shift", [1.0, 0.0, -1.0])
def test_as_many_directions_as_objects_are_the_whole_block(shift, least):
    rng = np.random.default_rng(3)
    weights, points = rng.uniform(0, 2, size=(5, 7)), rng.normal(size=(7, 4))
    totals = weights.sum(axis=1)
    shifts = weights @ points / totals[:, None]  # a negative weight takes the mean away
    found = RowCurvatures(weights, points, shifts, shift * totals, least).directions(8)
    for i in range(5):
        block = (points.T * weights[i]) @ points + np.broadcast_to(least, 5)[i] * np.eye(4)
        block += shift * totals[i] * np.outer(shifts[i], shifts[i])
        root = np.stack([found.out(np.eye(4)[[j] * 5])[i] for j in range(4)])
        np.testing.assert_allclose(root @ block @ root.T, np.eye(4), atol=1e-5)


def test_directions_are_those_of_the_largest_terms():
    weights, points = np.array([[1e-3, 5.0, 1e-4]]), np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    found = RowCurvatures(weights, points, np.zeros((1, 2)), np.zeros(1), 1.0).directions(1)
    np.testing.assert_allclose(found.out(np.eye(2)[[1]]), [[0.0, 1 / np.sqrt(6.0)]], rtol=1e-6)
    np.testing.assert_allclose(found.out(np.eye(2)[[0]]), [[1.0, 0.0]], rtol=1e-6)


@pytest.mark.parametrize("shift", [1.0, -1e3])
def test_rows_whose_mean_is_all_there_is_have_finite_coordinates(shift):
    """A negative weight that takes away more than there is comes from rounding."""
    assert np.isfinite(np.tril(some_rows(shift=shift).blocks().roots)).all()
    assert np.isfinite(some_rows(shift=shift).diagonal().scales).all()


@pytest.mark.parametrize(
    "coordinates",
    [some_rows().blocks(), some_rows().directions(3), some_rows().diagonal()],
    ids=["blocks", "directions", "diagonal"],
)
def test_the_way_back_is_the_transpose_of_the_way_out(coordinates):
    rng = np.random.default_rng(1)
    W, G = rng.normal(size=(2, 5, 4))
    assert np.vdot(coordinates.out(W), G) == pytest.approx(np.vdot(W, coordinates.back(G)), rel=1e-12)


def test_large_sides_have_diagonals(monkeypatch):
    for room, kind in ((400, Diagonal), (620, Directions), (14 * 64, Blocks)):
        monkeypatch.setattr(block_coordinates, "_MOST_NUMBERS", room)
        found = block_coordinates.coordinates([some_rows(n=9, d=8), some_rows(n=5, d=8)])
        assert [type(one) for one in found] == [kind, Blocks]


@LOSSES
@pytest.mark.parametrize("damping", [0.0, 0.1])
@pytest.mark.parametrize("room", [0, 450, 10**6], ids=["diagonal", "directions", "blocks"])
def test_a_descent_has_the_gradient_of_its_value(loss, room, damping, monkeypatch):
    monkeypatch.setattr(block_coordinates, "_MOST_NUMBERS", room)
    f, rng = tagged(loss=loss), np.random.default_rng(2)
    Q = rng.normal(size=(f.shape[0], 3))
    descent = f.damped(Q, damping)
    np.testing.assert_array_equal(descent.factor(descent.start), Q)
    W, direction = 0.1 * rng.normal(size=(2, *Q.shape))
    value, gradient = descent.value_and_gradient(W)
    assert value == pytest.approx(f.value(descent.factor(W)), rel=1e-12)
    ends = [descent.value_and_gradient(W + step * direction)[0] for step in (1e-6, -1e-6)]
    assert np.vdot(gradient, direction) == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-5)


def test_damping_shortens_what_changes_mean():
    f = tagged()
    Q, W = np.random.default_rng(2).normal(size=(2, f.shape[0], 3))
    lengths = [np.linalg.norm(f.damped(Q, damping).factor(W) - Q) for damping in (0.0, 0.1, 1e4)]
    assert lengths[0] > lengths[1] > lengths[2]
    assert lengths[2] == pytest.approx(np.linalg.norm(W) / np.sqrt(2e4), rel=1e-2)


def test_each_row_of_a_factor_has_about_unit_curvature():
    """Curvatures of rows of the factor differ by a factor of 100 and more, and by less than 4 in these coordinates."""
    f = tagged()
    Q, _ = minimise(
        ILA(), f, np.zeros((f.shape[0], 1)), budget=Budget(tol=1e-3), rng=np.random.default_rng(0)
    )
    descent, rng, h = f.damped(Q, 0.0), np.random.default_rng(3), 1e-3
    curvatures = []
    for i in range(len(Q)):
        W = np.zeros(Q.shape)
        W[i] = rng.normal(size=Q.shape[1])
        W[i] *= h / np.linalg.norm(W[i])
        slopes = [descent.value_and_gradient(end)[1] for end in (W, -W)]
        curvatures.append(np.vdot(slopes[0] - slopes[1], W) / (2 * h**2))
    plain = [
        np.linalg.norm(f.value_and_factor_gradient(Q + h * E)[1] - f.value_and_factor_gradient(Q - h * E)[1])
        for E in np.eye(len(Q))[:, :, None] * np.ones(Q.shape[1])
    ]
    assert max(plain) > 20 * min(plain)
    assert np.quantile(curvatures, 0.9) < 4 * np.quantile(curvatures, 0.1)
    assert 0.3 < np.median(curvatures) < 2


class Plain:
    """The same objective without coordinates."""

    def __init__(self, objective):
        self.objective = objective
        self.provides = objective.provides - {"damped"}

    def __getattr__(self, name):
        return getattr(self.objective, name)


@LOSSES
def test_the_same_certified_minimum_in_far_fewer_evaluations(loss):
    f = tagged(loss=loss)
    found = [
        minimise(
            ILA(memory=10),
            g,
            np.zeros((f.shape[0], 1)),
            budget=Budget(tol=1e-6),
            rng=np.random.default_rng(0),
        )
        for g in (f, Plain(f))
    ]
    (Q, even), (_, plain) = found
    assert even.stop_reason == plain.stop_reason == "tolerance"
    assert even.objective == pytest.approx(plain.objective, rel=2e-6)
    # what is curved changes with every step on the smooth hinge
    share = 0.6 if isinstance(loss, LogisticLoss) else 1.2
    assert even.n_evaluations < share * plain.n_evaluations
    assert Q.shape[1] <= f.most_rank


def test_no_more_columns_are_added_than_a_minimum_can_have():
    """With a weak penalty the rank comes close to its limit, the number of tags; a start may be wider."""
    f = tagged(tags=5, penalty=1e-5)
    assert f.most_rank == 5
    for width in (1, 9):
        start = np.random.default_rng(4).normal(size=(f.shape[0], width)) * (width > 1)
        seen = list[int]()
        Q, result = minimise(
            ILA(),
            f,
            start,
            budget=Budget(tol=1e-5),
            rng=np.random.default_rng(0),
            callback=lambda p, seen=seen: seen.append(p.rank) and False,
        )
        assert result.stop_reason == "tolerance"
        assert max(seen) <= max(width, 5)
        assert Q.shape[1] <= 5


def test_which_objectives_have_coordinates():
    f = tagged()
    dense = {"labels": f.labels, "threshold": False}
    assert "damped" in f.provides
    assert "damped" not in AffinityObjective(f.X.toarray(), loss=RankingLoss(), **dense).provides
    assert "damped" not in AffinityObjective(f.X, f.labels, loss=SoftMaxLoss()).provides
    own = type("Own", (MarginLoss,), {"name": "own", "curvature": 1.0, "value": abs, "slope": abs})()
    assert "damped" not in AffinityObjective(f.X, loss=RankingLoss(own), **dense).provides
