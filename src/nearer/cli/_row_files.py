"""Tables with a row per object, and their columns."""

from __future__ import annotations

import csv
from collections.abc import Callable, Collection
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from nearer.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

#: some of the columns of a table, by the names of all
ColumnsOf = Callable[[list[str]], Collection[str]]
_SHOWN = 8


def read_rows(path: Path, as_text: ColumnsOf = lambda header: ()) -> pa.Table:
    """Return the table of a csv, tsv, txt, jsonl or parquet file.

    Parameters
    ----------
    path : Path
        A table with column names.
    as_text : callable
        Returns, from the column names, those whose cells are texts as they are written; others do no harm.
    """
    from nearer.comparisons.files.opening import format_of, reading

    kind = format_of(path)
    if kind == "npz":
        raise InputError("rows are a table", "convert the file to csv, parquet or jsonl", place=path)
    with reading(path):
        table = _read_text(path, as_text) if kind == "csv" else typed_table(path, kind)
        if not table.num_rows:
            raise InputError("there are no rows", "give at least one", place=path)
        if kind == "csv":
            return table
        _check_header(path, table.column_names)
        return _with_texts(table, as_text(table.column_names))


def typed_table(path: Path, kind: str) -> pa.Table:
    """Return the table of a parquet or jsonl file, whose cells have types."""
    if kind == "parquet":
        from pyarrow import parquet

        from nearer.comparisons.files.parquet import check_expansion

        with parquet.ParquetFile(path) as file:
            check_expansion(file.metadata, path)
            table = file.read(use_threads=False)
    else:
        from pyarrow import json

        from nearer.comparisons.files.opening import arrow_memory, open_bytes

        with open_bytes(path) as stream:
            table = json.read_json(arrow_memory(stream.read()))
    table.validate(full=True)
    return table


def _with_texts(table: pa.Table, columns: Collection[str]) -> pa.Table:
    import pyarrow as pa

    for name in dict.fromkeys(columns):
        if name not in table.column_names:
            continue
        at = table.column_names.index(name)
        cells = ["" if cell is None else str(cell) for cell in table.column(at).to_pylist()]
        table = table.set_column(at, name, pa.array(cells, pa.string()))
    return table


def _read_text(path: Path, as_text: ColumnsOf) -> pa.Table:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    from nearer.comparisons.files.csv import delimiter_of
    from nearer.comparisons.files.opening import Lines, arrow_memory, open_bytes, open_text

    with open_text(path) as stream:
        first = next((line for line in Lines(stream) if line.strip()), "")
    delimiter = delimiter_of(first, least_width=2)
    header = next(csv.reader([first], delimiter=delimiter), [])
    if not header:
        raise InputError(f"{path}: the file is empty: write a line of names and rows to it")
    _check_header(path, header)
    with open_bytes(path) as content:
        return arrow_csv.read_csv(
            arrow_memory(content.read()),
            parse_options=arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(as_text(header), pa.string()), strings_can_be_null=False
            ),
        )


def _check_header(path: Path, header: list[str]) -> None:
    if len(set(header)) < len(header):
        again = next(name for at, name in enumerate(header) if name in header[:at])
        raise InputError(f"{path}: two columns are called {again!r}: rename one of them")


def places_of(path: Path, table: pa.Table) -> dict[str, int]:
    """Return the row of each object, whose name is in the first column."""
    ids = [str(cell) for cell in table.column(0).to_pylist()]
    place = {name: row for row, name in enumerate(ids)}
    if len(place) < len(ids):
        again = next(name for row, name in enumerate(ids) if place[name] != row)
        raise InputError(
            f"{path}: {again!r} has two rows (names are in the column {table.column_names[0]!r}): keep one of them"
        )
    return place


def named_columns(path: Path, header: list[str], wanted: str, option: str) -> list[str]:
    """Return the columns that a list such as `happy,mood_*` stands for, in the order of the table."""
    found: set[str] = set()
    for part in (part.strip() for part in wanted.split(",")):
        matching = {name for name in header if name == part or fnmatchcase(name, part)}
        if not matching:
            shown = ", ".join(header[:_SHOWN]) + (", ..." if len(header) > _SHOWN else "")
            raise InputError(f"{path}: {option} names {part!r}, but the columns are {shown}: correct it")
        found |= matching
    return [name for name in header if name in found]
