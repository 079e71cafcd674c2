"""Sparse matrices whose index arrays lead outside them never reach compiled loops."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import nearer
from nearer._utils.tables import well_formed
from nearer.objectives import AllPairs
from tests.refusals import refused


def matrix(kind="csr"):
    dense = np.random.default_rng(0).normal(size=(60, 5))
    return sparse.csr_matrix(np.where(np.abs(dense) > 0.5, dense, 0)).asformat(kind)


Y = np.arange(60) % 2


def broken(how, kind="csr"):
    X = matrix(kind).copy()
    match how:
        case "high":
            X.indices[3] = 10**6
        case "negative":
            X.indices[3] = -5
        case "falling":
            X.indptr[2] = X.indptr[-1] + 40
        case "long":
            X.indptr[-1] = 10**7
        case "first":
            X.indptr[0] = -4
        case "short":
            X.indptr = X.indptr[:-2]
        case "floats":
            X.indices = X.indices.astype(float)
        case "few numbers":
            X.data = X.data[:4]
        case "outside":
            X.col[2] = 77
    return X


WAYS = ["high", "negative", "falling", "long", "first", "short", "floats", "few numbers"]


@pytest.fixture(scope="module")
def fitted():
    return nearer.AUCClassifier(random_state=0).fit(matrix(), Y)


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr"])
@pytest.mark.parametrize("how", WAYS)
class TestMalformed:
    def test_rows_alone(self, how, kind, fitted):
        for call in (fitted.predict, fitted.predict_proba, fitted.decision_function):
            with refused("matrix X", "scipy"):
                call(broken(how, kind))

    def test_rows_with_labels(self, how, kind, fitted):
        fits = (nearer.AUCClassifier().fit, nearer.PairwiseLearner(pair="metric").fit)
        for call in (*fits, fitted.partial_fit, fitted.score, AllPairs):
            with refused("matrix X", "scipy"):
                call(broken(how, kind), Y)


@pytest.mark.parametrize(
    ("how", "kind", "facts"),
    [
        ("outside", "coo", ["column 77", "0 to 4"]),
        ("high", "csr", ["column 1000000", "0 to 4"]),
        ("negative", "csc", ["row -5", "0 to 59"]),
    ],
)
def test_messages_name_the_place(how, kind, facts):
    with refused(*facts):
        well_formed(broken(how, kind))


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "lil", "dok", "dia"])
def test_well_formed_matrices_of_every_kind(kind, fitted):
    expected = fitted.decision_function(matrix())
    np.testing.assert_allclose(fitted.decision_function(matrix(kind)), expected)


def test_unsorted_and_repeated_columns_are_fine(fitted):
    X = sparse.csr_matrix((np.ones(4), np.array([3, 1, 1, 0]), np.array([0, 3, 4])), shape=(2, 5))
    np.testing.assert_allclose(fitted.decision_function(X), fitted.decision_function(X.toarray()))
    assert fitted.partial_fit(X, Y[:2]) is fitted


def test_empty_rows_are_fine(fitted):
    assert fitted.decision_function(sparse.csr_matrix((3, 5))).shape == (3,)
