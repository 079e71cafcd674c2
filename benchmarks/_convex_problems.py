"""Convex problems over positive semidefinite matrices, of which the co-embedding paper measures solvers."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from benchmarks._label_data import problem
from nearer.coembedding.rows import Preparation
from nearer.losses import SoftMaxLoss
from nearer.losses.margins import find_smooth_loss
from nearer.objectives import AffinityObjective, SimilarityObjective


def similarities(n: int, samples: int, seed: int, beta: float) -> tuple[np.ndarray, SimilarityObjective]:
    """Return the rows and the objective of eq. 12: normal rows, whose inner products are the target.

    The strength of the trace is for the sum over pairs, as in the paper; the objective is the mean over them.
    """
    X = np.random.default_rng(seed).normal(size=(samples, n))
    return X, SimilarityObjective(X, X @ X.T, trace_penalty=beta / samples**2)


def closed_form(X: np.ndarray, beta: float) -> np.ndarray | None:
    """Return the minimum of eq. 12, I - beta/2 K⁻² with K = XᵀX; None if that is not positive semidefinite.

    >>> closed_form(np.diag([1.0, 2.0]), 0.5)
    array([[0.75    , 0.      ],
           [0.      , 0.984375]])
    >>> closed_form(np.diag([0.1, 2.0]), 0.5) is None
    True
    """
    values, vectors = np.linalg.eigh(X.T @ X)
    if values[0] <= 0 or beta / 2 > values[0] ** 2:
        return None
    return (vectors * (1 - beta / 2 / values**2)) @ vectors.T


def labelled(name: str, split: int, beta: float) -> AffinityObjective:
    """Return eq. 13 on the training rows of a split, prepared as `CoEmbeddingClassifier` prepares them."""
    given = problem(name, split, 0)
    rows = Preparation.of(given.X, "auto", "auto")(given.X)
    loss = SoftMaxLoss(find_smooth_loss("smooth-hinge"))
    return AffinityObjective(rows, sparse.csr_matrix(given.Y), loss=loss, trace_penalty=beta / len(given.Y))
