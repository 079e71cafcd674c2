"""An online kernel never overflows: steps that must diverge are refused, and divergence is caught."""

import warnings

import numpy as np
import pytest

import nearer
from nearer import Comparisons, OnlineKernel, RelativeKernel
from nearer.datasets import planted
from nearer.errors import InputError

N = 20
WEIGHTS = {
    "first is 0": np.r_[0.0, np.ones(299)],
    "huge": np.full(300, 1e300),
    "the largest there are": np.full(300, np.finfo(float).max),
    "one is huge": np.r_[1e300, np.ones(299)],
    "tiny": np.full(300, 5e-324),
    "huge and tiny": np.r_[1e300, 1e-300, np.ones(298)],
}


@pytest.fixture(scope="module")
def noisy():
    return planted(N, 2, 1500, noise=0.2, random_state=0).comparisons


def weighted(noisy, weights):
    return Comparisons(noisy.indices[:300], N, weights=weights)


@pytest.mark.parametrize("settings", [{}, {"direction": "minimal"}, {"passes": 3}])
def test_constant_passive_aggressive_steps_stay_bounded_up_to_two_and_are_refused_beyond(noisy, settings):
    online = OnlineKernel(N, step_size=2.0, random_state=0, **settings).partial_fit(noisy)
    assert np.abs(online.kernel_).max() < 1e3
    assert not online.diverged_
    with pytest.raises(InputError, match=r"step_size is 2\.01.*max_step"):
        OnlineKernel(N, step_size=2.01, **settings).partial_fit(noisy)


def test_soft_steps_are_shorter_so_that_more_is_allowed(noisy):
    settings = {"max_step": 0.05, "soft": True}
    longer = OnlineKernel(N, step_size=4.0, **settings).partial_fit(noisy)  # 2 + 1 / (10 * 0.05)
    assert np.abs(longer.kernel_).max() < 1e3
    with pytest.raises(InputError, match=r"step_size is 4\.1.*above 4 .*max_step"):
        OnlineKernel(N, step_size=4.1, **settings).partial_fit(noisy)


@pytest.mark.parametrize(
    "settings",
    [
        {"max_step": 0.1},
        {"update": "ste"},
        {"update": "gnmds"},
        {"rank": 3},
        {"rank": 3, "passes": 3},
        {"rank": 3, "update": "ste"},
        {"rank": 3, "update": "gnmds"},
    ],
    ids=str,
)
@pytest.mark.parametrize("step_size", [3.0, 1e3, 1e100])
def test_bounded_steps_of_any_size_leave_a_finite_kernel(noisy, settings, step_size):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the kernel diverged", category=UserWarning)
        online = OnlineKernel(N, step_size=step_size, random_state=0, **settings).partial_fit(noisy)
    assert np.isfinite(online.kernel_).all()
    assert np.abs(online.kernel_).max() < 1e3 * step_size
    assert 0 <= online.score(noisy) <= 1


@pytest.mark.parametrize("step", ["1/j", "1/sqrt(j)"])
def test_divergence_under_shrinking_steps_is_caught_and_told(noisy, step):
    online = OnlineKernel(N, step=step, step_size=1e3, passes=2, random_state=0)
    with pytest.warns(UserWarning, match="diverged: learning stopped after .* use a smaller step_size"):
        online.partial_fit(noisy)
    assert online.diverged_
    assert online.n_seen_ == len(online.kept_indices_) < len(noisy)
    assert np.abs(online.kernel_).max() <= 1e9
    assert np.linalg.eigvalsh(online.kernel_)[0] > -1e-9 * np.abs(online.kernel_).max()


def test_answers_one_at_a_time_diverge_as_well(noisy):
    online = OnlineKernel(N, step="1/j", step_size=1e3)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the kernel diverged", category=UserWarning)
        for row in range(len(noisy)):
            online.partial_fit(noisy[row : row + 1])
            if online.diverged_:
                break
    assert 0 < online.n_seen_ < len(noisy)


def test_low_rank_points_stop_before_they_overflow(noisy):
    points = np.random.default_rng(0).normal(size=(N, 3))
    online = OnlineKernel(N, rank=3, start=points).partial_fit(noisy[:100])
    online.held_.held *= 1e80
    with pytest.warns(UserWarning, match="diverged"):
        online.partial_fit(noisy[100:200])
    assert online.diverged_
    assert online.n_seen_ == 100
    assert np.isfinite(online.points_).all()


