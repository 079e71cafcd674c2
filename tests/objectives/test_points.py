"""The objective over points: derivatives, the naive sum, threads."""

import numpy as np
import pytest

from nearer import losses
from nearer.objectives import PointObjective
from tests.registries import LOSSES, SquaredHinge, objective, planted, start


def naive_value(comparisons, loss, X, l2):
    """The definition, one comparison at a time."""
    total = weight_sum = 0.0
    weights = np.ones(len(comparisons)) if comparisons.weights is None else comparisons.weights
    for (i, j, l, k), weight in zip(comparisons.quadruplets(), weights, strict=True):
        near, far = ((X[i] - X[j]) ** 2).sum(), ((X[l] - X[k]) ** 2).sum()
        total += weight * float(loss.value(np.array([near]), np.array([far]))[0])
        weight_sum += weight
    return total / weight_sum + l2 * (X**2).sum() / len(X)


@pytest.mark.parametrize("loss", [*LOSSES.values(), SquaredHinge()], ids=[*LOSSES, "own"])
@pytest.mark.parametrize("kind", ["triplets", "quadruplets"])
def test_value_and_gradient_against_the_definition(loss, kind):
    comparisons = planted(kind, weights=True)
    f = PointObjective(comparisons, loss, 2, l2=0.03)
    X = start()
    value, gradient = f.value_and_gradient(X)
    assert value == pytest.approx(naive_value(comparisons, loss, X, 0.03), rel=1e-10)
    assert f.value(X) == pytest.approx(value, rel=1e-12)
    direction = np.random.default_rng(1).normal(size=X.shape)
    h = 1e-6
    numeric = (f.value(X + h * direction) - f.value(X - h * direction)) / (2 * h)
    tolerance = 1e-3 if loss.name == "gnmds" else 1e-6  # a few hinges may bend within the step
    assert np.vdot(gradient, direction) == pytest.approx(numeric, rel=tolerance, abs=1e-7)


@pytest.mark.parametrize("kind", ["triplets", "quadruplets"])
def test_batches_of_a_walk_average_to_the_gradient(kind):
    f = objective(kind=kind, weights=True)
    X, walk = start(), f.walk(np.random.default_rng(0))
    parts = [f.batch_gradient(X, walk, at, at + 100) for at in range(0, f.n_terms, 100)]
    value, gradient = f.value_and_gradient(X)
    assert np.mean([part[0] for part in parts]) == pytest.approx(value)
    np.testing.assert_allclose(np.mean([part[1] for part in parts], axis=0), gradient, atol=1e-12)


def test_snapshot_gradient_leaves_the_penalty_apart():
    f = objective(l2=0.5)
    X, walk = start(), f.walk(np.random.default_rng(0), slopes=True)
    value, loss_part = f.snapshot_gradient(X, walk)
    full_value, full = f.value_and_gradient(X)
    assert value == pytest.approx(full_value)
    np.testing.assert_allclose(f.with_penalty(loss_part, X), full, atol=1e-12)
    np.testing.assert_allclose(full - loss_part, 2 * 0.5 * X / 25, atol=1e-12)


def big(n_jobs, dtype=np.float64):
    rng = np.random.default_rng(0)
    triplets = rng.integers(0, 50, size=(60_000, 3))
    keep = (
        (triplets[:, 0] != triplets[:, 1])
        & (triplets[:, 0] != triplets[:, 2])
        & (triplets[:, 1] != triplets[:, 2])
    )
    from nearer.comparisons import Comparisons

    return PointObjective(Comparisons(triplets[keep], 50), losses.STE(), 4, n_jobs=n_jobs, dtype=dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_result_does_not_depend_on_threads(dtype):
    X = start((50, 4), dtype=dtype)
    one, two, three = (big(n_jobs, dtype).value_and_gradient(X) for n_jobs in (1, 2, 3))
    assert one[0] == two[0] == three[0]
    assert one[1].dtype == dtype
    np.testing.assert_array_equal(one[1], two[1])
    np.testing.assert_array_equal(one[1], three[1])


def test_blocks_depend_on_sizes_alone_and_cover_everything():
    starts = big(1)._starts(40_000)
    np.testing.assert_array_equal(starts, big(3)._starts(40_000))
    assert (starts[0], starts[-1]) == (0, 40_000)
    assert len(starts) > 2
    assert (np.diff(starts) > 0).all()


@pytest.mark.parametrize("n_jobs", [1, 2, 3, 20])
def test_threads_share_the_blocks(n_jobs):
    objective, shares = big(n_jobs), []
    objective._share(shares.append, 8)
    done = [block for some in sorted(shares, key=lambda some: some.start) for block in range(8)[some]]
    assert done == list(range(8))
    assert len(shares) == {1: 1, 2: 4, 3: 6, 20: 8}[n_jobs]


def test_weights_multiply():
    """A weight of two is the comparison given twice."""
    from nearer.comparisons import Comparisons

    Q = planted().indices[:50]
    weights = np.where(np.arange(50) < 20, 2.0, 1.0)
    once = PointObjective(Comparisons(Q, 25, weights=weights), losses.STE(), 2)
    twice = PointObjective(Comparisons(np.concatenate([Q, Q[:20]]), 25), losses.STE(), 2)
    X = start()
    assert once.value(X) == pytest.approx(twice.value(X))
    np.testing.assert_allclose(once.value_and_gradient(X)[1], twice.value_and_gradient(X)[1], atol=1e-14)
