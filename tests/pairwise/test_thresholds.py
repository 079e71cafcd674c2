"""From scores to decisions and probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score

from nearer.pairwise.thresholds import (
    CALIBRATIONS,
    CRITERIA,
    Scored,
    Staircase,
    calibrate,
    choose_threshold,
)
from tests.refusals import refused


def scored(scores, positive):
    return Scored(np.asarray(scores), np.asarray(positive), np.ones(len(scores)))


@pytest.fixture(scope="module")
def drawn():
    """Scores and labels whose true probability is expit(2 s - 3)."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=20_000)
    return scores, rng.uniform(size=20_000) < expit(2 * scores - 3)


def test_the_sigmoid_is_that_of_logistic_regression(drawn):
    scores, positive = drawn
    found = calibrate(scored(scores, positive), "sigmoid")
    other = LogisticRegression(C=np.inf, tol=1e-8).fit(scores[:, None], positive)
    # Platt's targets are never quite 0 or 1, which 20,000 rows hardly notice
    assert found.slope == pytest.approx(other.coef_[0, 0], rel=0.02)
    assert found.offset == pytest.approx(other.intercept_[0], rel=0.02)


@pytest.mark.parametrize("kind", CALIBRATIONS)
def test_probabilities_are_right_and_never_fall(drawn, kind):
    scores, positive = drawn
    found = calibrate(scored(scores, positive), kind)
    grid = np.linspace(-1.5, 2.5, 30)
    assert np.abs(found(grid) - expit(2 * grid - 3)).max() < 0.1
    assert (np.diff(found(grid)) >= 0).all()
    for probability in (0.1, 0.4, 0.7):
        assert found(np.array([found.score_at(probability)]))[0] == pytest.approx(probability, abs=1e-6)


@pytest.mark.parametrize("kind", CALIBRATIONS)
def test_the_unit_of_scores_does_not_matter(drawn, kind):
    scores, positive = drawn[0][:500], drawn[1][:500]
    one, other = (calibrate(scored(unit * scores + 7, positive), kind) for unit in (1, 1e6))
    np.testing.assert_allclose(other(1e6 * scores + 7), one(scores + 7), rtol=1e-5)


def test_separable_scores_do_not_make_certainties():
    found = calibrate(scored([-1.0, -0.9, 0.9, 1.0], [False, False, True, True]), "sigmoid")
    assert 0 < found(np.array([-1.0]))[0] < 0.5 < found(np.array([1.0]))[0] < 1


def test_scores_in_the_wrong_order_still_give_probabilities_that_rise():
    scores = np.linspace(-1, 1, 50)
    found = calibrate(scored(scores, scores < 0), "sigmoid")
    assert found.slope > 0
    assert np.isfinite(found(scores)).all()


@pytest.mark.parametrize("positive", [np.zeros(5, bool), np.ones(5, bool)])
@pytest.mark.parametrize("kind", CALIBRATIONS)
@pytest.mark.parametrize("criterion", CRITERIA)
def test_one_class_alone_is_what_all_are_called(positive, kind, criterion):
    scores = np.linspace(-1, 1, 5)
    rows = scored(scores, positive)
    threshold = choose_threshold(rows, criterion, calibrate(rows, kind))
    np.testing.assert_array_equal(scores > threshold, positive)


@pytest.mark.parametrize(
    ("criterion", "measure"),
    [("balanced", balanced_accuracy_score), ("f1", f1_score), ("accuracy", accuracy_score)],
)
@pytest.mark.parametrize("kind", CALIBRATIONS)
def test_the_cut_is_about_the_best_for_its_criterion(drawn, criterion, measure, kind):
    scores, positive = drawn
    half = slice(0, 10_000)
    rows = scored(scores[half], positive[half])
    threshold = choose_threshold(rows, criterion, calibrate(rows, kind))
    later, truth = scores[10_000:], positive[10_000:]
    best = max(measure(truth, later > cut) for cut in np.linspace(-2, 3, 200))
    assert measure(truth, later > threshold) > best - 0.006


def test_prior_calls_as_many_positive_as_are(drawn):
    scores, positive = drawn
    threshold = choose_threshold(scored(scores, positive), "prior", None)
    assert (scores > threshold).sum() == positive.sum()


def test_a_step_that_has_the_probability_is_cut_in_its_middle():
    stairs = Staircase(np.array([0.0, 1.0, 3.0, 4.0]), np.array([0.0, 0.5, 0.5, 1.0]))
    assert stairs.score_at(0.5) == 2.0
    assert stairs.score_at(0.25) == 0.5
    low = Staircase(np.array([0.0, 1.0]), np.array([0.1, 0.2]))
    assert low.score_at(0.5) > 1.0
    assert low.score_at(0.05) < 0.0


def test_other_kinds_of_calibration_are_refused():
    with refused("'platt'", *CALIBRATIONS, parameter="calibration"):
        calibrate(scored([0.0, 1.0], [True, False]), "platt")


@pytest.mark.parametrize("kind", CALIBRATIONS)
@pytest.mark.parametrize("criterion", CRITERIA)
def test_a_weight_is_as_many_rows(drawn, kind, criterion):
    """Some of the negative rows dropped, and the others weighted for it, change little."""
    scores, positive = drawn
    kept = positive | (np.arange(len(scores)) % 5 == 0)
    weights = np.where(positive, 1.0, 5.0)[kept]
    whole, part = scored(scores, positive), Scored(scores[kept], positive[kept], weights)
    assert part.share == pytest.approx(whole.share, rel=0.01)
    grid = np.linspace(-1, 2, 10)
    np.testing.assert_allclose(calibrate(part, kind)(grid), calibrate(whole, kind)(grid), atol=0.06)
    thresholds = [choose_threshold(rows, criterion, calibrate(rows, kind)) for rows in (whole, part)]
    assert thresholds[0] == pytest.approx(thresholds[1], abs=0.15)
