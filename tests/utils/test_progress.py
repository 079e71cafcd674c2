"""The progress bar: what it shows, where, and for how long."""

import io
import re
from types import SimpleNamespace

import pytest
from rich.console import Console

from nearer import OrdinalEmbedding, RelativeKernel
from nearer._utils import progress as _progress
from nearer._utils.progress import counting_bar, progress_bar
from nearer.solvers.result import STOP_REASONS, Progress
from tests.registries import planted


def progress(fraction, objective=0.125, stage="fitting", part=1, parts=1):
    return Progress(fraction=fraction, objective=objective, stage=stage, part=part, parts=parts)


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """Every look at the clock finds it a second later."""
    seconds = iter(range(1000))
    monkeypatch.setattr(_progress, "time", SimpleNamespace(perf_counter=lambda: float(next(seconds))))


def shown(*states, about="answers.csv", result=None, **options):
    """All that a terminal shows of these states, one after the other."""
    screen = io.StringIO()
    console = Console(file=screen, width=160, force_terminal=True)
    with progress_bar(about, console=console, **options) as callback:
        for state in states:
            assert not callback(state)  # a true value would stop the fit
            callback.bar.refresh()
        if result is not None:
            callback.finish_with(result)
    return screen.getvalue()


def last(*states, **options):
    """What is left on the screen at the end, without colours."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown(*states, **options)).strip().splitlines()[-1].strip()


def test_the_bar_says_what_is_going_on():
    text = shown(progress(0.0), progress(0.2))
    assert "answers.csv: fitting " in text
    assert "20%" in text
    assert "objective 0.125" in text
    assert "up to 4.0 s left" in text  # a fifth took one second


def test_no_time_left_is_claimed_before_anything_is_known():
    assert "left" not in shown(progress(0.0))
    assert "left" not in shown(progress(0.5))  # its stage has only begun


def test_choosing_counts_its_trials_and_claims_no_time():
    trials = [progress(f, stage="choosing l2", part=part, parts=4) for part in (1, 2, 3) for f in (0.0, 0.5)]
    text = shown(*trials)
    assert "answers.csv: choosing l2 (3 of at most 4)" in text
    assert "62%" in text
    assert "left" not in text


def test_the_time_left_of_a_fit_does_not_count_what_was_spent_on_choosing():
    trials = [progress(0.5, stage="choosing l2") for _ in range(50)]
    assert "up to 1.0 s left" in shown(*trials, progress(0.0), progress(0.5))


def test_a_budget_of_seconds_limits_the_time_left_at_any_stage():
    assert "up to 4.0 s left" in shown(progress(0.1, stage="choosing l2"), max_seconds=5)
    assert "up to 3.0 s left" in shown(progress(0.0), progress(0.01), max_seconds=5)


def test_later_starts_are_parts_of_the_whole():
    text = shown(progress(0.0, part=1, parts=4), progress(0.0, part=3, parts=4))
    assert "fitting (3 of at most 4)" in text
    assert "50%" in text


def test_a_fit_tells_its_stages():
    seen = []
    OrdinalEmbedding(2, n_init=2, max_epochs=5, random_state=0, callback=seen.append).fit(planted())
    stages = list(dict.fromkeys((record.stage, record.part, record.parts) for record in seen))
    choosing = [stage for stage in stages if stage[0] == "choosing loss and l2"]
    assert [part for _, part, _ in choosing] == list(range(1, len(choosing) + 1))
    assert len(choosing) <= choosing[0][2]
    assert stages[len(choosing) :] == [("fitting", 1, 2), ("fitting", 2, 2)]


def test_compiling_is_told_while_it_lasts():
    from numba.core import event

    screen = io.StringIO()
    with (
        progress_bar("answers.csv", console=Console(file=screen, width=160, force_terminal=True)) as callback,
        event.trigger_event("numba:compile"),
    ):
        callback.bar.refresh()
    assert "compiling, once on this machine" in screen.getvalue()


def test_a_single_run_has_no_stages():
    text = shown(Progress(fraction=0.5, objective=0.125))
    assert "answers.csv " in text
    assert "50%" in text


def test_a_score_on_held_out_data_is_shown_beside_the_objective():
    text = shown(Progress(fraction=0.5, objective=0.125, columns={"score": 0.25, "rank": 3}))
    assert "objective 0.125  held-out score 0.25" in text
    assert "score" not in shown(Progress(fraction=0.5, objective=0.125))


def test_a_file_name_is_no_markup():
    assert "[red].csv: fitting" in shown(progress(0.5), about="[red].csv")


def test_a_bar_that_is_not_kept_disappears():
    assert "\x1b[2K" in shown(progress(0.5), keep=False)


def test_an_objective_that_is_no_number_does_not_break_the_bar():
    assert "nan" in shown(progress(0.5, objective=float("nan")))


@pytest.mark.parametrize(
    ("reason", "says"),
    [
        ("tolerance", "converged after 12 epochs"),
        ("epochs", "ended after 12 epochs"),
        ("seconds", "reached max_seconds after 12 epochs"),
        ("evaluations", "reached max_evaluations after 12 epochs"),
        ("diverged", "diverged after 12 epochs"),
    ],
)
def test_a_bar_ends_full_and_says_why(reason, says):
    text = last(progress(0.0), progress(0.02), result=SimpleNamespace(stop_reason=reason, n_epochs=12))
    assert "100%" in text
    assert text.endswith(f"objective 0.125  {says}")


@pytest.mark.parametrize(
    ("reason", "says"), [("callback", "stopped by the callback"), ("interrupted", "interrupted")]
)
def test_a_bar_that_is_cut_short_says_so_where_it_stands(reason, says):
    text = last(progress(0.0), progress(0.02), result=SimpleNamespace(stop_reason=reason, n_epochs=1))
    assert " 2%" in text
    assert text.endswith(f"{says} after 1 epoch")


def test_every_reason_to_stop_has_words():
    assert set(_progress._ENDINGS) == set(STOP_REASONS)


def test_a_bar_without_a_result_ends_full():
    text = last(progress(0.0), progress(0.02))
    assert "100%" in text
    assert text.endswith("done")


def test_a_bar_under_an_error_claims_no_time_left():
    screen = io.StringIO()

    def fails():
        with progress_bar("answers.csv", console=Console(file=screen, width=160)) as callback:
            callback(progress(0.0))
            callback(progress(0.02))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    assert " 2%" in screen.getvalue()
    assert "stopped" in screen.getvalue()
    assert "left" not in screen.getvalue()


@pytest.mark.parametrize(
    "model",
    [
        OrdinalEmbedding(2, l2=0.01, solver="lbfgs", random_state=0, verbose=True),
        RelativeKernel(trace_penalty=0.01, verbose=True),
    ],
)
def test_fits_tell_the_bar_how_they_ended(model, capsys):
    model.fit(planted())
    words = " ".join(capsys.readouterr().err.split())
    assert "100%" in words
    assert f"converged after {model.result_.n_epochs} epochs" in words
    assert "left" not in words


def test_a_fit_that_a_callback_stops_does_not_end_full(capsys):
    OrdinalEmbedding(2, l2=0.01, max_epochs=100, callback=lambda progress: True, verbose=True).fit(planted())
    words = " ".join(capsys.readouterr().err.split())
    assert "stopped by the callback" in words
    assert "100%" not in words


def test_counted_work_that_is_cut_short_claims_no_time_left():
    for done, says in ((10, "10/10"), (3, "3/10 stopped early")):
        screen = io.StringIO()
        with counting_bar("answers", 10, console=Console(file=screen, width=160)) as show:
            show(done)
        assert says in " ".join(screen.getvalue().split())
