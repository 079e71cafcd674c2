"""Hostile and damaged variants of model files, and a child process that tries them.

`variants` yields the content of damaged files; `outcomes` loads each in a child process with little memory, and if it
loads, calls everything that a model offers (`exercise`). Whatever a file holds, only `InputError` (of which
`ModelFileError` is one) or `NotFittedError` may come of it: no crash, no hang, no other error.

    python -m tests.fuzzing 1000          # so many variants of every model, from here
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import select
import struct
import subprocess
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import nearer
from nearer.errors import InputError

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
                holder[key] = VALUES[int(rng.integers(len(VALUES)))]

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


SPOILERS = {"bytes": spoiled_bytes, "manifest": spoiled_manifest, "array": spoiled_array}


def variants(content: bytes, count: int, seed: int = 0) -> Iterator[tuple[str, bytes]]:
    """Damaged files by a name that tells how: `count` at random, and those of `hostile_archives`."""
    rng = np.random.default_rng(seed)
    yield from hostile_archives(content)
    kinds = [*SPOILERS]
    for number in range(count):
        kind = kinds[min(int(rng.integers(6)), 4) // 2] if count >= 6 else kinds[number % 3]
        yield f"{kind} {seed}:{number}", SPOILERS[kind](content, rng)


# -- everything that a model offers ------------------------------------------------------------------------------


def exercise(path: Path) -> str:
    """Load a file and call everything; returns what came of it, and raises what must not."""
    from sklearn.exceptions import NotFittedError

    try:
        model = nearer.load(path)
    except InputError as error:
        return f"refused: {error}"
    for call in _calls(model):
        with contextlib.suppress(InputError, NotFittedError):
            call()
    with contextlib.suppress(InputError):
        nearer.load(nearer.save(model, path.with_suffix(".again")))
    return "loaded"


def _calls(model: Any) -> Iterator[Callable[[], Any]]:
    yield lambda: repr(model)
    if isinstance(model, nearer.active.Selector):
        yield from _calls_of_selector(model)
        return
    if "max_seconds" in model.get_params():
        model.set_params(max_seconds=0.3)
    yield from _calls_about_objects(model) if hasattr(model, "names_") else _calls_about_rows(model)


def _calls_of_selector(model: Any) -> Iterator[Callable[[], Any]]:
    yield lambda: (model.answers, model.pending, model.points, model.n_answers)
    yield lambda: model.named(model.pending)
    yield lambda: model.tell(model.next(5))
    yield model.refit
    yield lambda: model.next(20)
    yield model.forget
    yield lambda: model.grow(model.n_objects + 1)
    yield lambda: model.grow(names=["a new one"])
    yield lambda: model.next(3)


def _calls_about_objects(model: Any) -> Iterator[Callable[[], Any]]:
    from nearer._models import map_of, n_objects_of

    given = nearer.datasets.planted(max(min(n_objects_of(model), 20), 4), 2, 40, random_state=4).comparisons
    for name in ("predict", "predict_proba", "score"):
        yield lambda name=name: getattr(model, name)(given) if hasattr(model, name) else None
    for name in ("rank_", "points_", "kernel_", "n_steps_", "n_projections_"):
        yield lambda name=name: getattr(model, name, None)
    yield lambda: map_of(model, 2)
    if hasattr(model, "partial_fit"):
        yield lambda: model.partial_fit(given)
        yield lambda: model.partial_fit(given)
    if hasattr(model, "add_objects"):
        yield lambda: model.add_objects(2)
        yield lambda: model.add_objects(names=["one", "two"])
        yield lambda: model.partial_fit(given)
    yield lambda: model.predict(given)
    yield lambda: model.fit(given)


def _calls_about_rows(model: Any) -> Iterator[Callable[[], Any]]:
    from scipy import sparse

    rng = np.random.default_rng(5)
    X = rng.normal(size=(40, min(model.n_features_in_, 50)))
    y = np.arange(40) % 2
    labels = model.classes_[y] if hasattr(model, "classes_") else y
    is_map = isinstance(model, nearer.FeatureMap)
    target = rng.normal(size=(40, model.dual_coef_.shape[1])) if is_map else labels
    for rows in (X, X.astype(np.float32)) if is_map else (X, sparse.csr_matrix(X)):
        for name in ("predict", "predict_proba", "decision_function", "transform"):
            yield lambda name=name, rows=rows: getattr(model, name)(rows) if hasattr(model, name) else None
        yield lambda rows=rows: model.score(rows, target)
        if hasattr(model, "partial_fit"):
            yield lambda rows=rows: model.partial_fit(rows, target)
    for name in ("coef_", "intercept_", "components_", "kernel_weights_", "threshold_"):
        yield lambda name=name: getattr(model, name, None)
    yield lambda: model.pair_distance(X, X) if hasattr(model, "pair_distance") else None
    yield lambda: model.get_feature_names_out() if hasattr(model, "get_feature_names_out") else None
    yield lambda: model.fit(X, target)


# -- children ----------------------------------------------------------------------------------------------------


def outcomes(
    paths: list[Path], *, gigabytes: float = 4.0, seconds: float = 60.0
) -> Iterator[tuple[Path, str]]:
    """What came of each file in a child process; "crash", "hang" and "error" must not be.

    One child tries one file after the other. Where it dies or does not answer for so many seconds, the next one goes
    on behind that file.
    """
    left = list(paths)
    while left:
        child = _child(left, gigabytes)
        assert child.stdout is not None
        try:
            while left:
                ready, _, _ = select.select([child.stdout], [], [], seconds)
                line = child.stdout.readline() if ready else b""
                if not line:
                    yield left.pop(0), f"crash ({child.wait()})" if ready else "hang"
                    break
                yield left.pop(0), json.loads(line)
        finally:
            child.kill()
            child.wait()
            child.stdout.close()


def _child(paths: list[Path], gigabytes: float) -> subprocess.Popen[bytes]:
    with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as listed:
        json.dump([str(path) for path in paths], listed)
    command = [sys.executable, "-m", "tests.fuzzing", "--child", listed.name, str(int(gigabytes * 2**30))]
    return subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parent.parent, bufsize=0)


def _be_a_child(listed: str, memory: int) -> None:
    import faulthandler
    import resource

    from tests.saved_models import as_with_many_objects

    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    paths = json.loads(Path(listed).read_text())
    os.unlink(listed)
    for path in paths:
        many = as_with_many_objects() if "projected" in path else contextlib.nullcontext()
        try:
            with many:
                outcome = exercise(Path(path))
        except Exception as error:  # what a user must never see
            outcome = f"error: {_described(error)}"
        print(json.dumps(outcome), flush=True)


def _described(error: Exception) -> str:
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "/nearer/" in frame.filename] or frames
    where = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}"
    return f"{type(error).__name__} at {where}: {str(error)[:150]}"


def fuzz(count: int, seed: int = 0, only: list[str] | None = None) -> dict[str, int]:
    """Try so many variants of every model; prints what must not be, and returns how often each outcome came."""
    from tests.saved_models import MODELS

    counts: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in only or MODELS:
            content = nearer.save(MODELS[name](), Path(folder) / "model.nearer").read_bytes()
            paths, told = [], {}
            for number, (how, broken) in enumerate(variants(content, count, seed)):
                path = Path(folder) / f"{name}-{number}.nearer"
                path.write_bytes(broken)
                paths.append(path)
                told[path] = how
            for path, outcome in outcomes(paths):
                kind = outcome.partition(":")[0].partition(" ")[0]
                counts[kind] = counts.get(kind, 0) + 1
                if kind not in ("refused", "loaded"):
                    print(f"{name}, {told[path]}: {outcome}", flush=True)
                    if keep := os.environ.get("FUZZ_KEEP"):
                        (Path(keep) / path.name).write_bytes(path.read_bytes())
                path.unlink(missing_ok=True)
                path.with_suffix(".again").unlink(missing_ok=True)
            print(name, counts, flush=True)
    return counts


if __name__ == "__main__":
    if sys.argv[1] == "--child":
        _be_a_child(sys.argv[2], int(sys.argv[3]))
    else:
        fuzz(int(sys.argv[1]), *(int(value) for value in sys.argv[2:3]), only=sys.argv[3:] or None)
