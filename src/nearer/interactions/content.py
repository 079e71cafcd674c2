"""What interactions hold, in its final form: distinct pairs in order, checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np

from nearer.errors import InputError, Place, Suggestion

Duplicates = Literal["sum", "last", "refuse"]
DUPLICATES = ("sum", "last", "refuse")


class PairContent(NamedTuple):
    """The content of an `Interactions`: arrays that fit together, sorted by (left, right), each pair once."""

    left: np.ndarray
    right: np.ndarray
    n_left: int
    n_right: int
    weights: np.ndarray | None = None
    times: np.ndarray | None = None
    left_names: tuple[str, ...] | None = None
    right_names: tuple[str, ...] | None = None
    ignored_columns: tuple[str, ...] = ()
    n_dropped: int = 0

    def take(self, rows: Any) -> PairContent:
        """Return some rows (a mask, a slice or ascending positions) with the same shape and names."""
        return self._replace(
            left=self.left[rows],
            right=self.right[rows],
            weights=None if self.weights is None else self.weights[rows],
            times=None if self.times is None else self.times[rows],
            ignored_columns=(),
            n_dropped=0,
        ).without_ones()

    def without_ones(self) -> PairContent:
        """Return the same with `weights` None if all are 1."""
        if self.weights is None or not (self.weights == 1).all():
            return self
        return self._replace(weights=None)

    def transposed(self) -> PairContent:
        """Return left and right exchanged, sorted again."""
        order = np.argsort(self.right, kind="stable")
        return PairContent(
            self.right[order],
            self.left[order],
            self.n_right,
            self.n_left,
            None if self.weights is None else self.weights[order],
            None if self.times is None else self.times[order],
            self.right_names,
            self.left_names,
        )

    def starts(self) -> np.ndarray:
        """Return the position at which the rows of each left start, and the end."""
        counts = np.bincount(self.left, minlength=self.n_left)
        return np.concatenate([[0], np.cumsum(counts)])


def settled(
    pairs: PairContent,
    duplicates: Duplicates,
    place: Callable[[int], Place],
    *,
    at_least: float | None = None,
    shown: Callable[[int], str] | None = None,
) -> PairContent:
    """Sort rows, treat repeated pairs, keep those at or above a threshold, and check the weights that remain.

    `place` returns the place of a row as it was given and `shown` its words, for messages.
    """
    if pairs.weights is not None:
        _check_weights(pairs.weights, place, None if at_least is None else -np.inf)
    key = pairs.left.astype(np.int64) * max(pairs.n_right, 1) + pairs.right
    order = None if (key[1:] > key[:-1]).all() else np.argsort(key, kind="stable")
    if order is not None:
        key = key[order]
        first = np.concatenate([[True], key[1:] != key[:-1]])
        pairs = _joined(pairs, order, first, duplicates, place, shown or (lambda row: _words(pairs, row)))
    if at_least is not None:
        pairs = above(pairs, at_least)
    return pairs._replace(left=pairs.left.astype(np.int32), right=pairs.right.astype(np.int32)).without_ones()


def above(pairs: PairContent, threshold: float) -> PairContent:
    """Return the rows whose weight is at least a threshold; each then counts once."""
    if isinstance(threshold, (str, bool)) or not np.isfinite(threshold):
        raise InputError(f"must be a finite number, not {threshold!r}", parameter="at_least")
    if pairs.weights is None:
        return pairs if threshold <= 1 else pairs.take(slice(0, 0))
    return _rows(pairs, pairs.weights >= threshold)._replace(weights=None)


def _joined(
    pairs: PairContent,
    order: np.ndarray,
    first: np.ndarray,
    duplicates: Duplicates,
    place: Callable[[int], Place],
    words: Callable[[int], str],
) -> PairContent:
    """Return rows in order with each pair once; `first` marks the first row of each pair in that order."""
    starts = np.flatnonzero(first)
    weights, times = pairs.weights, pairs.times
    if len(starts) == len(order):
        return _rows(pairs, order)
    if duplicates == "refuse":
        raise _twice(order, first, weights is not None, place, words)
    if duplicates == "last":
        return _rows(pairs, _latest(order, starts, times))
    if weights is None:
        weights = np.diff(np.append(starts, len(order))).astype(np.float64)
    else:
        with np.errstate(over="ignore"):
            weights = np.add.reduceat(weights[order], starts)
        if not np.isfinite(weights).all():
            row = int(order[starts[np.argmin(np.isfinite(weights))]])
            raise InputError(
                f"the weights of {words(row)} sum to infinity", "give smaller weights", place=place(row)
            )
    times = None if times is None else np.maximum.reduceat(times[order], starts)
    chosen = order[starts]
    return pairs._replace(left=pairs.left[chosen], right=pairs.right[chosen], weights=weights, times=times)


def _rows(pairs: PairContent, rows: np.ndarray) -> PairContent:
    return pairs.take(rows)._replace(ignored_columns=pairs.ignored_columns, n_dropped=pairs.n_dropped)


def _latest(order: np.ndarray, starts: np.ndarray, times: np.ndarray | None) -> np.ndarray:
    """Return the latest row of each pair, of equally late ones the last; without times the last row given."""
    rows = order
    if times is not None:
        group = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(order))))
        latest = np.maximum.reduceat(times[order], starts)[group]
        rows = np.where(times[order] == latest, order, -1)
    return np.maximum.reduceat(rows, starts)


def _twice(
    order: np.ndarray,
    first: np.ndarray,
    weighted: bool,
    place: Callable[[int], Place],
    words: Callable[[int], str],
) -> InputError:
    """Return the error about the first pair that occurs again, by the row that repeats it."""
    repeats = np.flatnonzero(~first)
    at = int(repeats[np.argmin(order[repeats])])
    row = int(order[at])
    before = int(order[np.flatnonzero(first[: at + 1])[-1]])
    where = place(before)
    earlier = f"line {where.line}" if where.line is not None else f"row {before}"
    return InputError(
        f"{words(row)} occurs again, after {earlier}"
        + (f"; {len(repeats):,} rows repeat an earlier pair" * (len(repeats) > 1)),
        [
            Suggestion("duplicates", "last", "to keep the latest"),
            Suggestion("duplicates", "sum", "to add their weights" if weighted else "to count them"),
        ],
        place=place(row),
    )


def _words(pairs: PairContent, row: int) -> str:
    cells: list[object] = []
    for codes, names in ((pairs.left, pairs.left_names), (pairs.right, pairs.right_names)):
        code = int(codes[row])
        cells.append(code if names is None else names[code])
    return f"the pair ({cells[0]}, {cells[1]})"


def _check_weights(weights: np.ndarray, place: Callable[[int], Place], least: float | None) -> None:
    """Refuse weights that are not finite, or not above 0 unless they are ratings that a threshold replaces."""
    bad = ~np.isfinite(weights) if least is not None else ~(np.isfinite(weights) & (weights > 0))
    if not bad.any():
        return
    row = int(np.argmax(bad))
    where, value = place(row), float(weights[row])
    remedy: list[str | Suggestion] = ["correct this row"]
    if np.isfinite(value):
        remedy = [
            "leave this row out",
            Suggestion("at_least", ..., "to keep the pairs rated at least this high"),
        ]
    column = "weights" if where.column is None else where.column
    what = "a finite number" if least is not None else "a finite number above 0"
    count = int(np.count_nonzero(bad))
    more = f", nor are {count - 1:,} more" if count > 1 else ""
    raise InputError(f"the weight {value:g} is not {what}{more}", remedy, place=replace(where, column=column))


def check_duplicates(duplicates: Any, also: tuple[Any, ...] = ()) -> None:
    """Refuse anything but the known ways to treat repeated pairs."""
    if duplicates not in (*DUPLICATES, *also):
        raise InputError(f"must be 'sum', 'last' or 'refuse', not {duplicates!r}", parameter="duplicates")
