"""Multi-label data sets and their splits."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from benchmarks._data import load

#: rows to learn from, as in Table 1 of the co-embedding paper; of smaller sets two thirds
TRAINING_ROWS = 1000
#: labels of corel5k that are kept: the commonest
_COREL_LABELS = 30


class Problem(NamedTuple):
    """Rows and labels to learn from, and to predict."""

    X: Any
    Y: np.ndarray
    X_test: Any
    Y_test: np.ndarray


def whole(name: str, dense: bool = True) -> tuple[Any, Any]:
    """Return all rows and labels of a data set; labels as they are stored unless they should be `dense`."""
    arrays = load(f"multilabel_{name}")
    parts = ("",) if "Y" in arrays else ("_train", "_test")
    X, Y = (_stacked([_matrix(arrays, kind + part) for part in parts]) for kind in "XY")
    Y = Y.toarray() if dense and sparse.issparse(Y) else Y
    if name == "corel5k":
        Y = Y[:, np.argsort(-Y.sum(axis=0), kind="stable")[:_COREL_LABELS]]
        some = Y.any(axis=1)
        X, Y = X[some], Y[some]
    return X.astype(np.float64), Y.astype(int)


def problem(name: str, split: int, most_test: int) -> Problem:
    """Return a random split; labels that no training row has are left out."""
    X, Y = whole(name)
    n = min(TRAINING_ROWS, round(2 / 3 * len(Y)))
    order = np.random.default_rng(split).permutation(len(Y))
    train, test = order[:n], order[n : n + most_test]
    known = Y[train].any(axis=0)
    return Problem(X[train], Y[train][:, known], X[test], Y[test][:, known])


def _matrix(arrays: dict[str, np.ndarray], name: str) -> Any:
    if name in arrays:
        return arrays[name]
    parts = (arrays[f"{name}_{part}"] for part in ("data", "indices", "indptr"))
    return sparse.csr_matrix(tuple(parts), shape=tuple(arrays[f"{name}_shape"]))


def _stacked(parts: list[Any]) -> Any:
    return sparse.csr_matrix(sparse.vstack(parts)) if sparse.issparse(parts[0]) else np.vstack(parts)
