"""The run of an online kernel: result, callbacks, budget, ctrl-C, saving."""

import copy
import os
import pickle
import signal
import threading

import numpy as np
import pytest

import nearer
from nearer import OnlineKernel
from nearer.datasets import planted
from nearer.errors import InputError
from nearer.kernels import _learning
from nearer.solvers import Progress, Result

FORMS = {
    "whole": {},
    "whole, ste": {"update": "ste"},
    "rank": {"rank": 3},
    "rank, ste": {"rank": 3, "update": "ste"},
}


@pytest.fixture(scope="module")
def answers():
    return planted(15, 2, 1500, random_state=0).comparisons


def form(name, **more):
    return OnlineKernel(15, random_state=7, **{**FORMS[name], **more})


@pytest.mark.parametrize("name", FORMS)
def test_the_result_records_the_loss_that_answers_had_when_they_came(name, answers):
    model = form(name).fit(answers)
    result = model.result_
    assert isinstance(result, Result)
    assert result.stop_reason == "epochs"
    assert result.n_evaluations == 1500
    np.testing.assert_array_equal(result.history["n_seen"], [256, 512, 1024, 1500])
    np.testing.assert_array_equal(result.history["evaluations"], [256, 512, 1024, 1500])
    assert result.n_epochs == 4
    assert (np.diff(result.history["seconds"]) > 0).all()
    assert result.objective == result.history["objective"][-1]
    losses, plain = [], form(name).fit(answers[:0])
    for place in range(256):
        if place % 8 == 0:
            near, far = plain._compared(answers.indices[[place]])
            excess = float((near - far)[0])
            losses.append(np.logaddexp(0, excess) if "ste" in name else max(0.0, 1 + excess))
        plain.partial_fit(answers[place : place + 1])
    assert result.history["objective"][0] == pytest.approx(np.mean(losses), rel=1e-9)
    assert result.history["objective"][-1] < 0.9 * result.history["objective"][0]


@pytest.mark.parametrize("name", FORMS)
def test_the_history_does_not_depend_on_how_answers_are_cut(name, answers):
    at_once = form(name).fit(answers[:600]).result_
    pieces = form(name)
    for start in range(0, 600, 7):
        pieces.partial_fit(answers[start : min(start + 7, 600)])
    # the first call always leaves a record; later short calls leave none of their own
    np.testing.assert_array_equal(pieces.result_.history["n_seen"], [7, 256, 512])
    assert pieces.result_.n_evaluations == at_once.n_evaluations == 600
    assert pieces.result_.history["objective"][2] == pytest.approx(at_once.history["objective"][1], rel=1e-12)


def test_replays_count(answers):
    assert form("rank", passes=3).fit(answers[:100]).result_.n_evaluations == 300


@pytest.mark.parametrize("name", FORMS)
def test_a_callback_sees_progress_and_parameters_when_asked(name, answers, monkeypatch):
    asked, seen = [], []
    monkeypatch.setattr(_learning.HeldParameters, "view", lambda self, x: asked.append(1) or x.parameters())

    def callback(progress):
        assert isinstance(progress, Progress)
        seen.append((progress.n_seen, progress.evaluations, progress.fraction, progress.objective))

    plain = form(name).fit(answers)
    model = form(name, callback=callback).fit(answers)
    np.testing.assert_array_equal(model.kernel_, plain.kernel_)
    assert asked == []  # nobody asked for the parameters
    counts, evaluations, fractions, objectives = map(list, zip(*seen, strict=True))
    assert counts == evaluations == sorted(counts)
    assert counts[-1] == 1500
    assert fractions == pytest.approx([count / 1500 for count in counts])
    assert np.isfinite(objectives).all()
    shapes = []
    form(name, callback=lambda progress: shapes.append(progress.parameters.shape)).fit(answers[:300])
    assert set(shapes) == {(15, 3) if "rank" in name else (15, 15)}


