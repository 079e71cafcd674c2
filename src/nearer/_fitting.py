"""What estimators of comparisons share: what they accept and save, one fit with its run, what to say about a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from nearer._utils.runtime import noting
from nearer._utils.schema import (
    BUDGET,
    SEED,
    SWITCH,
    AnyOf,
    Literal,
    Matrix,
    MayLack,
    Names,
    Part,
    Spec,
    Text,
    need,
    optional,
)
from nearer._utils.text import counted, readable_seconds, warn
from nearer.comparisons import Comparisons
from nearer.comparisons.joining import reindexed
from nearer.comparisons.store import check_numbers
from nearer.errors import InputError
from nearer.losses import Loss
from nearer.metrics import triplet_error
from nearer.objectives import PointObjective
from nearer.objectives.base import Objective
from nearer.solvers import Budget, Progress, Result, Run, Solver, minimise
from nearer.solvers.run import Callback

if TYPE_CHECKING:
    from typing import TypeAlias, TypeGuard

    from nearer.kernels.online import OnlineKernel
    from nearer.kernels.relative import RelativeKernel
    from nearer.ordinal import OrdinalEmbedding

    Model: TypeAlias = "OrdinalEmbedding | RelativeKernel | OnlineKernel"

#: parameters of fits to comparisons
PARAMS: dict[str, Spec] = {
    "loss": AnyOf(Text(), Part(Loss)),
    "solver": AnyOf(Text(), Part(Solver)),
    "init": AnyOf(Text(), Matrix()),
    **BUDGET,
    "random_state": SEED,
    "verbose": SWITCH,
    "callback": Literal(None),
}
#: fitted attributes, besides an array over the n objects
FITTED: dict[str, Spec | MayLack] = {
    "result_": Part(Result),
    "loss_": Part(Loss),
    "names_": optional(Names("n")),
}
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


@dataclass
class Fit:
    """One fit of points or a kernel to comparisons, which may take several runs of solvers.

    The clock of `run` starts at the beginning: starts and automatic choices count, and evaluations add up.
    """

    comparisons: Comparisons
    n_components: int
    rng: np.random.Generator
    dtype: Any = np.float64
    n_jobs: int = 1
    run: Run = field(default_factory=Run)

    def objective(self, loss: Loss, l2: float, part: Comparisons | None = None) -> PointObjective:
        """Return the objective on all comparisons or on a part of them."""
        comparisons = self.comparisons if part is None else part
        return PointObjective(
            comparisons, loss, self.n_components, l2=l2, dtype=self.dtype, n_jobs=self.n_jobs
        )

    def minimise(
        self, solver: Solver, objective: Objective, x: np.ndarray, budget: Budget | None = None
    ) -> tuple[np.ndarray, Result]:
        """Run a solver within what is left of the budget."""
        return minimise(solver, objective, x, budget=budget, rng=self.rng, run=self.run)

    def no_run(self, objective: Objective, x: np.ndarray, reason: str) -> Result:
        """Return the result of a fit that was ended before its solver began."""
        return no_run(self.run, objective, x, reason)


def no_run(run: Run, objective: Objective, x: Any, reason: str, value: float | None = None) -> Result:
    """Return the result of a fit that was ended before its solver began; `value` is that of x, if it is known."""
    part = run.part()
    part.stop_reason, part.evaluations = reason, run.evaluations
    part.best_value = objective.value(objective.start(x)) if value is None else value
    return part.result()


@contextmanager
def watched(
    verbose: bool, callback: Callback | None, max_seconds: float | None = None
) -> Iterator[tuple[Callback | None, Callable[[Result], None]]]:
    """Yield the callback of a fit, which also draws a progress bar if one is wanted, and a function for the result."""
    if not verbose:
        with noting():
            yield callback, lambda result: None
        return
    from nearer._utils.progress import progress_bar

    with noting(), progress_bar(max_seconds=max_seconds) as show:

        def both(progress: Progress) -> object:
            show(progress)
            return callback(progress) if callback is not None else None

        yield both, show.finish_with


def as_comparisons(X: Comparisons | ArrayLike, y: ArrayLike | None = None) -> Comparisons:
    """Return comparisons as they are; turn arrays of indices or names, with or without responses, into comparisons."""
    if y is not None and isinstance(X, Comparisons):
        raise InputError(
            "comparisons already hold their answers: leave y out, or pass the questions as an array"
        )
    if y is not None:
        return Comparisons.from_responses(X, y)
    return X if isinstance(X, Comparisons) else Comparisons(X)


def check_learnable(comparisons: Comparisons) -> None:
    """Refuse comparisons if all have weight 0, or if their indices look like database numbers."""
    if len(comparisons) == 0:
        raise InputError("there are no comparisons to learn from: pass at least one")
    if comparisons.weights is not None and not comparisons.weights.any():
        raise InputError("all comparisons have weight 0: set at least one weight above 0")
    check_numbers(comparisons)


def that_count(comparisons: Comparisons) -> Comparisons:
    """Return the comparisons without those of weight zero."""
    if comparisons.weights is None or comparisons.weights.all():
        return comparisons
    return comparisons[comparisons.weights > 0]


def check_resolved(loss: Loss) -> None:
    """Refuse the loss of a file that lacks a parameter which a fit would have filled in."""
    need(loss.resolved(2) == loss, "loss_ lacks a parameter that follows from the dimension")


def known_to(
    comparisons: Comparisons, n_objects: int, names: tuple[str, ...] | None, *, can_grow: bool = False
) -> Comparisons:
    """Return the comparisons by a model's indices; objects that have names are matched by name.

    If the model can grow, the error about an unknown object says so.

    >>> known_to(Comparisons([("cat", "dog", "car")]), 4, ("dog", "cat", "sun", "car")).indices
    array([[1, 0, 3]], dtype=int32)
    """
    if comparisons.names is None:
        if comparisons.n_objects > n_objects:
            check_numbers(comparisons)
            raise InputError(
                f"the comparisons are about {comparisons.n_objects} objects but the model knows "
                f"{n_objects}: {_remedy(can_grow, 'the others')}"
            )
        return comparisons
    if names is None:
        raise InputError(
            f"the comparisons name their objects, such as {comparisons.names[0]!r}, but the model knows them by "
            "number: fit it on comparisons with names, or pass indices"
        )
    if comparisons.names == names:
        return comparisons
    _check_names(comparisons, names, can_grow)
    return reindexed(comparisons, names)


def _remedy(can_grow: bool, what: str) -> str:
    return f"add {what} with add_objects first" if can_grow else f"fit it on comparisons that include {what}"


def _check_names(comparisons: Comparisons, names: tuple[str, ...], can_grow: bool) -> None:
    """Refuse rows about objects that the model does not know, naming the first."""
    assert comparisons.names is not None
    strange = ~np.isin(comparisons.names, names)
    rows, columns = np.nonzero(strange[comparisons.indices])
    if len(rows):
        name = comparisons.names[comparisons.indices[rows[0], columns[0]]]
        raise InputError(
            f"row {rows[0]} (counting from 0): the model does not know the object {name!r}: "
            f"{_remedy(can_grow, 'it')}, or leave the row out"
        )


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
