"""Where pairs of rows come from: two classes, grades within groups, a user's own function, equal and different labels.

A source uses some of its rows and draws pairs of row numbers among them. In the first three the first row of a
pair should score higher; in the last, places 0, 2, ... of a draw hold rows of one label, the others rows of two.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from nearer.errors import InputError

#: `pair(y, groups, rng, count)` returns `count` pairs of row numbers; the first of each should score higher
OwnPairs = Callable[[Any, Any, np.random.Generator, int], Any]
RowPairs = tuple[np.ndarray, np.ndarray]
#: pairs that a dealer draws at a time
_AT_ONCE = 4096


class Source(Protocol):
    """What loops over drawn pairs need."""

    #: rows that take part
    n_rows: int

    def count_on(self, size: int) -> None:
        """Draw among about `size` rows from now on."""

    def draw(self, count: int, rng: np.random.Generator) -> RowPairs:
        """Return row numbers of `count` pairs."""


class Dealer:
    """A source that draws many pairs at once and deals them out: what comes does not depend on how many are asked for.

    >>> source = Dealer(TwoClasses(np.arange(9) < 4, np.random.default_rng(0)))
    >>> rng = np.random.default_rng(1)
    >>> [len(source.draw(count, rng)[0]) for count in (3, 4095)]
    [3, 4095]
    """

    def __init__(self, source: Source):
        self._source = source
        self.n_rows = source.n_rows
        self._drawn = np.empty((2, 0), np.int64)

    def count_on(self, size: int) -> None:
        self._source.count_on(size)
        self._drawn = np.empty((2, 0), np.int64)

    def draw(self, count: int, rng: np.random.Generator) -> RowPairs:
        even = count + count % 2  # two kinds of pairs in turn stay in turn
        while self._drawn.shape[1] < even:
            self._drawn = np.hstack([self._drawn, np.stack(self._source.draw(_AT_ONCE, rng))])
        dealt, self._drawn = self._drawn[:, :count], self._drawn[:, even:]
        return np.ascontiguousarray(dealt[0]), np.ascontiguousarray(dealt[1])


class TwoClasses:
    """Every pair of a positive and a negative row; uses as many of either as there are.

    >>> source = TwoClasses(np.array([True, False, False]), np.random.default_rng(0))
    >>> source.count_on(3)
    >>> sorted(set(source.draw(20, np.random.default_rng(1))[1].tolist()))
    [1, 2]
    """

    def __init__(self, positive: np.ndarray, rng: np.random.Generator, used: np.ndarray | None = None):
        used = np.ones(len(positive), bool) if used is None else used
        self._lists = [rng.permutation(np.flatnonzero(used & side)) for side in (positive, ~positive)]
        self._sizes = [len(rows) for rows in self._lists]
        self.n_rows = sum(self._sizes)

    def count_on(self, size: int) -> None:
        positives, negatives = (len(rows) for rows in self._lists)
        first = min(positives, max(size // 2, size - negatives))
        self._sizes = [max(first, 1), max(min(size - first, negatives), 1)]

    def draw(self, count: int, rng: np.random.Generator) -> RowPairs:
        first, second = (
            rows[rng.integers(0, size, count)] for rows, size in zip(self._lists, self._sizes, strict=True)
        )
        return first, second


class Graded:
    """Every pair of rows of one group with different grades, the higher one first; uses whole groups.

    Attributes
    ----------
    n_rows, n_pairs, n_groups : int
        Of the groups that have pairs.
    n_idle : int
        Groups without: all of their rows have the same grade.

    Examples
    --------
    >>> source = Graded(np.array([2.0, 1.0, 0.0, 5.0]), np.array([0, 0, 0, 1]), np.random.default_rng(0))
    >>> source.n_rows, source.n_pairs, source.n_groups, source.n_idle
    (3, 3, 1, 1)
    >>> sorted(set(zip(*(rows.tolist() for rows in source.draw(50, np.random.default_rng(0))))))
    [(0, 1), (0, 2), (1, 2)]
    """

    def __init__(self, grades: np.ndarray, groups: np.ndarray | None, rng: np.random.Generator):
        names, codes = np.unique(
            np.zeros(len(grades), int) if groups is None else groups, return_inverse=True
        )
        codes = rng.permutation(len(names))[codes]  # counting on the first groups is counting on any
        order = np.lexsort((grades, codes))
        starts, lower = _lower(grades[order], codes[order])
        taking_part = (np.bincount(codes[order], lower, len(names)) > 0)[codes[order]]
        before = np.cumsum(~taking_part)  # rows left out before each place
        self._order, self._lower = order[taking_part], lower[taking_part]
        self._starts = (starts - before[starts])[taking_part]
        self._ends = np.cumsum(self._lower)
        self.n_rows, self.n_pairs = len(self._order), int(self._ends[-1]) if len(self._order) else 0
        firsts = np.unique(self._starts)
        self.n_groups, self.n_idle = len(firsts), len(names) - len(firsts)
        self._rows_to_groups_end = np.append(firsts[1:], self.n_rows)
        self._shown = self.n_pairs

    def count_on(self, size: int) -> None:
        place = np.searchsorted(self._rows_to_groups_end, min(size, self.n_rows))
        self._shown = int(self._ends[self._rows_to_groups_end[place] - 1])

    def draw(self, count: int, rng: np.random.Generator) -> RowPairs:
        number = np.sort(rng.integers(0, self._shown, count))  # in order they are found three times as fast
        higher = np.searchsorted(self._ends, number, side="right")
        lower = self._starts[higher] + number - (self._ends[higher] - self._lower[higher])
        mixed = rng.permutation(count)
        return self._order[higher][mixed], self._order[lower][mixed]


def _lower(grades: np.ndarray, codes: np.ndarray) -> RowPairs:
    """Of rows in order: the first place of each one's group, and how many rows of the group have a lower grade."""
    places = np.arange(len(grades))
    new_group = np.append(True, codes[1:] != codes[:-1])
    new_grade = new_group | np.append(True, grades[1:] != grades[:-1])
    starts = np.maximum.accumulate(np.where(new_group, places, 0))
    return starts, np.maximum.accumulate(np.where(new_grade, places, 0)) - starts


