"""Whether a share of right answers is more than guessing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

import numpy as np

from nearer._utils.warning import warn

if TYPE_CHECKING:
    from nearer.comparisons import Comparisons

#: fewer answers cannot tell; trials within a fit, where nobody chose to hold answers out, must have more
LEAST_ANSWERS = 30
LEAST_IN_TRIALS = 100
#: standard errors above one half: a one-sided test at the level of 5%
_STANDARD_ERRORS = 1.645
_CAUSES = (
    "either the answers were read from the wrong columns or in the wrong direction, or they are mostly noise, or too "
    "few for this many objects"
)
_silent = ContextVar("silent", default=False)


def at_chance(accuracy: float, comparisons: Comparisons, n_held_out: int | None = None) -> bool:
    """Whether a share of right answers is no better than guessing, by a one-sided test at 5%.

    The rows of one trial say nearly the same thing, and rows of little weight say little: both count for less. With
    fewer than 30 answers there is no telling. `n_held_out` is the number of rows judged, where it is not all of them.

    >>> from nearer import Comparisons
    >>> answers = Comparisons([[0, 1, 2]] * 100)
    >>> at_chance(0.52, answers), at_chance(0.7, answers), at_chance(0.5, answers[:20])
    (True, False, False)
    """
    n_answers = _independent_answers(comparisons)
    least = LEAST_ANSWERS
    if n_held_out is not None:
        n_answers *= n_held_out / max(len(comparisons), 1)
        least = LEAST_IN_TRIALS
    return n_answers >= least and accuracy - 0.5 < _STANDARD_ERRORS * 0.5 / n_answers**0.5


def _independent_answers(comparisons: Comparisons) -> float:
    """How many answers of equal weight would say as much."""
    weights = np.ones(len(comparisons)) if comparisons.weights is None else comparisons.weights
    if comparisons.groups is not None:
        weights = np.bincount(np.unique(comparisons.groups, return_inverse=True)[1], weights)
    largest = float(weights.max(initial=0.0))
    if not largest:
        return 0.0
    shares = weights / largest  # squares of huge weights would overflow
    return float(shares.sum()) ** 2 / float((shares**2).sum())


def warn_of_chance(accuracy: float, comparisons: Comparisons, what: str) -> bool:
    """Warn where a share of right answers is no better than guessing, and return whether it is."""
    is_chance = at_chance(accuracy, comparisons)
    if is_chance and at_chance(1.0 - accuracy, comparisons):
        warn(f"{what} of {accuracy:.1%} is no better than guessing: {_CAUSES}")
    elif is_chance:
        warn(
            f"{what} of {accuracy:.1%} is worse than guessing: were the answers read in the wrong direction?"
        )
    return is_chance


def warn_of_trials(error: float, comparisons: Comparisons, n_held_out: int) -> None:
    """Warn where the answers that a fit held out to choose its settings are guessed at best."""
    if not _silent.get() and at_chance(1.0 - error, comparisons, n_held_out):
        warn(
            f"a fit to most of the answers gets {1.0 - error:.1%} of the others right, no better than guessing: "
            f"{_CAUSES}"
        )


@contextmanager
def silent_trials() -> Iterator[None]:
    """Leave it to the caller, who scores the fit, to say that it is no better than guessing."""
    token = _silent.set(True)
    try:
        yield
    finally:
        _silent.reset(token)
