"""What estimators of comparisons share: what they accept, what they save, and one fit with its run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

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
from nearer.comparisons import Comparisons
from nearer.comparisons.joining import reindexed
from nearer.comparisons.store import check_numbers
from nearer.errors import InputError
from nearer.losses import Loss
from nearer.objectives import PointObjective
from nearer.objectives.base import Objective
from nearer.solvers import Budget, Progress, Result, Run, Solver, minimise
from nearer.solvers.run import Callback

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
        part = self.run.part()
        part.stop_reason, part.evaluations = reason, self.run.evaluations
        part.best_value = objective.value(objective.start(x))
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
