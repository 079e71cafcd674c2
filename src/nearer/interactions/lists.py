"""Top lists: the best candidates per row, some rows of scores at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

#: scores in memory at a time
_SCORES = 20_000_000

#: rows and columns of scores that do not count
Excluded = tuple[np.ndarray, np.ndarray]


class Recommended(NamedTuple):
    """The best right entities, or tags, per row, the best first.

    Attributes
    ----------
    items : array of shape (rows, k)
        Their indices, or their names. Rows with fewer than k candidates end with -1, or with empty names.
    scores : array of shape (rows, k)
        Their scores; -inf if there is no candidate left.
    """

    items: np.ndarray
    scores: np.ndarray

    def named(self, names: tuple[str, ...] | None, count: int) -> Recommended:
        """Return names in place of indices; without names, indices as text.

        >>> Recommended(np.array([[1, -1]]), np.array([[0.5, -np.inf]])).named(("tea", "milk"), 2).items
        array([['milk', '']], dtype=object)
        """
        known = names or tuple(str(number) for number in range(count))
        return Recommended(np.array([*known, ""], dtype=object)[self.items], self.scores)


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
    """Return the columns of the k largest scores per row, and these, as `best_of`; excluded ones are set to -inf.

    >>> largest(np.array([[1.0, 3.0, 2.0]]), (np.array([0]), np.array([1])), 2)
    (array([[2, 0]]), array([[2., 1.]]))
    """
    scores[excluded] = -np.inf
    best = best_of(scores, k)
    return best.items, best.scores


def best_of(scores: np.ndarray, k: int) -> Recommended:
    """Return the k columns with the largest scores per row; of equal scores, the first. A score of -inf is left out.

    >>> best_of(np.array([[1.0, 3.0, 3.0], [-np.inf, -np.inf, 2.0]]), 2).items
    array([[ 1,  2],
           [ 2, -1]])
    """
    k = min(k, scores.shape[1])
    if k < scores.shape[1]:
        edge = np.partition(scores, scores.shape[1] - k, axis=1)[:, [-k]]
        # everything above the k-th largest, then the first of those that are equal to it
        above, equal = scores > edge, scores == edge
        chosen = above | (equal & (np.cumsum(equal, axis=1) <= k - above.sum(axis=1, keepdims=True)))
        columns = np.nonzero(chosen)[1].reshape(len(scores), k)
    else:
        columns = np.tile(np.arange(k), (len(scores), 1))
    some = np.take_along_axis(scores, columns, axis=1)
    order = np.argsort(-some, axis=1, kind="stable")
    items, found = np.take_along_axis(columns, order, axis=1), np.take_along_axis(some, order, axis=1)
    return Recommended(np.where(np.isneginf(found), -1, items), found)
