"""`nearer fit`: from a file of answers to a map or a kernel, a score, a saved model and a report."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nearer.cli._fit_options import (
    DEFAULT_MODEL,
    L2,
    Jobs,
    MaxEpochs,
    MaxSeconds,
    MaxStep,
    Passes,
    Rank,
    Restarts,
    SolverName,
    Start,
    StepName,
    Tol,
    TracePenalty,
    UpdateName,
    WhichLoss,
    WhichModel,
    WhichSolver,
    WhichStep,
    WhichUpdate,
)
from nearer.cli._learning import Outcome, continued_model, facts_about, learn, lines_about, new_model
from nearer.cli._options import (
    AnswersFile,
    AsJson,
    Columns,
    FirstIndex,
    Force,
    Header,
    Invalid,
    InvalidRows,
    ResponseCodes,
    ResponseCoding,
    Seed,
    ZeroMeans,
    read_answers,
    refuse_idle,
)
from nearer.cli._output import INTERRUPTED, check_outputs, check_page, complain, output_file, show
from nearer.errors import InputError, Suggestion
from nearer.registry import BY_MODEL

if TYPE_CHECKING:
    from nearer._fitting import Model
    from nearer.comparisons import Comparisons

_HELD_OUT = 0.2


def fit(
    context: typer.Context,
    answers: AnswersFile,
    out: Annotated[
        Path | None,
        typer.Option("--out", show_default="model.nearer, or that of --start", help="The model to write."),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option("--report", show_default=False, help="Also write an HTML page about the fit."),
    ] = None,
    model: WhichModel = DEFAULT_MODEL,
    dim: Annotated[
        int, typer.Option("--dim", min=1, help="Dimensions of the map, also of one drawn from a kernel.")
    ] = 2,
    loss: WhichLoss = None,
    test_size: Annotated[
        float | None,
        typer.Option(
            "--test-size",
            min=0.0,
            max=0.9,
            show_default=f"{_HELD_OUT}, or 0 with --start",
            help="Share held out for the score; 0 fits to all.",
        ),
    ] = None,
    solver: WhichSolver = SolverName.auto,
    l2: L2 = "auto",
    restarts: Restarts = 1,
    jobs: Jobs = 1,
    trace_penalty: TracePenalty = None,
    rank: Rank = None,
    start: Start = None,
    update: WhichUpdate = UpdateName.passive_aggressive,
    step: WhichStep = StepName.constant,
    max_step: MaxStep = None,
    passes: Passes = 1,
    max_epochs: MaxEpochs = None,
    max_seconds: MaxSeconds = None,
    tol: Tol = 1e-3,
    columns: Columns = None,
    header: Header = None,
    coding: ResponseCoding = None,
    zero: ZeroMeans = None,
    codes: ResponseCodes = None,
    first_index: FirstIndex = None,
    invalid: InvalidRows = Invalid.error,
    force: Force = False,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Fit a map or a kernel to answers, score it on a held-out part and save it.

    The model is saved as soon as the fit ends. Ctrl-C ends it early with the best so far (exit code 130).
    """
    from nearer._fitting import silent_trials
    from nearer.comparisons.store import check_numbers, n_uncompared
    from nearer.saving import save

    _check_settings(context, model, start)
    out = output_file(out or start, "model.nearer", force=force)
    check_outputs([out, report], inputs=[answers])
    check_page(report)
    read = partial(read_answers, answers, columns, header, coding, zero, codes, first_index, invalid)
    n_new = 0
    if start is not None:
        estimator, comparisons, n_new = continued_model(start, answers, read, dim)
    else:
        comparisons = read()
        check_numbers(comparisons, str(answers))
        # the settings of the model, from --loss to --tol, are found by name
        estimator = new_model(model, context.params, comparisons, dim, seed)
    share = (_HELD_OUT if start is None else 0.0) if test_size is None else test_size
    train, test = _parts(comparisons, answers, share, seed)
    before = None if start is None else estimator.score(train)
    with nullcontext() if test is None else silent_trials():  # the score says it as well
        outcome = learn(estimator, train, answers.name)
    save(estimator, out)
    facts = {
        "model": out,
        "report": report,
        "start": start,
        "n_dropped": comparisons.n_dropped,
        "ignored_columns": list(comparisons.ignored_columns),
        "n_uncompared": 0 if start is not None else n_uncompared(comparisons._fields),
        "n_new_objects": n_new,
        "accuracy_before": before,
        "seed": seed,
    }
    _report(facts, estimator, outcome, (train[: outcome.n_learned], test), answers.name, dim, as_json)


def _check_settings(context: typer.Context, model: str, start: Path | None) -> None:
    """Refuse settings that the model does not have, or that a model to continue with has already."""
    models_with: dict[str, list[str]] = {}
    for name, row in BY_MODEL.items():
        for option in row.options.values():
            models_with.setdefault(option, []).append(name)
    del models_with["dim"]  # every model is drawn in this many dimensions
    if start is not None:
        settled = [*models_with, *(["model"] if model != "online" else [])]
        refuse_idle(context, (True, settled, f"was settled when {start} began: leave it or --start out"))
        return
    for option, models in models_with.items():
        advice = f"is for --model {' or '.join(models)}, not {model}: leave it out"
        refuse_idle(context, (model not in models, [option], advice))


def _report(
    facts: dict[str, Any],
    estimator: Model,
    outcome: Outcome,
    parts: tuple[Comparisons, Comparisons | None],
    title: str,
    dim: int,
    as_json: bool,
) -> None:
    """Score the model, write the report and print; ctrl-C ends this, and a sentence says what is missing."""
    train, test = parts
    out, report = facts["model"], facts["report"]
    missing = report
    interrupted = outcome.interrupted
    try:
        facts = {**facts, **facts_about(estimator, outcome, train, test, dim)}
        if report is not None:
            from nearer.report import write_report

            write_report(report, estimator, train=train, test=test, title=title, n_components=dim)
            missing = None
        facts["at_chance"] = _at_chance(facts, test, title) if not interrupted else None
        show(facts, lines_about(facts, estimator, outcome), as_json=as_json)
    except KeyboardInterrupt:
        interrupted = True
    if interrupted:
        without = "" if missing is None else f", the report {missing} was not"
        complain(f"interrupted, {outcome.holds} was written to {out}{without}")
        raise typer.Exit(INTERRUPTED)


def _at_chance(facts: dict[str, Any], test: Comparisons | None, title: str) -> bool | None:
    """Return whether the held-out answers are guessed at best, with a warning; None if none were held out."""
    from nearer._fitting import warn_of_chance

    if test is None:
        return None
    return warn_of_chance(facts["test_accuracy"], test, f"{title}: the held-out accuracy")


def _parts(
    comparisons: Comparisons, path: Path, test_size: float, seed: int
) -> tuple[Comparisons, Comparisons | None]:
    if not len(comparisons):
        raise InputError(f"{path}: there are no comparisons to fit")
    if test_size == 0:
        return comparisons, None
    try:
        return comparisons.split(test_size=test_size, random_state=seed)
    except InputError as error:
        remedy = [*error.remedy, Suggestion("test_size", 0, "to fit to all of them")]
        raise error.within(path).but(remedy=remedy) from None
