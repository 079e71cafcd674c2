"""Learned distances: the compiled steps are those of the reference, and what is planted is found."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from nearer import PairwiseLearner
from nearer._compiled import pairwise_metric_reference as reference
from nearer._compiled.margin_losses import MARGIN_CODES
from nearer._compiled.pairwise_reference import SCALE
from nearer.errors import InputError
from nearer.losses import MARGIN_LOSSES, HingeLoss, LogisticLoss
from nearer.losses.margins import MarginLoss
from nearer.objectives._pair_weights import rule_of
from nearer.objectives.pair_rows import sparse_arrays
from nearer.pairwise import AdaDSG
from tests.refusals import refused
from tests.registries import MARGIN_LOSSES as LOSS_OBJECTS


def steps_of(kind, loss, mu, power, count=400, dtype=np.float64):
    """Arrays before some steps, and the rest of the arguments."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 6)) * (rng.uniform(size=(30, 6)) < 0.5)
    X = X.astype(dtype)
    rows, others = rng.integers(0, 30, (2, count))
    arrays = {
        "rule": rule_of(4.0, mu, power, proximal=True),
        "v": rng.normal(size=(6, 3)),
        "lag": np.zeros((6, 3)),
        "held": np.array([1.0, 0.0, 0.0, 0.0]),
        "threshold": np.array([1.0, 1.0]),
    }
    matrix = (X,) if kind == "dense" else sparse_arrays(sparse.csr_matrix(X))
    return matrix, rows, others, arrays


def answer(arrays):
    held = arrays["held"]
    average = (held[1] * arrays["v"] - arrays["lag"]) / max(held[2], 1e-300)
    return held[SCALE] * arrays["v"], average, arrays["threshold"], arrays["rule"]


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("loss", MARGIN_LOSSES)
@pytest.mark.parametrize(("mu", "power"), [(0.01, 3.0), (2.0, 0.0), (0.0, -1.0)])
def test_compiled_steps_are_those_of_the_reference(kind, loss, mu, power):
    from nearer._compiled.pairwise_metric import dense_metric_steps, sparse_metric_steps

    matrix, rows, others, plain = steps_of(kind, loss, mu, power)
    compiled = {name: array.copy() for name, array in plain.items()}
    loss = MARGIN_LOSSES[loss]()
    expected = reference.metric_steps(matrix, rows, others, 0.7, loss, *plain.values())
    loop, rest = (dense_metric_steps, ()) if kind == "dense" else (sparse_metric_steps, (np.zeros(6),))
    got = loop(*matrix, rows, others, 0.7, MARGIN_CODES[type(loss)], *compiled.values(), *rest)
    np.testing.assert_allclose(got, expected, rtol=1e-9)
    for mine, other in zip(answer(compiled), answer(plain), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-7, atol=1e-9)
    assert all(not work.any() for work in rest)


def test_single_precision_is_read_as_it_is():
    from nearer._compiled.pairwise_metric import dense_metric_steps

    results = []
    for dtype in (np.float32, np.float64):
        (X,), rows, others, arrays = steps_of("dense", "hinge", 0.01, 3.0, dtype=np.float32)
        dense_metric_steps(X.astype(dtype), rows, others, 0.7, MARGIN_CODES[HingeLoss], *arrays.values())
        results.append(answer(arrays)[1])
    np.testing.assert_allclose(*results, rtol=1e-12)


@pytest.mark.parametrize("loss", ["square", "logistic", "smooth-hinge"])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_short_step_goes_along_the_gradient(loss, sign):
    """Against finite differences of the loss of one pair by V and by the threshold."""
    loss: MarginLoss = LOSS_OBJECTS[loss]
    (X,), rows, others, arrays = steps_of("dense", loss, 0.0, -1.0, count=2)
    rows, others = (rows[:1], others[:1]) if sign == 1 else (np.append(0, rows[:1]), np.append(0, others[:1]))
    v, threshold = arrays["v"].copy(), 1.0
    length = 1e-6
    arrays["rule"][0] = 1 / length
    reference.metric_steps((X,), rows, others, 0.7, loss, *arrays.values())
    difference = 0.7 * (X[rows[-1]] - X[others[-1]])

    def value(v, threshold):
        margin = sign * (threshold - np.sum((difference @ v) ** 2))
        return loss.value(np.array([margin]))[0]

    bump = np.zeros_like(v)
    bump[2, 1] = 1e-5
    slope = (value(v + bump, threshold) - value(v - bump, threshold)) / 2e-5
    np.testing.assert_allclose((v - arrays["v"])[2, 1] / length, slope, rtol=1e-3, atol=1e-6)
    if sign == 1:  # the pair before has moved the threshold otherwise
        slope = (value(v, threshold + 1e-5) - value(v, threshold - 1e-5)) / 2e-5
        np.testing.assert_allclose((threshold - arrays["threshold"][0]) / length, slope, rtol=1e-3)


def test_no_step_makes_a_distance_pass_zero():
    (X,), _, _, arrays = steps_of("dense", "hinge", 0.0, -1.0)
    arrays["rule"][0] = 1e-3  # steps a thousand times too long
    before = (X[0] - X[1]) @ arrays["v"]
    reference.metric_steps((X,), np.array([0]), np.array([1]), 1.0, HingeLoss(), *arrays.values())
    after = (X[0] - X[1]) @ arrays["v"]
    assert 0 <= after @ before <= before @ before


@pytest.fixture(scope="module")
def planted():
    """Six clusters in three directions of twenty; in the others nothing but a lot of noise."""
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.normal(size=(20, 20)))[0]
    y = rng.integers(0, 6, 3000)
    X = 5 * rng.normal(size=(3000, 20))
    X[:, :3] = (3 * rng.normal(size=(6, 3)))[y] + rng.normal(size=(3000, 3))
    return X @ turn.T, y, turn[:, :3]


