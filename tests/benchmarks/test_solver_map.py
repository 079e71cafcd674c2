"""The map of solvers: its fits, its rule for winners, its tables and its picture."""

from __future__ import annotations

import doctest
import sys
import time
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(
    0, str(Path(__file__).parents[2])
)  # benchmarks is a folder of the repository, not of the package

from benchmarks import _report, _solver_standings, solver_map
from benchmarks._runner import Job, settings_of
from benchmarks._solver_fits import RIVALS, TIMED, Course, Problem
from benchmarks._solver_standings import closer_is_better, first_near, problems, quickest
from nearer.solvers import Progress

CELL = {"loss": "soe", "l2": 0.0125, "p": 2, "n": 30, "per": 20, "seed": 0}
SETTINGS = settings_of(solver_map, quick=True)


@pytest.fixture(scope="module")
def problem():
    return Problem(CELL, SETTINGS)


def test_truncated_newton_finds_the_minimum_and_stops_by_our_rule(problem):
    points, result, _ = problem.fit("TNC", 1e-5)
    _, other, _ = problem.fit("L-BFGS", 1e-5)
    assert result.stop_reason == "tolerance"
    assert result.objective == pytest.approx(problem.objective.value(points))
    assert result.objective == pytest.approx(other.objective, rel=0.01)
    *_, before, last, end = result.history["objective"]
    assert before - last <= 1e-5 * before
    assert last - end <= 1e-5 * last
    assert problem.fit("TNC", 1e-3)[1].n_evaluations < result.n_evaluations


def test_held_out_answers_are_not_among_those_of_the_fit(problem):
    assert len(problem.test) == SETTINGS["held_out"]
    assert problem.objective.n_terms == problem.n_answers == 600


def test_every_solver_is_measured_and_those_known_are_not_measured_again():
    job = Job(SETTINGS, [], frozenset(["TNC"]))
    found = dict(solver_map.measure(CELL, job))
    assert set(found) == set(RIVALS) - {"TNC"}
    for one in found.values():
        assert 0 < one["seconds"] < 10
        assert one["closer"]["objective"] <= one["objective"]
        assert one["near"][-1][1] == pytest.approx(one["closer"]["objective"], rel=1e-3)
        assert one["error"] < 0.25


def test_looking_at_a_course_does_not_count(problem):
    course = Course(problem.objective, 1, most_seconds=0.04)
    points = problem.start

    def slow_look() -> np.ndarray:
        until = time.process_time() + 0.05
        while time.process_time() < until:
            pass
        return points

    assert course(Progress(epoch=1, objective=9.0, look=slow_look)) is False
    course.end()
    assert course.seconds < 0.04
    assert course.near()[0][1] == pytest.approx(problem.objective.value(points), abs=1e-6)


def test_a_course_that_takes_too_long_is_ended(problem):
    course = Course(problem.objective, 0, most_seconds=0.0)
    assert course(Progress(epoch=1, objective=1.0)) is True


def test_a_course_keeps_what_is_within_one_percent_of_its_lowest_value(problem):
    course = Course(problem.objective, 0, most_seconds=9.0)
    for value in (2.0, 1.2, 1.009, 1.0089, 1.02, 1.005, 1.0, 1.001):
        course(Progress(epoch=1, objective=value))
    assert [value for _, value in course.near()] == [1.009, 1.005, 1.0]


# -- winners ----------------------------------------------------------------------------------------------------------


def row(seed: int = 0, n: int = 30, **changed: dict) -> dict:
    """A problem on which all solvers end alike, the later ones slower, but for what is changed."""
    results = {
        name: {
            "seconds": float(place),
            "evaluations": 10.0,
            "objective": 1.0,
            "error": 0.1,
            "ended": "tolerance",
            "near": [[place / 2, 1.0]],
            **changed.get(name.replace("-", "").split()[0], {}),
        }
        for place, name in enumerate(RIVALS, start=1)
    }
    return {"cell": {**CELL, "n": n, "seed": seed}, "results": results}


def win_of(*rows: dict) -> _solver_standings.Win | None:
    (standings,) = problems(list(rows)).values()
    return quickest(standings)


