"""Files of comparisons: csv, tsv and txt, parquet, jsonl and npz, chosen by the ending of the name.

`Comparisons.read` and `Comparisons.write` are the way in; see the guide for the formats.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nearer._utils.files import replacing
from nearer.comparisons.files.assembling import Wanted
from nearer.comparisons.files.opening import reading
from nearer.comparisons.validation import Content
from nearer.errors import InputError

FORMATS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".npz": "npz",
}


def format_of(path: Path) -> str:
    """Return the format that a file's name stands for.

    >>> format_of(Path("answers.csv.gz")), format_of(Path("answers.parquet"))
    ('csv', 'parquet')
    """
    ending = path.suffix.lower()
    if ending == ".gz":
        ending = path.with_suffix("").suffix.lower()
        if FORMATS.get(ending) not in ("csv", "jsonl"):
            raise InputError(
                "only csv, tsv, txt and jsonl files can be gzipped", "choose such a name", place=path
            )
    if ending not in FORMATS:
        raise InputError(
            f"the ending {ending!r} is not known", f"use one of {', '.join(FORMATS)}", place=path
        )
    return FORMATS[ending]


def read_fields(
    path: str | os.PathLike[str],
    *,
    columns: Mapping[str, str | int] | None = None,
    header: bool | None = None,
    **options: Any,
) -> Content:
    """Return the content of a file; see `Comparisons.read` for the options, which are those of `Wanted`."""
    path = Path(path)
    wanted, kind = Wanted(**options), format_of(path)
    with reading(path):
        return _read_any(path, kind, columns, header, wanted)


def _read_any(
    path: Path, kind: str, columns: Mapping[str, str | int] | None, header: bool | None, wanted: Wanted
) -> Content:
    if header is not None and kind != "csv":
        raise _not_for(path, "header", "csv, tsv and txt files")
    if kind == "csv":
        from nearer.comparisons.files.csv import read_csv

        return read_csv(path, columns, header, wanted)
    if kind == "jsonl":
        from nearer.comparisons.files.jsonl import read_jsonl

        return read_jsonl(path, columns, wanted)
    if kind == "parquet":
        from nearer.comparisons.files.parquet import read_parquet

        return read_parquet(path, columns, wanted)
    settings = {"columns": columns, "zero": wanted.zero, "coding": wanted.coding, "codes": wanted.codes}
    for name, value in settings.items():
        if value is not None:
            raise _not_for(path, name, "tables, not for npz files")
    from nearer.comparisons.files.npz import read_npz

    return read_npz(path, wanted)


def _not_for(path: Path, parameter: str, what: str) -> InputError:
    return InputError(f"is for {what}", "leave it out", parameter=parameter)


def write_fields(fields: Content, path: str | os.PathLike[str]) -> None:
    """Write a file of the format that its name stands for; see `Comparisons.write`."""
    path = Path(path)
    kind = format_of(path)
    with replacing(path) as temporary:
        if kind == "npz":
            from nearer.comparisons.files.npz import write_npz

            write_npz(fields, temporary)
        elif kind == "parquet":
            from nearer.comparisons.files.parquet import write_parquet

            write_parquet(fields, temporary)
        else:
            from nearer.comparisons.files.writing import write_text

            write_text(fields, temporary, path)
