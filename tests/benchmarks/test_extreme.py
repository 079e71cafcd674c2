"""The benchmarks of two towers: their problems, and what their tables are computed from."""

from __future__ import annotations

import doctest
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

sys.path.insert(
    0, str(Path(__file__).parents[2])
)  # benchmarks is a folder of the repository, not of the package

from benchmarks import (  # noqa: E402
    _extreme_report,
    _paper_towers,
    _runner,
    _tower_cost,
    extreme,
    extreme_cost,
    newton_steps,
)
from benchmarks.conclusions.newton_steps import conclude as conclude_newton_steps  # noqa: E402
from nearer.solvers.newton import conjugate_gradients  # noqa: E402

COST = {"entities": 80, "pairs_per_entity": 4, "hidden": 4, "n_components": 3, "chunk_rows": 16, "turns": 1}


@pytest.mark.parametrize("module", [_extreme_report, _paper_towers], ids=lambda module: module.__name__)
def test_examples_in_docstrings(module):
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0


def test_the_naive_gradient_is_that_of_the_objective():
    f, x = _tower_cost.problem(COST)
    (value, gradient), (wanted, plain) = f.value_and_gradient(x), _tower_cost.naive_gradient(f, x)
    assert value == pytest.approx(wanted, rel=1e-5)
    assert float((gradient - plain).norm() / plain.norm()) < 1e-4


def test_a_drawn_problem_has_distinct_pairs():
    f, _ = _tower_cost.problem(COST)
    pairs = torch.stack([f.sums.pairs.rows, f.sums.pairs.columns], 1)
    assert len(torch.unique(pairs, dim=0)) == f.n_terms == 40 * 4


def test_a_measurement_finds_seconds_and_memory():
    found = _tower_cost.measured({**COST, "kind": "product"})
    assert found["seconds"] > 0
    assert found["parts"]["pairs"] == 16 * 160
    assert found["parts"]["vectors"] == 3 * 4 * _tower_cost.problem(COST)[0].n_parameters


def test_every_solver_of_the_race_runs(monkeypatch):
    rng = np.random.default_rng(0)
    data = _paper_towers.split(*rng.integers(30, size=(2, 200)), seed=0)
    monkeypatch.setitem(_paper_towers.SETS, "drawn", lambda seed: data)
    settings = {
        **extreme.SETTINGS,
        "data": {"drawn": {"omega": 0.1, "l2": 0.1, "seconds": 0.1}},
        "hidden": 6,
        "n_components": 4,
        "times_longer": 1,
        "looks": 2,
    }
    job = extreme.Job(settings, [], frozenset())
    results = dict(extreme.measure({"data": "drawn", "seed": 0}, job))
    assert list(results) == list(extreme.SOLVERS)
    for found in results.values():
        assert len(found["seconds"]) == len(found["passes"]) == len(found["objective"])
        assert np.diff(found["objective"]).max(initial=0) <= 0
        assert all(0 <= score <= 1 for _, score in found["map5"])
    row = {"cell": {"data": "drawn", "seed": 0}, "results": results}
    assert len(_extreme_report.tables([row], settings)) == 2
    assert set(_extreme_report.figures([row], settings)) == {"race"}


def test_a_lower_bound_is_told_from_a_ratio():
    curve = {"seconds": [0.0, 10.0], "passes": [1, 20]}
    results = {
        "newton": {**curve, "objective": [4.0, 1.0]},
        "slow": {**curve, "objective": [4.0, 3.0]},
        "twice": {"seconds": [0.0, 20.0], "passes": [1, 40], "objective": [4.0, 1.0]},
    }
    assert _extreme_report.faster(results, 0.05, "newton", "slow", "seconds") == (1.0, False)
    assert _extreme_report.faster(results, 0.05, "newton", "twice", "passes") == (2.0, True)
    assert _extreme_report.faster(results, 0.05, "slow", "newton", "passes") is None


def test_slopes_are_told_from_the_last_two_decades():
    rows = [
        {"cell": {"entities": n}, "results": {"gradient": {"seconds": seconds}}}
        for n, seconds in ((10, 7.0), (100, 1.0), (1000, 10.0), (10_000, 100.0))
    ]
    assert extreme_cost.slope(rows, "gradient") == pytest.approx(1)
    assert extreme_cost.slope(rows[:2], "gradient") is None


def test_steps_are_compared_with_adam_from_the_same_point(monkeypatch):
    rng = np.random.default_rng(0)
    data = _paper_towers.split(*rng.integers(30, size=(2, 300)), seed=0)
    monkeypatch.setitem(_paper_towers.SETS, "drawn", lambda seed: data)
    counts = {"newton": [2, 6], newton_steps.PLAIN: [3]}
    settings = {
        "data": {"drawn": {"omega": 0.1, "l2": 0.1}},
        "hidden": 6,
        "n_components": 4,
        "points": [5, 12],
        "products": counts,
        "past": 4,
    }
    results = dict(newton_steps.measure({"data": "drawn"}, _runner.Job(settings, [], frozenset())))
    assert list(results) == ["5", "12"]
    assert results["12"]["objective"] < results["5"]["objective"]
    for found in results.values():
        for step in found["steps"]:
            assert 0 < step["got"] < 1  # every step descends
            assert step["passes"] > step["products"]
        short, long, _ = found["steps"]
        assert long["predicted"] > short["predicted"]  # conjugate gradients lower the model
    rows = [{"cell": {"data": "drawn"}, "results": results}]
    assert len(newton_steps.summarise(rows, settings)[0].rows) == 6
    assert list(newton_steps.draw(rows, settings)) == ["gain"]
    sentences = conclude_newton_steps(rows, settings)
    assert all("nan" not in sentence for sentence in sentences)


def test_the_decrease_of_a_step_is_what_the_objective_loses():
    rng = np.random.default_rng(0)
    data = _paper_towers.split(*rng.integers(30, size=(2, 300)), seed=0)
    f, x = _paper_towers.objective(data.train, {"omega": 0.1, "l2": 0.1, "hidden": 6, "n_components": 4}, 0)
    value, gradient = f.value_and_gradient(x)
    step = newton_steps._step(f, x, value, gradient, None, 400)
    direction, _ = conjugate_gradients(f.curvature(x), gradient * -1.0, f.parameters, most=step["products"])
    after = f.value(f.parameters.plus(x, step["step"], direction))
    assert step["got"] == pytest.approx(1 - after / value, rel=1e-3)
    # at the minimum of the model, its decrease is half of what the slope promises
    assert step["predicted"] == pytest.approx(-float(gradient @ direction) / 2 / value, rel=0.01)
