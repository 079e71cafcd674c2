"""`nearer fit`: from a file of answers to a map, a score, a saved model and a report."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nearer._progress import progress_bar
from nearer._words import counted
from nearer.cli._commands import INTERRUPTED, complain
from nearer.cli._files import check_outputs, check_page
from nearer.cli._options import (
    AnswersFile,
    AsJson,
    Columns,
    FirstIndex,
    Header,
    Invalid,
    InvalidRows,
    ResponseCoding,
    Seed,
    ZeroMeans,
    read_answers,
)
from nearer.cli._output import left_out, number_or_name, percent, show
from nearer.errors import InputError

if TYPE_CHECKING:
    from nearer.comparisons import Comparisons
    from nearer.ordinal import OrdinalEmbedding

_BUDGET = "Budget"


class Loss(StrEnum):
    """The names of `nearer.losses.LOSSES`, which would take a second to import, and "auto"."""

    gnmds = "gnmds"
    ckl = "ckl"
    ste = "ste"
    tste = "tste"
    soe = "soe"
    auto = "auto"


class Solver(StrEnum):
    """The names of `nearer.solvers.SOLVERS`."""

    auto = "auto"
    svrg_sbb = "svrg-sbb"
    svrg_sbb0 = "svrg-sbb0"
    svrg_sbb_restarts = "svrg-sbb-restarts"
    svrg = "svrg"
    sgd = "sgd"
    adam = "adam"
    batch = "batch"
    lbfgs = "lbfgs"


def fit(
    answers: AnswersFile,
    out: Annotated[Path, typer.Option("--out", help="The model to write.")] = Path("model.nearer"),
    report: Annotated[
        Path | None,
        typer.Option("--report", show_default=False, help="Also write an HTML page about the fit."),
    ] = None,
    dim: Annotated[int, typer.Option("--dim", min=1, help="Dimensions of the map.")] = 2,
    loss: Annotated[
        Loss,
        typer.Option("--loss", metavar="<loss>", help=f"{', '.join(Loss)} (chosen on held-out answers)."),
    ] = Loss.soe,
    solver: Annotated[
        Solver, typer.Option("--solver", metavar="<solver>", help=f"{', '.join(Solver)}.")
    ] = Solver.auto,
    l2: Annotated[
        str, typer.Option("--l2", help="Strength of the L2 term; auto: on held-out answers.")
    ] = "auto",
    restarts: Annotated[int, typer.Option("--restarts", min=1, help="Fits from different starts.")] = 1,
    test_size: Annotated[
        float,
        typer.Option("--test-size", min=0.0, max=0.9, help="Share held out for the score; 0 fits to all."),
    ] = 0.2,
    max_epochs: Annotated[
        int | None,
        typer.Option(
            "--max-epochs", min=1, show_default=False, help="At most so many.", rich_help_panel=_BUDGET
        ),
    ] = None,
    max_seconds: Annotated[
        float | None,
        typer.Option("--max-seconds", show_default=False, help="At most so many.", rich_help_panel=_BUDGET),
    ] = None,
    tol: Annotated[
        float,
        typer.Option(
            "--tol", min=0.0, help="Relative decrease an epoch must bring.", rich_help_panel=_BUDGET
        ),
    ] = 1e-3,
    jobs: Annotated[
        int, typer.Option("--jobs", min=1, help="Threads; the map is the same.", rich_help_panel=_BUDGET)
    ] = 1,
    columns: Columns = None,
    header: Header = None,
    coding: ResponseCoding = None,
    zero: ZeroMeans = None,
    first_index: FirstIndex = None,
    invalid: InvalidRows = Invalid.error,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Fit a map to answers, score it on a held-out part and save it.

    The model is saved as soon as the fit ends. Ctrl-C ends it early with the best map so far (exit code 130).
    """
    from nearer.ordinal import OrdinalEmbedding
    from nearer.report import write_report
    from nearer.saving import save

    check_outputs([out, report], inputs=[answers])
    check_page(report)
    comparisons = read_answers(answers, columns, header, coding, zero, first_index, invalid)
    train, test = _parts(comparisons, answers, test_size, seed)
    estimator = OrdinalEmbedding(
        dim,
        loss=loss.value,
        solver=solver.value,
        l2=number_or_name(l2),
        n_init=restarts,
        max_epochs=max_epochs,
        max_seconds=max_seconds,
        tol=tol,
        n_jobs=jobs,
        random_state=seed,
    )
    fit_with_bar(estimator, train, answers.name)
    save(estimator, out)
    facts = {
        "model": out,
        "report": report,
        "n_dropped": comparisons.n_dropped,
        "ignored_columns": list(comparisons.ignored_columns),
        "n_uncompared": len(comparisons.uncompared()),
        "seed": seed,
    }
    written = [out]
    try:
        facts |= _facts(estimator, train, test)
        if report is not None:
            write_report(report, estimator, train=train, test=test, title=answers.name)
            written.append(report)
        show(facts, _lines(facts, estimator), as_json=as_json)
        interrupted = estimator.result_.stop_reason == "interrupted"
    except KeyboardInterrupt:
        interrupted = True
    if interrupted:
        complain(_what_was_kept(estimator, written, report))
        raise typer.Exit(INTERRUPTED)


