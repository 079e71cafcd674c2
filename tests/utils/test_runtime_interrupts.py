"""Ctrl-C is noted during a fit and acted on between two pieces of work."""

import os
import signal
import threading

import numpy as np
import pytest

import nearer
from nearer._utils.runtime import interrupted, noting
from nearer.solvers import minimise
from tests.registries import objective, start


def press():
    os.kill(os.getpid(), signal.SIGINT)


def test_the_first_press_waits_for_a_question():
    with noting():
        press()
        with noting():  # an inner block shares the note and does not raise at its end
            pass
        assert interrupted()
    assert not interrupted()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_press_that_nobody_asked_about_interrupts_at_the_end():
    done = []

    @noting()
    def work():
        press()
        done.append("work")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["work"]


def test_the_second_press_interrupts_at_once():
    @noting()
    def work():
        press()
        assert interrupted()
        press()
        pytest.fail("the second press was ignored")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("handler", [signal.SIG_IGN, lambda number, frame: None])
def test_handlers_of_others_stay(handler):
    before = signal.signal(signal.SIGINT, handler)
    try:
        with noting():
            press()
            assert not interrupted()
            assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_see_nothing():
    found = []

    def look():
        with noting():
            found.append(interrupted())

    with noting():
        press()
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        assert interrupted()
    assert found == [False]


@pytest.mark.parametrize("solver", ["sgd", "lbfgs", "svrg"])
def test_a_pressed_solver_keeps_what_it_found(solver):
    f = objective()
    x, result = minimise(
        nearer.solvers.SOLVERS[solver],
        f,
        start(f.shape),
        callback=lambda p: press() if p.epoch == 2 else None,
    )
    assert result.stop_reason == "interrupted"
    assert result.n_epochs == 2
    assert f.value(x) <= result.history["objective"][0]


def test_a_press_before_the_first_record_keeps_the_start(monkeypatch):
    f, pressed = objective(), []
    begin = nearer.solvers.run.Run.begin

    def press_and_begin(self, *args, **settings):
        pressed.append(press())
        return begin(self, *args, **settings)

    monkeypatch.setattr(nearer.solvers.run.Run, "begin", press_and_begin)
    x, result = minimise(nearer.solvers.SOLVERS["lbfgs"], f, start(f.shape))
    assert result.stop_reason == "interrupted"
    assert np.array_equal(x, f.start(start(f.shape)))


def test_a_fit_that_is_pressed_in_a_trial_keeps_a_map():
    answers, _ = nearer.datasets.planted(12, 2, 600, random_state=0)
    model = nearer.OrdinalEmbedding(
        random_state=0, callback=lambda p: press() if p.stage != "fitting" else None
    )
    model.fit(answers)
    assert model.result_.stop_reason == "interrupted"
    assert np.isfinite(model.embedding_).all()
