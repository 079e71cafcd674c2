"""What the estimators of comparisons share besides `nearer._fitting.inputs`: what counts, and a progress bar."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from nearer._utils.interrupts import noting
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
from nearer.comparisons.store import check_numbers
from nearer.errors import InputError
from nearer.losses import Loss
from nearer.solvers import Progress, Result, Solver
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
#: what they leave behind, besides an array of n objects
FITTED: dict[str, Spec | MayLack] = {
    "result_": Part(Result),
    "loss_": Part(Loss),
    "names_": optional(Names("n")),
}


def check_resolved(loss: Loss) -> None:
    """Refuse the loss of a file that lacks a parameter which a fit would have filled in."""
    need(loss.resolved(2) == loss, "loss_ lacks a parameter that follows from the dimension")


def check_learnable(comparisons: Comparisons) -> None:
    """Refuse comparisons of which none counts, or whose indices are somebody's own numbers."""
    if len(comparisons) == 0:
        raise InputError("there are no comparisons to learn from: give at least one")
    if comparisons.weights is not None and not comparisons.weights.any():
        raise InputError("all comparisons have weight 0: give at least one a weight above 0")
    check_numbers(comparisons)


def that_count(comparisons: Comparisons) -> Comparisons:
    """The comparisons without those of weight zero."""
    if comparisons.weights is None or comparisons.weights.all():
        return comparisons
    return comparisons[comparisons.weights > 0]


@contextmanager
def watched(
    verbose: bool, callback: Callback | None, max_seconds: float | None = None
) -> Iterator[tuple[Callback | None, Callable[[Result], None]]]:
    """Yield the user's callback, after a progress bar's own where one is wanted, and what to call with the result."""
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
