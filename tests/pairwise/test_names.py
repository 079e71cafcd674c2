"""Solvers by name: one list, which the estimators and the documentation agree with."""

from pathlib import Path

import pytest

from nearer import AUCClassifier, PairwiseLearner
from nearer.errors import InputError
from nearer.pairwise import OLP, OPAUC, PAIRWISE_SOLVERS, AdaDSG, Exact
from nearer.pairwise.solvers import find_pairwise_solver

ROOT = Path(__file__).parents[2]


def test_names():
    assert set(PAIRWISE_SOLVERS) == {"adadsg", "dsgd", "olp", "opauc", "solam", "exact"}
    assert all(solver.name == name for name, solver in PAIRWISE_SOLVERS.items())
    assert find_pairwise_solver("opauc") == OPAUC()
    assert find_pairwise_solver("exact") == Exact()
    assert find_pairwise_solver(OLP(buffer=10)) == OLP(buffer=10)


@pytest.mark.parametrize("solver", ["sgd", "AdaDSG", None, 3, ["adadsg"]])
def test_what_is_no_solver(solver):
    with pytest.raises(InputError, match="one of adadsg, dsgd, olp, opauc, solam, exact or a solver object"):
        find_pairwise_solver(solver)


def test_a_class_in_place_of_an_object():
    with pytest.raises(InputError, match=r"not the class AdaDSG: write AdaDSG\(\)"):
        find_pairwise_solver(AdaDSG)


@pytest.mark.parametrize("page", ["docs/guide/pairwise.md", "docs/api/pairwise.md"])
def test_the_documentation_names_every_solver(page):
    text = (ROOT / page).read_text()
    assert [name for name in PAIRWISE_SOLVERS if f'`"{name}"`' not in text] == []


@pytest.mark.parametrize("estimator", [AUCClassifier, PairwiseLearner])
def test_the_estimators_describe_every_solver(estimator):
    known = ", ".join(f'"{name}"' for name in PAIRWISE_SOLVERS)
    assert f"solver : {{{known}}} or solver object" in estimator.__doc__
