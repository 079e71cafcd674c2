"""How good rankings are: MAP@5 as in eq. 52 of paper 002, recall@20, NDCG@10 and hits among the first ten."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks._recommend_data import Problem

Array = np.ndarray
#: scores of all candidates for some of the questions
Scores = Callable[[slice], Array]

#: longest list that a measure looks at
LENGTH = 20
MEASURES = ("map5", "recall20", "ndcg10")
_CHUNK = 1024
_GROUPS = 5
_TINY = 1e-12


def top(scores: Scores, of: Problem) -> Array:
    """Return the best candidates of every question, best first, what was seen left out.

    Ties are broken at random: movies of the same genres and year have the same score. In `ncf` they count against the
    test movie, as in the program of He et al.
    """
    found, random = [], np.random.default_rng(0)
    for start in range(0, of.test.shape[0], _CHUNK):
        rows = slice(start, min(start + _CHUNK, of.test.shape[0]))
        block = np.array(scores(rows), dtype=float)
        if of.candidates is not None:
            here = of.candidates[rows]
            order = np.argsort(-np.take_along_axis(block, here, axis=1), axis=1, kind="stable")
            found.append(np.take_along_axis(here, order[:, :LENGTH], axis=1))
            continue
        block += _TINY * np.ptp(block) * random.random(block.shape)
        if of.seen is not None:
            seen = of.seen[rows]
            block[np.repeat(np.arange(len(block)), np.diff(seen.indptr)), seen.indices] = -np.inf
        found.append(_best(block))
    return np.concatenate(found)


def _best(block: Array) -> Array:
    if block.shape[1] <= LENGTH:
        return np.argsort(-block, axis=1, kind="stable")
    chosen = np.argpartition(-block, LENGTH, axis=1)[:, :LENGTH]
    order = np.argsort(-np.take_along_axis(block, chosen, axis=1), axis=1, kind="stable")
    return np.take_along_axis(chosen, order, axis=1)


def per_question(best: Array, test: sparse.csr_matrix) -> dict[str, Array]:
    """Return the measures of every question that has an answer.

    >>> lists = np.arange(20)[None]
    >>> test = sparse.csr_matrix(([1.0, 1.0], ([0, 0], [1, 40])), shape=(1, 50))
    >>> {name: round(float(value[0]), 4) for name, value in per_question(lists, test).items()}
    {'map5': 0.2567, 'recall20': 0.5, 'ndcg10': 0.3869}
    """
    sizes = np.diff(test.indptr)
    asked = sizes > 0
    rows = np.repeat(np.arange(len(best)), best.shape[1])
    hits = np.asarray(test[rows, best.ravel()]).reshape(best.shape)[asked] > 0
    sizes = sizes[asked]
    precision = np.cumsum(hits[:, :5], axis=1) / np.arange(1, 6)
    discounts = 1 / np.log2(np.arange(2, 12))
    ideal = np.cumsum(discounts)[np.minimum(sizes, 10) - 1]
    return {
        "map5": precision.mean(axis=1),
        "recall20": hits[:, :20].sum(axis=1) / sizes,
        "ndcg10": hits[:, :10] @ discounts / ideal,
    }


def judged(best: Array, of: Problem) -> dict[str, Any]:
    """Return means and standard errors over users; in `ncf` also means of five groups of users, its only split."""
    values = per_question(best, of.test)
    if of.protocol == "ncf":
        hit = (best[:, :10] == of.candidates[:, -1:]).any(axis=1)
        values = {"hr10": hit.astype(float), "ndcg10": values["ndcg10"]}
    found = {
        name: [_rounded(value.mean()), _rounded(standard_error(value))] for name, value in values.items()
    }
    if of.protocol == "ncf":
        group = np.random.default_rng(0).permutation(of.test.shape[0]) % _GROUPS
        means = {name: [_rounded(v[group == g].mean()) for g in range(_GROUPS)] for name, v in values.items()}
        return {**found, "groups": means}
    return found


def standard_error(values: Array) -> float:
    """Return the standard error of a mean.

    >>> standard_error(np.array([1.0, 3.0]))
    1.0
    """
    return float(np.std(values, ddof=1) / np.sqrt(len(values)))


def _rounded(value: float) -> float:
    return round(float(value), 5)