@pytest.mark.parametrize("loss", MARGIN_LOSSES)
@pytest.mark.parametrize("n_components", [None, 3])
def test_the_planted_directions_are_found(planted, loss, n_components):
    X, y, directions = planted
    model = PairwiseLearner(loss, pair="metric", n_components=n_components, random_state=0).fit(
        X[:2000], y[:2000]
    )
    L = model.components_
    assert L.shape == (n_components or 20, 20)
    inside = np.sum((L @ directions) ** 2) / np.sum(L**2)
    assert inside > 0.95  # three directions of twenty hold 0.15 by chance
    assert model.score(X[2000:], y[2000:]) > 0.9
    assert 0 < model.threshold_ < 10


def test_nearest_neighbours_gain(planted):
    X, y, _ = planted
    plain = KNeighborsClassifier().fit(X[:2000], y[:2000]).score(X[2000:], y[2000:])
    pipeline = make_pipeline(
        PairwiseLearner(pair="metric", n_components=3, random_state=0), KNeighborsClassifier()
    )
    learned = pipeline.fit(X[:2000], y[:2000]).score(X[2000:], y[2000:])
    assert plain < 0.7 < 0.88 < learned


def test_distances_are_those_of_the_transformed_rows(planted):
    X, y, _ = planted
    model = PairwiseLearner(pair="metric", n_components=4, random_state=0).fit(X[:500], y[:500])
    points = model.transform(X[:10])
    np.testing.assert_allclose(points - points[0], (X[:10] - X[0]) @ model.components_.T, atol=1e-12)
    np.testing.assert_allclose(
        model.pair_distance(X[:5], X[5:10]), np.sum((points[:5] - points[5:]) ** 2, axis=1)
    )
    with refused("X", "5 rows", 3):
        model.pair_distance(X[:5], X[:3])


def test_the_unit_of_features_does_not_matter(planted):
    X, y, _ = planted
    settings = {"pair": "metric", "n_components": 3, "random_state": 0}
    one = PairwiseLearner(**settings).fit(X[:500], y[:500])
    other = PairwiseLearner(**settings).fit(1000 * X[:500], y[:500])
    np.testing.assert_allclose(one.components_, 1000 * other.components_, rtol=1e-6, atol=1e-9)


def test_sparse_rows_give_the_same_distance(planted):
    X, y, _ = planted
    X = np.where(np.abs(X[:400]) > 4, X[:400], 0.0)
    settings = {"pair": "metric", "random_state": 0}
    dense = PairwiseLearner(**settings).fit(X, y[:400])
    csr = PairwiseLearner(**settings).fit(sparse.csr_array(X), y[:400])
    np.testing.assert_allclose(csr.components_, dense.components_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(csr.transform(sparse.csr_array(X)), dense.transform(X), rtol=1e-6, atol=1e-8)


def test_chunks_of_a_stream_teach_a_distance(planted):
    X, y, directions = planted
    model = PairwiseLearner("logistic", pair="metric", n_components=3, random_state=0)
    for _ in range(4):
        for start in range(0, 2000, 250):
            model.partial_fit(X[start : start + 250], y[start : start + 250])
    inside = np.sum((model.components_ @ directions) ** 2) / np.sum(model.components_**2)
    assert inside > 0.9
    before = model.components_
    model.partial_fit(X[:5], np.arange(5))  # no two rows of one label: nothing to learn
    np.testing.assert_array_equal(before, model.components_)


@pytest.mark.parametrize("average", ["tail", "last"])
def test_other_answers_of_the_solver(planted, average):
    X, y, directions = planted
    solver = AdaDSG(average=average)
    model = PairwiseLearner(pair="metric", n_components=3, solver=solver, random_state=0).fit(
        X[:1000], y[:1000]
    )
    assert np.sum((model.components_ @ directions) ** 2) / np.sum(model.components_**2) > 0.9


def test_a_loss_of_ones_own_takes_the_plain_loop(planted):
    class Own(LogisticLoss):
        name = "own"

    X, y, directions = planted
    solver = AdaDSG(stages=8)
    model = PairwiseLearner(Own(), pair="metric", n_components=3, solver=solver, random_state=0)
    model.fit(X[:400], y[:400])
    assert np.sum((model.components_ @ directions) ** 2) / np.sum(model.components_**2) > 0.5


def test_random_features_may_carry_a_distance():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 2))
    y = (np.linalg.norm(X, axis=1) > 1.2).astype(int)  # a ring around a disc
    linear = PairwiseLearner(pair="metric", random_state=0).fit(X[:600], y[:600])
    mapped = PairwiseLearner(pair="metric", model="rff", n_components=5, random_state=0).fit(X[:600], y[:600])
    assert linear.score(X[600:], y[600:]) + 0.2 < mapped.score(X[600:], y[600:])


@pytest.mark.parametrize("y", [np.arange(20), np.zeros(20)])
def test_labels_without_pairs_of_both_kinds(y):
    with refused("y", "label", "pairs"):
        PairwiseLearner(pair="metric").fit(np.random.default_rng(0).normal(size=(20, 2)), y)


def test_scores_are_not_to_be_had_of_a_distance(planted):
    X, y, _ = planted
    model = PairwiseLearner(pair="metric", random_state=0).fit(X[:200], y[:200])
    assert not hasattr(model, "decision_function")
    assert not hasattr(model, "coef_")
    assert not hasattr(PairwiseLearner(), "transform")
    with pytest.raises(InputError, match="a list of kernels is for scores"):
        PairwiseLearner(pair="metric", model=["linear", "rff"]).fit(X[:200], y[:200])
