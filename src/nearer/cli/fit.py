"""`nearer fit`: from a file of answers to a map or a kernel, a score, a saved model and a report."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nearer._utils.text import counted, readable_seconds
from nearer.cli import _fit_options as settings
from nearer.cli import _options as options
from nearer.cli._loading import check_dim, continued_model
from nearer.cli._output import (
    INTERRUPTED,
    check_outputs,
    check_page,
    complain,
    left_out,
    number_or_name,
    output_file,
    percent,
    show,
)
from nearer.errors import InputError
from nearer.registry import BY_MODEL, estimator_class

if TYPE_CHECKING:
    from nearer._fitting import Model
    from nearer.comparisons import Comparisons
    from nearer.kernels.online import OnlineKernel
    from nearer.kernels.relative import RelativeKernel
    from nearer.ordinal import OrdinalEmbedding

_HELD_OUT = 0.2
_COUNTS = ("n_seen", "n_steps", "n_projections", "n_skipped", "n_negative")


def fit(
    context: typer.Context,
    answers: options.AnswersFile,
    out: Annotated[
        Path | None,
        typer.Option("--out", show_default="model.nearer, or that of --start", help="The model to write."),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option("--report", show_default=False, help="Also write an HTML page about the fit."),
    ] = None,
    model: settings.WhichModel = settings.DEFAULT_MODEL,
    dim: Annotated[
        int,
        typer.Option(
            "--dim",
            min=1,
            show_default="2, or 128 for towers",
            help="Dimensions of the map, also of one drawn from a kernel, or of the embeddings of towers.",
        ),
    ] = 2,
    loss: settings.WhichLoss = None,
    test_size: Annotated[
        float | None,
        typer.Option(
            "--test-size",
            min=0.0,
            max=0.9,
            show_default=f"{_HELD_OUT}, 0.1 for towers, a post per user for tags, 0 with --start",
            help="Share held out for the score; 0 fits to all.",
        ),
    ] = None,
    solver: settings.WhichSolver = settings.SolverName.auto,
    l2: settings.L2 = "auto",
    effort: settings.WhichEffort = settings.EffortName.normal,
    restarts: settings.Restarts = 1,
    jobs: settings.Jobs = None,
    trace_penalty: settings.TracePenalty = None,
    rank: settings.Rank = None,
    start: settings.Start = None,
    update: settings.WhichUpdate = settings.UpdateName.passive_aggressive,
    step: settings.WhichStep = settings.StepName.constant,
    max_step: settings.MaxStep = None,
    passes: settings.Passes = 1,
    omega: settings.Omega = None,
    hidden: settings.Hidden = None,
    inputs: settings.Inputs = None,
    validation: settings.Validation = None,
    device: settings.Device = None,
    checkpoint: settings.Checkpoint = None,
    left_features: settings.LeftFeatures = None,
    right_features: settings.RightFeatures = None,
    search: settings.Search = None,
    beta: settings.Beta = None,
    threshold: settings.WhichThreshold = None,
    neighbors: settings.Neighbors = None,
    graph: settings.WhichGraph = None,
    negatives: settings.Negatives = None,
    rule: settings.WhichRule = None,
    offset: settings.Offset = None,
    balance: settings.Balance = None,
    max_epochs: settings.MaxEpochs = None,
    max_seconds: settings.MaxSeconds = None,
    tol: settings.Tol = 1e-3,
    columns: options.Columns = None,
    header: options.Header = None,
    coding: options.ResponseCoding = None,
    zero: options.ZeroMeans = None,
    codes: options.ResponseCodes = None,
    first_index: options.FirstIndex = None,
    invalid: options.InvalidRows = options.Invalid.error,
    left: options.LeftColumn = None,
    right: options.RightColumn = None,
    weight: options.WeightColumn = None,
    time_column: options.TimeColumn = None,
    ids: options.WhatIds = None,
    duplicates: options.RepeatedPairs = None,
    at_least: options.AtLeast = None,
    user: options.UserColumn = None,
    item: options.ItemColumn = None,
    tag: options.TagColumn = None,
    labels: options.LabelsIn = None,
    separator: options.Separator = None,
    ignore: options.Ignore = None,
    features: options.FeaturesIn = None,
    force: options.Force = False,
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
) -> None:
    """Fit a model to answers, pairs, rows or posts; score it on a held-out part and save it.

    The model is saved as soon as the fit ends. Ctrl-C ends it early with the best so far (exit code 130).
    """
    from nearer._fitting import silent_trials
    from nearer.comparisons.store import check_numbers, n_uncompared
    from nearer.saving import save

    _check_settings(context, model, start)
    out = output_file(out or start, "model.nearer", force=force)
    given = (context.params[name] for name in settings.INPUT_FILES)
    check_outputs([out, report], inputs=[answers, *(path for path in given if path is not None)])
    check_page(report)
    own = options.own_command(BY_MODEL[model], "fit")
    if own is not None:
        own(context, out)
        return
    read = partial(options.read_answers, answers, columns, header, coding, zero, codes, first_index, invalid)
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
    if start is None:
        options.refuse_options_of_others(context, model)
        return
    settled = [option for option in options.models_with(reading=False) if option != "dim"]
    if model != "online":
        settled.append("model")
    advice = f"was settled when {start} began: leave it or --start out"
    options.refuse_idle(context, (True, settled, advice))
    options.refuse_options_of_others(context, "online")


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
    return options.split_of(comparisons, test_size, seed, path)


@dataclass(frozen=True)
class Outcome:
    """How learning ended: how long it took, from how many answers, and what the model holds now."""

    seconds: float
    n_learned: int
    interrupted: bool
    holds: str
    compile_seconds: float = 0.0


def new_model(model: str, options: Mapping[str, Any], answers: Comparisons, dim: int, seed: int) -> Model:
    """Return an estimator with the options that it has; one that was not given keeps the estimator's default."""
    row = BY_MODEL[model]
    # plain strings rather than members of an enumeration: a model file holds only those
    given = {
        name: number_or_name(str(options[option])) if isinstance(options[option], str) else options[option]
        for name, option in row.options.items()
        if options[option] is not None
    }
    if "n_components" not in given:  # a kernel, whose map has at most one dimension per object
        check_dim(dim, answers.n_objects)
    if model == "online" and answers.shape[1] == 4 and "rank" not in given:
        given["direction"] = "minimal"  # the paper's direction is for triplets alone
    return estimator_class(row.name)(random_state=seed, **given)


