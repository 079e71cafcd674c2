"""`AUCClassifier`: scikit-learn's manners, thresholds, probabilities, streams, files."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, brier_score_loss, f1_score, log_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import nearer
from nearer import AUCClassifier
from nearer.errors import InputError
from nearer.pairwise import DSGD
from tests.refusals import refused


@parametrize_with_checks(
    [
        AUCClassifier(random_state=0),
        AUCClassifier("square", "opauc", held_out=0, random_state=0),
        AUCClassifier("logistic", "dsgd", model="rff", threshold="accuracy", random_state=0),
        AUCClassifier("squared-hinge", "exact", threshold="accuracy", random_state=0),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def rare():
    """One row in twelve is positive."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 10))
    y = X @ np.append([1.5, -1, 0.5], np.zeros(7)) + rng.logistic(size=6000) > 3.5
    return X, y.astype(int)


@pytest.fixture(scope="module")
def fitted(rare):
    X, y = rare
    return AUCClassifier(random_state=0).fit(X[:4000], y[:4000])


def test_as_good_as_logistic_regression_in_order(rare, fitted):
    X, y = rare
    other = LogisticRegression().fit(X[:4000], y[:4000])
    expected = roc_auc_score(y[4000:], other.decision_function(X[4000:]))
    assert fitted.score(X[4000:], y[4000:]) > expected - 0.003
    assert fitted.score(X, y) == pytest.approx(roc_auc_score(y, fitted.decision_function(X)))


def test_zero_is_where_predict_cuts(rare, fitted):
    X, _ = rare
    scores = fitted.decision_function(X)
    np.testing.assert_allclose(scores, X @ fitted.coef_[0] + fitted.intercept_[0])
    np.testing.assert_array_equal(fitted.predict(X), scores > 0)


def test_probabilities_are_calibrated(rare, fitted):
    X, y = rare
    probabilities = fitted.predict_proba(X[4000:])
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    other = LogisticRegression().fit(X[:4000], y[:4000]).predict_proba(X[4000:])
    assert log_loss(y[4000:], probabilities) < log_loss(y[4000:], other) + 0.01
    assert probabilities[:, 1].mean() == pytest.approx(y[4000:].mean(), abs=0.015)


