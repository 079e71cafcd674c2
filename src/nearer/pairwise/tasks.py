"""What labels ask for: which pairs there are, as each kind of solver wants them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from nearer.errors import InputError
from nearer.losses.margins import MarginLoss
from nearer.objectives.all_pairs import AllPairs
from nearer.pairwise.pairs import Pairs
from nearer.pairwise.sources import Alike, Asked, Graded, OwnPairs, Source, TwoClasses


class Task(ABC):
    """Labels of some rows, read as pairs.

    Attributes
    ----------
    n_rows : int
    is_metric : bool
        Whether pairs are judged by their distance; otherwise by the difference of their scores.
    """

    is_metric = False

    def __init__(self, n_rows: int):
        self.n_rows = n_rows

    def has_pairs(self) -> bool:
        """Whether there is anything to learn."""
        return True

    @abstractmethod
    def source(self, rng: np.random.Generator) -> Source:
        """A source that draws the pairs."""

    def all_pairs(self, X: Any, loss: MarginLoss, l2: float) -> AllPairs:
        """The exact mean over all pairs."""
        raise InputError(
            "the solver 'exact' is for pair='auc' and pair='ranking', where all pairs can be summed: choose 'adadsg'"
        )

    def details(self) -> dict[str, Any]:
        """What a fit should tell about its pairs."""
        return {"rows": self.n_rows}


class TwoClassTask(Task):
    """Positive rows should score higher than negative ones.

    Parameters
    ----------
    positive : bool array
    used : bool array, optional
        The rows that count; all by default.
    """

    def __init__(self, positive: np.ndarray, used: np.ndarray | None = None):
        super().__init__(len(positive) if used is None else int(used.sum()))
        self.positive, self.used = positive, used

    def has_pairs(self) -> bool:
        counted = self.positive if self.used is None else self.positive[self.used]
        return bool(counted.any() and not counted.all())

    def pairs(self, X: Any, rng: np.random.Generator) -> Pairs:
        """Both classes as solvers walk over them; X is not copied."""
        pairs = Pairs.from_labels(X, self.positive, rng)
        if self.used is None:
            return pairs
        return Pairs(pairs.X, *(rows[self.used[rows]] for rows in (pairs.positives, pairs.negatives)))

    def source(self, rng: np.random.Generator) -> Source:
        return TwoClasses(self.positive, rng, self.used)

    def all_pairs(self, X: Any, loss: MarginLoss, l2: float) -> AllPairs:
        rows = slice(None) if self.used is None else self.used
        return AllPairs(X[rows], self.positive[rows], loss, l2)

    def details(self) -> dict[str, Any]:
        return {**super().details(), "positives": int(self.positive.sum())}


class GradedTask(Task):
    """Within a group, rows of a higher grade should score higher."""

    def __init__(self, grades: np.ndarray, groups: np.ndarray | None):
        super().__init__(len(grades))
        self._grades, self._groups = grades, groups
        self._source = Graded(
            grades, groups, np.random.default_rng(0)
        )  # of this one only the counts are used

    def has_pairs(self) -> bool:
        return self._source.n_pairs > 0

    def source(self, rng: np.random.Generator) -> Source:
        return Graded(self._grades, self._groups, rng)

    def all_pairs(self, X: Any, loss: MarginLoss, l2: float) -> AllPairs:
        return AllPairs(X, self._grades, loss, l2, groups=self._groups)

    def details(self) -> dict[str, Any]:
        source = self._source
        counts = {"pairs": source.n_pairs, "groups": source.n_groups, "groups_without_pairs": source.n_idle}
        return {**super().details(), **counts}


class OwnTask(Task):
    """A user's function says which row should score higher than which."""

    def __init__(self, function: OwnPairs, y: np.ndarray, groups: np.ndarray | None):
        super().__init__(len(y))
        self._source = Asked(function, y, groups)

    def source(self, rng: np.random.Generator) -> Source:
        return self._source


class AlikeTask(Task):
    """Rows of one label should be near each other, rows of two far apart."""

    is_metric = True

    def __init__(self, labels: np.ndarray):
        super().__init__(len(labels))
        self._labels = labels

    def has_pairs(self) -> bool:
        counts = np.unique(self._labels, return_counts=True)[1]
        return len(counts) > 1 and bool(counts.max() > 1)

    def source(self, rng: np.random.Generator) -> Source:
        return Alike(self._labels, rng)