def learn(estimator: Model, train: Comparisons, about: str) -> Outcome:
    """Fit or continue; ctrl-C ends it early and is raised only if nothing was learned."""
    from nearer._fitting import is_kernel, is_online

    if is_online(estimator):
        return _learn_online(estimator, train)
    fit_with_bar(estimator, train, about)
    result = estimator.result_
    early = result.stop_reason == "interrupted"
    what = "kernel" if is_kernel(estimator) else "map"
    return Outcome(result.seconds, len(train), early, f"the best {what} so far" if early else f"the {what}")


def fit_with_bar(estimator: OrdinalEmbedding | RelativeKernel, train: Comparisons, about: str) -> None:
    """Fit, with a progress bar if stderr is a terminal."""
    if not sys.stderr.isatty():
        estimator.fit(train)
        return
    from nearer._utils.progress import progress_bar

    with progress_bar(about, max_seconds=estimator.max_seconds, keep=False) as callback:
        estimator.set_params(callback=callback).fit(train)
        callback.finish_with(estimator.result_)
    estimator.set_params(callback=None)  # a saved model holds no functions


def _learn_online(estimator: OnlineKernel, answers: Comparisons) -> Outcome:
    from nearer._fitting import that_count
    from nearer._utils.runtime import compiling

    answers = that_count(answers)
    before = getattr(estimator, "n_seen_", 0)
    estimator.set_params(verbose=sys.stderr.isatty())
    interrupted, began = False, time.perf_counter()
    with compiling() as compile_seconds:
        try:
            estimator.partial_fit(answers)
        except KeyboardInterrupt:
            interrupted = True
    estimator.set_params(verbose=False)
    learned = getattr(estimator, "n_seen_", before) - before
    if interrupted and not learned:
        raise KeyboardInterrupt
    part = f"what the first {learned:,} of {counted(len(answers), 'answer')} taught"
    holds = part if interrupted else "the kernel"
    return Outcome(time.perf_counter() - began, learned, interrupted, holds, compile_seconds())


