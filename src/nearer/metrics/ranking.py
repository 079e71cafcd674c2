"""Measure rankings of right objects on held-out pairs: MAP@k, recall, NDCG and hit rate.

All take `ranked`, the columns that were ranked for every row, best first, and `held_out`, the pairs to be found.
Rows without held-out pairs do not count.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike

from nearer._utils.arrays import row_blocks
from nearer._utils.text import counted
from nearer._utils.validation import whole
from nearer.errors import InputError, Place

__all__ = ["hit_rate", "mean_precision", "ndcg", "ranking_scores", "recall"]


class Hits(NamedTuple):
    """Which ranked columns are held-out pairs, for every row that has such pairs."""

    #: bool, (rows, ranks)
    found: np.ndarray
    #: the number of held-out pairs of each row
    totals: np.ndarray

    def gained(self, gains: np.ndarray) -> np.ndarray:
        """Return the sum over hits of what a hit gains at its rank; ranks that were not filled gain nothing."""
        found = self.found[:, : len(gains)]
        return found @ gains[: found.shape[1]]


def mean_precision(ranked: ArrayLike, held_out: Any, k: int = 5) -> float:
    """Return MAP@k: the mean of precision@1 to precision@k, averaged over the rows.

    This is the mean average precision of Yuan et al. (eq. 52 with k = 5). Other authors average the precision over
    the ranks of hits only.

    Parameters
    ----------
    ranked : int array of shape (n_left, K)
        The columns ranked for every row, best first; -1 if there are no more. K may be less than k.
    held_out : sparse matrix of shape (n_left, n_right), or Interactions
        The pairs to be found; their weights do not matter. Rows without pairs do not count.
    k : int
        The number of ranks that count.

    Examples
    --------
    >>> from nearer import Interactions, metrics
    >>> held_out = Interactions([0, 0, 1], [3, 1, 2])
    >>> metrics.mean_precision([[3, 0, 1], [0, 1, 2]], held_out, k=2)
    0.375
    """
    return _mean(_map, ranked, held_out, k)


def recall(ranked: ArrayLike, held_out: Any, k: int) -> float:
    """Return the share of a row's held-out pairs among its first k ranks, averaged over the rows.

    Parameters are those of `mean_precision`.

    >>> from nearer import Interactions, metrics
    >>> metrics.recall([[3, 0, 1], [0, 1, 2]], Interactions([0, 0, 1], [3, 1, 2]), k=2)
    0.25
    """
    return _mean(_recall, ranked, held_out, k)


def ndcg(ranked: ArrayLike, held_out: Any, k: int) -> float:
    """Return the normalised discounted cumulative gain of the first k ranks, averaged over the rows.

    A hit at rank r gains 1 / log2(r + 1). The sum is divided by that of the best possible ranking of the row.
    Parameters are those of `mean_precision`.

    >>> from nearer import Interactions, metrics
    >>> round(metrics.ndcg([[3, 0, 1], [0, 1, 2]], Interactions([0, 0, 1], [3, 1, 2]), k=3), 4)
    0.7099
    """
    return _mean(_ndcg, ranked, held_out, k)


def hit_rate(ranked: ArrayLike, held_out: Any, k: int) -> float:
    """Return the share of rows with at least one held-out pair among their first k ranks.

    Parameters are those of `mean_precision`.

    >>> from nearer import Interactions, metrics
    >>> metrics.hit_rate([[3, 0, 1], [0, 1, 2]], Interactions([0, 0, 1], [3, 1, 2]), k=2)
    0.5
    """
    return _mean(_hit, ranked, held_out, k)


@overload
def ranking_scores(
    ranked: ArrayLike, held_out: Any, names: Iterable[str] = ..., *, per_row: Literal[False] = ...
) -> dict[str, float]: ...


@overload
def ranking_scores(
    ranked: ArrayLike, held_out: Any, names: Iterable[str] = ..., *, per_row: Literal[True]
) -> dict[str, np.ndarray]: ...


def ranking_scores(
    ranked: ArrayLike,
    held_out: Any,
    names: Iterable[str] = ("map@5", "recall@20", "ndcg@10", "hr@10"),
    *,
    per_row: bool = False,
) -> dict[str, Any]:
    """Return several measures of rankings at once.

    Parameters
    ----------
    ranked, held_out
        As for `mean_precision`.
    names : sequence of str
        Measures and numbers of ranks: "map@5", "recall@20", "ndcg@10", "hr@10".
    per_row : bool
        Return an array per measure with one value for each row that has held-out pairs, in their order, instead of
        the mean; standard errors need these.

    Examples
    --------
    >>> from nearer import Interactions, metrics
    >>> held_out = Interactions([0, 0, 1], [3, 1, 2])
    >>> metrics.ranking_scores([[3, 0, 1], [0, 1, 2]], held_out, ["map@2", "hr@3"])
    {'map@2': 0.375, 'hr@3': 1.0}
    >>> metrics.ranking_scores([[3, 0, 1], [0, 1, 2]], held_out, ["map@2"], per_row=True)["map@2"]
    array([0.75, 0.  ])
    """
    asked = {name: _parsed(name) for name in ((names,) if isinstance(names, str) else names)}
    hits = _hits(ranked, held_out)
    values = {name: measure(hits, k) for name, (measure, k) in asked.items()}
    return values if per_row else {name: float(value.mean()) for name, value in values.items()}


def _map(hits: Hits, k: int) -> np.ndarray:
    # precision@K sums hits up to K: a hit at rank r counts 1/r + 1/(r + 1) + ... + 1/k
    gains = np.cumsum(1 / np.arange(k, 0, -1))[::-1]
    return hits.gained(gains) / k


def _recall(hits: Hits, k: int) -> np.ndarray:
    return hits.found[:, :k].sum(axis=1) / hits.totals


def _ndcg(hits: Hits, k: int) -> np.ndarray:
    gains = 1 / np.log2(np.arange(2, k + 2))
    ideal = np.cumsum(gains)[np.minimum(hits.totals, k) - 1]
    return hits.gained(gains) / ideal


def _hit(hits: Hits, k: int) -> np.ndarray:
    return np.asarray(hits.found[:, :k].any(axis=1), dtype=np.float64)


Measure = Callable[[Hits, int], np.ndarray]
_MEASURES: dict[str, Measure] = {"map": _map, "recall": _recall, "ndcg": _ndcg, "hr": _hit}


def _parsed(name: str) -> tuple[Measure, int]:
    parts = re.fullmatch(r"(\w+)@([1-9]\d{0,8})", name) if isinstance(name, str) else None
    if parts is None or parts[1] not in _MEASURES:
        raise InputError(
            f"must be {', '.join(_MEASURES)} with a number of ranks, such as 'map@5', not {name!r}",
            parameter="names",
        )
    return _MEASURES[parts[1]], int(parts[2])


def _mean(measure: Measure, ranked: ArrayLike, held_out: Any, k: int) -> float:
    whole("k", k)
    return float(measure(_hits(ranked, held_out), k).mean())


def _hits(ranked: ArrayLike, held_out: Any) -> Hits:
    """Return which ranked columns are held-out pairs, in one pass over blocks of rows."""
    matrix = _pairs(held_out)
    columns = _columns(ranked, matrix.shape)
    totals = np.diff(matrix.indptr)
    rows = np.flatnonzero(totals)
    if not len(rows):
        raise InputError(
            "hold no pair, so there is nothing to measure", "give at least one", parameter="held_out"
        )
    found = np.empty((len(rows), columns.shape[1]), dtype=bool)
    width = matrix.shape[1]
    for block in row_blocks(len(rows), columns.shape[1]):
        chosen = rows[block]
        part = matrix[chosen]
        # rows are in order and their columns sorted: so are the keys
        keys = np.repeat(np.arange(len(chosen)), np.diff(part.indptr)) * width + part.indices
        wanted = np.arange(len(chosen))[:, None] * width + columns[chosen]
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        found[block] = (keys[at] == wanted) & (columns[chosen] >= 0)
    return Hits(found, totals[rows])


def _pairs(held_out: Any) -> Any:
    """Return held-out pairs as a CSR matrix with sorted indices and without zeros."""
    from nearer._utils.tables import well_formed

    matrix = held_out.csr() if hasattr(held_out, "csr") else held_out
    if not hasattr(matrix, "tocsr") or len(matrix.shape) != 2:
        raise InputError(
            f"must be a sparse matrix or Interactions, not a {type(held_out).__name__}",
            "pass scipy.sparse.csr_matrix(held_out)",
            parameter="held_out",
        )
    matrix = well_formed(matrix).tocsr(copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def _columns(ranked: ArrayLike, shape: tuple[int, int]) -> np.ndarray:
    """Return rankings as int64; refuse what does not fit the held-out pairs."""
    array = np.asarray(ranked)
    if array.ndim != 2 or array.dtype.kind not in "iu" or not array.shape[1]:
        raise InputError(
            f"must be a two-dimensional array of column indices, not one of {array.dtype} and shape {array.shape}",
            parameter="ranked",
        )
    if len(array) != shape[0]:
        raise InputError(
            f"has {counted(len(array), 'row')}, but held_out has {shape[0]:,}",
            "give one ranking per row; is one of them transposed?",
            parameter="ranked",
        )
    array = array.astype(np.int64)
    bad = (array < -1) | (array >= shape[1])
    if bad.any():
        row, rank = (int(at[0]) for at in np.nonzero(bad))
        raise InputError(
            f"holds the column {array[row, rank]}, but held_out has columns 0 to {shape[1] - 1}",
            "use -1 where there are no more",
            parameter="ranked",
            place=Place(row=row),
        )
    ordered = np.sort(array, axis=1)
    twice = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)
    if twice.any():
        row, rank = (int(at[0]) for at in np.nonzero(twice))
        raise InputError(
            f"holds the column {ordered[row, rank]} twice in one row",
            "rank every column once",
            parameter="ranked",
            place=Place(row=row),
        )
    return array
