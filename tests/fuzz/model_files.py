"""Model files that are damaged or made up."""

from __future__ import annotations

import contextlib
import copy
import io
import json
import struct
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

#: what a value of a manifest is replaced by
VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 2, 3, 10**10, 2**31, 2**53, 2**63, 2**64, 2**70, -(2**63), 10**400),
    *(0.5, -0.5, 1e-300, 1e-160, 1e160, 1e308, -1e308, {"$float": "inf"}, {"$float": "nan"}, {"$float": "x"}),
    *(
        "",
        "auto",
        "linear",
        "rff",
        "paper",
        "x" * 5000,
        "\ud800",
        "\x00",
        "ste",
        "adadsg",
        "metric",
        "ranking",
    ),
    *(
        [],
        [1],
        [[]],
        {},
        {"a": 1},
        {"$dict": {}},
        {"$dict": {"unit": 1.0}},
        {"$tuple": []},
        {"$tuple": ["a", "a"]},
    ),
    *(
        {"$scalar": "float64", "value": 1.0},
        {"$scalar": "int64", "value": 2**63},
        {"$scalar": "O", "value": 1},
    ),
    *(
        {"$strings": ["a"]},
        {"$strings": [1, 2]},
        {"$strings": []},
        {"$array": "arrays/0.npy"},
        {"$array": "x"},
    ),
    *({"$type": "losses.TSTE", "fields": {}}, {"$type": "losses.SOE", "fields": {"margin": 1e300}}),
    *(
        {"$type": "losses.HingeLoss", "fields": {}},
        {"$type": "solvers.Adam", "fields": {"n_batches": 10**12}},
    ),
    *(
        {"$type": "solvers.SVRG", "fields": {"epoch_length": 10**12}},
        {"$type": "pairwise.DSGD", "fields": {}},
    ),
    *(
        {"$type": "pairwise.OLP", "fields": {"buffer": 10**12}},
        {"$type": "pairwise.OPAUC", "fields": {"rank": 3}},
    ),
    *({"$type": "pairwise.SOLAM", "fields": {}}, {"$type": "pairwise.State", "fields": {"w": [1.0]}}),
    *(
        {"$type": "pairwise.RandomFourier", "fields": {"n_components": 10**12}},
        {"$type": "active.Board", "fields": {}},
    ),
    *({"$type": "active.Random", "fields": {}}, {"$type": "kernels.WeylBound", "fields": {"value": 1e300}}),
    *({"$type": "kernels.Slack", "fields": {"values": [1]}}, {"$type": "losses.Loss", "fields": {}}),
]


# -- files as their members --------------------------------------------------------------------------------------


