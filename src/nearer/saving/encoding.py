"""Convert Python values to JSON plus arrays and back, without pickle: the content of a model file.

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
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any, cast

import numpy as np

from nearer.errors import InputError
from nearer.registry import PARTS

_SCALAR_KINDS = "biuf"
#: nesting of values: that of a model is below ten
_DEEPEST = 50


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
