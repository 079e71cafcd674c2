"""`nearer predict`: answer the questions of a file with a saved model."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nearer._utils.text import counted
from nearer.cli import _options as options
from nearer.cli._loading import load_for
from nearer.cli._output import check_outputs, show, write_all
from nearer.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

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
            help="csv, tsv, parquet or jsonl: anchor, a, b (in any order).",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", show_default=False, help="csv, tsv, parquet or jsonl; default: csv on stdout."),
    ] = None,
    columns: options.Columns = None,
    header: options.Header = None,
    first_index: options.FirstIndex = None,
    as_json: options.AsJson = False,
) -> None:
    """Answer questions with a saved model: which is nearer, and with what probability.

    All columns are kept. predicted_near is added, and probability if the loss has a probability model.
    """
    from nearer.cli._question_files import read_questions

    check_outputs([out], inputs=[model, questions])
    write = None if out is None else table_writer(out)
    estimator, row = load_for(model, "predict")
    options.refuse_options_of_others(context, str(row.model), f"the {row.name} in {model}")
    own = options.own_command(row, "predict")
    if own is not None:
        own(context, estimator)
        return
    asked = read_questions(questions, estimator, options.parse_columns(columns), header, first_index)
    answers = _answers(estimator, asked)
    if out is not None and write is not None:
        table = _with_answers(asked.table, answers)
        write_all({out: lambda path: write(table, path)})
        facts = {"out": out, "n_questions": table.num_rows}
        show(facts, [("predictions", f"{out} ({counted(table.num_rows, 'question')})")], as_json=as_json)
    elif as_json:
        rows = [dict(zip(answers, row, strict=True)) for row in zip(*answers.values(), strict=True)]
        show({"n_questions": len(rows), "predictions": rows}, [], as_json=True)
    else:
        sys.stdout.buffer.writelines(csv_lines(_with_answers(asked.table, answers)))


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


def _with_answers(table: pa.Table, answers: dict[str, list[Any]]) -> pa.Table:
    """Return the table with the new columns, which replace those of an earlier prediction."""
    import pyarrow as pa

    table = table.drop_columns([name for name in (PREDICTED, PROBABILITY) if name in table.column_names])
    for name, values in answers.items():
        table = table.append_column(name, pa.array(values))
    return table


def table_writer(out: Path) -> Callable[[pa.Table, Path], object]:
    """Return the function that writes a table, by the ending of the file name."""
    from pyarrow import parquet

    endings: dict[str, Callable[[pa.Table, Path], object]] = {
        ".csv": lambda table, path: _write_lines(path, csv_lines(table)),
        ".tsv": lambda table, path: _write_lines(path, csv_lines(table, delimiter="\t")),
        ".jsonl": lambda table, path: _write_lines(path, json_lines(table)),
        ".parquet": parquet.write_table,
    }
    if out.suffix.lower() not in endings:
        raise InputError(f"{out}: give the table a name that ends with one of {', '.join(endings)}")
    return endings[out.suffix.lower()]


def _write_lines(path: Path, lines: Iterable[bytes]) -> None:
    with path.open("wb") as stream:
        stream.writelines(lines)


def csv_lines(table: pa.Table, delimiter: str = ",") -> Iterator[bytes]:
    """Yield blocks of csv, header first, with quotes if a cell needs them.

    >>> import pyarrow as pa
    >>> list(csv_lines(pa.table({"anchor": ["tea, green"], "probability": [0.5]})))
    [b'anchor,probability\\n', b'"tea, green",0.5\\n']
    """
    import csv
    import io

    def block(rows: Iterable[Iterable[Any]]) -> bytes:
        text = io.StringIO()
        csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(rows)
        return text.getvalue().encode("utf-8")

    yield block([table.column_names])
    for batch in table.to_batches(max_chunksize=1 << 14):
        yield block(zip(*(column.to_pylist() for column in batch.columns), strict=True))


def json_lines(table: pa.Table) -> Iterator[bytes]:
    """Yield one JSON object per row.

    >>> import pyarrow as pa
    >>> list(json_lines(pa.table({"anchor": ["tea"]})))
    [b'{"anchor": "tea"}\\n']
    """
    import json

    for batch in table.to_batches(max_chunksize=1 << 14):
        for row in batch.to_pylist():
            yield (json.dumps(row, ensure_ascii=False) + "\n").encode("utf-8")
