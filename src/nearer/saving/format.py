"""The format of model files: values as JSON, arrays as .npy files, both in one zip; no pickle.

JSON's own null, booleans, numbers, strings and lists stand for themselves; everything else is an object whose
first key starts with `$` and says what it is:

    {"$float": "inf"}                            a float that JSON cannot hold: inf, -inf, nan
    {"$scalar": "float32", "value": 0.5}         a numpy scalar
    {"$array": "arrays/0.npy"}                   an array, in a separate file
    {"$strings": ["a", "b"]}                     a one-dimensional array of Python strings
    {"$tuple": [...]}  {"$dict": {...}}
    {"$type": "losses.TSTE", "fields": {...}}    one of nearer's own dataclasses

Reading imports nothing that a file names: types are looked up among the public names of the modules in
`nearer.registry.PARTS`.

The file is a zip of `manifest.json` and one `.npy` file per array, all uncompressed. Reading never takes more memory
than the size of the file: members are not compressed, do not overlap and occur once, and an array is as long as its
member.
"""

from __future__ import annotations

import json
import math
import re
import zipfile
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import IO, Any, NoReturn, cast

import numpy as np

from nearer.comparisons.files import opening
from nearer.errors import InputError
from nearer.registry import PARTS

_SCALAR_KINDS = "biuf"
#: nesting of values: that of a model is below ten
_DEEPEST = 50
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
#: what decoders and our own checks raise on a file that is damaged or made up
DAMAGE = (*opening.DAMAGE, AttributeError, MemoryError)


class Encoder:
    """Turn values into JSON; collect arrays in `arrays` by file name.

    >>> encoder = Encoder()
    >>> encoder.encode({"step": np.zeros(2), "tol": float("inf")}, "parameter details")
    {'$dict': {'step': {'$array': 'arrays/0.npy'}, 'tol': {'$float': 'inf'}}}
    >>> encoder.arrays
    {'arrays/0.npy': array([0., 0.])}
    """

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}

    def encode(self, value: Any, where: str) -> Any:
        """Return JSON for `value`; `where` names it in the error about a value that cannot be stored."""
        if isinstance(value, np.generic | np.ndarray):
            return self._numpy(value, where)
        if value is None or isinstance(value, bool | int | str):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"$float": repr(value)}
        if isinstance(value, list):
            return self._items(value, where)
        if isinstance(value, tuple):
            return {"$tuple": self._items(value, where)}
        if isinstance(value, dict):
            return {"$dict": self._entries(value, where)}
        if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
            return np.dtype(value).name
        if isinstance(value, np.random.Generator | np.random.RandomState):
            return None  # the state of a stream of random numbers belongs to its process, not to the model
        return self._dataclass(value, where)

    def _items(self, values: list | tuple, where: str) -> list:
        return [self.encode(value, f"{where}[{place}]") for place, value in enumerate(values)]

    def _entries(self, values: dict, where: str) -> dict[str, Any]:
        for key in values:
            if not isinstance(key, str):
                raise InputError(
                    f"{where} has the key {key!r}, but a model file holds only text keys: rename it"
                )
        return {str(key): self.encode(value, f"{where}[{key!r}]") for key, value in values.items()}

    def _numpy(self, value: np.generic | np.ndarray, where: str) -> Any:
        if isinstance(value, np.str_):
            return str(value)
        if isinstance(value, np.generic) and value.dtype.kind in _SCALAR_KINDS:
            return {"$scalar": value.dtype.name, "value": self.encode(value.item(), where)}
        array = np.asarray(value)
        if not array.dtype.hasobject:
            name = f"arrays/{len(self.arrays)}.npy"
            self.arrays[name] = array
            return {"$array": name}
        if array.ndim == 1 and all(isinstance(entry, str) for entry in array):
            return {"$strings": [str(entry) for entry in array]}
        raise InputError(
            f"{where} is an array of Python objects, which a model file cannot hold: use numbers"
        )

    def _dataclass(self, value: Any, where: str) -> dict[str, Any]:
        package = type(value).__module__.removeprefix("nearer.").partition(".")[0]
        if _public_dataclass(package, type(value).__name__) is type(value):
            names = [field.name for field in fields(cast(Any, value)) if field.init]
            encoded = {name: self.encode(getattr(value, name), f"{where}.{name}") for name in names}
            return {"$type": f"{package}.{type(value).__name__}", "fields": encoded}
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        if hasattr(value, "state_dict"):
            remedy = "keep the parameters of a torch module with torch.save"
        elif callable(value):
            remedy = "set it to None or to one of nearer's own before saving"
        else:
            remedy = "use one of nearer's own, or keep the fitted arrays with numpy.savez"
        raise InputError(
            f"{where} is of type {kind}, but a model file holds no foreign objects or code: {remedy}"
        )