@pytest.mark.parametrize("calibration", ["sigmoid", "isotonic"])
def test_held_out_rows_keep_probabilities_honest(calibration):
    """As many features as rows: the rows learned from are told apart perfectly, others are not."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 200))
    y = (X[:, 0] + 0.5 * rng.normal(size=600) > 0).astype(int)
    settings = {"calibration": calibration, "random_state": 0}
    honest = AUCClassifier(**settings).fit(X[:300], y[:300])
    naive = AUCClassifier(held_out=0, **settings).fit(X[:300], y[:300])
    assert honest.result_.details["calibrated_on"] == "held out"
    assert naive.result_.details["calibrated_on"] == "learned from"
    np.testing.assert_array_equal(honest.coef_, naive.coef_)  # the model itself learns from all rows in both
    losses = [brier_score_loss(y[300:], model.predict_proba(X[300:])[:, 1]) for model in (honest, naive)]
    assert losses[0] < losses[1]


def test_each_criterion_is_served(rare):
    X, y = rare
    models = {
        name: AUCClassifier(threshold=name, random_state=0).fit(X[:4000], y[:4000])
        for name in ("balanced", "f1", "accuracy", "prior")
    }
    said = {name: model.predict(X[4000:]) for name, model in models.items()}
    truth = y[4000:]
    balanced = {name: balanced_accuracy_score(truth, answer) for name, answer in said.items()}
    assert max(balanced, key=balanced.get) == "balanced"
    assert f1_score(truth, said["f1"]) > max(
        f1_score(truth, said["balanced"]), f1_score(truth, said["accuracy"])
    )
    accuracy = {name: np.mean(truth == answer) for name, answer in said.items()}
    assert accuracy["accuracy"] >= max(accuracy.values()) - 0.003
    assert said["prior"].mean() == pytest.approx(y.mean(), abs=0.02)
    fixed = AUCClassifier(threshold=0.25, random_state=0).fit(X[:4000], y[:4000])
    assert fixed.threshold_ == 0.25
    np.testing.assert_allclose(fixed.decision_function(X), X @ fixed.coef_[0] + fixed.intercept_)
    assert fixed.decision_function(X[:4000]).mean() == pytest.approx(-0.25, abs=0.05)  # scores have mean 0


def test_accuracy_and_probabilities_agree(rare):
    X, y = rare
    for calibration in ("sigmoid", "isotonic"):
        model = AUCClassifier(threshold="accuracy", calibration=calibration, random_state=0).fit(X, y)
        agree = (model.predict_proba(X)[:, 1] > 0.5) == model.predict(X)
        assert agree.mean() > 0.999


def test_splits_hold_out_enough_of_the_rarer_class(rare):
    X, y = rare
    for rows, expected in ((6000, 3), (500, 5)):
        model = AUCClassifier(held_out=0.2, random_state=0).fit(X[:rows], y[:rows])
        held = len(model.recent_.positive)
        assert held == pytest.approx(y[:rows].sum() * expected / 5, abs=3)
        assert held + len(model.recent_.negative) == pytest.approx(rows * expected / 5, rel=0.02)


def test_one_positive_row_is_enough_to_fit():
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = AUCClassifier(random_state=0).fit(X, np.arange(30) == 3)
    assert model.result_.details["calibrated_on"] == "learned from"
    assert model.classes_.tolist() == [False, True]


def test_searches_and_pipelines(rare):
    X, y = rare
    pipeline = make_pipeline(StandardScaler(), AUCClassifier(random_state=0))
    search = GridSearchCV(pipeline, {"aucclassifier__regularization": [0.01, 1e7]}, scoring="roc_auc", cv=3)
    search.fit(1000 * X[:1500], y[:1500])
    assert search.best_params_ == {"aucclassifier__regularization": 0.01}
    by_score = cross_val_score(AUCClassifier(random_state=0), X[:1500], y[:1500], cv=3)
    by_name = cross_val_score(AUCClassifier(random_state=0), X[:1500], y[:1500], cv=3, scoring="roc_auc")
    np.testing.assert_allclose(by_score, by_name)


def test_copies_and_pickles(fitted, rare):
    assert clone(fitted).get_params() == fitted.get_params()
    other = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(other.predict_proba(rare[0]), fitted.predict_proba(rare[0]))


# -- streams ------------------------------------------------------------------------------------------------------


def stream(model, X, y, size=250):
    for start in range(0, len(y), size):
        model.partial_fit(X[start : start + size], y[start : start + size], classes=[0, 1])
    return model


@pytest.mark.parametrize("solver", ["adadsg", "dsgd", "olp", "opauc", "solam"])
def test_chunks_are_as_good_as_all_rows(rare, solver):
    X, y = rare
    loss = "square" if solver in ("opauc", "solam") else "hinge"
    model = stream(AUCClassifier(loss, solver, random_state=0), X[:4000], y[:4000])
    whole = AUCClassifier(loss, random_state=0).fit(X[:4000], y[:4000])
    assert model.score(X[4000:], y[4000:]) > whole.score(X[4000:], y[4000:]) - 0.01
    assert model.result_.details["calibrated_on"] == "later rows"
    said = balanced_accuracy_score(y[4000:], model.predict(X[4000:]))
    assert said > balanced_accuracy_score(y[4000:], whole.predict(X[4000:])) - 0.02
    assert log_loss(y[4000:], model.predict_proba(X[4000:])) < 0.25


def test_a_stream_keeps_few_scores(rare):
    X, y = rare
    model = stream(AUCClassifier(random_state=0), X, y)
    assert len(model.recent_.negative) == 1000
    assert len(model.recent_.positive) < 1000


def test_a_first_chunk_of_one_class_calls_all_rows_that(rare):
    X, y = rare
    model = AUCClassifier(random_state=0).partial_fit(X[y == 0][:100], y[y == 0][:100], classes=[0, 1])
    assert not model.predict(X).any()
    assert (model.predict_proba(X)[:, 1] < 0.5).all()
    model.partial_fit(X[y == 1][:100], y[y == 1][:100])
    stream(model, X, y)
    assert model.score(X, y) > 0.85
    assert balanced_accuracy_score(y, model.predict(X)) > 0.75


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_a_saved_stream_goes_on_to_the_same_bits(rare, kind, tmp_path):
    X, y = rare
    whole = stream(AUCClassifier(random_state=0), kind(X), y)
    half = stream(AUCClassifier(random_state=0), kind(X[:3000]), y[:3000])
    half = nearer.load(nearer.save(half, tmp_path / "half.nearer"))
    stream(half, kind(X[3000:]), y[3000:])
    np.testing.assert_array_equal(half.predict_proba(X), whole.predict_proba(X))
    np.testing.assert_array_equal(half.decision_function(X), whole.decision_function(X))


def test_saved_models_with_names_for_classes(rare, tmp_path):
    X, y = rare
    names = np.where(y, "spam", "ham").astype(object)
    model = AUCClassifier(model="rff", calibration="isotonic", random_state=0).fit(X[:800], names[:800])
    loaded = nearer.load(nearer.save(model, tmp_path / "model.nearer"))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


# -- budgets and bad input ----------------------------------------------------------------------------------------


def test_without_time_for_held_out_rows_the_learned_ones_must_do(rare):
    X, y = rare
    AUCClassifier(random_state=0).fit(X, y)  # compiled by now
    model = AUCClassifier(solver=DSGD(passes=10**6), max_seconds=0.2, random_state=0).fit(X, y)
    assert model.result_.stop_reason == "seconds"
    assert model.result_.details["calibrated_on"] == "learned from"
    assert model.score(X, y) > 0.85


def test_the_callback_ends_all_of_the_fit(rare):
    seen = []
    model = AUCClassifier(
        callback=lambda progress: seen.append(progress.steps) or len(seen) == 2, random_state=0
    )
    model.fit(*rare)
    assert len(seen) == 2
    assert model.result_.stop_reason == "callback"
    assert model.result_.details["calibrated_on"] == "learned from"


def test_the_bar_shows_the_search_for_the_threshold(rare, capsys):
    AUCClassifier(verbose=True, random_state=0).fit(rare[0][:500], rare[1][:500])
    assert "finding the threshold" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"threshold": "best"},
            "threshold must be one of balanced, f1, accuracy, prior or a number, not 'best'",
        ),
        ({"threshold": np.nan}, "threshold must be one of"),
        ({"calibration": "platt"}, "calibration must be one of sigmoid, isotonic, not 'platt'"),
        ({"held_out": 1.0}, "held_out must be a number from 0 to below 1, not 1.0"),
        ({"held_out": "some"}, "held_out must be a number"),
        ({"solver": "opauc"}, "the solver 'opauc' minimises the loss square only"),
    ],
)
def test_settings_that_cannot_be(rare, settings, message):
    with pytest.raises(InputError, match=message):
        AUCClassifier(**settings).fit(rare[0][:100], rare[1][:100])


def test_labels_that_cannot_be(rare):
    X, y = rare
    with refused("class", 0, parameter="y"):
        AUCClassifier().fit(X, np.zeros(len(X), int))
    model = AUCClassifier(random_state=0).partial_fit(X[:100], y[:100])
    with refused("'x'", "row 0", "0, 1", "fit", parameter="y"):
        model.partial_fit(X[:2], ["x", "x"])
    with refused("label", "pairs"):
        model.score(X[:5], np.zeros(5, int))
