"""Tables that commands write: csv, tsv, jsonl or parquet by the ending of a file name, or csv on stdout."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nearer._utils.text import counted
from nearer.cli._output import show, write_all
from nearer.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa


def put_answers(
    table: pa.Table, answers: dict[str, Any], out: Path | None, row: str, what: str, as_json: bool
) -> None:
    """Write a table with further columns to a file and say so; without a file, print it as csv.

    As JSON, print the further columns alone.

    Parameters
    ----------
    table : pyarrow.Table
    answers : dict
        The further columns; they replace those of the same name.
    out : Path, optional
    row, what : str
        What a row is, and what the columns are, for the message.
    as_json : bool
    """
    import pyarrow as pa

    if out is not None:
        write_table(replaced(table, answers), out)
        facts = {"out": out, f"n_{row}s": table.num_rows}
        show(facts, [(what, f"{out} ({counted(table.num_rows, row)})")], as_json=as_json)
    elif as_json:
        show({f"n_{row}s": table.num_rows, what: pa.table(answers).to_pylist()}, [], as_json=True)
    else:
        sys.stdout.buffer.writelines(csv_lines(replaced(table, answers)))


def check_table_name(out: Path | None) -> None:
    """Refuse, before any work, a name that says no format."""
    if out is not None:
        _writer(out)


def replaced(table: pa.Table, columns: dict[str, Any]) -> pa.Table:
    """Return a table with further columns; those of an earlier prediction are replaced."""
    import pyarrow as pa

    table = table.drop_columns([name for name in columns if name in table.column_names])
    for name, values in columns.items():
        table = table.append_column(name, pa.array(values))
    return table


def write_table(table: pa.Table, out: Path) -> None:
    """Write a table, in the format that the ending of the file name says."""
    write = _writer(out)
    write_all({out: lambda path: write(table, path)})


def _writer(out: Path) -> Callable[[pa.Table, Path], object]:
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
