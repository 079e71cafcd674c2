"""What can be asked of any fitted model of objects: its map, how it was found, and whether it beats guessing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

import numpy as np

from nearer._fitting.fit import known_to
from nearer._utils.text import counted, readable_seconds, warn
from nearer.comparisons import Comparisons
from nearer.metrics import triplet_error
from nearer.solvers import Result

if TYPE_CHECKING:
    from typing import TypeAlias, TypeGuard

    from nearer.kernels.online import OnlineKernel
    from nearer.kernels.relative import RelativeKernel
    from nearer.ordinal import OrdinalEmbedding

    Model: TypeAlias = "OrdinalEmbedding | RelativeKernel | OnlineKernel"

#: below these numbers of answers nothing is said about chance; the second is for parts that a fit held out by itself
LEAST_ANSWERS = 30
LEAST_IN_TRIALS = 100
#: standard errors above one half: a one-sided test at the level of 5%
_STANDARD_ERRORS = 1.645
_CAUSES = (
    "either the answers were read from the wrong columns or in the wrong direction, or they are mostly noise, or too "
    "few for this many objects"
)
STOP_REASONS = {
    "tolerance": "the objective stopped falling",
    "epochs": "the budget of epochs was spent",
    "evaluations": "the budget of gradient evaluations was spent",
    "seconds": "the budget of seconds was spent",
    "callback": "a callback asked to stop",
    "interrupted": "interrupted by hand; this is the best until then",
    "diverged": "the objective diverged; this is the best before that",
    "precision": "rounding errors allow no further descent",
}
_silent = ContextVar("silent", default=False)


def is_kernel(model: Model) -> TypeGuard[RelativeKernel | OnlineKernel]:
    """Return whether a model is a kernel, of which a map can be drawn in any number of dimensions."""
    return hasattr(model, "embedding")


def is_online(model: Model) -> TypeGuard[OnlineKernel]:
    """Return whether a model learns from one answer at a time."""
    return hasattr(model, "add_objects")  # others begin again with all answers


def n_objects_of(model: Model) -> int:
    """Return the number of objects that a model knows."""
    return model._n_objects if is_kernel(model) else len(model.embedding_)


def map_of(model: Model, n_components: int = 2) -> np.ndarray:
    """Return the points of an embedding, or the leading dimensions of a kernel.

    >>> import nearer
    >>> answers, _ = nearer.datasets.planted(6, 2, 50, random_state=0)
    >>> map_of(nearer.OnlineKernel().fit(answers), 3).shape
    (6, 3)
    """
    return model.embedding(n_components) if is_kernel(model) else model.embedding_


def share_on_map(model: Model, points: np.ndarray, comparisons: Comparisons) -> float:
    """Return the share of comparisons that hold for these points of the model's objects."""
    return 1.0 - triplet_error(points, known_to(comparisons, len(points), model.names_))


def effort(result: Result) -> str:
    """Say how long a fit took, with the automatic choices before it and the compiling within them."""
    text = f"{readable_seconds(result.seconds)}, {counted(result.n_epochs, 'epoch')}"
    choosing, compiling = (result.details.get(f"{what}_seconds") for what in ("choice", "compile"))
    if choosing:
        text += f" after {readable_seconds(choosing)} of choosing"
    return text + of_it_compiling(compiling or 0.0)


def of_it_compiling(seconds: float) -> str:
    """Say how much of a time went into compiling, as an addition to it."""
    return f"; {readable_seconds(seconds)} of it compiling, once on this machine" if seconds else ""


def at_chance(accuracy: float, comparisons: Comparisons, n_held_out: int | None = None) -> bool:
    """Return whether a share of right answers is no better than guessing, by a one-sided test at 5%.

    The rows of one trial say nearly the same thing, and rows of small weight say little: both count for less. Fewer
    than 30 answers are too few to judge. `n_held_out` is the number of rows judged if it is not all of them.

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
    """Return how many independent answers of equal weight would say as much."""
    weights = np.ones(len(comparisons)) if comparisons.weights is None else comparisons.weights
    if comparisons.groups is not None:
        weights = np.bincount(np.unique(comparisons.groups, return_inverse=True)[1], weights)
    largest = float(weights.max(initial=0.0))
    if not largest:
        return 0.0
    shares = weights / largest  # squares of huge weights would overflow
    return float(shares.sum()) ** 2 / float((shares**2).sum())


def warn_of_chance(accuracy: float, comparisons: Comparisons, what: str) -> bool:
    """Warn if a share of right answers is no better than guessing, and return whether it is."""
    is_chance = at_chance(accuracy, comparisons)
    if is_chance and at_chance(1.0 - accuracy, comparisons):
        warn(f"{what} of {accuracy:.1%} is no better than guessing: {_CAUSES}")
    elif is_chance:
        warn(
            f"{what} of {accuracy:.1%} is worse than guessing: were the answers read in the wrong direction?"
        )
    return is_chance


def warn_of_trials(error: float, comparisons: Comparisons, n_held_out: int) -> None:
    """Warn if a fit does no better than guessing on the answers that it held out to choose its settings."""
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
