"""What the experiments on AUC rest on: splits, clocks, and tables that say no where a target is missed."""

from __future__ import annotations

import doctest
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

sys.path.insert(
    0, str(Path(__file__).parents[2])
)  # benchmarks is a folder of the repository, not of the package

from benchmarks import (
    _auc_data,
    _auc_figures,
    _auc_peers_report,
    _auc_race,
    _auc_report,
    _peer_auc,
    adadsg_vs_dsgd,
    auc_peers,
)
from benchmarks._auc_peers_report import BUFFERS
from nearer.pairwise import DSGD, AdaDSG


@pytest.mark.parametrize("module", [_auc_data, _auc_figures, _auc_peers_report, _auc_race, _auc_report])
def test_examples_in_docstrings(module):
    assert doctest.testmod(module).failed == 0


# -- data -------------------------------------------------------------------------------------------------------------


def test_documents_have_the_shape_of_texts():
    X, y = _auc_data.documents(2000, 5000, 50, 0.3, seed=0)
    assert X.shape == (2000, 5000)
    assert X.nnz / 2000 == pytest.approx(50, rel=0.25)
    assert (y > 0).mean() == pytest.approx(0.3, abs=0.04)
    np.testing.assert_allclose(X.multiply(X).sum(axis=1), 1.0)
    again, _ = _auc_data.documents(2000, 5000, 50, 0.3, seed=0)
    assert (again != X).nnz == 0


@pytest.fixture
def small_sets(monkeypatch):
    """A dense set of four classes and a sparse one of two, each row with its number in a column of its own."""
    rng = np.random.default_rng(0)
    dense = np.column_stack([np.arange(200.0), rng.normal(5, 3, size=200), np.ones(200)])
    many = sparse.csr_matrix(np.column_stack([np.arange(200.0) + 1, 4.0 * (np.arange(200) % 2)]))
    sets = {"dense": lambda: (dense, np.arange(200) % 4), "sparse": lambda: (many, np.arange(200) % 2)}
    monkeypatch.setattr(_auc_data, "SETS", sets)