@pytest.mark.parametrize("name", FORMS)
def test_a_callback_stops_and_a_later_call_continues(name, answers):
    model = form(name, passes=2, callback=lambda progress: progress.n_seen >= 512).fit(answers)
    assert model.result_.stop_reason == "callback"
    assert model.n_seen_ == len(model.kept_indices_) == 512
    model.set_params(callback=None).partial_fit(answers[512:])
    assert model.result_.stop_reason == "epochs"
    np.testing.assert_array_equal(model.kernel_, form(name, passes=2).fit(answers).kernel_)


def test_the_budget_of_seconds_is_for_each_call(answers):
    model = form("whole", max_seconds=1e-6).fit(answers)
    assert model.result_.stop_reason == "seconds"
    seen = model.n_seen_
    assert 0 < seen < 1500
    model.partial_fit(answers[seen:])
    assert model.result_.stop_reason == "seconds"
    assert seen < model.n_seen_ < 1500
    assert (
        form("rank", max_seconds=1e-6).fit(answers[:100]).result_.stop_reason == "epochs"
    )  # all were learned


def test_ctrl_c_stops_between_blocks_and_keeps_what_was_learned():
    answers = planted(60, 3, 20_000, random_state=0).comparisons
    press = threading.Timer(0.0, os.kill, (os.getpid(), signal.SIGINT))
    model = OnlineKernel(60, callback=lambda progress: None if press.ident else press.start())
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(answers)
    seen = model.n_seen_
    assert 0 < seen < len(answers)
    assert model.result_.stop_reason == "interrupted"
    np.testing.assert_array_equal(model.kernel_, OnlineKernel(60).partial_fit(answers[:seen]).kernel_)


def test_an_error_in_a_callback_leaves_a_model_that_can_continue(answers):
    def fail(progress):
        raise ValueError("mine")

    model = form("rank", passes=2, callback=fail)
    with pytest.raises(ValueError, match="mine"):
        model.partial_fit(answers)
    assert model.n_seen_ == len(model.kept_indices_) == 256
    model.set_params(callback=None).partial_fit(answers[256:])
    np.testing.assert_array_equal(model.kernel_, form("rank", passes=2).fit(answers).kernel_)


@pytest.mark.parametrize("name", FORMS)
def test_files_and_copies_continue_the_history(name, answers, tmp_path):
    model = form(name).fit(answers[:700])
    nearer.save(model, tmp_path / "model.nearer")
    others = [nearer.load(tmp_path / "model.nearer"), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
    model.partial_fit(answers[700:])
    for other in others:
        assert other.result_.n_evaluations == 700
        other.partial_fit(answers[700:])
        np.testing.assert_array_equal(other.kernel_, model.kernel_)
        for column in ("epoch", "n_seen", "evaluations"):
            np.testing.assert_array_equal(other.result_.history[column], model.result_.history[column])
    model.fit(answers[:300])
    np.testing.assert_array_equal(model.result_.history["n_seen"], [256, 300])


@pytest.mark.parametrize("column", ["epoch", "evaluations"])
@pytest.mark.parametrize("value", [np.nan, -1, 2**63 - 1])
def test_files_whose_history_does_not_count_are_refused(column, value, answers, tmp_path):
    model = form("rank").fit(answers[:300])
    history = model.result_.history
    history[column] = np.full(len(history[column]), value)
    with pytest.raises(InputError, match=column):
        nearer.save(model, tmp_path / "model.nearer")


def test_no_answers_leave_an_empty_history():
    result = OnlineKernel(4).partial_fit(np.empty((0, 3), int)).result_
    assert result.n_evaluations == result.n_epochs == len(result.history["objective"]) == 0


def test_a_progress_bar_on_demand(capsys, answers):
    form("whole", verbose=True).partial_fit(answers[:20])
    assert "learning answers" in capsys.readouterr().err
    form("whole").partial_fit(answers[:20])
    assert capsys.readouterr().err == ""
