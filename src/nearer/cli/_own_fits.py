"""What the fits share that do not learn from answers alone: options, a progress bar, a saved model and its facts."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from nearer.cli._options import typed_options
from nearer.cli._output import INTERRUPTED, complain, number_or_name, show
from nearer.errors import InputError, Suggestion
from nearer.registry import BY_MODEL, estimator_class

if TYPE_CHECKING:
    import numpy as np

Facts = dict[str, Any]
Lines = list[tuple[str, str]]
_ABOUT_RESULT = ("objective", "stop_reason", "n_epochs", "n_evaluations", "seconds", "details")


def typed_estimator(
    context: typer.Context, value: Callable[[str, Any], Any] = lambda option, value: value
) -> Any:
    """Return the estimator with the options that were typed; the others keep its defaults.

    Parameters
    ----------
    context : typer.Context
        Of `nearer fit`.
    value : callable
        Returns the value of a parameter from an option and what was typed.
    """
    typed, row = typed_options(context), BY_MODEL[context.params["model"]]
    given = {
        name: _plain(value(option, context.params[option]))
        for name, option in row.options.items()
        if option in typed
    }
    return estimator_class(row.name)(random_state=context.params["seed"], **given)


def _plain(value: Any) -> Any:
    # plain strings rather than members of an enumeration: a model file holds only those
    return number_or_name(str(value)) if isinstance(value, str) else value


def learn(
    estimator: Any, work: Callable[[], object], path: Path, data: Collection[str], max_seconds: float | None
) -> None:
    """Do the work of a fit, with a progress bar if stderr is a terminal; an error about `data` names the file."""

    def named() -> None:
        try:
            work()
        except InputError as error:
            if error.parameter is not None and error.parameter not in data:
                raise
            # the caller of `fit` has a file, not the arguments
            raise error.but(parameter=None).within(path) from None

    if not sys.stderr.isatty():
        named()
        return
    from nearer._utils.progress import progress_bar

    with progress_bar(path.name, max_seconds=max_seconds, keep=False) as bar:
        # a plain function, which trials of a search can share
        estimator.set_params(callback=lambda progress: bar(progress))
        named()
        bar.finish_with(estimator.result_)
    estimator.set_params(callback=None)  # a saved model holds no functions


def save_and_show(
    context: typer.Context, estimator: Any, out: Path, about: Callable[[], tuple[Facts, Lines]]
) -> None:
    """Save a model, then print the facts about it; ctrl-C ends this, and a sentence says what was written.

    A model of which ctrl-C was pressed before the fit to all rows began, as in trials of beta, is not worth keeping.
    """
    from nearer.saving import save

    interrupted = estimator.result_.stop_reason == "interrupted"
    stage = estimator.result_.details.get("stopped_while")
    if interrupted and stage is not None:
        complain(f"interrupted while {stage}, nothing was written")
        raise typer.Exit(INTERRUPTED)
    save(estimator, out)
    holds = "the best model so far" if interrupted else "the model"
    try:
        facts, lines = about()
        facts |= {"seed": context.params["seed"], "model": out}
        show(facts, [*lines, ("model", str(out))], as_json=context.params["as_json"])
    except KeyboardInterrupt:
        interrupted = True
    if interrupted:
        complain(f"interrupted, {holds} was written to {out}")
        raise typer.Exit(INTERRUPTED)


def remember_columns(estimator: Any, columns: list[str]) -> None:
    """Note in a model which columns of a file held the labels, for `nearer evaluate`."""
    import numpy as np

    estimator.label_columns_ = np.array(columns)


def remembered_columns(model: Any) -> list[str]:
    """Return the columns that held the labels, if the model knows."""
    return [str(name) for name in getattr(model, "label_columns_", ())]


def facts_of_result(estimator: Any) -> Facts:
    """Return how a fit ended, for machines."""
    return {
        "class": type(estimator).__name__,
        **{name: getattr(estimator.result_, name) for name in _ABOUT_RESULT},
    }


def certificate_line(estimator: Any) -> tuple[str, str]:
    """Return what is known about the distance from the global minimum, for people."""
    result = estimator.result_
    if "gap" not in result.details:
        return ("certificate", "none")
    share = 100 * result.details["gap"] / max(abs(result.objective), 1e-300)
    percents = f"{share:.0f}" if share >= 1 else f"{share:.1g}"
    return ("certificate", f"objective at most {percents}% above the global minimum")


def time_line(estimator: Any) -> tuple[str, str]:
    """Return how long a fit took and why it ended, for people."""
    from nearer._fitting import STOP_REASONS, effort

    result = estimator.result_
    return ("time", f"{effort(result)}: {STOP_REASONS[result.stop_reason]}")


def rows_of_parts(
    n_rows: int, share: float | None, usual: float, seed: int, path: Path
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows to learn from and those to hold out, in order."""
    import numpy as np

    share = usual if share is None else share
    n_held_out = round(share * n_rows)
    if share and not 0 < n_held_out < n_rows:
        raise InputError(
            f"{share:g} of {n_rows} rows leaves {n_rows - n_held_out} to learn from and {n_held_out} to score on",
            [Suggestion("test_size", 0, "to fit to all of them")],
            place=path,
        )
    order = np.random.default_rng(seed).permutation(n_rows)
    return np.sort(order[n_held_out:]), np.sort(order[:n_held_out])
