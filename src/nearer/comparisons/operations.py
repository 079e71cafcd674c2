"""What can be done with comparisons: parts, folds, noise, duplicates, contradictions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np

from nearer._utils.text import counted
from nearer._utils.validation import RandomState, generator, not_negative, whole
from nearer.comparisons.arrays import flipped, name_codes
from nearer.comparisons.store import Container
from nearer.comparisons.validation import Content
from nearer.errors import InputError


@dataclass(frozen=True)
class Conflicts:
    """How far comparisons contradict each other.

    Attributes
    ----------
    n_rows : int
        Rows whose reverse occurs as well.
    n_questions : int
        Questions that were answered both ways.
    share : float
        `n_rows` as a share of all rows.
    """

    n_rows: int
    n_questions: int
    share: float

    def __repr__(self) -> str:
        rows = f"{counted(self.n_rows, 'row')} in conflict ({self.share:.1%})"
        return f"Conflicts({rows}, on {counted(self.n_questions, 'question')})"


class Operations(Container):
    """The methods of `Comparisons` that return parts or variants of it."""

    __slots__ = ()

    def split(
        self,
        test_size: float = 0.2,
        random_state: RandomState = None,
        by: Literal["annotator"] | None = None,
    ) -> tuple[Self, Self]:
        """Divide at random into a training and a test part; a group is never separated.

        Parameters
        ----------
        test_size : float or int
            The share of the rows in the test part, or their number; met as nearly as whole groups allow.
        random_state : None, int, Generator or RandomState
            The source of chance.
        by : "annotator", optional
            Keep all answers of an annotator on one side as well.

        Returns
        -------
        train, test : Comparisons

        Examples
        --------
        >>> from nearer import Comparisons
        >>> c = Comparisons.from_odd_one_out([[0, 1, 2], [1, 2, 3], [2, 3, 0], [3, 0, 1]])
        >>> train, test = c.split(test_size=0.25, random_state=0)
        >>> len(train), len(test), set(train.groups) & set(test.groups)
        (6, 2, set())
        """
        chosen = held_out_rows(units_of(self._fields, by), test_size, generator(random_state))
        return self[~chosen], self[chosen]

    def folds(
        self,
        n_splits: int = 5,
        random_state: RandomState = None,
        by: Literal["annotator"] | None = None,
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return pairs of (training rows, test rows) for cross-validation; groups stay together.

        The list can be passed as `cv` to scikit-learn's `GridSearchCV` and `cross_val_score`.

        Examples
        --------
        >>> from nearer import Comparisons
        >>> c = Comparisons([[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 2, 1]])
        >>> [(len(train), len(test)) for train, test in c.folds(2, random_state=0)]
        [(2, 2), (2, 2)]
        """
        fold = fold_of_rows(units_of(self._fields, by), n_splits, generator(random_state))
        return [(np.flatnonzero(fold != i), np.flatnonzero(fold == i)) for i in range(n_splits)]

    def shuffled(self, random_state: RandomState = None) -> Self:
        """Return the same rows in random order.

        >>> from nearer import Comparisons
        >>> c = Comparisons([[0, 1, 2], [1, 2, 0], [2, 0, 1]])
        >>> sorted(c.shuffled(random_state=0)) == sorted(c)
        True
        """
        return self[generator(random_state).permutation(len(self))]

    def with_noise(self, flip: float = 0.1, random_state: RandomState = None) -> Self:
        """Exchange winner and loser in a random share of the rows.

        Parameters
        ----------
        flip : float
            The share, from 0 to 1. Rows are drawn one by one: a group need not be flipped as a whole.
        random_state : None, int, Generator or RandomState
            The source of chance.

        Examples
        --------
        >>> from nearer import Comparisons
        >>> list(Comparisons([[0, 1, 2]]).with_noise(flip=1.0))
        [(0, 2, 1)]
        """
        not_negative("flip", flip)
        if flip > 1:
            raise InputError(f"must lie between 0 and 1, not be {flip}", parameter="flip")
        rows = generator(random_state).choice(
            len(self), round(flip * len(self)), replace=False, shuffle=False
        )
        indices = self.indices.copy()
        indices[rows] = flipped(indices[rows])
        return self._of(self._fields._replace(indices=indices))

    def unique(self) -> Self:
        """Merge equal rows and add up their weights, in the order in which they first occur.

        Two quadruplets are equal when they compare the same pairs. A merged row keeps the group of its first
        occurrence; annotators are dropped, since a row may now stand for several.

        >>> from nearer import Comparisons
        >>> c = Comparisons([[0, 1, 2], [0, 2, 1], [0, 1, 2]]).unique()
        >>> list(c), c.weights.tolist()
        ([(0, 1, 2), (0, 2, 1)], [2.0, 1.0])
        """
        near, far = _pair_keys(self.indices, self.n_objects)
        _, first, row = np.unique(_joint_keys(near, far), return_index=True, return_inverse=True)
        weights = np.bincount(row, self.weights, minlength=len(first)).astype(np.float64)
        if not np.isfinite(weights).all():
            raise InputError(
                "the weights of equal rows sum up to infinity: divide all weights by the largest first"
            )
        order = np.argsort(first)
        kept = self._fields._replace(weights=None, annotators=None).take(first[order])
        return self._of(kept._replace(weights=weights[order]))

    def conflicts(self) -> Conflicts:
        """Count the rows that contradict another.

        >>> from nearer import Comparisons
        >>> Comparisons([[0, 1, 2], [0, 2, 1], [0, 1, 2], [1, 0, 2]]).conflicts()
        Conflicts(3 rows in conflict (75.0%), on 1 question)
        """
        near, far = _pair_keys(self.indices, self.n_objects)
        _, question = np.unique(
            _joint_keys(np.minimum(near, far), np.maximum(near, far)), return_inverse=True
        )
        low_won = np.bincount(question, near < far)
        answers = np.bincount(question)
        both = (low_won > 0) & (low_won < answers)
        n_rows = int(answers[both].sum())
        return Conflicts(n_rows, int(both.sum()), n_rows / max(len(self), 1))

    def subset(self, objects: Any) -> Self:
        """Return the comparisons among some objects only, numbered in the order given.

        Parameters
        ----------
        objects : array of indices, of names, or of one boolean per object
            The objects to keep.

        Examples
        --------
        >>> from nearer import Comparisons
        >>> c = Comparisons([["cat", "dog", "car"], ["cat", "dog", "bus"]])
        >>> c.subset(["dog", "cat", "bus"])
        Comparisons(1 triplet, 3 objects, names)
        """
        kept = self._object_codes(objects)
        order = np.argsort(kept)
        places = np.minimum(np.searchsorted(kept, self.indices, sorter=order), max(len(kept) - 1, 0))
        indices = order[places].astype(np.int32) if len(kept) else np.zeros_like(self.indices)
        inside = (kept[indices] == self.indices).all(axis=1) if len(kept) else np.zeros(len(self), dtype=bool)
        names = None if self.names is None else tuple(self.names[code] for code in kept.tolist())
        part = self._fields._replace(
            indices=indices, n_objects=len(kept), names=names, n_dropped=0, ignored_columns=()
        )
        return self._of(part.take(inside))

    def _object_codes(self, objects: Any) -> np.ndarray:
        """Return distinct indices of objects given by index, name or mask."""
        if isinstance(objects, Iterable) and not isinstance(objects, (str, np.ndarray)):
            objects = list(objects)
        chosen = np.asarray(objects)
        if chosen.ndim != 1:
            raise InputError(
                f"must be a one-dimensional list, not of shape {chosen.shape}", parameter="objects"
            )
        if chosen.dtype.kind == "b":
            if len(chosen) != self.n_objects:
                raise InputError(
                    f"is a mask of {len(chosen)} entries for {self.n_objects} objects", parameter="objects"
                )
            return np.flatnonzero(chosen)
        codes = chosen
        if chosen.dtype.kind not in "iu" and chosen.size:
            codes = name_codes(chosen.tolist(), self.names or ())
        codes = codes.astype(np.int64)
        outside = (codes < 0) | (codes >= self.n_objects)
        if outside.any():
            raise InputError(
                f"holds {chosen[np.argmax(outside)].item()!r}, which is not one of the {self.n_objects}",
                parameter="objects",
            )
        if len(np.unique(codes)) < len(codes):
            raise InputError("holds an object twice", "name every object once", parameter="objects")
        return codes

    def head(self, n: int = 5) -> Self:
        """Return the first `n` rows.

        >>> from nearer import Comparisons
        >>> list(Comparisons([[0, 1, 2], [1, 2, 0]]).head(1))
        [(0, 1, 2)]
        """
        return self[: max(n, 0)]

    def quadruplets(self) -> np.ndarray:
        """Return the rows as quadruplets of shape (q, 4); a triplet (i, j, k) becomes (i, j, i, k).

        >>> from nearer import Comparisons
        >>> Comparisons([[0, 1, 2]]).quadruplets()
        array([[0, 1, 0, 2]], dtype=int32)
        """
        return self.indices.copy() if self.shape[1] == 4 else self.indices[:, [0, 1, 0, 2]]


