"""The benchmarks of convex problems over matrices: problems, rival solvers, and what their pages are computed from."""

from __future__ import annotations

import doctest
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

sys.path.insert(
    0, str(Path(__file__).parents[2])
)  # benchmarks is a folder of the repository, not of the package

from benchmarks import (
    _convex_peers,
    _convex_peers_report,
    _convex_problems,
    _metric_peers,
    _optima_report,
    _rank_growth,
    _rank_growth_report,
    convex_peers,
    growth,
    optima,
)
from benchmarks._runner import Job
from benchmarks.conclusions import conclude
from nearer.losses import SoftMaxLoss
from nearer.objectives import AffinityObjective
from nearer.solvers.certificate import certify


def labelled(name="drawn", split=0, beta=1.0):
    """Two groups of rows with three labels."""
    rng = np.random.default_rng(split)
    X = rng.normal(size=(40, 5))
    Y = (X @ rng.normal(size=(5, 3)) > 0).astype(int)
    return AffinityObjective(X, sparse.csr_matrix(Y), loss=SoftMaxLoss(), trace_penalty=beta / 40)


@pytest.mark.parametrize(
    "module", [_convex_problems, _rank_growth, _convex_peers], ids=lambda module: module.__name__
)
def test_examples_in_docstrings(module):
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0


def test_the_closed_form_is_the_minimum_of_similarities():
    X, f = _convex_problems.similarities(6, 40, 0, 0.5)
    best = _convex_problems.closed_form(X, 0.5)
    root = np.linalg.cholesky(best)
    assert np.abs(f.gradient_at(root)(np.eye(6))).max() < 1e-10 * f.trace_penalty + 1e-12
    assert f.value(root) <= f.value(np.eye(6))


@pytest.mark.parametrize("way", list(_rank_growth.WAYS))
def test_every_way_to_grow_bounds_its_gap(way):
    f = labelled()
    least = _rank_growth.grown(f, "exponential", 1e-7, 20.0)["objective"]
    found = _rank_growth.grown(f, way, 1e-3, 2.0)
    records = np.array(found["records"])
    assert (np.diff(records[:, 0]) >= 0).all()
    assert (np.diff(records[:, 1]) <= 1e-12).all()
    assert (records[:, 1] - least <= records[:, 2] + 1e-9).all()
    if found["certified"]:
        assert found["objective"] <= least * (1 + 1.1e-3)


def test_boosting_takes_one_eigenvector_per_round():
    f = _convex_problems.similarities(6, 40, 0, 0.5)[1]
    found = _rank_growth.grown(f, "boosting", 1e-3, 5.0)
    ranks = [rank for *_, rank in found["records"]]
    assert ranks[0] in (0, 1)
    assert max(np.diff(ranks)) == 1
    assert found["rank"] == 6


def test_a_limit_ends_a_run():
    f = _convex_problems.similarities(30, 40, 0, 0.5)[1]
    found = _rank_growth.grown(f, "linear", 1e-9, 0.0)
    assert not found["certified"]
    assert found["rounds"] < 30


@pytest.mark.parametrize("problem", [_convex_peers.Similarities(8, 0, 0.5), _convex_peers.Kernel(8, 0, 0.2)])
def test_whole_matrices_have_the_value_of_their_factors(problem):
    rng = np.random.default_rng(0)
    Q, D = rng.normal(size=(2, 8, 3))
    basis = getattr(problem, "basis", np.eye(8))
    assert problem.whole(Q @ Q.T)[0] == pytest.approx(problem.objective.value(basis @ Q), rel=1e-9)
    E, h = D @ D.T, 1e-6
    numeric = (problem.whole(Q @ Q.T + h * E)[0] - problem.whole(Q @ Q.T - h * E)[0]) / (2 * h)
    assert np.vdot(problem.whole(Q @ Q.T)[1], E) == pytest.approx(numeric, rel=1e-5)


@pytest.mark.parametrize("problem", [_convex_peers.Similarities(8, 0, 0.5), _convex_peers.Kernel(8, 0, 0.2)])
def test_rivals_reach_the_certified_minimum(problem):
    pytest.importorskip("cvxpy")
    ours, least = convex_peers._certified(problem, convex_peers.SETTINGS)
    assert ours["gap"] <= 1e-4
    assert _convex_peers.fista(problem.whole, 8, least * (1 + 1e-6), 10.0)["reached"]
    assert not _convex_peers.fista(problem.whole, 8, least * (1 - 1e-3), 0.2)["reached"]
    assert _convex_peers.solved(problem, 1e-8, 20.0)["objective"] == pytest.approx(least, rel=1e-5)
    assert _convex_peers.scs(problem, least * (1 + 1e-4), 20.0)["reached"]


