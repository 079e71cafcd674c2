"""The objective over kernels: the definition, derivatives, points, and the bound from below."""

import numpy as np
import pytest

from nearer import losses
from nearer.comparisons import Comparisons
from nearer.objectives import GramObjective, PointObjective
from tests.registries import LOSSES, SquaredHinge, planted, start

KINDS = pytest.mark.parametrize("kind", ["triplets", "quadruplets"])


def random_kernel(n=25, rank=3, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, rank)) * 0.5
    return X @ X.T, X


def naive_value(comparisons, loss, K, penalty):
    """The definition, one comparison at a time."""
    weights = np.ones(len(comparisons)) if comparisons.weights is None else comparisons.weights
    total = 0.0
    for (i, j, l, k), weight in zip(comparisons.quadruplets(), weights, strict=True):
        near = K[i, i] - 2 * K[i, j] + K[j, j]
        far = K[l, l] - 2 * K[l, k] + K[k, k]
        total += weight * float(loss.value(np.array([near]), np.array([far]))[0])
    return total / weights.sum() + penalty * np.trace(K)


def naive_gradient(comparisons, loss, K, penalty):
    """Frobenius gradient, scattered one comparison at a time."""
    weights = np.ones(len(comparisons)) if comparisons.weights is None else comparisons.weights
    G = penalty * np.eye(len(K))
    for (i, j, l, k), weight in zip(comparisons.quadruplets(), weights / weights.sum(), strict=True):
        near = np.array([K[i, i] - 2 * K[i, j] + K[j, j]])
        far = np.array([K[l, l] - 2 * K[l, k] + K[k, k]])
        for (a, b), slope in zip(((i, j), (l, k)), loss.derivatives(near, far), strict=True):
            G[a, a] += weight * slope[0]
            G[b, b] += weight * slope[0]
            G[a, b] -= weight * slope[0]
            G[b, a] -= weight * slope[0]
    return G


@pytest.mark.parametrize("loss", [*LOSSES.values(), SquaredHinge()], ids=[*LOSSES, "own"])
@KINDS
def test_value_and_gradient_against_the_definition(loss, kind):
    comparisons = planted(kind, weights=True)
    f = GramObjective(comparisons, loss, trace_penalty=0.02)
    K, X = random_kernel()
    value, gradient = f.of_kernel(K)
    assert value == pytest.approx(naive_value(comparisons, f.loss, K, 0.02), rel=1e-10)
    assert f.value(X) == pytest.approx(value, rel=1e-10)
    np.testing.assert_allclose(gradient, naive_gradient(comparisons, f.loss, K, 0.02), atol=1e-12)


@pytest.mark.parametrize("loss", [*LOSSES.values(), SquaredHinge()], ids=[*LOSSES, "own"])
def test_gradient_against_finite_differences(loss):
    f = GramObjective(planted(weights=True), loss, trace_penalty=0.02)
    K, _ = random_kernel()
    direction = np.random.default_rng(1).normal(size=K.shape)
    direction += direction.T
    h = 1e-7
    numeric = (f.of_kernel(K + h * direction)[0] - f.of_kernel(K - h * direction)[0]) / (2 * h)
    tolerance = 1e-3 if loss.name == "gnmds" else 1e-5  # a few hinges may bend within the step
    assert np.vdot(f.of_kernel(K)[1], direction) == pytest.approx(numeric, rel=tolerance, abs=1e-7)


@KINDS
def test_agrees_with_the_objective_over_points(kind):
    """Through K = X Xᵀ: the same value, and the gradient by X is twice the one by K times X."""
    comparisons = planted(kind, weights=True)
    X = start()
    points = PointObjective(
        comparisons, losses.STE(), 2, l2=0.02 * 25
    )  # l2 is beside the mean squared length
    f = GramObjective(comparisons, losses.STE(), trace_penalty=0.02)
    value, gradient = points.value_and_gradient(X)
    at_kernel, by_kernel = f.of_kernel(X @ X.T)
    assert at_kernel == pytest.approx(value)
    np.testing.assert_allclose(2 * by_kernel @ X, gradient, atol=1e-12)


