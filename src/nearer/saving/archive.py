"""A model file as an archive: a zip of `manifest.json` and one `.npy` file per array, all uncompressed.

Reading never takes more memory than the size of the file: members are not compressed, do not overlap and occur once,
and an array is as long as its member.
"""

from __future__ import annotations

import json
import math
import re
import struct
import tokenize
import zipfile
import zlib
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np

from nearer.errors import InputError

MANIFEST = "manifest.json"
#: largest size of a manifest in bytes: ten million names
_MOST_BYTES = 2**28
#: our own manifests have fewer than one bracket per 8 bytes; parsing many brackets takes much memory
_BYTES_PER_BRACKET, _FREE_BRACKETS = 8, 10_000
#: bytes of the header of a member, without its name
_LOCAL_HEADER = 30
#: bytes of an array to read at once
_AT_ONCE = 2**20
#: the header of an array as numpy writes it
_HEADER = re.compile(
    rb"\{'descr': '([<>|][a-zA-Z]\d{1,9})', 'fortran_order': (True|False), 'shape': \(([\d, ]{0,200})\), \}\s*"
)
_MAGIC = b"\x93NUMPY\x01\x00"
#: what zip, json and our own checks raise on a file that is damaged or made up
DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    tokenize.TokenError,  # numpy's parser of headers
    SyntaxError,
    EOFError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RuntimeError,  # recursion in a made-up manifest, a password in a foreign zip
    MemoryError,
)


def write_archive(path: Path, manifest: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Write manifest and arrays; equal content makes equal bytes."""
    text = json.dumps(manifest, indent=1, allow_nan=False)
    if len(text) > _MOST_BYTES:
        raise InputError(
            "the names and settings take more than 256 MB of text: use shorter names for the objects"
        )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        # a new ZipInfo carries no date
        archive.writestr(zipfile.ZipInfo(MANIFEST), text)
        for name, array in arrays.items():
            with archive.open(zipfile.ZipInfo(name), "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, array, allow_pickle=False)


class Archive:
    """The members of a model file; each can be read once."""

    def __init__(self, stream: IO[bytes]):
        self._zip = zipfile.ZipFile(stream)
        stream.seek(0, 2)
        self._members = _checked(self._zip.infolist(), stream.tell())

    def manifest(self) -> Any:
        """Return the parsed manifest."""
        content = self._read(MANIFEST)
        brackets = content.count(b"[") + content.count(b"{")
        if len(content) > _MOST_BYTES or brackets > _FREE_BRACKETS + len(content) // _BYTES_PER_BRACKET:
            raise ValueError("its manifest is larger than that of any model")
        return json.loads(content, parse_constant=_refuse)

    def array(self, member: str) -> np.ndarray:
        """Return the array of a member."""
        if not isinstance(member, str) or not member.startswith("arrays/"):
            raise ValueError(f"unknown array {str(member)[:50]!r}")
        info = self._taken(member)
        with self._zip.open(info) as stream:
            begin, dtype, shape, order = _header(stream, member)
            expected = math.prod(shape) * dtype.itemsize
            if info.file_size - begin != expected:
                what = "longer" if info.file_size - begin > expected else "shorter"
                raise ValueError(f"{member} is {what} than it says")
            array = np.empty(math.prod(shape), dtype)
            _fill(array, stream)
        return array.reshape(shape, order=order)

    def _read(self, member: str) -> bytes:
        return self._zip.read(self._taken(member))

    def _taken(self, member: str) -> zipfile.ZipInfo:
        info = self._members.pop(member, None)
        if info is None:
            raise LookupError(f"there is no {member[:50]} in it, or it is used twice")
        return info


def _fill(array: np.ndarray, stream: IO[bytes]) -> None:
    """Read all entries in blocks; reading to the end of the stream verifies the checksum."""
    place = array.view(np.uint8).data if array.size else memoryview(b"")
    for start in range(0, len(place), _AT_ONCE):
        part = place[start : start + _AT_ONCE]
        part[:] = stream.read(len(part))
    stream.read(1)


def _checked(members: list[zipfile.ZipInfo], n_bytes: int) -> dict[str, zipfile.ZipInfo]:
    """Return the members by name; refuse one that would take more memory than its bytes in the file."""
    end = 0
    for info in sorted(members, key=lambda info: info.header_offset):
        if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
            raise ValueError(f"{info.filename[:50]} is compressed, which nearer.save never does")
        if info.header_offset < end:
            raise ValueError(f"{info.filename[:50]} overlaps another part of it")
        end = info.header_offset + _LOCAL_HEADER + len(info.orig_filename) + info.file_size
        if end > n_bytes:
            raise ValueError(f"{info.filename[:50]} is larger than the file")
    found = {info.filename: info for info in members}
    if len(found) < len(members):
        raise ValueError("it holds two parts of the same name")
    return found


def _header(stream: IO[bytes], member: str) -> tuple[int, np.dtype, tuple[int, ...], Any]:
    """Return where the numbers of an array begin, their type, its shape and its order."""
    start = stream.read(10)
    if start[:8] != _MAGIC:
        raise ValueError(f"{member[:50]} is not an array as numpy writes it")
    length = int.from_bytes(start[8:], "little")
    found = _HEADER.fullmatch(stream.read(length))
    if found is None:
        raise ValueError(f"{member[:50]} has a header that numpy did not write, or holds objects")
    dtype = np.dtype(found[1].decode())
    if dtype.hasobject or dtype.itemsize == 0 or dtype.kind == "V":
        raise ValueError(f"{member[:50]} holds {dtype}, not numbers or strings")
    shape = tuple(int(length) for length in found[3].decode().replace(" ", "").split(",") if length)
    return 10 + length, dtype, shape, "F" if found[2] == b"True" else "C"


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"its manifest holds {constant}, which is not JSON")
