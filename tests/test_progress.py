"""The progress bar: what it shows, where, and for how long."""

import io
from types import SimpleNamespace

from rich.console import Console

from nearer._progress import progress_bar, readable_seconds


def progress(fraction, objective=0.125, seconds=2.0, epoch=1):
    return SimpleNamespace(epoch=epoch, fraction=fraction, objective=objective, seconds=seconds)


def shown(*states, **options):
    screen = io.StringIO()
    console = Console(file=screen, width=120, force_terminal=options.pop("terminal", False))
    with progress_bar("fitting", console=console, **options) as callback:
        for state in states:
            assert not callback(state)  # a true value would stop the fit
    return screen.getvalue()


def test_the_bar_shows_share_objective_and_time_left():
    text = shown(progress(0.2))
    assert "fitting" in text
    assert "20%" in text
    assert "objective 0.125" in text
    assert "at most 8.0 s left" in text


def test_no_time_left_is_claimed_before_anything_is_known():
    assert "left" not in shown(progress(0.0))


def test_a_fit_that_starts_again_is_another_part():
    assert "part" not in shown(progress(0.1, epoch=0), progress(0.9, epoch=9))
    text = shown(progress(0.9, epoch=9), progress(0.1, epoch=0), progress(0.2, epoch=1))
    assert "20%" in text
    assert "part 2" in text


def test_a_bar_that_is_not_kept_disappears():
    assert "\x1b[2K" in shown(progress(0.5), keep=False, terminal=True)


def test_an_objective_that_is_no_number_does_not_break_the_bar():
    assert "nan" in shown(progress(0.5, objective=float("nan")))


def test_readable_seconds_round_without_jumps():
    assert readable_seconds(0.9996) == "1.0 s"
    assert readable_seconds(59.96) == "1 min 00 s"
    assert readable_seconds(3599.6) == "1 h 00 min"
    assert readable_seconds(0) == "0 ms"
