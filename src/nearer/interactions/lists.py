"""Top lists: the best right objects per left object, some rows of scores at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

#: scores in memory at a time
_SCORES = 20_000_000

#: rows and columns of scores that do not count
Excluded = tuple[np.ndarray, np.ndarray]


class Recommended(NamedTuple):
    """The best right entities per row, the best first.

    Attributes
    ----------
    items : array of shape (rows, k)
        Their indices, or their names. Rows with fewer than k candidates end with -1, or with empty names.
    scores : array of shape (rows, k)
        Their similarities; -inf if there is no candidate left.
    """

    items: np.ndarray
    scores: np.ndarray


def top_lists(
    best: Callable[[slice, Excluded, int], tuple[np.ndarray, np.ndarray]],
    shape: tuple[int, int],
    k: int,
    seen: Any = None,
    dtype: Any = np.float64,
) -> Recommended:
    """Return the k best columns per row, without those that `seen` has.

    Parameters
    ----------
    best : callable
        Returns the best columns of some rows and their scores, best first, given which scores to set to -inf.
    shape : tuple of int
        Rows and columns of all scores.
    k : int
        Length of the lists, cut to the number of columns.
    seen : CSR matrix, optional
        Entries that do not count.
    dtype : numpy dtype
        Of the scores.
    """
    k = min(k, shape[1])
    items, scores = np.empty((shape[0], k), np.int64), np.empty((shape[0], k), dtype)
    step = max(_SCORES // max(shape[1], 1), 1)
    for start in range(0, shape[0], step):
        at = slice(start, min(start + step, shape[0]))
        rows = columns = np.zeros(0, np.int64)
        if seen is not None:
            part = seen[at]
            rows = np.repeat(np.arange(part.shape[0]), np.diff(part.indptr))
            columns = part.indices.astype(np.int64)
        items[at], scores[at] = best(at, (rows, columns), k)
    items[np.isneginf(scores)] = -1
    return Recommended(items, scores)


def largest(scores: np.ndarray, excluded: Excluded, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns of the k largest scores per row, and these, the largest first; of equal ones, the first.

    >>> largest(np.array([[1.0, 3.0, 2.0]]), (np.array([0]), np.array([1])), 2)
    (array([[2, 0]]), array([[2., 1.]]))
    """
    scores[excluded] = -np.inf
    some = np.sort(np.argpartition(-scores, k - 1, axis=1)[:, :k], axis=1)
    found = np.take_along_axis(scores, some, axis=1)
    order = np.argsort(-found, axis=1, kind="stable")
    return np.take_along_axis(some, order, axis=1), np.take_along_axis(found, order, axis=1)
