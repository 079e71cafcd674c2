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

from benchmarks import _extreme_report, _paper_towers, _tower_cost, extreme, extreme_cost  # noqa: E402

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