def facts_about(
    estimator: Model, outcome: Outcome, train: Comparisons, test: Comparisons | None, dim: int
) -> dict[str, Any]:
    """Return the scores of a model and how it was found, for machines."""
    from nearer._fitting import is_kernel, is_online, map_of, n_objects_of, share_on_map

    facts: dict[str, Any] = {
        "class": type(estimator).__name__,
        "n_objects": n_objects_of(estimator),
        "n_components": dim,
        "n_train": len(train),
        "n_test": 0 if test is None else len(test),
        "train_accuracy": estimator.score(train),
        "test_accuracy": None if test is None else estimator.score(test),
        "seconds": outcome.seconds,
    }
    if is_kernel(estimator):
        judges = train if test is None else test
        facts["map_accuracy"] = share_on_map(estimator, map_of(estimator, dim), judges)
    if is_online(estimator):
        return facts | {name: getattr(estimator, f"{name}_") for name in _COUNTS}
    names = ("objective", "stop_reason", "n_epochs", "n_evaluations", "details")
    return facts | {name: getattr(estimator.result_, name) for name in names}


def lines_about(facts: dict[str, Any], estimator: Model, outcome: Outcome) -> list[tuple[str, str]]:
    """Return the same for people."""
    total, objects = facts["n_train"] + facts["n_test"], counted(facts["n_objects"], "object")
    lines = [
        ("answers", f"{total:,} about {objects}{left_out(facts['n_dropped'])}"),
        ("columns not used", ", ".join(facts["ignored_columns"])),
        ("in no answer", counted(facts["n_uncompared"], "object") if facts["n_uncompared"] else ""),
        ("new", counted(facts["n_new_objects"], "object") if facts["n_new_objects"] else ""),
        *_what_was_found(facts, estimator),
        ("time", _time(estimator, outcome)),
        ("accuracy before", _share(facts["accuracy_before"], facts["n_train"], " before they were learned")),
        ("training accuracy", _share(facts["train_accuracy"], facts["n_train"])),
        ("held-out accuracy", _share(facts["test_accuracy"], facts["n_test"], " that the fit did not see")),
    ]
    lines += [(name, str(facts[name])) for name in ("model", "report") if facts[name] is not None]
    return [line for line in lines if line[1]]


def _share(share: float | None, number: int, which: str = "") -> str:
    return "" if share is None else f"{percent(share)} of {counted(number, 'answer')}{which}"


def _what_was_found(facts: dict[str, Any], estimator: Model) -> list[tuple[str, str]]:
    size = counted(facts["n_components"], "dimension")
    objective = f"{estimator.loss_.name} loss {facts['objective']:.4g}" if "objective" in facts else ""
    if "map_accuracy" not in facts:
        return [("map", f"{size}, {objective}")]
    judged = "held-out" if facts["n_test"] else "training"
    the_map = ("map", f"{size}, in which {percent(facts['map_accuracy'])} of the {judged} answers hold")
    if "n_seen" in facts:
        kernel = f"{counted(facts['n_seen'], 'answer')} learned in {counted(facts['n_steps'], 'step')}"
        if facts["n_projections"] + facts["n_skipped"]:
            kernel += f", {counted(facts['n_projections'], 'projection')}"
    else:
        details = facts["details"]
        kernel = f"rank {details['rank']}, {objective}, trace penalty {details['trace_penalty']:.4g}"
        if "gap" in details:
            kernel += f", at most {max(details['gap'], 0.0):.2g} above the minimum"
    return [("kernel", kernel), the_map]


def _time(estimator: Model, outcome: Outcome) -> str:
    from nearer._fitting import STOP_REASONS, effort, is_online, of_it_compiling

    if is_online(estimator):
        return readable_seconds(outcome.seconds) + of_it_compiling(outcome.compile_seconds)
    result = estimator.result_
    return f"{effort(result)}: {STOP_REASONS[result.stop_reason]}"