class Asked:
    """Pairs that a user's function draws.

    >>> source = Asked(lambda y, groups, rng, count: np.tile([1, 0], (count, 1)), np.array([0, 1]), None)
    >>> source.draw(2, np.random.default_rng(0))
    (array([1, 1]), array([0, 0]))
    """

    def __init__(self, function: OwnPairs, y: np.ndarray, groups: np.ndarray | None):
        self._function, self._y, self._groups = function, y, groups
        self.n_rows = len(y)

    def count_on(self, size: int) -> None:
        del size  # the function knows best which pairs there are

    def draw(self, count: int, rng: np.random.Generator) -> RowPairs:
        pairs = np.asarray(self._function(self._y, self._groups, rng, count))
        if pairs.shape != (count, 2) or pairs.dtype.kind not in "iu":
            raise InputError(
                f"pair gave an array of shape {pairs.shape} and type {pairs.dtype}: it must give {count} pairs of "
                f"whole row numbers, of shape ({count}, 2)"
            )
        if pairs.min() < 0 or pairs.max() >= self.n_rows:
            raise InputError(
                f"pair gave the row {pairs.min() if pairs.min() < 0 else pairs.max()}, but rows are numbered from 0 to "
                f"{self.n_rows - 1}: give numbers among these"
            )
        first, second = np.ascontiguousarray(pairs.T, dtype=np.int64)
        return first, second


class Alike:
    """Pairs of rows with the same label, and pairs of rows with different ones, in turn.

    >>> source = Alike(np.array([0, 0, 1]), np.random.default_rng(0))
    >>> first, second = source.draw(6, np.random.default_rng(0))
    >>> sorted(set((first[::2] + second[::2]).tolist())), bool((np.maximum(first, second)[1::2] == 2).all())
    ([1], True)
    """

    def __init__(self, labels: np.ndarray, rng: np.random.Generator):
        self._labels = np.unique(labels, return_inverse=True)[1]
        self._shuffled = rng.permutation(len(labels))
        self.n_rows = len(labels)
        self.has_pairs = self._take(self.n_rows)

    def count_on(self, size: int) -> None:
        while not self._take(min(size, self.n_rows)):  # too few rows for both kinds of pairs
            size *= 2

    def draw(self, count: int, rng: np.random.Generator) -> RowPairs:
        rows = np.empty((2, count), np.int64)
        rows[:, ::2] = self._same((count + 1) // 2, rng)
        rows[:, 1::2] = self._different(count // 2, rng)
        return self._order[rows[0]], self._order[rows[1]]

    def _take(self, size: int) -> bool:
        """Use the first rows; return False, and nothing is changed, if they lack one of the two kinds of pairs."""
        rows = self._shuffled[:size]
        sizes = np.bincount(self._labels[rows])
        sizes = sizes[sizes > 0]
        if len(sizes) < 2 or sizes.max() < 2:
            return False
        self._order = rows[np.argsort(self._labels[rows], kind="stable")]
        self._sizes, self._starts = sizes, np.cumsum(sizes) - sizes
        return True

    def _classes(self, partners: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
        """Draw the classes of first rows; `partners` says how many each row of a class has."""
        ends = np.cumsum(self._sizes * partners)
        return np.searchsorted(ends, rng.integers(0, ends[-1], count), side="right")

    def _same(self, count: int, rng: np.random.Generator) -> RowPairs:
        chosen = self._classes(self._sizes - 1, count, rng)
        sizes, starts = self._sizes[chosen], self._starts[chosen]
        place = rng.integers(0, sizes)
        return starts + place, starts + (place + rng.integers(1, sizes)) % sizes

    def _different(self, count: int, rng: np.random.Generator) -> RowPairs:
        chosen = self._classes(len(self._order) - self._sizes, count, rng)
        sizes, starts = self._sizes[chosen], self._starts[chosen]
        other = rng.integers(0, len(self._order) - sizes)  # among the rows before and after the class
        return starts + rng.integers(0, sizes), np.where(other < starts, other, other + sizes)
