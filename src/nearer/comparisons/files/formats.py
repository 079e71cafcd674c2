"""Files of comparisons: csv, tsv and txt, parquet, jsonl and npz, chosen by the ending of the name.

`Comparisons.read` and `Comparisons.write` are the way in; see the guide for the formats.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nearer._utils.files import replacing
from nearer.comparisons.checks import Fields, check_n_objects, check_names, checked
from nearer.comparisons.files.assembling import Assembler, Wanted
from nearer.comparisons.files.boundary import reading
from nearer.comparisons.files.columns import layout_of
from nearer.comparisons.files.npz import ROWS, read_arrays
from nearer.comparisons.files.unused import SAMPLE_ROWS, warn_of_unused
from nearer.comparisons.files.writing import arrow_table, write_text
from nearer.comparisons.first_index import refuse_for_names, warn_of_one
from nearer.errors import InputError, Place

if TYPE_CHECKING:
    import pyarrow as pa

FORMATS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".npz": "npz",
}
_VERSION = 1
_BATCH_ROWS = 1 << 18


def format_of(path: Path) -> str:
    """The format that a file's name stands for.

    >>> format_of(Path("answers.csv.gz")), format_of(Path("answers.parquet"))
    ('csv', 'parquet')
    """
    ending = path.suffix.lower()
    if ending == ".gz":
        ending = path.with_suffix("").suffix.lower()
        if FORMATS.get(ending) not in ("csv", "jsonl"):
            raise InputError(
                "only csv, tsv, txt and jsonl files can be gzipped",
                place=Place(str(path)),
                remedy="choose such a name",
            )
    if ending not in FORMATS:
        raise InputError(
            f"the ending {ending!r} is not known",
            place=Place(str(path)),
            remedy=f"use one of {', '.join(FORMATS)}",
        )
    return FORMATS[ending]


def read_fields(
    path: str | os.PathLike[str],
    *,
    columns: Mapping[str, str | int] | None = None,
    header: bool | None = None,
    **options: Any,
) -> Fields:
    """The content of a file; see `Comparisons.read` for the options, which are those of `Wanted`."""
    path = Path(path)
    wanted, kind = Wanted(**options), format_of(path)
    with reading(path):
        return _read_any(path, kind, columns, header, wanted)


def _read_any(
    path: Path, kind: str, columns: Mapping[str, str | int] | None, header: bool | None, wanted: Wanted
) -> Fields:
    if header is not None and kind != "csv":
        raise _not_for(path, "header", "csv, tsv and txt files")
    if kind == "csv":
        from nearer.comparisons.files.csv import read_csv

        return read_csv(path, columns, header, wanted)
    if kind == "jsonl":
        from nearer.comparisons.files.jsonl import read_jsonl

        return read_jsonl(path, columns, wanted)
    if kind == "parquet":
        return _read_parquet(path, columns, wanted)
    settings = {"columns": columns, "zero": wanted.zero, "coding": wanted.coding, "codes": wanted.codes}
    for name, value in settings.items():
        if value is not None:
            raise _not_for(path, name, "tables, not for npz files")
    return _read_npz(path, wanted)


def _not_for(path: Path, parameter: str, what: str) -> InputError:
    return InputError(f"is for {what}", parameter=parameter, place=Place(str(path)), remedy="leave it out")


def write_fields(fields: Fields, path: str | os.PathLike[str]) -> None:
    """Write a file of the format that its name stands for; see `Comparisons.write`."""
    path = Path(path)
    kind = format_of(path)
    with replacing(path) as temporary:
        if kind == "npz":
            _write_npz(fields, temporary)
        elif kind == "parquet":
            _write_parquet(fields, temporary)
        else:
            write_text(fields, temporary, path)


def _read_parquet(path: Path, columns: Mapping[str, str | int] | None, wanted: Wanted) -> Fields:
    import pyarrow as pa
    from pyarrow import parquet

    from nearer.comparisons.files.cells import is_text
    from nearer.comparisons.files.frames import holds_indices, rows_of
    from nearer.comparisons.files.parquet import check_expansion

    try:
        schema = parquet.read_schema(path)
    except pa.ArrowInvalid:
        raise InputError(
            "this is not a parquet file",
            place=Place(str(path)),
            remedy="is it another format with the wrong name?",
        ) from None
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
            raise InputError("the file holds no comparison", place=Place(str(path)))
        check_expansion(file.metadata, path)
        for batch in file.iter_batches(_BATCH_ROWS, columns=chosen, use_threads=False):
            batch.validate(full=True)
            assembler.add(batch.select(chosen))
        fields = assembler.finish()
        warn_of_unused(layout, columns, lambda: rows_of(next(file.iter_batches(SAMPLE_ROWS))), str(path))
    return fields


def _with_metadata(wanted: Wanted, schema: pa.Schema, path: Path) -> Wanted:
    """Names and number of objects as the file itself gives them, unless the caller gave some."""
    text = (schema.metadata or {}).get(b"nearer")
    if text is None:
        return wanted
    names, n_objects = _checked_notes(text, path)
    if wanted.n_objects is not None or wanted.names is not None:
        n_objects = wanted.n_objects
    return replace(wanted, names=wanted.names or names, n_objects=n_objects)


def _checked_notes(text: bytes, path: Path) -> tuple[tuple[str, ...] | None, int | None]:
    """Names and number of objects in what `write` has noted about a parquet file; it may be damaged, too."""
    try:
        notes = json.loads(text)
        version, names, n_objects = notes["version"], notes["names"], notes["n_objects"]
        is_newer = version > _VERSION
        if not is_newer:
            names = check_names(names)
            n_objects = check_n_objects(n_objects, names)
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise InputError(
            "what nearer has noted in the file about its objects is damaged",
            place=Place(str(path)),
            remedy="write the file again",
        ) from error
    if is_newer:
        raise InputError(
            "the file was written by a newer version of nearer",
            place=Place(str(path)),
            remedy="update nearer to read it",
        )
    return names, n_objects


def _write_parquet(fields: Fields, path: Path) -> None:
    from pyarrow import parquet

    notes = {"version": _VERSION, "n_objects": fields.n_objects, "names": fields.names}
    schema = arrow_table(fields, slice(0, 0)).schema.with_metadata({"nearer": json.dumps(notes)})
    with parquet.ParquetWriter(path, schema) as writer:
        for start in range(0, len(fields.indices), 1 << 20):
            table = arrow_table(fields, slice(start, start + (1 << 20)))
            writer.write_table(table.replace_schema_metadata(schema.metadata))


def _read_npz(path: Path, wanted: Wanted) -> Fields:
    content, all_keys = read_arrays(path)
    key = next((key for key in ROWS if key in content), None)
    if key is None:
        raise InputError(
            f"there is no array 'triplets', 'quadruplets' or 'indices' among {', '.join(all_keys)}",
            place=Place(str(path)),
            remedy="rename one or load the file with numpy",
        )
    if not len(content[key]):
        raise InputError(f"the array {key!r} holds no comparison", place=Place(str(path)))
    names, n_objects = wanted.names, wanted.n_objects
    if names is None and "names" in content:
        names = tuple(content["names"].tolist())
    if n_objects is None and wanted.names is None and "n_objects" in content:
        number = content["n_objects"].item()
        n_objects = int(number) if isinstance(number, float) and number.is_integer() else number
    if content[key].dtype.kind == "U":
        refuse_for_names(str(path), wanted.first_index)
    fields = checked(
        content[key],
        n_objects,
        weights=content.get("weights"),
        annotators=content.get("annotators"),
        groups=content.get("groups"),
        names=names,
        invalid=wanted.invalid,
        first_index=wanted.first_index,
        place=lambda row: Place(str(path), row=row),
    )
    if n_objects is None and fields.names is None and wanted.first_index is None:
        warn_of_one(str(path), fields.indices)
    return fields


def _write_npz(fields: Fields, path: Path) -> None:
    arrays: dict[str, Any] = {"indices": fields.indices, "n_objects": fields.n_objects}
    for key in ("weights", "annotators", "groups"):
        if getattr(fields, key) is not None:
            arrays[key] = getattr(fields, key)
    if fields.names is not None:
        arrays["names"] = np.array(fields.names, dtype=np.str_)
    with open(path, "wb") as file:  # given a path, numpy would add an ending of its own to ".NPZ"
        np.savez(file, **arrays)