def test_learning_goes_on_after_divergence_with_smaller_steps(noisy, tmp_path):
    online = OnlineKernel(N, update="ste")
    with pytest.warns(UserWarning, match="smaller weights"):
        online.partial_fit(weighted(noisy, np.full(300, 1e300)))
    assert online.n_seen_ == 0
    online.partial_fit(noisy)
    assert not online.diverged_
    assert online.n_seen_ == len(noisy)
    nearer.save(online, tmp_path / "model.nearer")
    again = nearer.load(tmp_path / "model.nearer")
    assert not again.diverged_
    again.partial_fit(noisy)
    np.testing.assert_array_equal(again.kernel_, online.partial_fit(noisy).kernel_)


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"margin": 1e101}, "margin"),
        ({"step_size": 1e101, "update": "ste"}, "step_size"),
        ({"max_step": 1e101}, "max_step"),
        ({"start": 1e101}, "start"),
        ({"start": 1e101 * np.eye(N)}, "start"),
        ({"start": np.full((N, 2), 1e51), "rank": 2}, "start"),
        ({"start": np.full((N, 2), 1e200), "rank": 2}, "start"),
    ],
)
def test_settings_that_overflow_are_one_sentence(noisy, settings, name):
    with pytest.raises(InputError, match=f"^{name} .*overflow"):
        OnlineKernel(N, **settings).partial_fit(noisy)


@pytest.mark.parametrize("size", [1e-300, 1e-150, 1e-20, 1e20, 1e99])
@pytest.mark.parametrize("settings", [{}, {"update": "ste"}, {"rank": 3}], ids=str)
def test_starts_and_margins_of_any_size_stay_finite(noisy, settings, size):
    for extreme in ({"start": size}, {"margin": size}, {"trace_penalty": size}):
        online = OnlineKernel(N, random_state=0, **settings, **extreme).partial_fit(noisy[:300])
        assert np.isfinite(online.kernel_).all()
        assert np.isfinite(online.embedding(2)).all()


def test_a_bound_so_small_that_it_vanishes_moves_nothing(noisy):
    tiny = weighted(noisy, np.full(300, 1e-200))
    online = OnlineKernel(N, max_step=1e-200, soft=True).partial_fit(tiny)
    np.testing.assert_array_equal(online.kernel_, np.eye(N))


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
@pytest.mark.parametrize(
    "model",
    [
        OnlineKernel(N),
        OnlineKernel(N, update="ste"),
        OnlineKernel(N, update="gnmds"),
        OnlineKernel(N, max_step=0.1, soft=True),
        OnlineKernel(N, rank=3, random_state=0),
        OnlineKernel(N, rank=3, update="ste", random_state=0),
        RelativeKernel("ste", trace_penalty=1e-3),
        RelativeKernel("gnmds", trace_penalty=1e-3),
        RelativeKernel("ste", max_rank=2, random_state=0),
    ],
    ids=str,
)
def test_weights_of_any_size_stay_finite(noisy, model, weights):
    answers = weighted(noisy, weights)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the kernel diverged", category=UserWarning)
        model.fit(answers)
    assert np.isfinite(model.kernel_).all()
    assert 0 <= model.score(answers) <= 1


@pytest.mark.parametrize("rows", [[(0, 1, 2)], [(0, 1, 2), (0, 2, 1)], [(0, 1, 2), (1, 2, 0), (2, 0, 1)]])
@pytest.mark.parametrize("n_objects", [3, 4])
def test_tiny_problems_stay_finite(rows, n_objects):
    answers = Comparisons(rows, n_objects)
    for model in (
        OnlineKernel(),
        OnlineKernel(update="ste", passes=3, random_state=0),
        OnlineKernel(rank=2, random_state=0),
        RelativeKernel(random_state=0),
        RelativeKernel("soe", max_rank=1, random_state=0),
    ):
        model.fit(answers)
        assert model.kernel_.shape == (n_objects, n_objects)
        assert np.isfinite(model.kernel_).all()
        assert np.isfinite(model.embedding(2)).all()
        assert 0 <= model.score(answers) <= 1
