"""Small fixed data. Only numpy draws it, so that a change of `nearer.datasets` changes one case, not all."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

import nearer

N_OBJECTS = 25


@cache
def points(n_objects: int = N_OBJECTS) -> np.ndarray:
    """Return points in the plane."""
    return np.random.default_rng(1).normal(size=(n_objects, 2))


@cache
def answers(
    width: int = 3, count: int = 600, n_objects: int = N_OBJECTS, weights: bool = False
) -> nearer.Comparisons:
    """Return triplets or quadruplets about the points, one in twenty of them wrong."""
    rng = np.random.default_rng([2, width, count])
    rows = np.argsort(rng.random((count, n_objects)), axis=1)[:, :width]
    first, near, far, last = rows[:, 0], rows[:, 1], rows[:, -1], rows[:, 2 if width == 4 else 0]
    places = points(n_objects)
    wrong = np.sum((places[first] - places[near]) ** 2 - (places[last] - places[far]) ** 2, axis=1) > 0
    wrong ^= rng.random(count) < 0.05
    turned = rows[:, [2, 3, 0, 1]] if width == 4 else rows[:, [0, 2, 1]]
    given = rng.uniform(0.5, 2.0, count) if weights else None
    return nearer.Comparisons(np.where(wrong[:, None], turned, rows), n_objects, weights=given)


@cache
def table(rows: int = 400, columns: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """Return rows with two classes, the second one rare."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(rows, columns)) * np.arange(1, columns + 1)
    return X, (X[:, 0] + 0.2 * X[:, 1] + rng.normal(size=rows) > 1.2).astype(int)


@cache
def sparse(rows: int = 400, columns: int = 40) -> tuple[Any, np.ndarray]:
    """Return a CSR matrix of counts with two classes."""
    rng = np.random.default_rng(4)
    X = (rng.random((rows, columns)) < 0.1) * rng.integers(1, 4, (rows, columns)).astype(float)
    return csr_matrix(X), (X[:, :5].sum(axis=1) + 0.5 * rng.normal(size=rows) > 1.0).astype(int)


def rows_of(kind: str) -> tuple[Any, np.ndarray]:
    """Return the dense or the CSR rows with their classes."""
    return table() if kind == "dense" else sparse()
