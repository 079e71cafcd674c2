"""Which pairs are held out: at random, by time, or whole lefts and rights; and which belong to a core."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from nearer._utils.text import counted
from nearer.errors import InputError, Suggestion
from nearer.interactions.content import PairContent

By = Literal["pairs", "each-left", "time", "last", "left", "right"]
BY = ("pairs", "each-left", "time", "last", "left", "right")
_DEFAULT_SIZE = 0.1


def held_out(pairs: PairContent, test_size: Any, by: str, random: np.random.Generator) -> np.ndarray:
    """Return a mask of the rows in the test part; see `Interactions.split`."""
    if by not in BY:
        raise InputError(f"must be one of {', '.join(map(repr, BY))}, not {by!r}", parameter="by")
    if by == "last":
        return _last_of_each(pairs, test_size, random)
    size = _DEFAULT_SIZE if test_size is None else test_size
    if by == "each-left":
        return _share_of_each(pairs, size, random)
    if by in ("left", "right"):
        return _whole_objects(getattr(pairs, by), size, by, random)
    n_test = _number(size, len(pairs.left), "pair")
    if by == "time":
        return _latest(_times(pairs), n_test, random)
    test = np.zeros(len(pairs.left), dtype=bool)
    test[random.permutation(len(test))[:n_test]] = True
    return test


def _latest(times: np.ndarray, n_test: int, random: np.random.Generator) -> np.ndarray:
    """Hold out the latest rows; of those at the limit, any."""
    limit = np.partition(times, len(times) - n_test)[len(times) - n_test]
    test = times > limit
    tied = np.flatnonzero(times == limit)
    test[random.permutation(tied)[: n_test - np.count_nonzero(test)]] = True
    return test


def _times(pairs: PairContent) -> np.ndarray:
    if pairs.times is None:
        raise InputError(
            "is 'time', but the interactions have no times",
            [Suggestion("times", ...), Suggestion("by", "pairs", "to split at random")],
            parameter="by",
        )
    return pairs.times


def _number(test_size: Any, n: int, noun: str) -> int:
    """Return how many of `n` things are held out: at least one, not all."""
    is_count = isinstance(test_size, (int, np.integer)) and not isinstance(test_size, bool)
    is_share = isinstance(test_size, (float, np.floating))
    if not (is_count or is_share) or not 0 < test_size < (max(n, 2) if is_count else 1):
        raise InputError(
            f"must be a share between 0 and 1, or a number below the {counted(n, noun)} there are, not {test_size!r}",
            parameter="test_size",
        )
    if n < 2:
        raise InputError(f"{counted(n, noun)} cannot be split", "give at least two")
    return int(test_size) if is_count else min(max(round(float(test_size) * n), 1), n - 1)


def _share_of_each(pairs: PairContent, test_size: Any, random: np.random.Generator) -> np.ndarray:
    """Hold out a share of every left's pairs, rounded; one always stays."""
    if not isinstance(test_size, (float, np.floating)) or not 0 < test_size < 1:
        raise InputError(
            f"must be a share between 0 and 1 for by='each-left', not {test_size!r}",
            [Suggestion("by", "last", "to hold out one pair of each")],
            parameter="test_size",
        )
    starts = pairs.starts()
    sizes = np.diff(starts)
    n_test = np.minimum(np.floor(test_size * sizes + 0.5).astype(np.int64), np.maximum(sizes - 1, 0))
    order = np.argsort(pairs.left + random.random(len(pairs.left)))  # shuffles within each left
    rank = np.arange(len(order)) - starts[pairs.left]
    test = np.zeros(len(order), dtype=bool)
    test[order[rank < n_test[pairs.left]]] = True
    return test


def _last_of_each(pairs: PairContent, test_size: Any, random: np.random.Generator) -> np.ndarray:
    """Hold out the latest pair of each left that has two or more; of equally late ones, or without times, any."""
    if test_size is not None:
        raise InputError(
            "has no meaning for by='last', which holds out one pair of each left",
            "leave it out",
            parameter="test_size",
        )
    test = np.zeros(len(pairs.left), dtype=bool)
    rows = np.flatnonzero(np.diff(pairs.starts())[pairs.left] > 1)
    if pairs.times is not None:
        rows = rows[_largest(pairs.left[rows], pairs.times[rows])]
    drawn = _largest(pairs.left[rows], random.permutation(len(rows)))
    test[rows[drawn]] = True
    return test


def _largest(groups: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return whether each value is the largest of its group; equal groups are next to each other."""
    if not len(groups):
        return np.zeros(0, dtype=bool)
    starts = np.flatnonzero(np.concatenate([[True], groups[1:] != groups[:-1]]))
    sizes = np.diff(np.append(starts, len(groups)))
    return values == np.repeat(np.maximum.reduceat(values, starts), sizes)


def _whole_objects(codes: np.ndarray, test_size: Any, side: str, random: np.random.Generator) -> np.ndarray:
    """Hold out all pairs of some lefts or rights; only those with pairs count."""
    present = np.unique(codes)
    n_test = _number(test_size, len(present), f"{side} with pairs" if len(present) == 1 else side)
    return np.isin(codes, random.permutation(present)[:n_test])


def core_rows(pairs: PairContent, k: int) -> np.ndarray:
    """Return a mask of the rows that remain after lefts and rights with fewer than k pairs go, repeatedly."""
    keep = np.ones(len(pairs.left), dtype=bool)
    rows = np.arange(len(keep))
    while len(rows):
        left, right = pairs.left[rows], pairs.right[rows]
        few_left = np.bincount(left, minlength=pairs.n_left) < k
        few_right = np.bincount(right, minlength=pairs.n_right) < k
        gone = few_left[left] | few_right[right]
        if not gone.any():
            break
        keep[rows[gone]] = False
        rows = rows[~gone]
    return keep


def with_used_names(pairs: PairContent) -> PairContent:
    """Return the same pairs without the names, and indices, of objects in none of them; a side without names stays."""
    for side in ("left", "right"):
        names = getattr(pairs, f"{side}_names")
        if names is None:
            continue
        codes = getattr(pairs, side)
        used = np.flatnonzero(np.bincount(codes, minlength=len(names)))
        rank = np.zeros(len(names), dtype=np.int32)
        rank[used] = np.arange(len(used), dtype=np.int32)
        pairs = pairs._replace(
            **{
                side: rank[codes],
                f"{side}_names": tuple(names[at] for at in used.tolist()),
                f"n_{side}": len(used),
            }
        )
    return pairs
