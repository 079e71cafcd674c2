"""Choose the number of dimensions by cross-validation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from nearer._fitting import as_comparisons, silent_trials, warn_of_trials
from nearer._utils.text import warn
from nearer._utils.validation import generator, whole
from nearer.comparisons import Comparisons
from nearer.errors import InputError
from nearer.ordinal import OrdinalEmbedding

__all__ = ["DimensionChoice", "choose_dimension"]


@dataclass(frozen=True)
class DimensionChoice:
    """Hold the held-out errors of several dimensions.

    Attributes
    ----------
    n_components : tuple of int
        The dimensions tried.
    errors : array of shape (dimensions, folds)
        The held-out error of each dimension in each fold.

    Examples
    --------
    >>> DimensionChoice((1, 2, 3), np.array([[0.31, 0.32], [0.20, 0.21], [0.19, 0.21]]))
    DimensionChoice(best=3 (the largest tried), smallest_within_one_se=2, mean_errors={1: 0.315, 2: 0.205, 3: 0.2})
    """

    n_components: tuple[int, ...]
    errors: np.ndarray

    def __repr__(self) -> str:
        errors = {
            dimension: round(float(error), 4)
            for dimension, error in zip(self.n_components, self.mean_errors, strict=True)
        }
        edge = " (the largest tried)" if self.best_is_largest else ""
        return (
            f"DimensionChoice(best={self.best}{edge}, smallest_within_one_se={self.smallest_within_one_se}, "
            f"mean_errors={errors})"
        )

    @property
    def mean_errors(self) -> np.ndarray:
        """Return the mean held-out error of each dimension."""
        return self.errors.mean(axis=1)

    @property
    def best(self) -> int:
        """Return the dimension with the smallest mean error."""
        return self.n_components[int(self.mean_errors.argmin())]

    @property
    def best_is_largest(self) -> bool:
        """Return whether the best of several dimensions is the largest tried: an even larger one may be better."""
        return len(self.n_components) > 1 and self.best == max(self.n_components)

    @property
    def smallest_within_one_se(self) -> int:
        """Return the smallest dimension whose error is within one standard error of the best.

        The folds are paired, so this is the standard error of the difference to the best.
        """
        best = int(self.mean_errors.argmin())
        n_folds = self.errors.shape[1]
        for dimension, at in sorted((dimension, at) for at, dimension in enumerate(self.n_components)):
            excess = self.errors[at] - self.errors[best]
            if excess.mean() <= excess.std(ddof=1) / np.sqrt(n_folds):
                return dimension
        return self.best

    def plot(self, ax: Any = None) -> Any:
        """Plot the error against the dimension; see `nearer.plotting.plot_dimension_choice`."""
        from nearer.plotting import plot_dimension_choice

        return plot_dimension_choice(self, ax=ax)


def choose_dimension(
    comparisons: Comparisons | ArrayLike,
    n_components: Iterable[int] = (1, 2, 3, 4, 5, 6),
    *,
    n_splits: int = 5,
    estimator: OrdinalEmbedding | None = None,
    random_state: Any = None,
) -> DimensionChoice:
    """Cross-validate several dimensions. Groups are never split between folds.

    Warn if the largest dimension is clearly the best: an even larger one may be better.

    Parameters
    ----------
    comparisons : Comparisons, or array of shape (q, 3) or (q, 4)
        The answers.
    n_components : iterable of int
        Dimensions to try.
    n_splits : int
        Number of folds.
    estimator : OrdinalEmbedding, optional
        The settings of the fits, if not the defaults.
    random_state : int, Generator, RandomState or None
        Source of the folds and of the fits' random draws. The same int produces the same errors.

    Examples
    --------
    >>> import nearer
    >>> answers, truth = nearer.datasets.planted(20, 2, 2000, noise=0.05, random_state=1)
    >>> choice = nearer.choose_dimension(answers, (1, 2, 3), random_state=0)
    >>> choice.smallest_within_one_se
    2
    """
    if not isinstance(n_components, Iterable):
        raise InputError(f"n_components must be several dimensions, such as (1, 2, 3), not {n_components!r}")
    comparisons, dimensions = as_comparisons(comparisons), tuple(n_components)
    if not dimensions:
        raise InputError("n_components is empty: give the dimensions to try, for example (1, 2, 3)")
    for dimension in dimensions:
        whole("n_components", dimension)
    whole("n_splits", n_splits, at_least=2)
    rng = generator(random_state)
    template = OrdinalEmbedding() if estimator is None else estimator
    folds = comparisons.folds(n_splits, random_state=rng)
    seeds = rng.integers(2**31, size=n_splits)  # one per fold, so that dimensions are compared in pairs
    errors = [
        [
            1.0 - _fitted(template, dimension, int(seed), comparisons[train]).score(comparisons[test])
            for seed, (train, test) in zip(seeds, folds, strict=True)
        ]
        for dimension in dimensions
    ]
    choice = DimensionChoice(dimensions, np.array(errors))
    if choice.best_is_largest and choice.smallest_within_one_se == choice.best:
        warn(
            f"{choice.best} dimensions, the most tried, have clearly the smallest held-out error, and more may be "
            f"even better: try up to {2 * choice.best}"
        )
    warn_of_trials(float(choice.mean_errors.min()), comparisons, len(comparisons))
    return choice


def _fitted(
    template: OrdinalEmbedding, dimension: int, seed: int, comparisons: Comparisons
) -> OrdinalEmbedding:
    with silent_trials():
        return clone(template).set_params(n_components=dimension, random_state=seed).fit(comparisons)
