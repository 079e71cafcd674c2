"""A process that dies, hangs or is asked to end: the others end soon and in words, and the checkpoint is intact."""

from __future__ import annotations

import signal
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import nearer  # noqa: E402
from nearer.errors import LostProcessError  # noqa: E402
from tests.towers.distributed import ended, started  # noqa: E402
from tests.towers.killed import fitted, killed  # noqa: E402

EPOCHS = 60


@pytest.mark.parametrize(("rank", "epoch"), [(1, 4), (0, 9)])
def test_a_killed_process_ends_the_fit_in_words_and_the_fit_continues(rank, epoch, tmp_path):
    found = killed(tmp_path, rank, epoch=epoch, epochs=EPOCHS)
    assert found.code != 0
    assert "LOST another process has ended" in found.words or "LOST this process was asked" in found.words
    assert "it continues from fit.npz" in found.words
    with np.load(tmp_path / "fit.npz") as file:
        assert file["history/epoch"][-1] >= epoch - 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the file is used
        result = fitted(tmp_path / "fit.npz", EPOCHS).result_
    assert result.n_epochs == EPOCHS
    assert result.objective == pytest.approx(
        fitted(tmp_path / "whole.npz", EPOCHS).result_.objective, rel=1e-6
    )


def test_a_process_killed_before_the_fit_ends_all(tmp_path):
    found = killed(tmp_path, 1, epochs=EPOCHS)
    assert found.code != 0
    assert not (tmp_path / "fit.npz").exists()


FROZEN = """
import os, signal, torch.distributed as dist
from datetime import timedelta
import nearer
from nearer.errors import LostProcessError
from tests.towers.problems import split
dist.init_process_group("gloo", timeout=timedelta(seconds=8))
def freeze(progress):
    if dist.get_rank() == 1 and progress.epoch == 3:
        os.kill(os.getpid(), signal.WHAT)
try:
    nearer.TwoTower(4, hidden=(), inputs="ids", solver="gd", tol=0, random_state=0, callback=freeze).fit(split()[0])
except LostProcessError as error:
    print(error, flush=True)
    os._exit(1)  # a group that nobody left may abort in an ordinary exit
"""


def test_a_process_that_hangs_is_lost_after_the_time_limit(tmp_path):
    workers = started(FROZEN.replace("WHAT", "SIGSTOP"), tmp_path)
    try:
        ((code, said, _),) = ended(workers[:1])
    finally:
        workers[1].kill()
        workers[1].communicate()
    assert code == 1
    assert "does not answer" in said
    assert "checkpoint='fit.npz'" in said  # what to do next time


HASTY = """
import os, nearer
from nearer._utils.group import processes
from tests.towers.problems import split
group = processes()
def press(progress):
    if group.is_first and progress.epoch == 3:
        raise KeyboardInterrupt  # as a second ctrl-C does
try:
    nearer.TwoTower(4, hidden=(), inputs="ids", solver="gd", tol=0, random_state=0, callback=press).fit(split()[0])
except (KeyboardInterrupt, nearer.errors.LostProcessError) as error:
    print(type(error).__name__, flush=True)
    os._exit(3)
"""


def test_a_process_interrupted_at_once_leaves_the_others_without_mixed_messages(tmp_path):
    found = ended(started(HASTY, tmp_path))
    assert [code for code, _, _ in found] == [3, 3], found
    assert [said.strip() for _, said, _ in found] == ["KeyboardInterrupt", "LostProcessError"]


def test_a_process_that_is_asked_to_end_says_so(tmp_path):
    for code, said, _ in ended(started(FROZEN.replace("WHAT", "SIGTERM"), tmp_path)):
        assert code == 1
        assert "was asked to end" in said or "another process has ended" in said


def test_a_fit_of_one_process_leaves_signals_alone(monkeypatch):
    handlers = []
    note = lambda progress: handlers.append(signal.getsignal(signal.SIGTERM))  # noqa: E731
    train, _, _ = nearer.datasets.planted_interactions(20, 10, 2, 60, random_state=0)
    nearer.TwoTower(2, hidden=(), max_epochs=2, callback=note, random_state=0).fit(train)
    assert set(handlers) == {signal.SIG_DFL}


def test_the_error_has_the_fields_of_others():
    error = LostProcessError("another process has ended", "look at its message")
    assert str(error) == "another process has ended; look at its message"
    assert isinstance(error, RuntimeError)
