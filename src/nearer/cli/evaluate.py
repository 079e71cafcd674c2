"""`nearer evaluate`: score a saved model on answers."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import typer

from nearer._utils.text import counted
from nearer.cli import _options as options
from nearer.cli._loading import load_for, read_about
from nearer.cli._output import left_out, percent, show
from nearer.errors import InputError

if TYPE_CHECKING:
    from nearer._fitting import Model
    from nearer.comparisons import Comparisons


def evaluate(
    context: typer.Context,
    model: options.ModelFile,
    answers: options.AnswersFile,
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
    features: options.FeaturesIn = None,
    as_json: options.AsJson = False,
) -> None:
    """Score a saved model: the share of answers that it predicts, or how well it finds labels, pairs or tags."""
    from nearer._fitting import warn_of_chance

    estimator, row = load_for(model, "evaluate")
    options.refuse_options_of_others(context, str(row.model), f"the {row.name} in {model}")
    own = options.own_command(row, "evaluate")
    if own is not None:
        own(context, estimator)
        return
    read = partial(options.read_answers, answers, columns, header, coding, zero, codes, first_index, invalid)
    comparisons = read_about(estimator, answers, read)
    if not len(comparisons):
        raise InputError(f"{answers}: there are no comparisons to evaluate: give at least one")
    accuracy = estimator.score(comparisons)
    spread = (accuracy * (1 - accuracy) / len(comparisons)) ** 0.5
    surprise = _log_loss(estimator, comparisons)
    conflicts = comparisons.conflicts()
    about = counted(len(comparisons), "comparison") + left_out(comparisons.n_dropped)
    lines = [("accuracy", f"{percent(accuracy)} ± {percent(spread)} of {about}")]
    if surprise is not None:
        lines.append(("log loss", f"{surprise:.4f} (a coin toss has 0.6931)"))
    lines.append(("conflicts", f"{conflicts.n_rows:,} comparisons contradict another"))
    facts = {
        "accuracy": accuracy,
        "error": 1 - accuracy,
        "standard_error": spread,
        "log_loss": surprise,
        "n_comparisons": len(comparisons),
        "n_dropped": comparisons.n_dropped,
        "n_conflicts": conflicts.n_rows,
        "at_chance": warn_of_chance(accuracy, comparisons, f"{answers}: the accuracy"),
    }
    show(facts, lines, as_json=as_json)


def _log_loss(estimator: Model, comparisons: Comparisons) -> float | None:
    """Return the mean of -log(probability of the answer), or None if the loss has no probabilities."""
    import numpy as np

    if not estimator.loss_.has_probability:
        return None
    probability = estimator.predict_proba(comparisons)
    return float(np.average(-np.log(np.maximum(probability, 1e-15)), weights=comparisons.weights))
