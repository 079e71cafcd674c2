"""`nearer fit`: from a file of answers to a map, a score, a saved model and a report."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nearer._progress import progress_bar
from nearer.cli._commands import INTERRUPTED, complain
from nearer.cli._files import check_outputs, write_all
from nearer.cli._options import (
    AnswersFile,
    AsJson,
    Columns,
    Header,
    Invalid,
    InvalidRows,
    Seed,
    ZeroMeans,
    read_answers,
)
from nearer.cli._output import number_or_name, percent, show
from nearer.errors import InputError

if TYPE_CHECKING:
    from nearer.comparisons import Comparisons
    from nearer.ordinal import OrdinalEmbedding

_LOSSES = "gnmds, ckl, ste, tste, soe, or auto: chosen on held-out answers."
_SOLVERS = "auto, svrg-sbb, svrg-sbb0, svrg-sbb-restarts, svrg, sgd, adam, batch or lbfgs."
_BUDGET = "Budget"


def fit(
    answers: AnswersFile,
    out: Annotated[Path, typer.Option("--out", help="The model to write.")] = Path("model.nearer"),
    report: Annotated[
        Path | None,
        typer.Option("--report", show_default=False, help="Also write an HTML page about the fit."),
    ] = None,
    dim: Annotated[int, typer.Option("--dim", min=1, help="Dimensions of the map.")] = 2,
    loss: Annotated[str, typer.Option("--loss", help=_LOSSES)] = "soe",
    solver: Annotated[str, typer.Option("--solver", help=_SOLVERS)] = "auto",
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
    zero: ZeroMeans = None,
    invalid: InvalidRows = Invalid.error,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Fit a map to answers, score it on a held-out part and save it.

    Ctrl-C ends the fit: the best map so far is written, and the exit code is 130.
    """
    from nearer.ordinal import OrdinalEmbedding

    check_outputs([out, report], inputs=[answers])
    comparisons = read_answers(answers, columns, header, zero, invalid)
    train, test = _parts(comparisons, answers, test_size, seed)
    estimator = OrdinalEmbedding(
        dim,
        loss=loss,
        solver=solver,
        l2=number_or_name(l2),
        n_init=restarts,
        max_epochs=max_epochs,
        max_seconds=max_seconds,
        tol=tol,
        n_jobs=jobs,
        random_state=seed,
    )
    fit_with_bar(estimator, train, f"fitting {answers.name}")
    write_all(_writers(estimator, train, test, out, report, title=answers.name))
    facts = _facts(estimator, train, test)
    facts |= {"model": out, "report": report, "n_dropped": comparisons.n_dropped, "seed": seed}
    show(facts, _lines(facts, estimator), as_json=as_json)
    if estimator.result_.stop_reason == "interrupted":
        complain(f"interrupted, the best map so far was written to {out}")
        raise typer.Exit(INTERRUPTED)


def _parts(
    comparisons: Comparisons, path: Path, test_size: float, seed: int
) -> tuple[Comparisons, Comparisons | None]:
    if not len(comparisons):
        raise InputError(f"{path}: there are no comparisons to fit")
    if test_size == 0:
        return comparisons, None
    return comparisons.split(test_size=test_size, random_state=seed)


def fit_with_bar(estimator: OrdinalEmbedding, train: Comparisons, description: str) -> None:
    """Fit, with a progress bar where stderr is a terminal."""
    if not sys.stderr.isatty():
        estimator.fit(train)
        return
    with progress_bar(description, keep=False) as callback:
        estimator.set_params(callback=callback).fit(train)
    estimator.set_params(callback=None)  # a saved model holds no functions


def _writers(
    estimator: OrdinalEmbedding,
    train: Comparisons,
    test: Comparisons | None,
    out: Path,
    report: Path | None,
    title: str,
) -> dict[Path, Callable[[Path], object]]:
    from nearer.saving import save

    writers: dict[Path, Callable[[Path], object]] = {out: lambda path: save(estimator, path)}
    if report is not None:
        from nearer.report import write_report

        writers[report] = lambda path: write_report(path, estimator, train=train, test=test, title=title)
    return writers


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

    dropped = f", {facts['n_dropped']:,} invalid rows dropped" if facts["n_dropped"] else ""
    end = STOP_REASONS[facts["stop_reason"]]
    lines = [
        ("answers", f"{facts['n_train'] + facts['n_test']:,} about {facts['n_objects']:,} objects{dropped}"),
        ("map", f"{facts['n_components']} dimensions, {estimator.loss_.name} loss {facts['objective']:.4g}"),
        ("time", f"{effort(estimator.result_)}: {end}"),
        ("training accuracy", f"{percent(facts['train_accuracy'])} of {facts['n_train']:,} answers"),
    ]
    if facts["n_test"]:
        held_out = (
            f"{percent(facts['test_accuracy'])} of {facts['n_test']:,} answers that the fit did not see"
        )
        lines.append(("held-out accuracy", held_out))
    lines += [(name, str(facts[name])) for name in ("model", "report") if facts[name] is not None]
    return lines
