"""`PairwiseLearner`: streams, model files, callbacks, budgets and interruptions."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.preprocessing import PolynomialFeatures

import nearer
from nearer import PairwiseLearner
from nearer.errors import InputError
from nearer.losses import HingeLoss
from nearer.pairwise import DSGD, Exact, RandomFourier
from tests.pairwise.plain import neighbours


def chunks(X, y, size=200):
    for start in range(0, len(X), size):
        yield X[start : start + size], y[start : start + size]


@pytest.mark.parametrize("solver", ["adadsg", "dsgd", "olp"])
@pytest.mark.parametrize("model", ["linear", "rff", ["linear", RandomFourier(40)]])
def test_a_saved_stream_goes_on_to_the_same_bits(two_classes, solver, model, tmp_path):
    X, y = two_classes
    parts = list(chunks(X, y))
    whole = PairwiseLearner(model=model, solver=solver, random_state=0)
    for part in parts:
        whole.partial_fit(*part)
    half = PairwiseLearner(model=model, solver=solver, random_state=np.random.default_rng(5))
    half.set_params(random_state=0)
    for part in parts[:4]:
        half.partial_fit(*part)
    half = nearer.load(nearer.save(half, tmp_path / "half.nearer"))
    for part in parts[4:]:
        half.partial_fit(*part)
    np.testing.assert_array_equal(half.decision_function(X), whole.decision_function(X))
    assert whole.score(X, y) > 0.88


@pytest.mark.parametrize(
    "model",
    [
        PairwiseLearner("logistic", pair="ranking", solver=DSGD(passes=3), random_state=0),
        PairwiseLearner(HingeLoss(), pair="metric", n_components=2, random_state=0),
        PairwiseLearner("squared-hinge", solver=Exact(tol=1e-4)),
    ],
    ids=["ranking", "metric", "exact"],
)
def test_saved_models_predict_the_same_bits(two_classes, model, tmp_path):
    X, y = two_classes
    model = clone(model).fit(X, (y == "yes").astype(int))
    loaded = nearer.load(nearer.save(model, tmp_path / "model.nearer"))
    method = "transform" if model.pair == "metric" else "decision_function"
    np.testing.assert_array_equal(getattr(loaded, method)(X), getattr(model, method)(X))
    assert loaded.get_params() == model.get_params()
    assert loaded.score(X, (y == "yes").astype(int)) == model.score(X, (y == "yes").astype(int))


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (
            {"pair": neighbours},
            "PairwiseLearner's pair is of type builtins.function, .* set it to None or to one of",
        ),
        ({"callback": print}, "PairwiseLearner's callback is of type"),
        (
            {"model": PolynomialFeatures(2)},
            "PairwiseLearner's model is of type sklearn.* holds no foreign objects",
        ),
    ],
)
def test_code_is_not_saved(two_classes, setting, message, tmp_path):
    X, y = two_classes
    model = PairwiseLearner(random_state=0, **setting)
    model.fit(X[:200], X[:200, 0] if "pair" in setting else y[:200])
    with pytest.raises(InputError, match=message):
        nearer.save(model, tmp_path / "model.nearer")
    assert not (tmp_path / "model.nearer").exists()


def test_classes_may_come_one_after_the_other(two_classes):
    X, y = two_classes
    order = np.argsort(y, kind="stable")
    model = PairwiseLearner(random_state=0)
    for rows in np.array_split(order, 10):
        model.partial_fit(X[rows], y[rows], classes=["yes", "no"])
    assert model.score(X, y) > 0.85


def test_a_fit_goes_on_as_a_stream(two_classes):
    X, y = two_classes
    model = PairwiseLearner(random_state=0).fit(X[:1000], y[:1000])
    before = model.score(X[1000:], y[1000:])
    model.partial_fit(X[1000:1250], y[1000:1250])
    assert model.score(X[1000:], y[1000:]) > before - 0.01
    assert model.result_.details["rows_seen"] == 1250


def test_the_callback_sees_the_course_and_ends_it(two_classes):
    X, y = two_classes
    seen = []

    def callback(progress):
        seen.append((progress.steps, progress.w.shape, progress.loss))
        return progress.steps > 3000

    model = PairwiseLearner(callback=callback, random_state=0).fit(X, y)
    assert model.result_.stop_reason == "callback"
    assert seen[-1][0] == model.result_.n_evaluations < 8000
    assert seen[0][1] == (8,)
    exact = PairwiseLearner(solver="exact", callback=lambda progress: progress.epoch >= 2).fit(X, y)
    assert exact.result_.stop_reason == "callback"


def test_seconds_end_a_fit_that_is_usable(two_classes):
    X, y = two_classes
    PairwiseLearner(solver=DSGD(passes=1), random_state=0).fit(X, y)  # compiled by now
    for pair in ("auc", "ranking"):
        model = PairwiseLearner(pair=pair, solver=DSGD(passes=10**6), max_seconds=0.2, random_state=0)
        model.fit(X, (y == "yes").astype(int))
        assert model.result_.stop_reason == "seconds"
        assert 0.19 < model.result_.seconds < 2
        assert model.score(X, (y == "yes").astype(int)) > 0.9


@pytest.mark.parametrize("pair", ["auc", "ranking"])
def test_ctrl_c_keeps_what_was_found(two_classes, pair):
    X, y = two_classes
    calls = []

    def press(progress):
        calls.append(progress.steps)
        if len(calls) == 3:
            os.kill(os.getpid(), signal.SIGINT)

    model = PairwiseLearner(pair=pair, solver=DSGD(passes=10**6), callback=press, random_state=0)
    model.fit(X, (y == "yes").astype(int))
    assert model.result_.stop_reason == "interrupted"
    assert len(calls) == 3
    assert model.score(X, (y == "yes").astype(int)) > 0.8


def test_ctrl_c_in_a_stream_interrupts_after_the_chunk_is_kept(two_classes):
    X, y = two_classes
    model = PairwiseLearner(callback=lambda progress: os.kill(os.getpid(), signal.SIGINT), random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X, y)
    assert model.result_.stop_reason == "interrupted"
    assert model.score(X, y) > 0.8


def test_an_interruption_raised_by_the_callback_is_like_ctrl_c(two_classes):
    def raising(progress):
        raise KeyboardInterrupt

    model = PairwiseLearner(callback=raising, random_state=0).fit(*two_classes)
    assert model.result_.stop_reason == "interrupted"
    assert model.result_.n_evaluations > 0
    assert model.coef_.any()
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(*two_classes)


def test_verbose_shows_a_bar(two_classes, capsys):
    PairwiseLearner(verbose=True, random_state=0).fit(*two_classes)
    assert "objective" in capsys.readouterr().err
    PairwiseLearner(model=["linear", RandomFourier(20)], verbose=True, random_state=0).fit(*two_classes)
    assert "objective" in capsys.readouterr().err
