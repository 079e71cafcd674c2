"""Npz files: arrays, checked against what their members can hold before memory is taken for them."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Mapping
from pathlib import Path
from tokenize import TokenError
from typing import IO, NamedTuple

import numpy as np

from nearer.comparisons.arrays import checked
from nearer.comparisons.files.columns import Wanted
from nearer.comparisons.files.opening import MOST_TIMES, expands_too_far
from nearer.comparisons.files.writing import Written
from nearer.comparisons.validation import Content, refuse_for_names, warn_of_one
from nearer.errors import InputError, Place


class Expected(NamedTuple):
    """What an array of comparisons may be."""

    n_dimensions: int
    kinds: str  # by numpy's letters
    words: str


_OBJECTS = Expected(2, "iufU", "whole numbers or names")
_LABELS = Expected(1, "iufU", "whole numbers or strings")
ROWS = ("indices", "triplets", "quadruplets")
ARRAYS = {
    **dict.fromkeys(ROWS, _OBJECTS),
    "weights": Expected(1, "iuf", "numbers"),
    "annotators": _LABELS,
    "groups": _LABELS,
    "names": Expected(1, "U", "strings"),
    "n_objects": Expected(0, "iuf", "a whole number"),
}


def read_npz(path: Path, wanted: Wanted) -> Content:
    content, all_keys = read_arrays(path, ARRAYS)
    key = next((key for key in ROWS if key in content), None)
    if key is None:
        raise InputError(
            f"there is no array 'triplets', 'quadruplets' or 'indices' among {', '.join(all_keys)}",
            "rename one or load the file with numpy",
        )
    if not len(content[key]):
        raise InputError(f"the array {key!r} holds no comparison")
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


def read_arrays(path: Path, expected: Mapping[str, Expected]) -> tuple[dict[str, np.ndarray], list[str]]:
    """Return the arrays that are expected, and the names of all that are there."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = {
                info.filename.removesuffix(".npy"): info
                for info in archive.infolist()
                if info.filename.endswith(".npy")
            }
            chosen = {key: members[key] for key in expected if key in members}
            _check_size(path, list(chosen.values()))
            found = {key: _read_array(archive, key, info, expected[key]) for key, info in chosen.items()}
    except (ValueError, TypeError, SyntaxError, TokenError, EOFError, zipfile.BadZipFile) as error:
        if isinstance(error, InputError):
            raise
        raise InputError("this is not an npz file of plain arrays", "write it with numpy.savez") from error
    return found, list(members)


def _check_size(path: Path, members: list[zipfile.ZipInfo]) -> None:
    if expands_too_far(sum(info.file_size for info in members), path.stat().st_size):
        raise InputError(
            f"the arrays unpack to more than {MOST_TIMES} times the size of the file",
            "if you trust it, load it with numpy and write it with numpy.savez, which does not pack",
        )


def _read_array(archive: zipfile.ZipFile, key: str, info: zipfile.ZipInfo, expected: Expected) -> np.ndarray:
    with archive.open(info) as stream:
        shape, dtype = _header(stream)
        if len(shape) != expected.n_dimensions:
            raise InputError(
                f"the array {key!r} has the shape {shape}, but it should have {expected.n_dimensions} dimensions",
                "write it with numpy.savez again",
            )
        if dtype.kind not in expected.kinds:
            raise InputError(
                f"the array {key!r} holds {dtype}, which is not {expected.words}",
                "convert it to a plain array of these and write it with numpy.savez",
            )
        n_bytes = math.prod(shape) * dtype.itemsize
        if min(shape, default=1) < 0 or not dtype.itemsize or stream.tell() + n_bytes != info.file_size:
            raise ValueError("the header declares another size than the member has")
        stream.seek(0)
        array = np.lib.format.read_array(stream, allow_pickle=False)
        stream.read(1)  # the end is where the checksum is looked at
    return array


def _header(stream: IO[bytes]) -> tuple[tuple[int, ...], np.dtype]:
    """Return the shape and type in the header of an array; later versions are for structures with named fields."""
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    elif version == (2, 0):
        shape, _, dtype = np.lib.format.read_array_header_2_0(stream)
    else:
        raise ValueError(f"arrays of version {version} are not known")
    return shape, dtype


def write_npz(written: Written, path: Path) -> None:
    with open(path, "wb") as file:  # given a path, numpy would add an ending of its own to ".NPZ"
        np.savez(file, **written.arrays())
