"""Which strengths and losses are tried, which is chosen, and how that depends on the effort and the data."""

import numpy as np
import pytest

import nearer
from nearer import calibration, datasets, losses
from nearer._fitting import Fit
from nearer.calibration import CAREFUL, QUICK, candidates, effort_for
from nearer.solvers import Budget, Run
from nearer.solvers.path import Choice, Trials


@pytest.mark.parametrize(
    ("effort", "n_objects", "n_comparisons", "expected"),
    [
        ("normal", 999, 50_000, CAREFUL),
        ("normal", 1000, 5000, QUICK),
        ("normal", 50, 50_001, QUICK),
        ("quick", 20, 500, QUICK),
        ("thorough", 10_000, 10**6, CAREFUL),
    ],
)
def test_effort_follows_the_size(effort, n_objects, n_comparisons, expected):
    assert effort_for(effort, n_objects, n_comparisons) is expected


@pytest.fixture
def paths(monkeypatch):
    """Collect the paths of trials."""
    found = []
    original = Trials.path

    def path(self, loss, splits):
        found.append(original(self, loss, splits))
        return found[-1]

    monkeypatch.setattr(Trials, "path", path)
    return found


def fitted(answers, n_components=2, **settings):
    return nearer.OrdinalEmbedding(n_components, random_state=0, **settings).fit(answers)


def test_the_walk_goes_from_strong_to_weak_until_the_score_turns(paths):
    answers, _ = datasets.planted(100, 5, 3000, noise=0.1, random_state=0)
    model = fitted(answers, 5, loss="soe")
    (path,) = paths
    tried = list(path.scores)
    assert tried == list(CAREFUL.strengths[: len(tried)])
    assert len(tried) < len(CAREFUL.strengths)
    assert model.l2_ == path.best
    assert path.scores[tried[-1]] > 1.01 * path.least
    assert len(path.splits) == 6  # 300 held-out answers are few


def test_less_noise_needs_a_weaker_term():
    chosen = [
        fitted(datasets.planted(60, 3, 8000, noise=noise, random_state=0)[0], 3, loss="soe").l2_
        for noise in (0.25, 0.0)
    ]
    assert chosen[0] >= 0.0125
    assert chosen[1] <= 0.002


def test_answers_that_are_mostly_noise_go_beyond_the_strongest(paths, monkeypatch):
    monkeypatch.setattr(calibration, "error_and_loss", lambda points, held: (0.3, float((points**2).mean())))
    answers, _ = datasets.planted(100, 2, 1300, random_state=0)
    model = fitted(answers)  # small points score best now
    assert list(paths[0].scores)[-2:] == list(CAREFUL.stronger)
    assert model.l2_ == CAREFUL.stronger[-1]


def test_no_strength_weighs_more_than_forty_answers_per_object(paths, monkeypatch):
    monkeypatch.setattr(calibration, "error_and_loss", lambda points, held: (0.3, float((points**2).mean())))
    answers, _ = datasets.planted(30, 2, 15_000, random_state=0)
    model = fitted(answers)  # without the limit, the strongest would be chosen
    part, _ = paths[0].splits[0]
    weights = [strength * len(part) / 30 for path in paths for strength in path.scores]
    assert max(weights) <= 40
    assert model.l2_ == next(each for each in CAREFUL.strengths if each * len(part) / 30 <= 40)


def test_a_weaker_term_need_only_score_a_little_better(paths):
    answers, _ = datasets.planted(100, 5, 6000, noise=0.1, random_state=0)
    model = fitted(answers, 5, loss="soe")
    (path,) = paths
    assert path.scores[model.l2_] <= min(path.scores.values()) / (1 - 0.001)


@pytest.mark.parametrize(("count", "expected"), [(1000, 6), (7000, 4), (11_000, 2), (19_000, 2), (21_000, 1)])
def test_splits_are_one_or_even(paths, count, expected):
    fitted(datasets.planted(30, 2, count, random_state=0)[0], loss="soe")
    assert len(paths[0].splits) == expected


def test_a_second_loss_starts_from_the_points_of_the_first(paths):
    answers, _ = datasets.planted(100, 6, 4000, noise=0.2, random_state=0)
    model = fitted(answers, 6)
    assert [path.loss for path in paths] == [losses.SOE(), losses.TSTE(alpha=2.5), losses.RobustSOE()]
    for path in paths[1:]:
        assert set(path.scores) <= set(CAREFUL.further[path.loss.name])
    chosen = next(path for path in paths if path.loss == model.loss_)
    assert chosen.least <= min(path.least for path in paths) / (1 - 0.002) ** 2
    assert model.loss_ == losses.RobustSOE()  # a fifth of the answers is wrong