def test_growth_is_measured_and_told(monkeypatch):
    monkeypatch.setattr(growth, "labelled", labelled)
    monkeypatch.setattr("benchmarks.conclusions.growth._LOW", 4)
    settings = {**growth.SETTINGS, **growth.QUICK, "labels": {"drawn": 1}, "sizes": [4, 200], "seeds": 1}
    job = Job(settings, [], frozenset())
    rows = []
    for cell in growth.cells(settings):
        measured = {**cell, "n": 5} if cell.get("n") == 200 else cell  # a large problem takes long
        rows.append({"cell": cell, "results": dict(growth.measure(measured, job))})
    found = rows[0]["results"]
    assert found["exponential"]["objective"] == pytest.approx(found["linear"]["objective"], rel=2e-3)
    found["linear"].update(seconds=10.0, certified=False)
    found["exponential"]["seconds"] = 2.0
    assert _rank_growth_report.ratio(rows, "labels", ("drawn", 1.0)) == (5.0, True)
    assert len(_rank_growth_report.tables(rows, settings)) == 3
    assert set(_rank_growth_report.figures(rows, settings)) == {"seconds", "gaps"}
    assert 3 <= len(conclude("growth", rows, settings)) <= 5


def test_a_bound_that_is_too_low_decides_nothing():
    results = {
        "exponential": {"seconds": 1.0, "certified": True},
        "linear": {"seconds": 5.0, "certified": False},
    }
    cell = {"part": "similarities", "n": 400, "samples": 250, "seed": 0}
    row = {"cell": cell, "results": results}
    assert [holds for *_, holds in _rank_growth_report.standings([row])] == [None]
    results["linear"]["certified"] = True
    assert [holds for *_, holds in _rank_growth_report.standings([row])] == [False]
    results["linear"].update(seconds=10.0, certified=False)
    assert [holds for *_, holds in _rank_growth_report.standings([row])] == [True]


def test_peers_are_measured_and_told(monkeypatch):
    pytest.importorskip("cvxpy")
    settings = {**convex_peers.SETTINGS, **convex_peers.QUICK, "sizes": [300], "agree": [300, 1e-6]}
    given = {"similarities": _convex_peers.Similarities(8, 0, 0.5), "kernel": _convex_peers.Kernel(8, 0, 0.2)}
    monkeypatch.setattr(convex_peers, "_problem", lambda cell, settings: given[cell["problem"]])
    monkeypatch.setattr(
        _metric_peers.Worker, "measured", lambda self, name, of, cap: {"seconds": 1.0, "accuracy": 0.5}
    )
    job, rows = Job(settings, [], frozenset()), []
    for cell in convex_peers.cells(settings):
        run = {**cell, "p": 8} if "p" in cell else cell
        rows.append({"cell": cell, "results": dict(convex_peers.measure(run, job))})
    assert _convex_peers_report.farthest(rows, "ILA") < 1e-5
    assert rows[0]["results"]["MetricLearner"]["accuracy"] > 0.8
    assert len(_convex_peers_report.tables(rows, settings)) == 4
    assert set(_convex_peers_report.figures(rows, settings)) == {"solvers", "metrics"}
    assert 3 <= len(conclude("convex_peers", rows, settings)) <= 5


def test_labelled_rows_are_standardised_and_apart():
    of = _metric_peers.labelled("wine", 1, 50)
    np.testing.assert_allclose(of.X.std(axis=0), 1)
    assert of.X.shape == (50, 13)
    assert len(of.X_test) == 178 - 50
    nothing = _metric_peers.accuracy(of, of.X * 0, of.X_test * 0)
    assert _metric_peers.plain(of)["accuracy"] > nothing + 0.2


def test_starts_end_at_or_above_the_certified_minimum(monkeypatch):
    monkeypatch.setattr(optima, "labelled", labelled)
    settings = {**optima.SETTINGS, "data": {"drawn": [1, 2, 5]}, "starts": 4}
    job = Job(settings, [], frozenset())
    rows = [{"cell": cell, "results": dict(optima.measure(cell, job))} for cell in optima.cells(settings)]
    best, f = _optima_report.minimum(rows, "drawn"), labelled()
    assert best["gap"] <= 1e-6
    assert certify(f, np.zeros((9, 0)), f.value(np.zeros((9, 0))), 1, np.random.default_rng(0)).gap > 0
    assert _optima_report.excess(rows, "drawn", 1).min() > 1e-3
    assert np.abs(_optima_report.excess(rows, "drawn", 5)).max() < 1e-4
    assert _optima_report.reached(rows, "drawn", 5) == 1
    assert len(_optima_report.tables(rows)) == 2
    assert _optima_report.figure(rows) is not None
    assert 3 <= len(conclude("optima", rows, settings)) <= 5
