"""Rows as Arrow tables and as lines of text, in blocks."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nearer.comparisons.files.frames import object_roles
from nearer.comparisons.files.opening import open_bytes
from nearer.comparisons.validation import MISSING, Content
from nearer.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

_BLOCK_ROWS = 1 << 18


class Written(NamedTuple):
    """What goes into a file."""

    n_rows: int
    #: returns some rows as a table; names are dictionary-encoded strings
    table: Callable[[slice], pa.Table]
    #: names of objects: one of them may look like an empty cell
    names: Collection[str]
    #: what parquet files say about objects
    notes: dict[str, Any]
    #: the arrays of npz files
    arrays: Callable[[], dict[str, Any]]


def written(fields: Content) -> Written:
    """Return what goes into a file of comparisons."""
    notes = {"n_objects": fields.n_objects, "names": fields.names}

    def table(rows: slice) -> pa.Table:
        return arrow_table(fields, rows)

    return Written(len(fields.indices), table, fields.names or (), notes, lambda: _arrays(fields))


def _arrays(fields: Content) -> dict[str, Any]:
    arrays: dict[str, Any] = {"indices": fields.indices, "n_objects": fields.n_objects}
    for key in ("weights", "annotators", "groups"):
        if getattr(fields, key) is not None:
            arrays[key] = getattr(fields, key)
    if fields.names is not None:
        arrays["names"] = np.array(fields.names, dtype=np.str_)
    return arrays


def arrow_table(fields: Content, rows: slice) -> pa.Table:
    """Return some rows as a table; names are dictionary-encoded strings."""
    import pyarrow as pa

    names = None if fields.names is None else pa.array(fields.names, pa.string())
    columns: dict[str, Any] = {}
    for role, codes in zip(object_roles(fields), fields.indices[rows].T, strict=True):
        numbers = pa.array(np.ascontiguousarray(codes))
        columns[role] = numbers if names is None else pa.DictionaryArray.from_arrays(numbers, names)
    for role, values in (
        ("weight", fields.weights),
        ("annotator", fields.annotators),
        ("group", fields.groups),
    ):
        if values is not None:
            columns[role] = pa.array(values[rows])
    return pa.table(columns)


def write_text(written: Written, temporary: Path, path: Path) -> None:
    """Write csv, tsv, txt or jsonl, gzipped if the name says so."""
    endings = [ending.lower() for ending in path.suffixes]
    ending = endings[-2] if endings[-1] == ".gz" else endings[-1]
    with open_bytes(temporary, "wb") as stream:
        if ending in (".jsonl", ".ndjson"):
            _write_lines(written, stream, json.dumps, _json_pieces)
            return
        delimiter = "," if ending == ".csv" else "\t"
        stream.write((delimiter.join(written.table(slice(0, 0)).column_names) + "\n").encode())
        _write_lines(
            written,
            stream,
            lambda cell: _csv_cell(cell, delimiter, path, written.names),
            lambda roles: ["", *[delimiter] * (len(roles) - 1), "\n"],
        )


def _write_lines(
    written: Written,
    stream: IO[bytes],
    escape: Callable[[str], str],
    pieces_for: Callable[[list[str]], list[str]],
) -> None:
    """Write rows as text: pieces before, between and after the cells, and cells as `escape` makes them."""
    for start in range(0, written.n_rows, _BLOCK_ROWS):
        table = written.table(slice(start, start + _BLOCK_ROWS))
        cells = [_texts(column.combine_chunks(), escape) for column in table.columns]
        stream.write(_joined(cells, pieces_for(table.column_names)))


def _texts(column: pa.Array, escape: Callable[[str], str]) -> pa.Array:
    """Return a column as text; strings are escaped once for each that is different."""
    import pyarrow as pa

    from nearer.comparisons.files.cells import is_text

    if not is_text(column.type):
        return column.cast(pa.string())
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    cells = [escape(cell) for cell in column.dictionary.to_pylist()]
    return pa.array(cells, pa.string()).take(column.indices)


def _joined(cells: list[pa.Array], pieces: list[str]) -> memoryview:
    """Return all rows one after the other: the bytes behind an Arrow array of joined strings are the text itself."""
    import pyarrow.compute as pc

    parts: list[Any] = [pieces[0]]
    for column, piece in zip(cells, pieces[1:], strict=True):
        parts += [column, piece]
    rows = pc.binary_join_element_wise(*parts, "")
    return memoryview(rows.buffers()[2])


def _json_pieces(roles: list[str]) -> list[str]:
    return [f'{{"{roles[0]}": ', *[f', "{role}": ' for role in roles[1:]], "}\n"]


def _csv_cell(cell: str, delimiter: str, path: Path, names: Collection[str]) -> str:
    """Return a cell with quotes if it needs them."""
    if cell != cell.strip() or (cell in MISSING and cell not in names):
        raise InputError(
            f"a text file cannot keep {cell!r}, which has blanks at its ends or means that nothing is there",
            "write parquet or jsonl",
            place=path,
        )
    if any(sign in cell for sign in (delimiter, '"', "\n", "\r")):
        return '"' + cell.replace('"', '""') + '"'
    return cell
