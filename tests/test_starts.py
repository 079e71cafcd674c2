"""Starting points: scale, the spectral direction, rays."""

import tracemalloc

import numpy as np
import pytest

import nearer
from nearer import OrdinalEmbedding, datasets, losses, metrics, starts
from nearer.comparisons import Comparisons
from nearer.objectives import PointObjective
from nearer.starts import brought_back, random_points, spectral_points, starting_points
from tests.refusals import refused
from tests.registries import objective, planted, start


def mean_squared_distance(X):
    centred = X - X.mean(axis=0)
    return 2 * (centred**2).sum() / len(X)


@pytest.mark.parametrize("unit", [0.05, 1.0, 9.0])
def test_random_points_have_the_unit_as_mean_squared_distance(unit):
    X = random_points(5000, 3, unit, np.random.default_rng(0))
    assert mean_squared_distance(X) == pytest.approx(unit, rel=0.05)


@pytest.mark.parametrize("kind", ["triplets", "quadruplets"])
@pytest.mark.parametrize("n_components", [2, 3])
def test_spectral_points_know_much_of_the_answer(kind, n_components):
    answers, _ = datasets.planted(40, n_components, 4000, kind=kind, random_state=0)
    X = spectral_points(answers, n_components, 1.0, np.random.default_rng(0))
    assert mean_squared_distance(X) == pytest.approx(1.0)
    assert metrics.triplet_error(X, answers) < 0.3


def test_spectral_direction_is_that_of_the_kernel_gradient():
    """Its matrix is minus the gradient by K at zero, up to the scaling by how often objects occur."""
    answers = planted("quadruplets")
    n = answers.n_objects
    dense = np.zeros((n, n))
    for i, j, l, k in answers.quadruplets():
        for sign, a, b in ((-1, i, j), (1, l, k)):
            dense[[a, b], [a, b]] += sign
            dense[[a, b], [b, a]] -= sign
    counts = 1 + np.bincount(answers.indices.ravel(), minlength=n)
    scaled = dense / np.sqrt(np.outer(counts, counts))
    values, vectors = np.linalg.eigh(scaled)
    expected = vectors[:, -1] / np.sqrt(counts)
    expected -= expected.mean()
    found = spectral_points(answers, 1, 1.0, np.random.default_rng(0))[:, 0]
    assert abs(np.corrcoef(expected, found)[0, 1]) > 0.999
    assert values[-1] > 0


def test_no_column_of_a_start_is_empty():
    """A column of zeros would stay zero: its gradient is zero too."""
    for seed in range(20):
        answers, _ = datasets.planted(6, 3, 60, random_state=seed)
        X = spectral_points(answers, 3, 1.0, np.random.default_rng(seed))
        assert (np.abs(X).max(axis=0) > 1e-6).all()


def test_too_few_objects_fall_back_to_random():
    few = Comparisons([[0, 1, 2]])
    assert np.isfinite(spectral_points(few, 2, 1.0, np.random.default_rng(0))).all()


def huge(n_objects=10**6):
    rows = np.random.default_rng(0).integers(n_objects, size=(1000, 3))
    return Comparisons(np.concatenate([rows, [[0, 1, n_objects - 1]]]))


def test_a_spectral_start_of_a_million_objects_needs_memory_for_vectors_only():
    answers = huge()
    tracemalloc.start()
    X = spectral_points(answers, 3, 1.0, np.random.default_rng(0))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert X.shape == (10**6, 3)
    assert np.isfinite(X).all()
    assert peak < 1e9


def test_a_start_is_given_up_when_its_seconds_are_over(monkeypatch):
    """Before the matrix is built, or at any product with it."""
    rng = np.random.default_rng(0)
    seconds = []
    monkeypatch.setattr(starts.time, "perf_counter", lambda: seconds.append(len(seconds)) or len(seconds))
    in_time = spectral_points(planted(), 2, 1.0, np.random.default_rng(0), seconds=1000)
    assert len(seconds) > 3
    np.testing.assert_array_equal(in_time, spectral_points(planted(), 2, 1.0, np.random.default_rng(0)))
    assert metrics.triplet_error(in_time, planted()) < 0.3
    for limit in (2, 1e-9):
        late = spectral_points(planted(), 2, 1.0, rng, seconds=limit)
        assert metrics.triplet_error(late, planted()) > 0.4


def test_the_budget_of_seconds_reaches_the_start(monkeypatch):
    limits = []
    original = starts.spectral_points

    def spying(*arguments):
        limits.append(arguments[-1])
        return original(*arguments)

    monkeypatch.setattr(starts, "spectral_points", spying)
    OrdinalEmbedding(2, l2=0.1, max_epochs=1, random_state=0).fit(planted())
    OrdinalEmbedding(2, l2=0.1, max_seconds=20, max_epochs=1, random_state=0).fit(planted())
    assert limits[0] is None
    assert 2 < limits[1] <= 5  # a quarter of what is left


