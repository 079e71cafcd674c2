"""Helpers of the benchmarks on pairs: generated rows, runs of ever more steps, and how growth is told from them."""

from __future__ import annotations

import doctest
import sys
from itertools import pairwise
from pathlib import Path

import pytest

sys.path.insert(
    0, str(Path(__file__).parents[2])
)  # benchmarks is a folder of the repository, not of the package

from benchmarks import _climbing, _footprint, _generated, _growth_report
from benchmarks._climbing import Problem, climb, goals, lengths
from benchmarks._generated import World
from nearer.pairwise import AdaDSG


@pytest.mark.parametrize(
    "module", [_generated, _climbing, _growth_report], ids=lambda module: module.__name__
)
def test_examples_in_docstrings(module):
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize("kind", ["dense", "zipf", "uniform"])
def test_a_world_gives_the_same_rows_again_and_others_for_another_draw(kind):
    world = World(kind, 40, entries=10, seed=3)
    (X, y), (again, labels), (other, _) = (world.rows(200, draw) for draw in (0, 0, 1))
    assert abs(X - again).max() == 0
    assert (y == labels).all()
    assert abs(X - other).max() > 0
    assert 0 < y.mean() < 1


def test_the_truth_of_a_world_orders_its_rows():
    world = World("dense", 20)
    X, y = world.rows(5000, draw=0)
    scores = X @ world.truth()
    assert scores[y].mean() - scores[~y].mean() > 1


def test_runs_grow_to_the_whole_schedule():
    found = lengths(3000)
    assert found[0] == 128
    assert found[-1] == 3000
    assert all(1 < b / a < 1.5 for a, b in pairwise(found))
    assert lengths(100) == [100]


def test_a_climb_ends_with_the_first_run_that_is_good_enough():
    problem = Problem(World("dense", 10), 2000, 2000)
    whole = problem.run(AdaDSG())
    judged, best = problem.judged(whole), problem.exact()
    wanted = goals(judged["auc"], 0.005, problem.judged(best)["objective"], problem.n)
    found = climb(problem, AdaDSG(), wanted, whole.steps, repeats=1)
    for goal, work in found.items():
        assert wanted[goal](problem.judged(problem.run(AdaDSG(), work["steps"])))
        shorter = [steps for steps in lengths(whole.steps) if steps < work["steps"]]
        assert not any(wanted[goal](problem.judged(problem.run(AdaDSG(), steps))) for steps in shorter)
    never = goals(2.0, 0.005, -1.0, problem.n)
    assert climb(problem, AdaDSG(), never, 500, repeats=1) == {"auc": None, "objective": None}


def test_growth_is_told_from_the_sizes_that_were_reached():
    sizes = [10, 100, 1000, 10_000]
    assert _growth_report.slope(sizes, [5.0, 50.0, 500.0, None]) == pytest.approx(1)
    assert _growth_report.slope(sizes, [5.0, None, None, 500.0]) is None


def test_a_fit_that_copies_rows_takes_their_memory():
    X, y = World("dense", 50).rows(20_000, draw=0)
    ordered, drawn = (_footprint.traced(X, y, way, 1000) for way in ("fit, ordered", "fit, random"))
    assert ordered - drawn > 0.9 * X.nbytes
    assert all(ns > 0 for ns in _footprint.nanoseconds(X[:500], y[:500], "ordered", 1000, 3))


def test_a_stream_of_more_rows_takes_no_more_memory():
    few, many = (
        _footprint.traced(*World("dense", 20).rows(n, draw=0), "stream", 500) for n in (5000, 20_000)
    )
    assert many < 1.2 * few