def _pair_keys(indices: np.ndarray, n_objects: int) -> tuple[np.ndarray, np.ndarray]:
    """Return one integer for the near pair of each row and one for the far pair, in either order."""
    anchor = 0 if indices.shape[1] == 3 else 2
    near, far = indices[:, [0, 1]].astype(np.int64), indices[:, [anchor, -1]].astype(np.int64)
    return tuple(pair.min(axis=1) * n_objects + pair.max(axis=1) for pair in (near, far))


def _joint_keys(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return one integer for two, without overflow however large they are."""
    width = int(second.max(initial=0)) + 1
    if (int(first.max(initial=0)) + 1) * width < 2**63:
        return first * width + second
    _, first = np.unique(first, return_inverse=True)
    values, second = np.unique(second, return_inverse=True)
    return first * len(values) + second


def units_of(fields: Content, by: str | None) -> np.ndarray:
    """Return the unit of every row, 0, 1, ...: rows of one unit stay on one side of any split.

    Units are single rows, or groups, or annotators; if groups and annotators overlap, all rows that a
    chain of shared groups and annotators connects.
    """
    if by not in (None, "annotator"):
        raise InputError(f"must be 'annotator' or None, not {by!r}", parameter="by")
    if by == "annotator" and fields.annotators is None:
        raise InputError(
            "is 'annotator', but the comparisons have no annotators",
            "give them or leave it out",
            parameter="by",
        )
    labels = [fields.groups] if by is None else [fields.groups, fields.annotators]
    known = [np.unique(label, return_inverse=True)[1] for label in labels if label is not None]
    if not known:
        return np.arange(len(fields.indices))
    return known[0] if len(known) == 1 else _connected(*known)


def _connected(groups: np.ndarray, annotators: np.ndarray) -> np.ndarray:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n_groups, n_nodes = groups.max(initial=-1) + 1, groups.max(initial=-1) + annotators.max(initial=-1) + 2
    links = coo_array((np.ones(len(groups)), (groups, n_groups + annotators)), shape=(n_nodes, n_nodes))
    return connected_components(links, directed=False)[1][groups].astype(np.int64)


def held_out_rows(units: np.ndarray, test_size: Any, random: np.random.Generator) -> np.ndarray:
    """Return a mask of the rows in the test part."""
    target = _target(test_size, len(units))
    sizes = np.bincount(units)
    if len(sizes) < 2:
        raise InputError(
            f"{counted(len(units), 'comparison')} in {counted(len(sizes), 'group')} cannot be split",
            "give at least two rows, groups or annotators",
        )
    order = random.permutation(len(sizes))
    filled = np.cumsum(sizes[order])
    n_units = int(np.argmin(np.abs(filled - target))) + 1
    chosen = np.zeros(len(sizes), dtype=bool)
    chosen[order[: min(n_units, len(sizes) - 1)]] = True
    return chosen[units]


def _target(test_size: Any, n_rows: int) -> float:
    """Return how many rows the test part should have."""
    is_count = isinstance(test_size, (int, np.integer)) and not isinstance(test_size, bool)
    if isinstance(test_size, str) or not 0 < test_size < (n_rows if is_count else 1):
        raise InputError(
            f"must be a share between 0 and 1, or a number of rows below the {n_rows} there are, not {test_size!r}",
            parameter="test_size",
        )
    return float(test_size) if is_count else test_size * n_rows


def fold_of_rows(units: np.ndarray, n_splits: int, random: np.random.Generator) -> np.ndarray:
    """Return for every row the number of the fold that tests it."""
    n_units = int(units.max(initial=-1)) + 1
    whole("n_splits", n_splits, at_least=2)
    if n_splits > n_units:
        raise InputError(
            f"must be from 2 to {n_units}, the number of rows or groups, not {n_splits}", parameter="n_splits"
        )
    fold_of_unit = np.empty(n_units, dtype=np.int64)
    fold_of_unit[random.permutation(n_units)] = np.arange(n_units) % n_splits
    return fold_of_unit[units]