def test_auto_is_spectral_in_few_dimensions():
    answers, loss = planted(), losses.STE()
    for p, name in ((2, "spectral"), (5, "random")):
        auto, named = (
            starting_points(init, answers, loss, p, np.random.default_rng(0)) for init in ("auto", name)
        )
        np.testing.assert_allclose(auto, named)


@pytest.mark.parametrize(
    ("init", "facts"),
    [
        ("pca", ["'pca'", '"auto"', '"random"', '"spectral"', "array"]),
        (np.zeros((3, 2)), ["(3, 2)", "(25, 2)"]),
        (np.full((25, 2), np.nan), ["NaN", "finite"]),
        (np.ones((25, 2)), ["one point", "spread"]),
    ],
)
def test_bad_starts_are_refused(init, facts):
    with refused("init", *facts):
        starting_points(init, planted(), losses.STE(), 2, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("dtype", "largest", "smallest"), [("float64", 1e152, 1e-152), ("float32", 1e17, 1e-17)]
)
@pytest.mark.parametrize("solver", ["auto", "lbfgs", "sgd"])
def test_starts_are_as_large_and_as_small_as_the_precision_allows(dtype, largest, smallest, solver):
    settings = {"loss": "ste", "l2": 1e-3, "solver": solver, "dtype": dtype, "random_state": 0}
    for size in (largest, smallest):
        model = OrdinalEmbedding(2, init=size * start(), **settings).fit(planted())
        assert np.isfinite(model.embedding_).all()
        assert np.isfinite(model.result_.objective)
    with refused("init", dtype, "smaller"):
        OrdinalEmbedding(2, init=1e4 * largest * start(), **settings).fit(planted())
    with refused("init", dtype, "spread"):
        OrdinalEmbedding(2, init=1e-4 * smallest * start(), **settings).fit(planted())
    with refused("init", dtype, "smaller"):  # all at one far place
        OrdinalEmbedding(2, init=1e4 * largest + start(), **settings).fit(planted())


@pytest.mark.parametrize("size", [1e101, 1e300, 1e308])
def test_kernels_refuse_starts_that_overflow(size):
    answers = planted()
    with refused("init", "1e+100", "smaller"):
        nearer.RelativeKernel(init=size * np.eye(answers.n_objects)).fit(answers)


def test_points_far_out_come_back_along_their_ray():
    f = objective(l2=0.0)
    near_by = start()
    np.testing.assert_array_equal(brought_back(f, near_by), near_by)
    back = brought_back(f, 100 * near_by)
    assert f.value(back) < f.value(100 * near_by)
    ratio = back / near_by
    np.testing.assert_allclose(ratio, ratio[0, 0])
    assert 0.1 < ratio[0, 0] < 10


def test_a_good_map_in_the_wrong_unit_keeps_its_shape_and_finds_its_scale():
    answers, truth = datasets.planted(25, 2, 1000, noise="ste", scale=1.0, random_state=0)
    f = PointObjective(answers, losses.STE(), 2)
    back = brought_back(f, 1000 * truth)
    scale = (back / truth)[0, 0]
    assert 0.6 < scale < 1.6  # the answers were drawn at scale one


class TestGivenPointsThatLeaveOutADirection:
    """Their gradient leaves it out too, so that a fit from there would have one dimension less for ever."""

    ANSWERS = datasets.planted(40, 2, 2000, random_state=0).comparisons

    def flat(self, which):
        line = np.random.default_rng(1).normal(size=40)
        return {
            "zeros": np.column_stack([line, np.zeros(40)]),
            "constant": np.column_stack([np.full(40, 3.0), line]),
            "twice the same": np.column_stack([line, 1e6 * line]),
        }[which]

    @pytest.mark.parametrize("solver", ["auto", "lbfgs", "batch", "sgd"])
    @pytest.mark.parametrize("which", ["zeros", "constant", "twice the same"])
    def test_the_fit_uses_all_dimensions(self, which, solver):
        settings = {"loss": "ste", "l2": 1e-3, "solver": solver, "random_state": 0}
        from_flat = OrdinalEmbedding(2, init=self.flat(which), **settings).fit(self.ANSWERS)
        assert from_flat.score(self.ANSWERS) > 0.95
        assert OrdinalEmbedding(1, **settings).fit(self.ANSWERS).score(self.ANSWERS) < 0.9

    def test_it_is_a_nudge(self):
        given = self.flat("zeros")
        found = starting_points(given, self.ANSWERS, losses.STE(), 2, np.random.default_rng(0))
        np.testing.assert_allclose(found[:, 0], given[:, 0], rtol=1e-12)
        assert 0 < np.abs(found[:, 1]).max() < 0.01
        assert not given[:, 1].any()

    @pytest.mark.parametrize("n_objects", [3, 40])
    def test_others_stay_as_they_are(self, n_objects):
        given = np.random.default_rng(0).normal(size=(n_objects, 5)) * [1, 1, 1, 1, 1e-5]
        answers = Comparisons([[0, 1, 2]], n_objects)
        found = starting_points(given, answers, losses.STE(), 5, np.random.default_rng(0))
        np.testing.assert_array_equal(found, given)
