"""Interactions in files and frames; the formats are those of comparisons."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nearer._utils.group import ALONE, Group
from nearer.comparisons.files.kinds import TableKind
from nearer.comparisons.files.npz import Expected, read_arrays
from nearer.comparisons.files.writing import Written
from nearer.errors import InputError
from nearer.interactions.arrays import checked_pairs
from nearer.interactions.content import PairContent, above
from nearer.interactions.wanted import WantedPairs

if TYPE_CHECKING:
    import pyarrow as pa

_OBJECTS = Expected(1, "iufU", "whole numbers or names")
_NAMES = Expected(1, "U", "strings")
_SIZE = Expected(0, "iu", "a whole number")
_ARRAYS = {
    "left": _OBJECTS,
    "right": _OBJECTS,
    "weights": Expected(1, "iuf", "numbers"),
    "times": Expected(1, "iufM", "numbers or dates"),
    "left_names": _NAMES,
    "right_names": _NAMES,
    "n_left": _SIZE,
    "n_right": _SIZE,
}


def rows_of_file(
    path: str | os.PathLike[str],
    wanted: TableKind,
    columns: dict[str, Any],
    header: bool | None,
    group: Group = ALONE,
) -> Any:
    """Return the pairs, or posts, of a file, or of a folder of parquet files; processes share the work on a folder."""
    from nearer.comparisons.files.opening import not_for, read_table

    if Path(path).is_dir():
        from nearer.comparisons.files.folders import read_folder

        if header is not None:
            raise not_for("header", "csv, tsv and txt files")
        return read_folder(Path(path), wanted, given(columns), group)
    return read_table(path, wanted, given(columns), header)


def rows_of_frame(frame: Any, wanted: TableKind, columns: dict[str, Any]) -> Any:
    """Return the pairs, or posts, of a DataFrame."""
    from nearer.comparisons.files.frames import read_frame

    return read_frame(frame, given(columns), wanted)


def given(columns: dict[str, Any]) -> dict[str, Any] | None:
    """Return the columns that the caller has named, None if there are none."""
    return {role: where for role, where in columns.items() if where is not None} or None


def read_npz(path: Path, wanted: WantedPairs) -> PairContent:
    """Return the pairs of an npz file."""
    content, keys = read_arrays(path, _ARRAYS)
    missing = [key for key in ("left", "right") if key not in content]
    if missing:
        raise InputError(
            f"there is no array {missing[0]!r} among {', '.join(keys)}",
            "rename one or load the file with numpy",
        )
    names = [
        tuple(content[key].tolist()) if key in content else None for key in ("left_names", "right_names")
    ]
    sizes = [content[key].item() if key in content else None for key in ("n_left", "n_right")]
    wanted = wanted.or_else(names, sizes)
    pairs = checked_pairs(
        content["left"],
        content["right"],
        content.get("weights"),
        content.get("times"),
        n_left=wanted.n_left,
        n_right=wanted.n_right,
        left_names=wanted.left_names,
        right_names=wanted.right_names,
        duplicates=wanted.duplicates or "sum",
    )
    return pairs if wanted.at_least is None else above(pairs, wanted.at_least)


def written(fields: PairContent) -> Written:
    """Return what goes into a file of interactions."""
    notes = {
        "n_left": fields.n_left,
        "n_right": fields.n_right,
        "left_names": fields.left_names,
        "right_names": fields.right_names,
    }
    arrays = {key: getattr(fields, key) for key in ("left", "right", "weights", "times")} | notes

    def kept() -> dict[str, Any]:
        return {
            key: np.array(value, dtype=np.str_) if isinstance(value, tuple) else value
            for key, value in arrays.items()
            if value is not None
        }

    def table(rows: slice) -> pa.Table:
        return arrow_table(fields, rows)

    names = {*(fields.left_names or ()), *(fields.right_names or ())}
    return Written(len(fields.left), table, names, notes, kept)


def arrow_table(fields: PairContent, rows: slice) -> pa.Table:
    """Return some rows as a table; names are dictionary-encoded strings."""
    import pyarrow as pa

    columns: dict[str, Any] = {}
    for side in ("left", "right"):
        numbers, names = pa.array(getattr(fields, side)[rows]), getattr(fields, f"{side}_names")
        texts = None if names is None else pa.array(names, pa.string())
        columns[side] = numbers if texts is None else pa.DictionaryArray.from_arrays(numbers, texts)
    for role, values in (("weight", fields.weights), ("time", fields.times)):
        if values is not None:
            columns[role] = pa.array(values[rows])
    return pa.table(columns)
