"""Problems that several files of tests share."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture(scope="module")
def two_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 8))
    y = np.where(X @ [2, -1, 1, 0, 0, 0, 0, 0] + rng.normal(size=1500) > 2, "yes", "no")
    return X, y


@pytest.fixture(scope="module")
def queries():
    """Grades that depend on features and on the query; only within one query do they compare."""
    rng = np.random.default_rng(1)
    X, groups = rng.normal(size=(1200, 6)), rng.permutation(np.repeat(np.arange(120), 10))
    hidden = X @ [1, 1, 0, 0, 0, -1] + 0.5 * rng.normal(size=1200) + 4 * rng.normal(size=120)[groups]
    return X, np.digitize(hidden, [-3, 0, 3]), groups


@pytest.fixture(scope="module")
def ring():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(1500, 3))
    return X, (X[:, 0] ** 2 + X[:, 1] ** 2 > 2).astype(int)