def test_a_scale_takes_some_comparisons_of_the_whole_part(monkeypatch):
    parts = []

    def brought_back(objective, points):
        parts.append(objective._Q)
        return points

    monkeypatch.setattr(calibration, "brought_back", brought_back)
    answers, _ = datasets.planted(30, 2, 21_000, random_state=0)
    answers = answers[np.argsort(answers.indices[:, 0], kind="stable")]
    fitted(answers, loss="soe")
    (some,) = parts
    assert 2000 <= len(some) < 4000
    assert set(some[:, 0]) == set(range(30))


def test_a_hopeless_second_loss_is_tried_once(paths):
    answers, _ = datasets.planted(60, 6, 12_000, noise=0.0, random_state=0)  # its tails never fit these
    model = fitted(answers, 6)
    assert list(paths[1].scores) == [CAREFUL.further["tste"][0]]
    assert model.loss_ == losses.SOE()


@pytest.mark.parametrize(("settings", "n_losses"), [({"effort": "quick"}, 1), ({"loss": "ste"}, 1), ({}, 3)])
def test_which_losses_are_tried(paths, settings, n_losses):
    answers, _ = datasets.planted(30, 5, 1000, random_state=0)
    fitted(answers, 5, **settings)
    assert len(paths) == n_losses


@pytest.mark.parametrize("loss", ["ste", "tste", "ckl"])
def test_points_that_a_strong_term_draws_together_are_not_the_end(loss):
    """At the strongest term all points of these losses may coincide, where no gradient leads away."""
    answers, _ = datasets.planted(60, 2, 6000, random_state=0)
    train, test = answers.split(random_state=0)
    assert fitted(train, loss=loss).score(test) > 0.93


def test_large_fits_try_one_loss_besides_soe():
    assert [loss.name for loss in candidates(5, "normal", QUICK)] == ["soe", "tste"]
    assert [loss.name for loss in candidates(2, "normal", QUICK)] == ["soe", "robust-soe"]
    assert [loss.name for loss in candidates(5, "thorough", CAREFUL)] == ["soe", "tste", "robust-soe"]


@pytest.mark.parametrize("n_components", [2, 5])
def test_wrong_answers_choose_the_robust_loss(n_components):
    answers, _ = datasets.planted(80, n_components, 8000, noise=0.2, random_state=0)
    train, test = answers.split(random_state=0)
    model, plain = fitted(train, n_components), fitted(train, n_components, loss="soe")
    assert model.loss_ == losses.RobustSOE()
    assert model.score(test) > plain.score(test) + 0.003


def test_many_answers_are_chosen_on_one_split(paths):
    answers, _ = datasets.planted(30, 2, 21_000, random_state=0)
    fitted(answers)
    assert len(paths[0].splits) == 1
    held = len(paths[0].splits[0][1])
    assert abs(held - 2100) < 10


@pytest.mark.parametrize(
    ("room", "tried"),
    [(1e9, CAREFUL.strengths), (500, QUICK.strengths), (60, calibration.HURRIED.strengths), (20, None)],
)
def test_little_time_tries_fewer_strengths(paths, monkeypatch, room, tried):
    monkeypatch.setattr(calibration, "_room", lambda course, choice: room)
    answers, _ = datasets.planted(100, 5, 3000, random_state=0)
    model = fitted(answers, 5)
    if tried is None:
        assert not paths
        assert model.l2_ == calibration.DEFAULT_STRENGTH
    else:
        found = list(paths[0].scores)
        assert found == list(tried[: len(found)])


def test_the_room_is_counted_in_evaluations():
    answers, _ = datasets.planted(40, 5, 3000, random_state=0)
    loss = losses.SOE()
    for seconds, expected in ((None, (1e12, float("inf"))), (1e-6, (0, 30)), (60.0, (1000, 1e7))):
        course = Fit(answers, 5, np.random.default_rng(0), run=Run(Budget(max_seconds=seconds)))
        room = calibration._room(course, Choice(loss, 0.1, np.ones((40, 5))))
        assert expected[0] <= room <= expected[1]


@pytest.mark.parametrize("stops", [False, True])
def test_large_maps_are_compared_in_single_precision_and_fitted_in_double(monkeypatch, stops):
    monkeypatch.setattr(calibration, "_LARGE_MAP", 100)
    seen = []

    def callback(progress):
        seen.append((progress.stage, progress.points.dtype))
        return stops and progress.part == 3

    answers, _ = datasets.planted(50, 2, 2000, random_state=0)
    model = fitted(answers, callback=callback)
    assert model.embedding_.dtype == np.float64
    assert {dtype for stage, dtype in seen if stage.startswith("choosing")} == {np.dtype("float32")}
    assert stops or {dtype for stage, dtype in seen if stage == "fitting"} == {np.dtype("float64")}
