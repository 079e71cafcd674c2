"""Oracles, and studies played against them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import nearer
from nearer import Comparisons
from nearer.active import Adaptive, PlantedOracle, RecordedOracle, Study, play
from nearer.active._candidates import keys_of
from tests.refusals import refused

LINE = [[0.0], [1.0], [5.0], [6.5]]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_answers_without_noise_are_the_truth():
    sitting = PlantedOracle(4, 1, noise=0.0, points=LINE).begin(rng())
    questions = np.array([[0, 3, 1], [2, 3, 1], [1, 2, 0]])
    assert sitting.answer(questions, rng()).tolist() == [[0, 1, 3], [2, 3, 1], [1, 0, 2]]
    assert nearer.metrics.triplet_error(np.array(LINE), sitting.held_out) == 0


def test_flips_have_their_probability_in_any_batch():
    sitting = PlantedOracle(4, 1, noise=0.2, points=LINE).begin(rng())
    draws = rng()
    wrong = [sitting.answer(np.array([[0, 1, 3]]), draws)[0, 1] == 3 for _ in range(2000)]
    assert np.mean(wrong) == pytest.approx(0.2, abs=0.03)
    assert nearer.metrics.triplet_error(np.array(LINE), sitting.held_out) == 0


def test_ste_noise_is_that_of_the_model():
    points = np.array([[0.0], [1.0], [1.2]])
    sitting = PlantedOracle(3, 1, noise="ste", points=points).begin(rng())
    answers = sitting.answer(np.repeat([[0, 1, 2]], 4000, axis=0), rng())
    assert np.mean(answers[:, 1] == 1) == pytest.approx(1 / (1 + np.exp(1 - 1.44)), abs=0.03)


def test_every_repetition_has_new_points():
    oracle = PlantedOracle(10)
    assert oracle.begin(rng(0)).held_out != oracle.begin(rng(1)).held_out
    assert oracle.begin(rng(1)).held_out == oracle.begin(rng(1)).held_out


def recorded() -> Comparisons:
    """60 questions about 8 objects, some answered several times, and both ways."""
    return nearer.datasets.planted(8, 2, 300, noise=0.2, random_state=0).comparisons


def test_recorded_answers_are_those_that_were_given():
    sitting = RecordedOracle(recorded()).begin(rng())
    given = {tuple(row) for row in recorded().indices.tolist()}
    answers = sitting.answer(sitting.questions, rng())
    assert {tuple(row) for row in answers.tolist()} <= given
    np.testing.assert_array_equal(keys_of(answers), keys_of(sitting.questions))


def test_no_question_is_both_asked_and_held_out():
    sitting = RecordedOracle(recorded(), test_size=0.3).begin(rng())
    assert not np.isin(keys_of(sitting.held_out.indices), keys_of(sitting.questions)).any()
    assert len(sitting.held_out) + len(sitting.questions) == 300
    assert 60 <= len(sitting.held_out) <= 120


def test_screens_stay_together():
    answers = recorded()
    grouped = Comparisons(answers.indices, 8, groups=np.arange(300) // 10)
    sitting = RecordedOracle(grouped).begin(rng())
    assert (np.bincount(sitting.held_out.groups)[np.unique(sitting.held_out.groups)] == 10).all()


def test_recorded_answers_come_by_their_weights():
    rows = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [2, 0, 1]]
    oracle = RecordedOracle(Comparisons(rows, weights=[3.0, 1.0, 0.0, 2.0], groups=[0, 0, 0, 1]), test_size=1)
    sitting = next(one for seed in range(20) if 0 in (one := oracle.begin(rng(seed))).questions[:, 0])
    assert sitting.questions.tolist() == rows[:2]  # what weighs nothing was not said
    found = sitting.answer(np.repeat([[0, 1, 2]], 4000, axis=0), rng())
    assert np.mean(found[:, 1] == 1) == pytest.approx(0.75, abs=0.03)


def test_a_question_that_nobody_was_asked_is_refused():
    sitting = RecordedOracle(Comparisons([[0, 1, 2], [1, 0, 2], [2, 0, 1]], n_objects=5), 1).begin(rng())
    with refused("[4, 0, 1]"):
        sitting.answer(np.array([[4, 0, 1]]), rng())


def test_a_study_has_an_error_for_every_strategy_repetition_and_checkpoint():
    seen = []
    study = play(
        PlantedOracle(12, n_held_out=200),
        ["random", Adaptive(pool=50)],
        n_answers=60,
        checkpoints=[60, 30],
        repeats=2,
        random_state=0,
        callback=lambda *record: seen.append(record),
    )
    assert study.strategies == ("random", "adaptive")
    assert study.n_answers.tolist() == [30, 60]
    assert study.errors.shape == (2, 2, 2)
    assert (study.choosing_seconds > 0).all()
    assert [record[:3] for record in seen[:4]] == [
        ("random", 0, 30),
        ("random", 0, 60),
        ("adaptive", 0, 30),
        ("adaptive", 0, 60),
    ]
    assert study.errors[1, 1, 0] in [record[3] for record in seen if record[:3] == ("adaptive", 1, 30)]


def test_the_same_seed_plays_the_same_study_whoever_else_plays():
    settings = {"n_answers": 60, "checkpoints": [30, 60], "repeats": 2, "random_state": 5}
    oracle = PlantedOracle(10, n_held_out=300)
    both = play(oracle, ["random", "arr"], **settings)
    alone = play(oracle, "arr", **settings)
    np.testing.assert_array_equal(both.errors[1], alone.errors[0])
    assert not np.array_equal(both.errors[1, 0], both.errors[1, 1])


def test_the_judge_is_the_estimator_that_was_given():
    settings = {"n_answers": 60, "checkpoints": [60], "random_state": 5}
    oracle = PlantedOracle(10, n_held_out=300)
    judge = nearer.OrdinalEmbedding(1, loss="ste", random_state=0)
    judged, default = (play(oracle, "random", estimator=one, **settings) for one in (judge, None))
    assert judged.errors[0, 0, 0] != default.errors[0, 0, 0]
    assert not hasattr(judge, "embedding_")


def test_a_study_ends_where_recorded_questions_run_out():
    study = play(RecordedOracle(recorded()), "random", n_answers=300, checkpoints=[50, 300], random_state=0)
    assert np.isfinite(study.errors[0, 0, 0])
    assert np.isnan(study.errors[0, 0, 1])


def test_ctrl_c_within_a_fit_ends_the_study_and_keeps_what_was_measured(monkeypatch):
    fits = []

    def fit(estimator, answers, y=None):
        fits.append(len(answers))
        plain(estimator, answers, y)
        if len(fits) == 2:  # what an estimator does when interrupted
            estimator.result_ = replace(estimator.result_, stop_reason="interrupted")
        return estimator

    plain = nearer.OrdinalEmbedding.fit
    monkeypatch.setattr(nearer.OrdinalEmbedding, "fit", fit)
    study = play(PlantedOracle(8), "random", n_answers=60, checkpoints=[20, 40, 60], random_state=0)
    assert fits == [20, 40]
    assert not study.finished
    assert np.isfinite(study.errors[0, 0]).tolist() == [True, False, False]


def test_ctrl_c_within_a_fit_of_the_map_leaves_it_as_it_was(monkeypatch):
    selector = nearer.active.Selector(8, "arr", random_state=0)
    selector.tell(nearer.datasets.planted(8, 2, 40, random_state=0).comparisons)
    selector.refit()
    before = selector.points

    def interrupted(*given, **settings):
        points, result = plain(*given, **settings)
        return points + 1, replace(result, stop_reason="interrupted")

    plain = nearer.active._belief.minimise
    monkeypatch.setattr(nearer.active._belief, "minimise", interrupted)
    with pytest.raises(KeyboardInterrupt):
        selector.refit()
    np.testing.assert_array_equal(selector.points, before)


def test_two_strategies_of_one_name_are_told_apart():
    study = play(
        PlantedOracle(8), [Adaptive(pool=5), Adaptive(pool=9)], n_answers=20, checkpoints=[20], random_state=0
    )
    assert study.strategies == ("Adaptive(pool=5)", "Adaptive(pool=9)")


def curves(*errors: list[float]) -> Study:
    errors = np.array(errors, dtype=float)[:, None]
    names = ("random", "arr", "adaptive")[: len(errors)]
    return Study(names, np.array([10, 20, 30, 40]), errors, np.zeros((len(errors), 1)))


@pytest.mark.parametrize(
    ("errors", "needed"),
    [
        ([0.4, 0.3, 0.2, 0.1], 25),
        ([0.2, 0.2, 0.2, 0.1], 10),
        ([0.4, 0.2, 0.3, 0.2], 35),  # a lucky moment does not count
        ([0.4, 0.2, 0.1, 0.3], np.inf),
        ([0.4, 0.2, np.nan, np.nan], 17.5),
        ([np.nan, np.nan, np.nan, np.nan], np.inf),
    ],
)
def test_answers_needed_for_good(errors, needed):
    assert curves(errors).answers_needed(0.25)["random"][0] == pytest.approx(needed)


def test_answers_needed_takes_an_error_for_each_repetition():
    study = Study(("random",), np.array([10, 20]), np.array([[[0.4, 0.2], [0.4, 0.2]]]), np.zeros((1, 2)))
    assert study.answers_needed([0.2, 0.3])["random"].tolist() == [20, 15]


def test_curves_are_written_as_a_table(tmp_path):
    curves([0.4, 0.3, 0.2, np.nan], [0.4, 0.1, 0.1, 0.1]).write(tmp_path / "curves.csv")
    lines = (tmp_path / "curves.csv").read_text().splitlines()
    assert lines[:3] == ["strategy,repetition,answers,error", "random,0,10,0.4", "random,0,20,0.3"]
    assert len(lines) == 1 + 3 + 4


def test_the_picture_shows_every_strategy():
    errors = np.array([[[0.4, 0.2], [0.4, 0.3]], [[0.3, np.nan], [0.2, np.nan]]])
    study = Study(("random", "arr"), np.array([10, 20]), errors, np.zeros((2, 2)))
    figure = study.plot(target=0.25, title="A study")
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["random", "arr"]
    assert axes.lines[0].get_ydata().tolist() == [0.4, 0.25]
    assert axes.lines[1].get_xdata().tolist() == [10]
    assert axes.lines[2].get_ydata() == [0.25, 0.25]
    assert axes.get_title(loc="left") == "A study"
    assert len(axes.collections) == 2  # bands


@pytest.mark.parametrize(
    ("make", "facts"),
    [
        (lambda: PlantedOracle(2), ["n_objects", "3", "not 2"]),
        (lambda: PlantedOracle(9, noise=0.7), ["noise", "0 to 0.5", "0.7"]),
        (lambda: PlantedOracle(9, noise="soe"), ["noise", "probability", "soe"]),
        (lambda: PlantedOracle(9, scale=0), ["scale", "above 0", "not 0"]),
        (lambda: PlantedOracle(9, points=[[0.0, 1.0]]), ["points", "(1, 2)", "(9, 2)"]),
        (lambda: RecordedOracle(Comparisons([[0, 1, 2, 3]])), ["triplets", "quadruplets"]),
        (lambda: RecordedOracle(Comparisons(np.empty((0, 3), int), 5)), ["at least one"]),
        (lambda: play(PlantedOracle(9), [], n_answers=9), ["strategies", "at least one"]),
        (lambda: play(PlantedOracle(9), ["arr", "arr"], n_answers=9), ["'arr'", "twice", "once"]),
        (lambda: play(PlantedOracle(9), "best", n_answers=9), ["strategy", "adaptive", "'best'"]),
        (lambda: play(PlantedOracle(9), n_answers=0), ["n_answers", "1", "not 0"]),
        (lambda: play(PlantedOracle(9), n_answers=9, batch=0), ["batch", "1", "not 0"]),
        (lambda: play(PlantedOracle(9), n_answers=9, checkpoints=[10]), ["checkpoints", "1", "9", "10"]),
    ],
)
def test_bad_input_is_refused(make, facts):
    with refused(*facts):
        make()
