"""What labels ask for: which pairs there are, and the objectives that can be made of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from nearer.errors import InputError
from nearer.objectives.all_pairs import AllPairs
from nearer.objectives.base import Objective, WithInitial
from nearer.objectives.metric_pairs import MetricPairs
from nearer.objectives.pair_rows import LazyRows, Pairs
from nearer.objectives.pair_sources import Alike, Asked, Dealer, Graded, OwnPairs, Source, TwoClasses
from nearer.objectives.stochastic_pairs import DrawnPairs, TwoClassPairs
from nearer.solvers import Solver, State, fitting

if TYPE_CHECKING:
    from nearer.pairwise.learning import Setting

#: makes an objective of features; the state is that of an earlier chunk
Maker = Callable[[Any, "Setting", np.random.Generator, State | None], WithInitial]


class Task(ABC):
    """Labels of some rows, read as pairs.

    Attributes
    ----------
    n_rows : int
        Rows with labels.
    is_metric : bool
        Whether pairs are judged by their distance; otherwise by the difference of their scores.
    """

    is_metric = False

    def __init__(self, n_rows: int):
        self.n_rows = n_rows

    def has_pairs(self) -> bool:
        """Return whether there is anything to learn."""
        return True

    @abstractmethod
    def source(self, rng: np.random.Generator) -> Source:
        """Return a source that draws the pairs."""

    def makers(self, X: Any) -> dict[type[WithInitial], Maker]:
        """Return the objectives that can be made of these features, the preferred one first."""
        return {DrawnPairs: self._drawn}

    def _drawn(self, X: Any, setting: Setting, rng: np.random.Generator, state: State | None) -> DrawnPairs:
        source = Dealer(self.source(rng))
        return DrawnPairs(X, source, setting.loss, setting.regularization, setting.stream)

    def details(self) -> dict[str, Any]:
        """Return what a fit should report about its pairs."""
        return {"rows": self.n_rows}


class _SummableTask(Task):
    """Pairs that can all be summed."""

    def makers(self, X: Any) -> dict[type[WithInitial], Maker]:
        lazy = isinstance(X, LazyRows)
        return super().makers(X) | ({} if lazy else {AllPairs: self._all_pairs})

    @abstractmethod
    def _all_pairs(self, X: Any, setting: Setting, rng: np.random.Generator, state: State | None) -> AllPairs:
        """Return the exact mean over all pairs."""


class TwoClassTask(_SummableTask):
    """Positive rows should score higher than negative ones.

    Parameters
    ----------
    positive : bool array
        Which rows are positive.
    used : bool array, optional
        The rows that take part; all by default.
    """

    def __init__(self, positive: np.ndarray, used: np.ndarray | None = None):
        super().__init__(len(positive) if used is None else int(used.sum()))
        self.positive, self.used = positive, used

    def has_pairs(self) -> bool:
        counted = self.positive if self.used is None else self.positive[self.used]
        return bool(counted.any() and not counted.all())

    def source(self, rng: np.random.Generator) -> Source:
        return TwoClasses(self.positive, rng, self.used)

    def makers(self, X: Any) -> dict[type[WithInitial], Maker]:
        lazy = isinstance(X, LazyRows)
        return ({} if lazy else {TwoClassPairs: self._two_classes}) | super().makers(X)

    def _two_classes(
        self, X: Any, setting: Setting, rng: np.random.Generator, state: State | None
    ) -> TwoClassPairs:
        pairs = Pairs.from_labels(X, self.positive, rng)
        if self.used is not None:
            used = (rows[self.used[rows]] for rows in (pairs.positives, pairs.negatives))
            pairs = Pairs(pairs.X, *used)
        return TwoClassPairs(pairs, setting.loss, setting.regularization, setting.stream)

    def _all_pairs(self, X: Any, setting: Setting, rng: np.random.Generator, state: State | None) -> AllPairs:
        rows = slice(None) if self.used is None else self.used
        return AllPairs(X[rows], self.positive[rows], setting.loss, setting.l2(self.n_rows))

    def details(self) -> dict[str, Any]:
        return {**super().details(), "positives": int(self.positive.sum())}


class GradedTask(_SummableTask):
    """Within a group, rows of a higher grade should score higher."""

    def __init__(self, grades: np.ndarray, groups: np.ndarray | None):
        super().__init__(len(grades))
        self._grades, self._groups = grades, groups
        self._counts = Graded(grades, groups, np.random.default_rng(0))  # only its counts are used

    def has_pairs(self) -> bool:
        return self._counts.n_pairs > 0

    def source(self, rng: np.random.Generator) -> Source:
        return Graded(self._grades, self._groups, rng)

    def _all_pairs(self, X: Any, setting: Setting, rng: np.random.Generator, state: State | None) -> AllPairs:
        return AllPairs(X, self._grades, setting.loss, setting.l2(self.n_rows), groups=self._groups)

    def details(self) -> dict[str, Any]:
        found = self._counts
        counts = {"pairs": found.n_pairs, "groups": found.n_groups, "groups_without_pairs": found.n_idle}
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

    def makers(self, X: Any) -> dict[type[WithInitial], Maker]:
        return {MetricPairs: self._metric}

    def _metric(self, X: Any, setting: Setting, rng: np.random.Generator, state: State | None) -> MetricPairs:
        return MetricPairs(
            X,
            Dealer(self.source(rng)),
            setting.loss,
            setting.regularization,
            setting.stream,
            n_components=setting.n_components,
            unit=None if state is None else state.numbers["unit"],
        )


def maker_for(solver: Solver, task: Task, X: Any) -> Maker:
    """Return the maker of the first objective that provides what the solver needs; refuse if there is none."""
    makers = task.makers(X)
    for kind, make in makers.items():
        if solver.requires <= kind.provides:  # type: ignore[operator]
            return make
    raise unsuited(
        solver,
        *makers,
        about=f"{X.shape[0]:,} rows of {X.shape[1]:,} features" if isinstance(X, LazyRows) else "",
    )


def unsuited(solver: Solver, *kinds: type[Objective], about: str = "") -> InputError:
    """Return the refusal of a solver that none of these objectives suits."""
    names = " or ".join(repr(name) for name in fitting(*kinds))
    why = (
        f"needs all features at once, and {about} are too many" if about else "is not for this pair and model"
    )
    return InputError(f"the solver {solver.name!r} {why}: choose {names}")