class Decoder:
    """Turn JSON back into values; `read_array` returns the array of a file name.

    `make` takes the class and the fields of each dataclass; by default it builds the object.

    >>> Decoder(read_array={}.__getitem__).decode({"$tuple": [1, {"$float": "-inf"}]})
    (1, -inf)
    """

    def __init__(
        self, read_array: Callable[[str], np.ndarray], make: Callable[[type, dict], Any] | None = None
    ):
        self._read_array = read_array
        self._make = make or (lambda kind, fields: kind(**fields))

    def decode(self, value: Any, depth: int = 0) -> Any:
        """Return the value that the JSON describes; raise ValueError, KeyError or TypeError if it describes none."""
        if depth > _DEEPEST:
            raise ValueError("its values are nested too deeply")
        if isinstance(value, list):
            return [self.decode(part, depth + 1) for part in value]
        if not isinstance(value, dict):
            return value
        tag = next(iter(value), None)
        match tag:
            case "$float":
                return float(_of_type(str, value[tag]))
            case "$scalar":
                return _scalar(_of_type(str, value[tag]), self.decode(value["value"], depth + 1))
            case "$array":
                return self._read_array(_of_type(str, value[tag]))
            case "$strings":
                return np.array([_of_type(str, entry) for entry in _of_type(list, value[tag])], dtype=object)
            case "$tuple":
                return tuple(self.decode(_of_type(list, value[tag]), depth))
            case "$dict":
                return self.decode_entries(value[tag], depth + 1)
            case "$type":
                kind = _own_type(_of_type(str, value[tag]))
                return self._make(kind, self.decode_entries(value["fields"], depth + 1))
        raise ValueError(f"unknown entry {str(tag)[:50]!r}")

    def decode_entries(self, values: dict[str, Any], depth: int = 0) -> dict[str, Any]:
        """Decode the values of a dictionary; keep its keys."""
        return {key: self.decode(value, depth) for key, value in _of_type(dict, values).items()}


def _of_type(kind: type, value: Any) -> Any:
    if not isinstance(value, kind):
        raise ValueError(f"a value of type {type(value).__name__} stands where a {kind.__name__} should")
    return value


def _scalar(name: str, value: Any) -> np.generic:
    dtype = np.dtype(name)
    if dtype.kind not in _SCALAR_KINDS or dtype.itemsize > 8 or not isinstance(value, bool | int | float):
        raise ValueError(f"unknown number {value!r} of type {name[:50]!r}")
    return dtype.type(value)


def _own_type(name: str) -> type:
    package, _, class_name = name.partition(".")
    found = _public_dataclass(package, class_name)
    if found is None:
        raise ValueError(f"unknown type {name[:50]!r}")
    return found


def _public_dataclass(package: str, class_name: str) -> type | None:
    """Return the dataclass of this name that one of our packages lists, or None."""
    if package not in PARTS:
        return None
    module = import_module(PARTS[package])
    found = getattr(module, class_name, None) if class_name in module.__all__ else None
    ours = isinstance(found, type) and is_dataclass(found) and found.__module__.startswith("nearer.")
    return found if ours else None


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
