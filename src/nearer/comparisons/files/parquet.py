"""Parquet files: tables with notes about their objects, checked before they are read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from nearer.comparisons.files.cells import is_text
from nearer.comparisons.files.frames import rows_of
from nearer.comparisons.files.kinds import Columns, TableKind
from nearer.comparisons.files.opening import MOST_TIMES, expands_too_far
from nearer.comparisons.files.remedies import SAMPLE_ROWS
from nearer.comparisons.files.writing import Written
from nearer.errors import InputError, Place

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.parquet import FileMetaData

Noted = TypeVar("Noted")
_VERSION = 1
_BATCH_ROWS = 1 << 18
_ROW_BYTES = 4  # what a row takes at the very least, however well it is packed


def read_parquet(path: Path, columns: Columns | None, wanted: TableKind) -> Any:
    import pyarrow as pa

    schema = schema_of(path)
    layout = wanted.layout(schema.names, columns, Place(str(path)))
    chosen = [schema.names[position] for position in layout.roles.values()]
    if (notes := (schema.metadata or {}).get(b"nearer")) is not None:
        wanted = wanted.with_notes(notes)
    part = pa.schema([schema.field(name) for name in chosen])
    assembler = wanted.assembler(
        layout,
        numeric=wanted.hold_indices(part, layout, str(path)),
        typed=True,
        place=lambda row: Place(str(path), row=row),
        source=str(path),
    )
    n_rows = 0
    for batch in batches(path, chosen):
        assembler.add(batch)
        n_rows += batch.num_rows
    if not n_rows:
        raise InputError(f"the file holds no {wanted.noun}")
    fields = assembler.finish()
    wanted.warn_of_unused(layout, columns, lambda: _sample(path), str(path))
    return fields


def schema_of(path: Path) -> pa.Schema:
    """Return the names and types of the columns of a file."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        return parquet.read_schema(path)
    except pa.ArrowInvalid:
        raise InputError("this is not a parquet file", "is it another format with the wrong name?") from None


def batches(path: Path, chosen: list[str]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of some columns, checked; texts are dictionaries."""
    from pyarrow import parquet

    schema = schema_of(path)
    texts = [name for name in chosen if is_text(schema.field(name).type)]
    with parquet.ParquetFile(path, read_dictionary=texts) as file:
        check_expansion(file.metadata, path)
        for batch in file.iter_batches(_BATCH_ROWS, columns=chosen, use_threads=False):
            batch.validate(full=True)
            yield batch.select(chosen)


def _sample(path: Path) -> Any:
    """Return the first rows of a file."""
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        return rows_of(next(file.iter_batches(SAMPLE_ROWS)))


def checked_notes(text: bytes, read: Callable[[Mapping[str, Any]], Noted]) -> Noted:
    """Return what `write` has noted about a parquet file, as `read` finds it; it may be damaged, too."""
    try:
        notes = json.loads(text)
        is_newer = notes["version"] > _VERSION
        found = None if is_newer else read(notes)
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise InputError(
            "what nearer has noted in the file about its objects is damaged", "write the file again"
        ) from error
    if found is None:
        raise InputError("the file was written by a newer version of nearer", "update nearer to read it")
    return found


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


def write_parquet(written: Written, path: Path) -> None:
    from pyarrow import parquet

    notes = {"version": _VERSION, **written.notes}
    schema = written.table(slice(0, 0)).schema.with_metadata({"nearer": json.dumps(notes)})
    with parquet.ParquetWriter(path, schema) as writer:
        for start in range(0, written.n_rows, 1 << 20):
            table = written.table(slice(start, start + (1 << 20)))
            writer.write_table(table.replace_schema_metadata(schema.metadata))