def _what_was_kept(estimator: OrdinalEmbedding, written: list[Path], report: Path | None) -> str:
    early = estimator.result_.stop_reason == "interrupted"
    missing = "" if report is None or report in written else f", the report {report} was not"
    return f"interrupted, the {'best map so far' if early else 'map'} was written to {written[0]}{missing}"


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
        raise InputError(f"{path}: {error}; --test-size 0 fits to all of them") from None


def fit_with_bar(estimator: OrdinalEmbedding, train: Comparisons, about: str) -> None:
    """Fit, with a progress bar where stderr is a terminal."""
    if not sys.stderr.isatty():
        estimator.fit(train)
        return
    with progress_bar(about, max_seconds=estimator.max_seconds, keep=False) as callback:
        estimator.set_params(callback=callback).fit(train)
    estimator.set_params(callback=None)  # a saved model holds no functions


def _facts(estimator: OrdinalEmbedding, train: Comparisons, test: Comparisons | None) -> dict[str, Any]:
    result = estimator.result_
    return {
        "n_objects": train.n_objects,
        "n_components": estimator.n_components,
        "n_train": len(train),
        "n_test": 0 if test is None else len(test),
        "train_accuracy": estimator.score(train),
        "test_accuracy": None if test is None else estimator.score(test),
        "objective": result.objective,
        "stop_reason": result.stop_reason,
        "n_epochs": result.n_epochs,
        "n_evaluations": result.n_evaluations,
        "seconds": result.seconds,
        "details": result.details,
    }


def _lines(facts: dict[str, Any], estimator: OrdinalEmbedding) -> list[tuple[str, str]]:
    from nearer.report import STOP_REASONS, effort

    total, objects = facts["n_train"] + facts["n_test"], counted(facts["n_objects"], "object")
    size, loss = counted(facts["n_components"], "dimension"), estimator.loss_.name
    lines = [
        ("answers", f"{total:,} about {objects}{left_out(facts['n_dropped'])}"),
        ("columns not used", ", ".join(facts["ignored_columns"])),
        ("in no answer", counted(facts["n_uncompared"], "object") if facts["n_uncompared"] else ""),
        ("map", f"{size}, {loss} loss {facts['objective']:.4g}"),
        ("time", f"{effort(estimator.result_)}: {STOP_REASONS[facts['stop_reason']]}"),
        ("training accuracy", f"{percent(facts['train_accuracy'])} of {counted(facts['n_train'], 'answer')}"),
    ]
    if facts["n_test"]:
        unseen = f"{counted(facts['n_test'], 'answer')} that the fit did not see"
        lines.append(("held-out accuracy", f"{percent(facts['test_accuracy'])} of {unseen}"))
    lines += [(name, str(facts[name])) for name in ("model", "report") if facts[name] is not None]
    return [line for line in lines if line[1]]
