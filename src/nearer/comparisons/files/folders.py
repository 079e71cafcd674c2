"""Folders of parquet files: one table in parts, as other programs write large ones, read in shares by processes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nearer._utils.group import Group
from nearer._utils.text import warn
from nearer.comparisons.files.kinds import Columns, TableKind
from nearer.comparisons.files.opening import FORMATS, reading
from nearer.comparisons.files.parquet import batches, schema_of
from nearer.errors import InputError, InputWarning, Place

if TYPE_CHECKING:
    import pyarrow as pa

_OTHERS = FORMATS.keys() - {".parquet"}


@dataclass(frozen=True)
class _Table:
    """What the first file of a folder says: the columns to read, and whether objects are numbers."""

    names: list[str]
    layout: Any
    wanted: TableKind
    numeric: tuple[bool, ...]


def read_folder(folder: Path, wanted: TableKind, columns: Columns | None, group: Group) -> Any:
    """Return the content of all parquet files in a folder, in the order of their names.

    Parameters
    ----------
    folder : Path
        The folder.
    wanted : TableKind
        What the caller asks for.
    columns : mapping, optional
        Columns given by hand.
    group : Group
        The processes that call this together: each reads a share of the files, and all get all rows.
    """
    paths = sorted(path for path in folder.iterdir() if path.suffix.lower() == ".parquet")
    if not paths:
        raise InputError("there is no parquet file in this folder", place=folder)
    _warn_of_others(folder)
    table = _table(paths, wanted, columns)
    place = _Places(paths)
    assembler = table.wanted.assembler(
        table.layout, numeric=table.numeric, typed=True, place=place, source=str(folder)
    )
    for rows_of_file in _files(paths, table, group):
        n_rows = 0
        for batch in rows_of_file:
            assembler.add(batch)
            n_rows += batch.num_rows
        place.add(n_rows)
    if not place.n_rows:
        raise InputError(f"the files hold no {wanted.noun}", place=folder)
    return assembler.finish()


def _warn_of_others(folder: Path) -> None:
    """Say that other tables in the folder are not read."""
    names = sorted(path.name for path in folder.iterdir() if path.is_file())
    others = [name for name in names if Path(name.lower().removesuffix(".gz")).suffix in _OTHERS]
    if others:
        which = "a file that is" if len(others) == 1 else f"{len(others):,} files that are"
        problem = f"{which} not parquet, such as {others[0]!r}, will not be read"
        warn(InputWarning(problem, "write everything as parquet if this should be", place=folder))


class _Places:
    """Says which row of which file a row of the whole is."""

    def __init__(self, paths: list[Path]) -> None:
        self._paths, self._starts = paths, [0]

    @property
    def n_rows(self) -> int:
        """The rows of the files so far."""
        return self._starts[-1]

    def add(self, n_rows: int) -> None:
        """Note the rows of the next file."""
        self._starts.append(self.n_rows + n_rows)

    def __call__(self, row: int) -> Place:
        """Return the place of a row."""
        at = min(int(np.searchsorted(self._starts, row, side="right")), len(self._paths)) - 1
        return Place(str(self._paths[at]), row=row - self._starts[at])


def _table(paths: list[Path], wanted: TableKind, columns: Columns | None) -> _Table:
    """Return what the files have in common, or refuse one that differs."""
    with reading(paths[0]):
        schema = schema_of(paths[0])
        layout = wanted.layout(schema.names, columns, Place(str(paths[0])))
        names = [schema.names[position] for position in layout.roles.values()]
    numeric = wanted.hold_indices(_chosen(schema, names), layout, str(paths[0]))
    notes = set()
    for path in paths:
        with reading(path):
            schema = schema_of(path)
            missing = [name for name in names if name not in schema.names]
            if missing:
                raise InputError(f"there is no column {missing[0]!r}, which {paths[0].name} has", place=path)
            if wanted.hold_indices(_chosen(schema, names), layout, str(path)) != numeric:
                raise InputError(
                    f"numbers and names are not in the same columns as in {paths[0].name}",
                    "write all files with the same types",
                    place=path,
                )
            notes.add((schema.metadata or {}).get(b"nearer"))
    # what `write` has noted holds for the whole only if all files say the same
    note = notes.pop() if len(notes) == 1 else None
    return _Table(names, layout, wanted if note is None else wanted.with_notes(note), numeric)


def _chosen(schema: pa.Schema, names: list[str]) -> pa.Schema:
    import pyarrow as pa

    return pa.schema([schema.field(name) for name in names])


def _files(paths: list[Path], table: _Table, group: Group) -> Iterator[Iterable[pa.RecordBatch]]:
    """Yield the rows of each file. Every process reads one of them at a time and passes it on to the others."""
    if group.alone:
        for path in paths:
            yield _guarded(path, table)
        return
    for start in range(0, len(paths), group.size):
        mine = paths[start : start + group.size][group.rank : group.rank + 1]
        for found in group.all_of([_packed(path, table) for path in mine]):
            for packed in found:
                if isinstance(packed, Exception):  # in all processes
                    raise packed
                yield _unpacked(packed)


def _guarded(path: Path, table: _Table) -> Iterator[pa.RecordBatch]:
    with reading(path):
        yield from batches(path, table.names)


def _packed(path: Path, table: _Table) -> bytes | Exception:
    """Return the rows of a file as a message, or the error that reading it raised."""
    import pyarrow as pa

    try:
        rows = list(_guarded(path, table))
    except (InputError, OSError) as error:
        return error
    if not rows:
        return b""
    stream = pa.BufferOutputStream()
    with pa.ipc.new_stream(stream, rows[0].schema) as writer:
        for batch in rows:
            writer.write_batch(batch)
    return bytes(stream.getvalue())


def _unpacked(message: bytes) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    if message:
        yield from pa.ipc.open_stream(message)
