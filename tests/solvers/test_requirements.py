"""Solvers use nothing of an objective beyond what every objective has and what they declare."""

import numpy as np
import pytest

import nearer
from nearer.objectives import AllPairs, GramObjective, PointObjective
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
        AllPairs(np.eye(4), [0, 1, 0, 1], "squared-hinge", 0.1),
    ],
    ids=["points", "convex kernel", "kernel", "pairs"],
)
def test_objectives_have_what_they_promise(objective):
    missing = [
        name
        for name in (objective.provides | EVERY_OBJECTIVE) - {"convexity"}
        if not hasattr(objective, name)
    ]
    assert missing == []