def test_the_quickest_wins_if_it_is_accurate_enough():
    assert win_of(row(), row(1)) == ("L-BFGS", "Adam 10 + L-BFGS", 2.0, False)
    slightly, clearly = {"error": 0.1019}, {"error": 0.13}
    assert win_of(row(LBFGS=slightly), row(1, LBFGS=slightly)).name == "L-BFGS"
    assert win_of(row(LBFGS=clearly), row(1, LBFGS=clearly)).name == "Adam 10 + L-BFGS"


def test_a_smaller_tolerance_of_lbfgs_may_be_better_than_the_winner():
    def closer(seconds: float, error: float) -> bool:
        ours = {"error": 0.2, "closer": {"seconds": seconds, "objective": 1.0, "error": error}}
        (standings,) = problems([row(LBFGS=ours)]).values()
        return closer_is_better(standings)

    assert closer(1.5, 0.101)
    assert not closer(2.5, 0.101)
    assert not closer(1.5, 0.11)


def test_errors_that_scatter_between_seeds_decide_nothing():
    assert win_of(row(LBFGS={"error": 0.13}), row(1, LBFGS={"error": 0.09})).name == "L-BFGS"


def test_a_time_out_never_wins_and_its_time_is_a_lower_bound():
    ended = {"ended": "time-out"}
    assert win_of(row(LBFGS=ended)).name == "Adam 10 + L-BFGS"
    worse = {"error": 0.2}
    assert win_of(row(LBFGS=ended, Adam=worse, TNC=worse)) is None
    assert win_of(row(Adam={"ended": "time-out"})) == ("L-BFGS", "Adam 10 + L-BFGS", 2.0, True)


def test_the_first_to_reach_the_lowest_objective_of_all():
    late = {"near": [[1.0, 1.008], [9.0, 1.0]]}
    assert first_near(next(iter(problems([row(LBFGS=late)]).values())))[:2] == ("L-BFGS", "Adam 10 + L-BFGS")
    never = {"near": [[1.0, 1.05]], "objective": 1.05}
    (standings,) = problems([row(LBFGS=never)]).values()
    assert standings["L-BFGS"].until_near is None
    assert standings["L-BFGS"].above == pytest.approx(0.05)
    assert first_near(standings).name == "Adam 10 + L-BFGS"


def test_tables_and_picture_of_half_a_run():
    loops = {"seconds": {name: [1.0, 2.0, 4.0] for name in TIMED}, "load": 3.0}
    rows = [row(), row(n=100), {"cell": {"busy": 100}, "results": {"alone": loops, "beside loops": loops}}]
    overall, soe, behind, beside, *_ = solver_map.summarise(rows, SETTINGS)
    assert overall.rows[0][:5] == ["L-BFGS", "2", "0", "2", "2"]
    assert soe.rows == [["30", "L-BFGS 2.0"], ["100", "L-BFGS 2.0"]]
    assert behind.rows == []
    assert beside.rows == [["100", "2", "2", "1.00", "2", "2", "1.00"]]
    for figure in solver_map.draw(rows, SETTINGS).values():
        assert len(figure.axes[0].patches) == 2


def test_few_answers_about_many_objects_are_almost_guessed():
    """The introduction of the page says so."""
    rows = _report.load_finished("solver_map", quick=False)["rows"]
    sparse = [
        one
        for size, found in problems(rows).items()
        if size.n >= 1000 and size.per <= 5
        for one in found.values()
    ]
    assert min(one.error for one in sparse) > 0.4


# -- cells ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [solver_map.SETTINGS, SETTINGS], ids=["full", "quick"])
def test_no_cell_comes_twice_or_has_too_many_answers(settings):
    cells = solver_map.cells(settings)
    keys = [tuple(cell.items()) for cell in cells]
    assert len(set(keys)) == len(keys)
    sizes = [cell["n"] * cell["per"] for cell in cells if "busy" not in cell]
    assert max(sizes) <= settings["most_answers"]


def test_examples_in_docstrings():
    result = doctest.testmod(_solver_standings)
    assert result.attempted > 0
    assert result.failed == 0