def test_distances_of_pairs_by_a_plain_loop():
    f = GramObjective(planted(), losses.STE())
    X = np.random.default_rng(2).normal(size=(25, 7))
    np.testing.assert_allclose(f.distances(X), [((X[i] - X[j]) ** 2).sum() for i, j in f.pairs], rtol=1e-12)
    np.testing.assert_array_equal(f.distances(np.asfortranarray(X)), f.distances(X))


def test_every_pair_is_there_once():
    f = GramObjective(Comparisons([[0, 1, 2], [1, 0, 2], [2, 1, 0], [3, 0, 1]]), losses.STE())
    assert f.pairs.tolist() == [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3]]


def test_the_gradient_does_not_move_the_centre():
    f = GramObjective(planted(), losses.STE())
    K, _ = random_kernel()
    np.testing.assert_allclose(f.of_kernel(K)[1].sum(axis=1), 0, atol=1e-12)


def test_weights_multiply():
    """A weight of two is the comparison given twice."""
    Q = planted().indices[:50]
    weights = np.where(np.arange(50) < 20, 2.0, 1.0)
    once = GramObjective(Comparisons(Q, 25, weights=weights), losses.STE())
    twice = GramObjective(Comparisons(np.concatenate([Q, Q[:20]]), 25), losses.STE())
    K, _ = random_kernel()
    assert once.of_kernel(K)[0] == pytest.approx(twice.of_kernel(K)[0])
    np.testing.assert_allclose(once.of_kernel(K)[1], twice.of_kernel(K)[1], atol=1e-14)


@pytest.mark.parametrize("loss", [losses.STE(), losses.GNMDS()], ids=["ste", "gnmds"])
@pytest.mark.parametrize("weights", [False, True])
def test_feasible_slopes_bound_the_objective_everywhere(loss, weights):
    f = GramObjective(planted(weights=weights), loss, trace_penalty=0.05)
    _, X = random_kernel()
    by_near, by_far = f.derivatives(f.distances(X))
    least = np.linalg.eigvalsh(f.gradient(f.pair_slopes(by_near, by_far)).toarray())[0]
    scale = min(1.0, f.trace_penalty / -least)
    bound = f.lower_bound(by_near, scale)
    assert bound > 0
    for seed in range(20):
        for size in (0.0, 0.1, 1.0):
            assert f.value(size * random_kernel(rank=seed % 5 + 1, seed=seed)[1]) >= bound
    assert f.lower_bound(by_near, 3 * scale) != pytest.approx(bound)


@pytest.mark.parametrize("loss", ["ste", "gnmds", "ckl", "tste"])
@KINDS
def test_products_and_factor_gradients_are_those_of_the_dense_gradient(loss, kind):
    f = GramObjective(planted(kind, True), losses.find(loss), trace_penalty=0.1)
    rng = np.random.default_rng(0)
    X, V = rng.normal(size=(25, 3)), rng.normal(size=(25, 2))
    value, dense = f.of_kernel(X @ X.T)
    np.testing.assert_allclose(f.gradient_times(X, V), dense @ V, atol=1e-12)
    np.testing.assert_allclose(f.gradient_times(X, V[:, 0]), dense @ V[:, 0], atol=1e-12)
    found, gradient = f.value_and_factor_gradient(X)
    assert found == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(gradient, 2 * dense @ X, atol=1e-12)


def test_what_it_provides_depends_on_convexity():
    assert "convexity" in GramObjective(planted(), losses.STE()).provides
    assert "convexity" not in GramObjective(planted(), losses.CKL()).provides
    assert "convexity" not in GramObjective(planted(), losses.STE(), max_rank=2).provides


def test_the_heavy_tails_follow_the_rank():
    assert GramObjective(planted(), losses.TSTE(), max_rank=10).loss == losses.TSTE(alpha=9.0)
    assert GramObjective(planted(), losses.TSTE()).loss == losses.TSTE(alpha=1.0)
