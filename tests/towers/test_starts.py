"""Where towers start: the least squares solution, as far as their inputs can follow it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import nearer  # noqa: E402
from nearer._utils.group import ALONE  # noqa: E402
from nearer.solvers import Budget, Run  # noqa: E402
from nearer.towers import fitting, starts  # noqa: E402
from nearer.towers.assembly import Side  # noqa: E402
from tests.towers.problems import popularity, split  # noqa: E402


def assembled(**settings):
    """Return what a fit to the planted pairs works with, in double precision."""
    model = nearer.TwoTower(**{"n_components": 5, "hidden": (), "dtype": "float64", **settings})
    R = split()[0].csr()
    kinds = fitting_kinds(settings.get("inputs", ("history", "ids")))
    features = np.random.default_rng(0).normal(size=(R.shape[0], 3))
    sides = tuple(
        Side(
            R.shape[k],
            kinds[k],
            features if "features" in kinds[k] else None,
            (R if k == 0 else R.T.tocsr()) if "history" in kinds[k] else None,
        )
        for k in range(2)
    )
    data = fitting.Data(R, (sides[0], sides[1]))
    objective, x = fitting.assembled(data, model._settings(), np.random.default_rng(0))
    return objective, objective.start(x), data, model._settings()


def fitting_kinds(inputs):
    return tuple(tuple(side.split("+")) for side in inputs)


def started(budget=None, callback=None, **settings):
    objective, x, data, chosen = assembled(**settings)
    run = Run(budget or Budget(tol=0.0), callback)
    run.enter("starting")
    args = (objective, x, data, chosen, run, np.random.default_rng(1))
    return objective, x, starts.least_squares_start(*args), args


@pytest.fixture
def no_stretch(monkeypatch):
    monkeypatch.setattr(starts, "_LENGTHS", (1.0,))


def test_towers_of_ids_start_at_the_solution_itself(no_stretch):
    objective, _, (x, stopped), (_, _, data, settings, run, _) = started(inputs=("ids", "ids"))
    (P, Q), _ = starts._embeddings(data, settings, run, np.random.default_rng(1), ALONE)
    for found, wanted in zip(objective.embeddings(x), (P, Q), strict=True):
        assert np.allclose(found, wanted, atol=1e-12)
    assert stopped is None


def test_ids_take_what_other_inputs_leave(no_stretch):
    inputs = ("ids+features+history", "ids")
    objective, _, (x, _), (_, _, data, settings, run, _) = started(inputs=inputs)
    (P, _), _ = starts._embeddings(data, settings, run, np.random.default_rng(1), ALONE)
    assert np.allclose(objective.embeddings(x)[0], P, atol=1e-12)
    history = objective.left.linear_part(x[: objective.left.n_parameters], 2)
    assert float(history.abs().max()) > 0.01  # not all is left to the ids


def test_a_history_follows_as_well_as_a_regression_can(no_stretch):
    objective, _, (x, _), (_, _, data, settings, run, _) = started(inputs=("history", "ids"))
    (P, Q), _ = (
        tuple(part.numpy() for part in found) if found else found
        for found in starts._embeddings(data, settings, run, np.random.default_rng(1), ALONE)
    )
    lengths = np.sqrt(np.maximum(np.diff(data.pairs.indptr), 1))
    X = np.hstack([data.pairs.sign() @ Q / lengths[:, None], np.ones((len(P), 1))])
    penalty = starts._RIDGE * np.mean(np.diag(X.T @ X)) * np.eye(X.shape[1])
    wanted = X @ np.linalg.solve(X.T @ X + penalty, X.T @ P)
    assert np.allclose(objective.embeddings(x)[0].numpy(), wanted, atol=1e-8)


def test_chunks_and_weights_that_are_too_many_columns_change_nothing_else(no_stretch, monkeypatch):
    whole = started(inputs=("features+history", "ids"))[2][0]
    parts = started(inputs=("features+history", "ids"), chunk_rows=7)[2][0]
    assert np.allclose(whole, parts, atol=1e-9)
    monkeypatch.setattr(starts, "_MOST_COLUMNS", 2)
    objective, _, (x, _), _ = started(inputs=("features+history", "ids"))
    assert not objective.left.linear_part(x[: objective.left.n_parameters], 0).any()


def test_the_length_with_the_lowest_objective_is_taken():
    objective, _, (x, _), _ = started()
    at = objective.value(x)
    for factor in (0.6, 1.6):
        assert objective.value(starts._stretched(objective, x, factor)) > at


@pytest.mark.parametrize("hidden", [(), (16,)])
def test_the_start_is_far_below_random_parameters(hidden):
    objective, random, (x, _), _ = started(hidden=hidden)
    assert objective.value(x) < 0.7 * objective.value(random)


def test_few_epochs_are_enough_from_there():
    train, test = split()
    model = nearer.TwoTower(6, hidden=(), max_epochs=2, random_state=0).fit(train)
    assert model.score(test) > 2 * popularity(train, test)
    cold = nearer.TwoTower(6, hidden=(), max_epochs=2, random_state=0, solver="noisy-adam").fit(train)
    assert model.score(test) > cold.score(test)


def test_towers_without_a_linear_path_start_at_random():
    objective, *_ = assembled(hidden=(8,), linear=False)
    assert not starts.can_start(objective)
    assert starts.can_start(assembled(hidden=(8,))[0])


def test_a_user_who_stops_during_the_start_gets_what_there_is():
    stages = []

    def stop(progress):
        stages.append(progress.stage)
        return progress.stage == "starting" and progress.epoch == 3

    train, test = split()
    model = nearer.TwoTower(6, random_state=0, callback=stop).fit(train)
    assert set(stages) == {"starting"}
    assert model.result_.stop_reason == "callback"
    assert model.result_.n_epochs == 0
    assert model.score(test) > 1.5 * popularity(train, test)


def test_the_start_takes_a_part_of_the_evaluations():
    train, _ = split()
    most = 40 * train.csr().nnz
    model = nearer.TwoTower(6, hidden=(), random_state=0, max_evaluations=most).fit(train)
    assert model.result_.stop_reason == "evaluations"
    assert model.result_.n_epochs > 5


def test_the_square_loss_needs_no_other_weights():
    assert starts._times_as_curved(nearer.losses.find_margin_loss("square")) == 1
    assert starts._times_as_curved(nearer.losses.find_margin_loss("logistic")) == pytest.approx(8)


def test_settings_of_the_fit_reach_the_start():
    _, _, _, (_, _, data, settings, run, _) = started()
    (P, _), _ = starts._embeddings(data, settings, run, np.random.default_rng(1), ALONE)
    heavy = replace(settings, penalty=replace(settings.penalty, l2=50.0))
    (small, _), _ = starts._embeddings(data, heavy, run, np.random.default_rng(1), ALONE)
    assert float(small.norm()) < 0.5 * float(P.norm())
