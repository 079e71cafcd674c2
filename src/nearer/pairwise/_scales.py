"""Features of which one is so large that the others are lost beside it."""

from __future__ import annotations

from typing import Any

import numpy as np

from nearer._warning import warn
from nearer.pairwise.exactly import Exact
from nearer.pairwise.maps import RandomFourier

#: a column so many times as large as half of the others leaves nothing of them. Steps suffer long before, but between
#: this and 1 lie the features of ordinary tables, in units of their own.
_APART = 1e12


def warn_of_scales(estimator: Any, X: Any) -> None:
    """Warn where one column of rows to learn from is so large that a fit cannot see the others."""
    if not _feels_scales(estimator):
        return
    sizes = _sizes(X)
    some = np.sort(sizes[sizes > 0])
    if len(some) < 2 or some[-1] <= _APART * some[(len(some) - 1) // 2]:
        return
    column = int(np.argmax(sizes))
    names = getattr(estimator, "feature_names_in_", None)
    named = "" if names is None else f" ({names[column]!r})"
    warn(
        f"column {column} of X{named} has numbers of a size of {sizes[column]:.0e}, beside which most others, of "
        f"{some[(len(some) - 1) // 2]:.0e}, are lost: scale the features first, for example by "
        "sklearn.preprocessing.StandardScaler, or MaxAbsScaler where they are sparse"
    )


def _feels_scales(estimator: Any) -> bool:
    """Whether large columns hide small ones: not from Newton's steps, and a user's own map may see to it itself."""
    model, solver = estimator.model, estimator.solver
    if isinstance(model, str) and model == "linear":
        return not (isinstance(solver, Exact) or (isinstance(solver, str) and solver == "exact"))
    return isinstance(model, (str, RandomFourier, list, tuple))


def _sizes(X: Any) -> np.ndarray:
    """How far the numbers of each dense column reach; of a sparse one, the mean size of those that are not zero."""
    if isinstance(X, np.ndarray):
        with np.errstate(over="ignore"):
            return X.max(axis=0) - X.min(axis=0)
    sums = np.bincount(X.indices, weights=np.abs(X.data), minlength=X.shape[1])
    counts = np.bincount(X.indices, minlength=X.shape[1])
    return sums / np.maximum(counts, 1)
