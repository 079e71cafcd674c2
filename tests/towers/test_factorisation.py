"""Linear towers of ids: matrix factorisation with the objective of iALS, and no vector for what has no pairs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

torch = pytest.importorskip("torch")

import nearer  # noqa: E402

ALPHA, REG, NU = 0.3, 0.02, 0.7
SETTINGS = {
    "n_components": 3,
    "hidden": (),
    "inputs": "ids",
    "loss": "square",
    "missing": 0.0,
    "omega": ALPHA,
    "l2": (1 + ALPHA) * REG,
    "frequency": NU,
    "dtype": "float64",
    "random_state": 0,
}


def clicks():
    pairs, _, _ = nearer.datasets.planted_interactions(40, 25, 3, 300, random_state=0)
    return pairs.csr()


def ials(X, P, Q):
    """The loss of iALS (Rendle et al. 2021), as irspack states it."""
    seen = X.toarray() > 0
    scores = P @ Q.T
    left = (seen.sum(axis=1) + ALPHA * seen.shape[1]) ** NU
    right = (seen.sum(axis=0) + ALPHA * seen.shape[0]) ** NU
    penalty = (left * (P**2).sum(axis=1)).sum() + (right * (Q**2).sum(axis=1)).sum()
    return (((scores - 1) ** 2 * seen).sum() + ALPHA * (scores**2).sum() + REG * penalty) / 2


def fitted(X, **changes):
    return nearer.TwoTower(**SETTINGS | {"tol": 0.0, "max_epochs": 300} | changes).fit(X * ((1 + ALPHA) / 2))


@pytest.mark.parametrize("epochs", [1, 5, 300])
def test_the_objective_is_that_of_ials(epochs):
    X = clicks()
    model = fitted(X, max_epochs=epochs)
    P, Q = (side / np.sqrt(1 + ALPHA) for side in (model.left_embedding_, model.right_embedding_))
    wanted = (1 + ALPHA) ** 2 * ials(X, P, Q) - (1 + ALPHA) * ALPHA * X.nnz / 2
    assert model.result_.objective == pytest.approx(wanted, rel=1e-10)


def test_alternating_least_squares_ends_where_ials_does():
    X = clicks()
    model = fitted(X)
    seen = X.toarray() > 0
    P, Q = (side / np.sqrt(1 + ALPHA) for side in (model.left_embedding_, model.right_embedding_))
    for i in range(len(P)):  # each row solves its own normal equations, given the other side
        own = Q[seen[i]]
        strength = REG * (len(own) + ALPHA * len(Q)) ** NU
        normal = own.T @ own + ALPHA * Q.T @ Q + strength * np.eye(3)
        np.testing.assert_allclose(P[i], np.linalg.solve(normal, own.sum(axis=0)), atol=1e-5)


def test_a_constant_vector_is_there_only_if_unobserved_pairs_have_a_score():
    X = clicks()
    sizes = [len(fitted(X, missing=missing).parameters_) for missing in (0.0, -1.0)]
    assert sizes == [3 * (40 + 25), 3 * (40 + 25 + 2)]


def test_without_a_history_the_score_is_that_of_unobserved_pairs():
    X = sparse.csr_matrix(clicks())
    model = fitted(X)
    again = model.embed_left(history=X * ((1 + ALPHA) / 2))
    np.testing.assert_allclose(again, model.left_embedding_, atol=1e-4)
    unknown = model.embed_right(history=sparse.csr_matrix((2, 40)))
    assert unknown.shape == (2, 3)
    assert not unknown.any()


def test_adam_starts_and_descends_without_a_constant_vector():
    model = fitted(clicks(), loss="logistic", max_epochs=20, linear=True)
    objective = model.result_.history["objective"]
    assert objective[-1] < objective[0]
    assert "Adam" in model.result_.details["solver"]
