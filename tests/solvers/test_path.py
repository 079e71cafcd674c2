"""The warm-started path over strengths: rules, warm starts, and what is left when a trial ends early."""

import math
from contextlib import suppress

import numpy as np
import pytest

from nearer.losses import STE
from nearer.objectives import PointObjective
from nearer.solvers import LBFGS, Budget, Run
from nearer.solvers.path import Choice, Judged, Path, StopRule, Trials
from tests.registries import planted, start


class _MadeUp:
    """Trials whose fits are their strength, and whose scores are given; errors are something else."""

    def __init__(self, scores):
        self.scores, self.starts = scores, []

    def fit(self, solver, splits, loss, strength, starts, **budget):
        self.starts.append(float(starts[0]))
        return [Judged(np.array(strength), 0.3, self.scores[strength])]


def walked(scores, rule):
    """Return the best strength, and the strengths tried."""
    trials = _MadeUp(dict(enumerate(scores, 1)))
    path = Path(trials, STE(), [(None, None)])
    path.walk(trials.scores, [np.array(0.0)], LBFGS(), rule)
    assert trials.starts == [0.0, *list(path.scores)[:-1]]  # each from its neighbour
    assert path.least == trials.scores[path.best]
    assert path.best in path.fits
    return path.best, len(path.scores)


@pytest.mark.parametrize(
    ("scores", "rule", "best", "tried"),
    [
        ([0.5, 0.4, 0.3, 0.35], StopRule(), 3, 4),
        ([0.5, 0.4, 0.41, 0.42, 0.1], StopRule(idle=2), 2, 4),
        ([0.5, 0.4, 0.41, 0.39, 0.4, 0.1], StopRule(idle=2), 6, 6),
        ([0.5, 0.0, 0.0, 0.0], StopRule(enough=0.0), 2, 2),
        ([0.5, 0.4, 0.405, 0.42, 0.1], StopRule(slack=0.02), 2, 4),
        ([0.5, 0.4, 0.398, 0.39], StopRule(gain=0.01), 4, 4),
        ([0.5, 0.4, 0.398], StopRule(gain=0.01), 2, 3),
        ([0.0, 0.0, 0.0], StopRule(gain=0.01, slack=0.02), 1, 3),
        ([0.5, 0.4], StopRule(hopeless=0.45), 1, 1),
        ([0.5, 0.4], StopRule(hopeless=0.55), 2, 2),
    ],
)
def test_rules(scores, rule, best, tried):
    assert walked(scores, rule) == (best, tried)


def trials(callback=None, n_jobs=1, n_splits=1, **budget):
    comparisons = planted()
    found = Trials(
        Run(Budget(**budget), callback),
        np.random.default_rng(0),
        lambda part, loss, l2: PointObjective(part, loss, 2, l2=l2),
        lambda points, held: (float(np.abs(points).mean()), 2 * float(np.abs(points).mean())),
        n_jobs=n_jobs,
    )
    splits = [(comparisons[:800], comparisons[800:]), (comparisons[200:], comparisons[:200])][:n_splits]
    return found, comparisons, found.path(STE(), splits)


def chosen(callback=None, **budget):
    found, comparisons, path = trials(callback, **budget)
    first = Choice(STE(), 9.0, start())
    return first, found.choose(
        first, lambda: path.walk([1.0, 0.1, 0.01], [start()], LBFGS(), StopRule()), comparisons, gain=0.0
    )


def test_a_whole_path_chooses_its_best_and_counts():
    _, choice = chosen()
    assert list(choice.errors["ste"]) == [1.0, 0.1, 0.01]
    assert choice.least_error == choice.errors["ste"][choice.strength]
    assert choice.stopped is None
    assert choice.n_held_out == 200
    assert choice.evaluations > 2400


@pytest.mark.parametrize("press", [False, True])
def test_an_early_end_leaves_the_best_so_far(press):
    def callback(progress):
        if progress.part == 2 and press:
            raise KeyboardInterrupt
        return progress.part == 2

    first, choice = chosen(callback)
    assert choice.stopped == ("interrupted" if press else "callback")
    assert list(choice.errors["ste"]) == [choice.strength] == [1.0]
    assert choice.points is not first.points


def test_half_of_the_budget_is_left_and_a_spent_one_is_not_the_users_stop():
    first, choice = chosen(max_evaluations=8000)
    assert choice.stopped is None
    assert 4000 <= choice.evaluations < 8000
    first, choice = chosen(max_evaluations=10)
    assert choice.strength == first.strength
    assert choice.points is first.points
    assert choice.errors == {}
    assert math.isfinite(choice.seconds)


@pytest.mark.parametrize("budget", [{}, {"max_evaluations": 60_000}])
def test_threads_change_nothing(budget):
    """The splits share what is left of the budget before they start, whichever ends first."""
    found = []
    for n_jobs in (1, 2):
        made, _, path = trials(n_jobs=n_jobs, n_splits=2, **budget)
        with suppress(Exception):
            path.walk([1.0, 0.1, 0.01], [start()] * 2, LBFGS(), StopRule())
        found.append((path.errors, made.run.evaluations, path.fits))
    assert found[0][:2] == found[1][:2]
    assert (len(found[0][0]) < 3) == bool(budget)
    assert found[0][0]
    for strength, fits in found[0][2].items():
        np.testing.assert_array_equal(fits, found[1][2][strength])


def test_a_stop_in_one_thread_stops_the_others():
    calls = []

    def callback(progress):
        calls.append(progress.part)
        return len(calls) == 3

    made, comparisons, path = trials(callback, n_jobs=2, n_splits=2)
    choice = made.choose(
        Choice(STE(), 9.0, start()),
        lambda: path.walk([1.0, 0.1], [start()] * 2, LBFGS(), StopRule()),
        comparisons,
        gain=0.0,
    )
    assert choice.stopped == "callback"
    assert len(calls) < 3 + 3  # the other may be in the middle of an epoch, but does not begin many more