def test_a_split_is_three_quarters_and_a_quarter_of_scaled_rows(small_sets):
    X, y, X_test, y_test = _auc_data.split("dense", 7)
    assert X.shape == (150, 3)
    assert X_test.shape == (50, 3)
    assert set(y) == set(y_test) == {-1, 1}
    np.testing.assert_allclose(X.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(X.std(axis=0), [1.0, 1.0, 0.0])  # the constant column is not divided by zero
    assert len(np.unique(np.concatenate([X, X_test])[:, 0].round(9))) == 200  # no row is in both


def test_sparse_columns_are_scaled_by_what_the_training_rows_say(small_sets):
    X, _, X_test, _ = _auc_data.split("sparse", 7)
    np.testing.assert_allclose(abs(X).max(axis=0).toarray(), 1.0)
    assert X.has_canonical_format
    assert X_test.shape == (50, 2)


def test_a_trial_has_its_own_split_and_its_own_groups_of_classes(small_sets):
    first, again, other = (_auc_data.split("dense", trial) for trial in (3, 3, 4))
    np.testing.assert_array_equal(first[0], again[0])
    assert not np.array_equal(first[0], other[0])
    labels = np.arange(12)
    groups = {tuple(_auc_data.two_groups(labels, trial)) for trial in range(10)}
    assert len(groups) > 5
    assert all(sum(group) == 0 for group in groups)


# -- curves -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    y = np.where(np.arange(4000) % 3 == 0, 1, -1)
    X = rng.normal(size=(4000, 20))
    X[y > 0, 0] += 1.0
    return _auc_race.Problem(X[:3000], y[:3000], X[3000:], y[3000:])


def test_points_of_a_curve_are_those_of_runs_that_end_there(problem):
    entry = _auc_race.Entry(AdaDSG(start=500, stages=6))
    curve = _auc_race.race(entry, problem, 0, [256, 1000, 4000], keep=[3000], short=1000)
    assert curve.steps[:2] == [256, 1000]
    for steps, auc in zip(curve.steps, curve.auc, strict=True):
        assert auc == pytest.approx(problem.auc(problem.X_test @ entry.run(problem, 0, steps)[0]), abs=1e-5)
    assert curve.steps[-1] == _auc_race.stage_ends(entry.solver, 3000)[-1]
    np.testing.assert_array_equal(curve.weights[3000], entry.run(problem, 0, 3000)[0])


def test_looks_do_not_count(problem, monkeypatch):
    def slow_auc(self, scores):
        until = time.process_time() + 0.05
        while time.process_time() < until:
            pass
        return 0.5

    entry = _auc_race.Entry(DSGD(passes=10))
    entry.run(problem, 0)
    monkeypatch.setattr(_auc_race.Problem, "auc", slow_auc)
    curve = _auc_race.race(entry, problem, 0, _auc_race.marks(3000, 30_000, 2), short=0)
    assert len(curve.steps) >= 5
    assert curve.seconds[-1] < 0.05 * len(curve.steps)


def test_the_quickest_logistic_regression_is_chosen_once(problem):
    tried = _auc_race.quickest_logistic(problem, None)
    assert set(tried["tried"]) == {"lbfgs", "liblinear", "newton-cholesky"}
    assert tried["seconds"] == min(tried["tried"].values())
    rows = [{"cell": {"data": "a"}, "results": {"LogisticRegression": tried}}]
    assert _auc_race.known_solver(rows, "a") == tried["solver"]
    assert _auc_race.known_solver(rows, "b") is None
    assert "tried" not in _auc_race.quickest_logistic(problem, "lbfgs")


def test_batches_of_the_peers_are_half_positive():
    y = (np.arange(1000) % 10 == 0).astype(int)
    drawn = list(_peer_auc.batches(y, 64, 2, seed=0))
    assert [epoch for epoch, _ in drawn] == [0] * 29 + [
        1
    ] * 29  # 900 rows of the more frequent class, 32 a batch
    assert all(y[rows].mean() == 0.5 for _, rows in drawn)
    assert set(np.concatenate([rows for _, rows in drawn[:29]])) == set(range(1000))


# -- tables -----------------------------------------------------------------------------------------------------------


def race_row(data: str, trial: int, lead: float, seconds: float) -> dict:
    """A trial in which every solver comes to LR's AUC plus `lead`, after so many seconds."""
    curve = {"steps": [256, 5000, 20_000], "seconds": [seconds, 2 * seconds, 1.0], "sweep": 5000}
    curve["auc"] = [0.9 + lead] * 3
    objective = {"5000": 0.2, "20000": 0.1005}
    results = {name: {**curve, "objective": objective} for name in adadsg_vs_dsgd.RIVALS[1:6]}
    results["LogisticRegression"] = {"seconds": 1.0, "auc": 0.9, "solver": "lbfgs"}
    results["exact"] = {"auc": 0.9, "value": 0.1, "gap": 0.0, "at_zero": 1.0, "seconds": 1.0}
    return {"cell": {"part": "race", "data": data, "trial": trial}, "results": results}


def verdicts(lead: float, seconds: float) -> list[str]:
    rows = [
        race_row(data, trial, lead, seconds)
        for data in ("a9a", "usps", "w8a", "covtype")
        for trial in (100, 101)
    ]
    return [row[-1] for row in adadsg_vs_dsgd.summarise(rows, adadsg_vs_dsgd.SETTINGS)[0].rows]


def test_the_checks_say_yes_and_no():
    assert verdicts(0.0, 0.02) == ["yes"] * 5
    assert verdicts(-0.002, 0.02) == ["yes", "**no**", "yes", "yes", "yes"]
    assert verdicts(-0.004, 0.05) == ["**no**", "**no**", "yes", "**no**", "yes"]
    assert verdicts(-0.006, 0.02) == ["**no**"] * 4 + [
        "yes"
    ]  # the AUC of which time is taken is never reached


def test_parts_of_a_trial_come_together_and_failures_show():
    curve = {"steps": [256], "seconds": [0.1], "auc": [0.91]}
    ours = {"seconds": 0.1, "auc": 0.91, "curve": curve}
    quick = {"LogisticRegression": {"seconds": 1.0, "auc": 0.9, "solver": "lbfgs"}, "AdaDSG": ours}
    slow = {"OPAUC": {**ours, "curve": {**curve, "seconds": [0.3]}}, "xgboost": {"failure": "over 9 s"}}
    rows = [
        {"cell": {"part": part, "data": "a9a", "trial": 100}, "results": results}
        for part, results in (("fast", quick), ("slow", slow))
    ]
    rows.append(
        {"cell": {"part": "slow", "data": "usps", "trial": 100}, "results": slow}
    )  # without LR: left out
    claims, ties, aucs, *_ = auc_peers.summarise(rows, auc_peers.SETTINGS)
    assert claims.rows[0][1:] == ["ahead on 1 (a9a), equal on 0, behind on 0", "1", "confirmed"]
    assert ties.rows[0][:4] == ["a9a", "1", "+0.0100", "AdaDSG ahead"]
    assert ["xgboost (1)", "over 9 s"] in aucs.rows
    assert auc_peers.draw(rows, auc_peers.SETTINGS)["seconds"].axes[0].lines


def test_slow_rivals_come_after_a_first_look_and_no_cell_twice():
    cells = auc_peers.cells(auc_peers.SETTINGS)
    keys = [tuple(cell.items()) for cell in cells]
    assert len(set(keys)) == len(keys)
    assert [cell["part"] for cell in cells[:50]] == ["fast"] * 50
    assert cells[50]["part"] == "slow"
    for part in ("fast", "slow", "trees", "buffers"):
        counts = [sum(c["part"] == part and c["data"] == name for c in cells) for name in ("a9a", "mnist")]
        assert counts == [25, 5]


def test_olp_is_shown_by_the_rows_of_its_buffer():
    quick = {"LogisticRegression": {"seconds": 1.0, "auc": 0.9, "solver": "lbfgs"}}
    sizes = dict(zip(BUFFERS.values(), (0.80, 0.85, 0.90, 0.91), strict=True))
    curve = {"steps": [256], "seconds": [0.1], "auc": [0.9]}
    found = {
        name: {"seconds": 0.1, "auc": auc, "curve": curve} for name, auc in {"AdaDSG": 0.9, **sizes}.items()
    }
    rows = [{"cell": {"part": "fast", "data": "a9a", "trial": 100}, "results": {**quick, **found}}]
    tables = auc_peers.summarise(rows, auc_peers.SETTINGS)
    assert [row[1] for row in tables[-1].rows] == ["-0.1000", "-0.0500", "+0.0100", *["100"] * 4]
    assert tables[0].rows[-1][1:] == ["ahead on 1 (a9a), equal on 0, behind on 0", "1", "confirmed"]
    assert set(auc_peers.BUFFERS) < set(BUFFERS.values())
