"""Solvers use nothing of an objective beyond what every objective has and what they declare."""

import numpy as np
import pytest

import nearer
from nearer.errors import InputError
from nearer.losses.margins import SquareLoss
from nearer.objectives import AllPairs, GramObjective, PointObjective, SimilarityObjective
from nearer.objectives.metric_pairs import MetricPairs
from nearer.objectives.pair_rows import Pairs
from nearer.objectives.pair_sources import Alike, Graded
from nearer.objectives.stochastic_pairs import DrawnPairs, TwoClassPairs
from nearer.solvers import SOLVERS, Budget, minimise
from tests.solvers.by_hand import EVERY_OBJECTIVE, OBJECTIVES, Factors, InnerProducts, Kernel


def answers():
    return nearer.datasets.planted(12, 2, 300, random_state=0)[0]


def made_for(solver):
    """Return the class of the one objective by hand that provides what the solver requires, and nothing else."""
    (kind,) = [kind for kind in OBJECTIVES if kind().provides == solver.requires]
    return kind


@pytest.mark.parametrize("name", SOLVERS)
def test_every_solver_finds_the_minimum_with_nothing_but_what_it_requires(name):
    objective = made_for(SOLVERS[name])()
    found, result = run(SOLVERS[name], objective)
    assert distance(objective, found) < (1e-4 if result.stop_reason == "tolerance" else 0.1)


@pytest.mark.parametrize("name", [name for name in SOLVERS if "stream" in SOLVERS[name].requires])
def test_solvers_of_streams_too(name):
    objective = made_for(SOLVERS[name])(stream=True)
    found, _ = run(SOLVERS[name], objective)
    assert distance(objective, found) < 0.5 * distance(objective, first(objective))


def first(objective):
    return np.full_like(objective._minimum, 0.1)


def run(solver, objective):
    budget = Budget(max_epochs=max(100, solver.default_epochs or 0), tol=1e-9)
    return minimise(solver, objective, first(objective), budget=budget, rng=np.random.default_rng(1))


def distance(objective, x):
    at = x @ x.T if isinstance(objective, Kernel | Factors | InnerProducts) else x
    return np.linalg.norm(at - objective._minimum) / np.linalg.norm(objective._minimum)


def pairs_of(kind, stream=False):
    """An objective of pairs; sources draw from a generator of their own, so that each run needs a new one."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 3)), np.arange(80) % 2
    X[y == 1, 0] += 1
    if kind is AllPairs:
        return AllPairs(X, y, SquareLoss(), 0.01)
    if kind is TwoClassPairs:
        return TwoClassPairs(Pairs.from_labels(X, y == 1, rng), SquareLoss(), 0.01, stream)
    source = Graded(y, None, rng) if kind is DrawnPairs else Alike(y, rng)
    return kind(X, source, SquareLoss(), 0.01, stream)


def test_solvers_refuse_objectives_and_losses_that_do_not_suit_them():
    points = PointObjective(answers(), nearer.losses.STE(), 2)
    with pytest.raises(nearer.errors.InputError, match=r"'adadsg'.*pair_walk.*PointObjective"):
        minimise(SOLVERS["adadsg"], points, np.zeros((12, 2)))
    pairs = pairs_of(TwoClassPairs)
    pairs.loss = nearer.losses.HingeLoss()
    with pytest.raises(nearer.errors.InputError, match=r"'opauc'.*square.*'hinge'"):
        minimise(SOLVERS["opauc"], pairs, np.zeros(3))


@pytest.mark.parametrize(
    "objective",
    [
        PointObjective(answers(), nearer.losses.STE(), 2),
        GramObjective(answers(), nearer.losses.STE()),
        GramObjective(answers(), nearer.losses.CKL()),
        SimilarityObjective(np.ones((3, 2)), np.ones((3, 3))),
        *map(pairs_of, (AllPairs, TwoClassPairs, DrawnPairs, MetricPairs)),
    ],
    ids=[
        "points",
        "convex kernel",
        "kernel",
        "similarities",
        "all pairs",
        "two classes",
        "drawn pairs",
        "metric",
    ],
)
def test_objectives_have_what_they_promise(objective):
    missing = [
        name
        for name in (objective.provides | EVERY_OBJECTIVE) - {"convexity", "smoothness"}
        if not hasattr(objective, name)
    ]
    assert missing == []


EVERY_NEED = [(solver, name) for solver in SOLVERS.values() for name in sorted(solver.requires)]


@pytest.mark.parametrize(("solver", "name"), EVERY_NEED)
def test_whatever_is_missing_is_named_before_any_work(solver, name):
    class Lacking:
        """It has no method at all, so any work would fail."""

        provides = solver.requires - {name}

    with pytest.raises(InputError) as refusal:
        minimise(solver, Lacking(), np.ones((12, 2)))
    assert [word for word in (repr(solver.name), name, "Lacking") if word not in str(refusal.value)] == []
