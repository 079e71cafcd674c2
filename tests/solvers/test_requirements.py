"""Solvers use nothing of an objective beyond what every objective has and what they declare."""

import numpy as np
import pytest

import nearer
from nearer.errors import InputError
from nearer.losses.margins import SquareLoss
from nearer.objectives import AllPairs, GramObjective, PointObjective
from nearer.objectives.metric_pairs import MetricPairs
from nearer.objectives.pair_rows import Pairs
from nearer.objectives.pair_sources import Alike, Graded
from nearer.objectives.stochastic_pairs import DrawnPairs, TwoClassPairs
from nearer.solvers import SOLVERS, Budget, fitting, minimise

EVERY_OBJECTIVE = frozenset({"parameters", "n_terms", "provides", "start", "value"})


class Only:
    """An objective that shows the names given and nothing else."""

    def __init__(self, objective, names):
        self.__dict__.update(_objective=objective, _names=names | EVERY_OBJECTIVE)

    def __getattr__(self, name):
        if name not in self._names:
            raise AttributeError(f"{name} is not declared")
        return getattr(self._objective, name)


def answers():
    return nearer.datasets.planted(12, 2, 300, random_state=0)[0]


@pytest.mark.parametrize("name", fitting(PointObjective))
def test_solvers_of_points_use_what_they_declare(name):
    objective = PointObjective(answers(), nearer.losses.STE(), 2, l2=0.01)
    _check(SOLVERS[name], objective, np.random.default_rng(0).normal(size=(12, 2)))


@pytest.mark.parametrize("name", ["accelerated", "proximal"])
@pytest.mark.parametrize("loss", ["ste", "gnmds"])
def test_solvers_of_kernels_use_what_they_declare(name, loss):
    objective = GramObjective(answers(), nearer.losses.LOSSES[loss](), trace_penalty=0.01)
    _check(SOLVERS[name], objective, np.zeros((12, 1)))


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


OVER_PAIRS = [
    (kind, name) for kind in (TwoClassPairs, DrawnPairs, MetricPairs, AllPairs) for name in fitting(kind)
]


@pytest.mark.parametrize(("kind", "name"), OVER_PAIRS, ids=lambda part: getattr(part, "__name__", part))
@pytest.mark.parametrize("stream", [False, True])
def test_solvers_of_pairs_use_what_they_declare(kind, name, stream):
    solver, found = SOLVERS[name], []
    for names in (solver.requires, None):
        rng = np.random.default_rng(1)
        objective = pairs_of(kind, stream)
        x = objective.initial(rng)
        shown = objective if names is None else Only(objective, names)
        found.append(minimise(solver, shown, x, rng=rng)[0])
        assert objective.value(found[-1]) < objective.value(x)
    np.testing.assert_array_equal(*found)


def test_every_solver_is_tried():
    known = {
        *fitting(PointObjective),
        *fitting(GramObjective(answers(), nearer.losses.STE())),
        *(name for _, name in OVER_PAIRS),
    }
    assert known == set(SOLVERS)


def test_solvers_refuse_objectives_and_losses_that_do_not_suit_them():
    points = PointObjective(answers(), nearer.losses.STE(), 2)
    with pytest.raises(nearer.errors.InputError, match=r"'adadsg'.*pair_walk.*PointObjective"):
        minimise(SOLVERS["adadsg"], points, np.zeros((12, 2)))
    pairs = pairs_of(TwoClassPairs)
    pairs.loss = nearer.losses.HingeLoss()
    with pytest.raises(nearer.errors.InputError, match=r"'opauc'.*square.*'hinge'"):
        minimise(SOLVERS["opauc"], pairs, np.zeros(3))


def _check(solver, objective, start):
    budget = Budget(max_epochs=6)
    seen, _ = minimise(
        solver, Only(objective, solver.requires), start, budget=budget, rng=np.random.default_rng(1)
    )
    whole, result = minimise(solver, objective, start, budget=budget, rng=np.random.default_rng(1))
    np.testing.assert_array_equal(seen, whole)
    assert result.objective < objective.value(objective.start(start))


@pytest.mark.parametrize(
    "objective",
    [
        PointObjective(answers(), nearer.losses.STE(), 2),
        GramObjective(answers(), nearer.losses.STE()),
        GramObjective(answers(), nearer.losses.CKL()),
        *map(pairs_of, (AllPairs, TwoClassPairs, DrawnPairs, MetricPairs)),
    ],
    ids=["points", "convex kernel", "kernel", "all pairs", "two classes", "drawn pairs", "metric"],
)
def test_objectives_have_what_they_promise(objective):
    missing = [
        name
        for name in (objective.provides | EVERY_OBJECTIVE) - {"convexity"}
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
