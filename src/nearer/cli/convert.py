"""`nearer convert`: convert comparisons between file formats."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nearer._utils.text import counted
from nearer.cli import _options as options
from nearer.cli._output import check_outputs, left_out, show, write_all


def convert(
    answers: options.AnswersFile,
    out: Annotated[Path, typer.Argument(metavar="OUT", show_default=False, help="The file to write.")],
    columns: options.Columns = None,
    header: options.Header = None,
    coding: options.ResponseCoding = None,
    zero: options.ZeroMeans = None,
    codes: options.ResponseCodes = None,
    first_index: options.FirstIndex = None,
    invalid: options.InvalidRows = options.Invalid.error,
    as_json: options.AsJson = False,
) -> None:
    """Convert comparisons between csv, tsv, parquet, jsonl and npz. File name endings set the formats."""
    check_outputs([out], inputs=[answers])
    comparisons = options.read_answers(answers, columns, header, coding, zero, codes, first_index, invalid)
    write_all({out: comparisons.write})
    facts = {"out": out, "n_comparisons": len(comparisons), "n_objects": comparisons.n_objects}
    lines = [
        ("written", f"{out} ({counted(len(comparisons), 'comparison')}{left_out(comparisons.n_dropped)})")
    ]
    show({**facts, "n_dropped": comparisons.n_dropped}, lines, as_json=as_json)