def members_of(content: bytes) -> dict[str, bytes]:
    """The members of a model file by name."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(members: Iterable[tuple[str, bytes]], compression: int = zipfile.ZIP_STORED) -> bytes:
    """A model file of these members, of which two may have one name."""
    stream = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(stream, "w", compression) as archive:
        warnings.simplefilter("ignore")
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name), content, compression)
    return stream.getvalue()


def with_manifest(content: bytes, change: Callable[[Any], Any]) -> bytes:
    """The file with its manifest changed, in place or by what the function returns."""
    members = members_of(content)
    manifest = json.loads(members["manifest.json"])
    changed = change(manifest)
    members["manifest.json"] = json.dumps(manifest if changed is None else changed).encode()
    return packed(members.items())


def with_array(content: bytes, member: str, array: np.ndarray) -> bytes:
    """The file with another array in the place of one."""
    return packed((members_of(content) | {member: npy(array)}).items())


def npy(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, allow_pickle=array.dtype.hasobject)
    return stream.getvalue()


# -- ways to spoil a file ----------------------------------------------------------------------------------------


def spoiled_bytes(content: bytes, rng: np.random.Generator) -> bytes:
    """Some bytes flipped, cut out, doubled or zeroed; more often at the end, where the zip has its directory."""
    broken = bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        place = int(rng.integers(len(broken)))
        if rng.random() < 0.5:
            place = len(broken) - 1 - place % min(len(broken), 400)
        stretch = slice(place, place + int(rng.integers(1, 60)))
        match int(rng.integers(6)):
            case 0:
                del broken[stretch]
            case 1:
                broken[stretch] = broken[stretch] * 2
            case 2:
                broken[stretch] = bytes(len(broken[stretch]))
            case 3:
                del broken[place:]
            case _:
                broken[place] ^= 1 << int(rng.integers(8))
        if not broken:
            return b""
    return bytes(broken)


def spoiled_manifest(content: bytes, rng: np.random.Generator) -> bytes:
    """One or two values of the manifest replaced by hostile ones, or taken away."""

    def change(manifest: Any) -> None:
        for _ in range(1 if rng.random() < 0.8 else 2):
            holder, key = _some_place(manifest, rng)
            if rng.random() < 0.05:
                del holder[key]
            elif rng.random() < 0.1:
                other, where = _some_place(manifest, rng)
                holder[key] = json.loads(json.dumps(other[where]))
            else:
                holder[key] = copy.deepcopy(VALUES[int(rng.integers(len(VALUES)))])

    return with_manifest(content, change)


def _some_place(manifest: Any, rng: np.random.Generator) -> tuple[Any, Any]:
    """A dictionary or list of the manifest, and one of its keys; deep ones as often as shallow ones."""
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        keys = node.keys() if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
        for key in keys:
            places.append((node, key))
            walk(node[key])

    walk(manifest)
    return places[int(rng.integers(len(places)))] if places else ({"": 0}, "")


def spoiled_array(content: bytes, rng: np.random.Generator) -> bytes:
    """One array replaced by one of another shape or type, or with other entries."""
    members = members_of(content)
    names = [name for name in members if name.endswith(".npy")]
    name = names[int(rng.integers(len(names)))]
    array = np.lib.format.read_array(io.BytesIO(members[name]), allow_pickle=False)
    return with_array(content, name, _spoiled(array, rng))


def _spoiled(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    if array.dtype.kind not in "biuf" or rng.random() < 0.5:
        return _reshaped(array, rng)
    numbers = array.astype(np.float64) if rng.random() < 0.3 else array.copy()
    odd = [-1, 0, 1, 2, 7, 10**6, 2**31 - 1, -(2**31)]
    if numbers.dtype.kind == "f":
        odd += [np.nan, np.inf, -np.inf, 1e308, -1e308, 1e149, 1e-300, 1e9, 0.5]
    with np.errstate(all="ignore"):
        values = np.array(odd).astype(numbers.dtype)
    flat = numbers.reshape(-1)
    if rng.random() < 0.4:  # what may well pass for the array of a model
        with np.errstate(all="ignore"):
            scaled = flat * 10.0 ** rng.integers(-40, 40) * rng.choice([-1, 1])
            return rng.permutation(scaled.astype(numbers.dtype)).reshape(numbers.shape)
    if rng.random() < 0.3:
        flat[:] = values[rng.integers(len(values))]
    elif len(flat):
        flat[rng.integers(len(flat), size=int(rng.integers(1, 4)))] = values[rng.integers(len(values))]
    return numbers


def _reshaped(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    dtypes = [
        "float32",
        "float64",
        "float16",
        "int8",
        "int32",
        "int64",
        "uint64",
        "bool",
        "complex128",
        "U3",
        ">f8",
    ]
    dtypes += ["S4", "M8[s]", "longdouble", object, [("a", "f8")], ">i4"]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        match int(rng.integers(9)):
            case 0:
                return array[: len(array) // 2] if array.ndim else array
            case 1:
                return np.concatenate([array, array]) if array.ndim else array
            case 2:
                return array.reshape(-1)[:1]
            case 3:
                return array.reshape(-1)[0] if array.size else np.array(0.0)
            case 4:
                return array[..., None]
            case 5:
                return array.T.copy()
            case 6:
                return np.asfortranarray(array)
            case 7:
                return np.empty((0, *array.shape[1:]), array.dtype)
            case _:
                with contextlib.suppress(TypeError, ValueError):
                    return array.astype(dtypes[int(rng.integers(len(dtypes)))])
                return array


def hostile_archives(content: bytes) -> Iterator[tuple[str, bytes]]:
    """Files whose zip, not whose content, is hostile; each by name."""
    members = members_of(content)
    names = [name for name in members if name.endswith(".npy")]
    yield "compressed", packed(members.items(), zipfile.ZIP_DEFLATED)
    bomb = npy(np.zeros(3 * 10**7))
    yield "compressed bomb", packed((members | {names[0]: bomb}).items(), zipfile.ZIP_DEFLATED)
    yield "twice the same name", packed([*members.items(), (names[0], members[names[0]])])
    yield "manifest twice", packed([*members.items(), ("manifest.json", members["manifest.json"])])
    for shape in ("(1000000000000,)", "(99999999999999999999,)", "(-1,)", "(0, 100000000000000)", "()", "(3"):
        yield f"declares {shape}", packed((members | {names[0]: _declaring(shape)}).items())
    yield "structured", packed((members | {names[0]: npy(np.zeros(3, [("a", "f8")]))}).items())
    for depth in (200, 100_000):
        nested = members | {"manifest.json": b"[" * depth + b"]" * depth}
        yield f"nested {depth} deep", packed(nested.items())
        deep: Any = json.loads(members["manifest.json"])
        deep["fitted"] = "@"
        text = json.dumps(deep).replace('"@"', '{"a":' * depth + "1" + "}" * depth)
        yield f"fitted {depth} deep", packed((members | {"manifest.json": text.encode()}).items())
    yield "many lists", packed([("manifest.json", b"[" + b"[]," * 10**6 + b"[]]")])
    yield "one array many times", with_manifest(content, _repeat_an_array)
    yield "overlapping", overlapping(content)
    yield "size of another", _declaring_size(content, 2**31)


def _repeat_an_array(manifest: Any) -> None:
    manifest["fitted"]["result_"] = [{"$array": "arrays/0.npy"}] * 1000


def _declaring(shape: str) -> bytes:
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(64)


def overlapping(content: bytes) -> bytes:
    """All arrays of the directory pointing at the bytes of the first."""
    entries = _directory(content)
    broken = bytearray(content)
    arrays = [at for at, name in entries if name.endswith(b".npy")]
    first = broken[arrays[0] + 42 : arrays[0] + 46]
    for at in arrays[1:]:
        broken[at + 42 : at + 46] = first
    return bytes(broken)


def _declaring_size(content: bytes, size: int) -> bytes:
    broken = bytearray(content)
    for at, name in _directory(content):
        if name.endswith(b".npy"):
            broken[at + 20 : at + 28] = struct.pack("<II", size, size)
    return bytes(broken)


def _directory(content: bytes) -> list[tuple[int, bytes]]:
    """Where each entry of the zip's directory begins, and its name."""
    found, at = [], content.find(b"PK\x01\x02")
    while at >= 0:
        length = struct.unpack("<H", content[at + 28 : at + 30])[0]
        found.append((at, content[at + 46 : at + 46 + length]))
        at = content.find(b"PK\x01\x02", at + 46)
    return found


SPOILERS = (spoiled_bytes, spoiled_manifest, spoiled_manifest, spoiled_array, spoiled_array)


def damage_model(content: bytes, rng: np.random.Generator) -> bytes:
    """A model file with damaged bytes, hostile values or arrays in a valid zip, or a hostile zip."""
    if rng.random() < 0.03:
        hostile = [broken for _, broken in hostile_archives(content)]
        return hostile[int(rng.integers(len(hostile)))]
    return SPOILERS[int(rng.integers(len(SPOILERS)))](content, rng)
