"""Solvers by name: one table, which the estimators and the documentation agree with."""

from pathlib import Path

import numpy as np
import pytest

import nearer
from nearer import AUCClassifier, PairwiseLearner
from nearer.errors import InputError
from nearer.objectives import AllPairs
from nearer.objectives.stochastic_pairs import TwoClassPairs
from nearer.solvers import DSGD, OLP, OPAUC, SOLAM, SOLVERS, AdaDSG, Exact, find, fitting, solve_exact

ROOT = Path(__file__).parents[2]
#: those of two classes, walked or drawn, and those that need the sum over all pairs
WALKING = ("adadsg", "dsgd", "olp", "opauc", "solam")
SUMMING = ("batch", "lbfgs", "gd", "gd-diag", "full-adam", "exact")


def test_names():
    assert tuple(fitting(TwoClassPairs)) == WALKING
    assert tuple(fitting(AllPairs)) == SUMMING
    solvers = {solver.name: solver for solver in (AdaDSG(), DSGD(), OLP(), OPAUC(), SOLAM(), Exact())}
    assert {name: SOLVERS[name] for name in solvers} == solvers
    assert find(OLP(buffer=10)) == OLP(buffer=10)


@pytest.mark.parametrize("solver", ["simplex", "AdaDSG", None, 3, ["adadsg"]])
def test_what_cannot_be_a_solver(solver):
    with pytest.raises(InputError, match="solver") as caught:
        AUCClassifier(solver=solver).fit(np.eye(4), [0, 1, 0, 1])
    assert all(name in str(caught.value) for name in (*WALKING, *SUMMING))
    assert "svrg" not in str(caught.value)


def test_a_class_in_place_of_an_object():
    with pytest.raises(InputError, match=r"AdaDSG\(\)"):
        AUCClassifier(solver=AdaDSG).fit(np.eye(4), [0, 1, 0, 1])


def test_solvers_of_smooth_functions_find_the_minimum_over_all_pairs(two_classes):
    X, y = two_classes
    settings = {"loss": "squared-hinge", "scale": False, "random_state": 0}
    model = PairwiseLearner(solver="lbfgs", **settings).fit(X, y)
    best = solve_exact(AllPairs(X, y, "squared-hinge", 0.01 / np.sqrt(len(X))), tol=1e-8)
    assert model.result_.objective == pytest.approx(best.value, rel=1e-6)
    np.testing.assert_allclose(model.coef_, best.w, rtol=1e-3)
    assert not hasattr(model, "partial_fit")


@pytest.mark.parametrize("page", ["docs/guide/pairwise.md", "docs/api/pairwise.md"])
def test_the_documentation_names_every_solver(page):
    text = (ROOT / page).read_text()
    assert [name for name in (*WALKING, "exact") if f'`"{name}"`' not in text] == []


@pytest.mark.parametrize("estimator", [AUCClassifier, PairwiseLearner])
def test_the_estimators_describe_every_solver(estimator):
    known = ", ".join(f'"{name}"' for name in (*WALKING, "exact"))
    assert f"solver : {{{known}}} or solver object" in estimator.__doc__


def test_the_old_place_of_the_solvers_still_has_them():
    assert nearer.pairwise.AdaDSG is AdaDSG
    assert nearer.pairwise.solve_exact is solve_exact
