"""Parquet files: comparisons with notes about their objects, checked before they are read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from nearer.comparisons.files.assembling import Assembler, Wanted
from nearer.comparisons.files.cells import is_text
from nearer.comparisons.files.columns import layout_of
from nearer.comparisons.files.frames import holds_indices, rows_of
from nearer.comparisons.files.opening import MOST_TIMES, expands_too_far
from nearer.comparisons.files.remedies import SAMPLE_ROWS, warn_of_unused
from nearer.comparisons.files.writing import arrow_table
from nearer.comparisons.validation import Content, check_n_objects, check_names
from nearer.errors import InputError, Place

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.parquet import FileMetaData

_VERSION = 1
_BATCH_ROWS = 1 << 18
_ROW_BYTES = 4  # what a row takes at the very least, however well it is packed


def read_parquet(path: Path, columns: Mapping[str, str | int] | None, wanted: Wanted) -> Content:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        schema = parquet.read_schema(path)
    except pa.ArrowInvalid:
        raise InputError("this is not a parquet file", "is it another format with the wrong name?") from None
    layout = layout_of(schema.names, columns, Place(str(path)))
    chosen = [schema.names[position] for position in layout.roles.values()]
    wanted = _with_metadata(wanted, schema, path)
    part = pa.schema([schema.field(name) for name in chosen])
    assembler = Assembler(
        layout,
        wanted,
        numeric=holds_indices(part, layout, str(path)),
        typed=True,
        place=lambda row: Place(str(path), row=row),
        source=str(path),
    )
    texts = [field.name for field in part if is_text(field.type)]
    with parquet.ParquetFile(path, read_dictionary=texts) as file:
        if not file.metadata.num_rows:
            raise InputError("the file holds no comparison")
        check_expansion(file.metadata, path)
        for batch in file.iter_batches(_BATCH_ROWS, columns=chosen, use_threads=False):
            batch.validate(full=True)
            assembler.add(batch.select(chosen))
        fields = assembler.finish()
        if layout.unused:
            warn_of_unused(layout, columns, rows_of(next(file.iter_batches(SAMPLE_ROWS))), str(path))
    return fields


def _with_metadata(wanted: Wanted, schema: pa.Schema, path: Path) -> Wanted:
    """Return names and number of objects as the file declares them, unless the caller passed some."""
    text = (schema.metadata or {}).get(b"nearer")
    if text is None:
        return wanted
    names, n_objects = _checked_notes(text, path)
    if wanted.n_objects is not None or wanted.names is not None:
        n_objects = wanted.n_objects
    return replace(wanted, names=wanted.names or names, n_objects=n_objects)


def _checked_notes(text: bytes, path: Path) -> tuple[tuple[str, ...] | None, int | None]:
    """Return names and number of objects in what `write` has noted about a parquet file; it may be damaged, too."""
    try:
        notes = json.loads(text)
        version, names, n_objects = notes["version"], notes["names"], notes["n_objects"]
        is_newer = version > _VERSION
        if not is_newer:
            names = check_names(names)
            n_objects = check_n_objects(n_objects, names)
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise InputError(
            "what nearer has noted in the file about its objects is damaged", "write the file again"
        ) from error
    if is_newer:
        raise InputError("the file was written by a newer version of nearer", "update nearer to read it")
    return names, n_objects


def check_expansion(metadata: FileMetaData, path: Path) -> None:
    """Refuse a file that declares far more content than its size allows for.

    Groups of rows are asked, not their columns: pyarrow ends the process if the metadata of a column are damaged.
    """
    n_bytes = _ROW_BYTES * metadata.num_rows
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        n_bytes += max(group.total_byte_size, 0)
    if expands_too_far(n_bytes, path.stat().st_size):
        raise InputError(
            f"the file unpacks to more than {MOST_TIMES} times its size",
            "if you trust it, write it as csv with the program that wrote it",
        )


def write_parquet(fields: Content, path: Path) -> None:
    from pyarrow import parquet

    notes = {"version": _VERSION, "n_objects": fields.n_objects, "names": fields.names}
    schema = arrow_table(fields, slice(0, 0)).schema.with_metadata({"nearer": json.dumps(notes)})
    with parquet.ParquetWriter(path, schema) as writer:
        for start in range(0, len(fields.indices), 1 << 20):
            table = arrow_table(fields, slice(start, start + (1 << 20)))
            writer.write_table(table.replace_schema_metadata(schema.metadata))
