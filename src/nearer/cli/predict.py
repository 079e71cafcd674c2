"""`nearer predict`: answer the questions of a file with a saved model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nearer.cli import _options as options
from nearer.cli._loading import load_for
from nearer.cli._output import check_outputs
from nearer.cli._table_output import check_table_name, put_answers

if TYPE_CHECKING:
    from nearer._fitting import Model
    from nearer.cli._question_files import QuestionTable

PREDICTED, PROBABILITY = "predicted_near", "probability"


def predict(
    context: typer.Context,
    model: options.ModelFile,
    questions: Annotated[
        Path,
        typer.Argument(
            metavar="QUESTIONS",
            show_default=False,
            help="csv, tsv, parquet or jsonl: anchor, a, b (in any order); or rows of features; or pairs.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", show_default=False, help="csv, tsv, parquet or jsonl; default: csv on stdout."),
    ] = None,
    columns: options.Columns = None,
    header: options.Header = None,
    first_index: options.FirstIndex = None,
    left: options.LeftColumn = None,
    right: options.RightColumn = None,
    as_json: options.AsJson = False,
) -> None:
    """Answer questions with a saved model: which is nearer, which labels a row has, where it lies, what is linked.

    All columns are kept. Questions get predicted_near, and probability if the loss has a probability model. Rows get
    their labels with probabilities, or coordinates whose usual distances are those of a metric. Pairs get
    predicted_link and a probability.
    """
    from nearer.cli._question_files import read_questions

    check_outputs([out], inputs=[model, questions])
    check_table_name(out)
    estimator, row = load_for(model, "predict")
    options.refuse_options_of_others(context, str(row.model), f"the {row.name} in {model}")
    own = options.own_command(row, "predict")
    if own is not None:
        own(context, estimator)
        return
    asked = read_questions(questions, estimator, options.parse_columns(columns), header, first_index)
    # the probability of an earlier prediction says nothing about this one
    table = asked.table.drop_columns([PROBABILITY] if PROBABILITY in asked.table.column_names else [])
    put_answers(table, _answers(estimator, asked), out, "question", "predictions", as_json)


def _answers(estimator: Model, asked: QuestionTable) -> dict[str, list[Any]]:
    """Return the columns to add."""
    import numpy as np

    first = estimator.predict(asked.comparisons)
    if asked.comparisons.shape[1] == 4:
        nearer: list[Any] = np.where(first, "first", "second").tolist()
    else:
        choices = [asked.table.column(position).to_pylist() for position in asked.options]
        nearer = [a if is_first else b for is_first, a, b in zip(first, *choices, strict=True)]
    answers = {PREDICTED: nearer}
    if estimator.loss_.has_probability:
        probability = estimator.predict_proba(asked.comparisons)
        answers[PROBABILITY] = np.where(first, probability, 1 - probability).tolist()
    return answers
