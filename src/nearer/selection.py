"""Choose the number of dimensions by cross-validation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from nearer._fitting import Fit, as_comparisons, silent_trials, warn_of_trials
from nearer._utils.runtime import one_thread
from nearer._utils.text import warn
from nearer._utils.validation import generator, whole
from nearer.calibration import candidates, effort_for, trials_of, walk
from nearer.comparisons import Comparisons
from nearer.errors import InputError
from nearer.losses import find as find_loss
from nearer.ordinal import OrdinalEmbedding
from nearer.solvers import LBFGS, Budget, Run
from nearer.solvers.path import Path, Split
from nearer.starts import starting_points

__all__ = ["DimensionChoice", "choose_dimension"]

#: up to this dimension every one starts afresh: a line or plane that is folded stays folded in the next
_LOW_DIMENSION = 3
#: standard errors by which the best dimension is clearly the best
_CLEARLY = 2.0
#: factor on the tolerance of the last fit of a dimension, as in a fit
_LAST_TOL = 0.1
#: size of the columns that a further dimension begins with, relative to the others
_NUDGE = 0.1


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

        The folds are paired, so this is the standard error of the difference to the best, corrected for the answers
        that any two folds learn from in common (Nadeau and Bengio 2003).
        """
        return self._smallest_within(1.0)

    def _smallest_within(self, standard_errors: float) -> int:
        """Return the smallest dimension whose error is within this many standard errors of the best."""
        best = int(self.mean_errors.argmin())
        n_folds = self.errors.shape[1]
        # the mean of k differences varies by 1/k of their variance if they are independent. These are not: fits that
        # share answers share luck, which adds (held out) / (learned from) = 1 / (k - 1)
        factor = standard_errors * np.sqrt(1 / n_folds + 1 / (n_folds - 1))
        for dimension, at in sorted((dimension, at) for at, dimension in enumerate(self.n_components)):
            excess = self.errors[at] - self.errors[best]
            if excess.mean() <= factor * excess.std(ddof=1):
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

    Warn if the largest dimension is the best by more than two standard errors: an even larger one may be better.

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
    splits = [
        (comparisons[train], comparisons[test])
        for train, test in comparisons.folds(n_splits, random_state=rng)
    ]
    errors_of = _along_a_path if _can_follow_a_path(template) else _by_separate_fits
    found = errors_of(template, comparisons, splits, sorted(set(dimensions)), rng)
    errors = [found[dimension] for dimension in dimensions]
    choice = DimensionChoice(dimensions, np.array(errors))
    if choice.best_is_largest and choice._smallest_within(_CLEARLY) == choice.best:
        warn(
            f"{choice.best} dimensions, the most tried, have clearly the smallest held-out error, and more may be "
            f"even better: try up to {2 * choice.best}"
        )
    warn_of_trials(float(choice.mean_errors.min()), comparisons, len(comparisons))
    return choice


def _can_follow_a_path(template: OrdinalEmbedding) -> bool:
    """Return whether fits differ from the default only in what a path takes into account."""
    of_a_path = {"n_components", "loss", "l2", "effort", "tol", "n_jobs", "dtype", "random_state"}
    usual, own = OrdinalEmbedding().get_params(), template.get_params()
    others = [name for name in usual if name not in of_a_path]
    return all(type(own[name]) is type(usual[name]) and own[name] == usual[name] for name in others)


def _along_a_path(
    template: OrdinalEmbedding,
    comparisons: Comparisons,
    splits: list[Split],
    dimensions: list[int],
    rng: np.random.Generator,
) -> dict[int, list[float]]:
    """Return the errors of each dimension; above three, fits start from the points of the dimension before.

    The strength of the L2 term and the loss are those that suit all folds best, by `calibrated_loss`.
    """
    template._check(comparisons)
    run = Run(Budget(tol=template.tol))
    strength = None if isinstance(template.l2, str) else float(template.l2)
    errors: dict[int, list[float]] = {}
    before: Path | None = None
    for dimension in dimensions:
        effort = effort_for(template.effort, comparisons.n_objects, len(comparisons))
        losses = (
            [find_loss(template.loss)]
            if template.loss != "auto"
            else candidates(dimension, template.effort, effort)
        )
        n_jobs = template._threads(len(comparisons) * len(splits))
        course = Fit(comparisons, dimension, rng, template.dtype, n_jobs, run)
        starts = [starting_points("auto", part, losses[0], dimension, rng) for part, _ in splits]
        trials = trials_of(course, effort, starts[0], len(splits))
        if before is not None and dimension > _LOW_DIMENSION:
            starts = [_with_columns(*pair) for pair in zip(before.best_fits, starts, strict=True)]
            effort = replace(effort, strengths=effort.strengths[_after(effort.strengths, before.best) :])
        with one_thread():
            walk(trials, splits, starts, losses, effort, strength)
            best = min(trials.paths, key=lambda path: path.least)
            assert best.best is not None
            best.fit(best.best, best.best_fits, LBFGS(), tol=_LAST_TOL * template.tol)
        before = trials.paths[0]
        errors[dimension] = best.errors_by_split()
    return errors


def _with_columns(points: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return points with further columns: small ones, in directions that a start for the higher dimension has."""
    further = start[:, points.shape[1] :]
    size = float(np.linalg.norm(points)) / max(float(np.linalg.norm(start)), 1e-300)
    return np.hstack([points, _NUDGE * size * further])


def _after(strengths: tuple[float, ...], best: float | None) -> int:
    """Return where to begin: two strengths above the best one of the dimension before."""
    weaker = [at for at, strength in enumerate(strengths) if best is None or strength <= best]
    return max(min(weaker, default=len(strengths)) - 2, 0)


def _by_separate_fits(
    template: OrdinalEmbedding,
    comparisons: Comparisons,
    splits: list[Split],
    dimensions: list[int],
    rng: np.random.Generator,
) -> dict[int, list[float]]:
    """Return the errors of each dimension by fits with all of the user's settings."""
    seeds = rng.integers(2**31, size=len(splits))  # one per fold, so that dimensions are compared in pairs

    def error(dimension: int, seed: int, train: Comparisons, test: Comparisons) -> float:
        model = clone(template).set_params(n_components=dimension, random_state=seed)
        with silent_trials():
            return 1.0 - model.fit(train).score(test)

    return {
        dimension: [error(dimension, int(seed), *split) for seed, split in zip(seeds, splits, strict=True)]
        for dimension in dimensions
    }
