"""Declarations of values that are made of others: alternatives, lists, dictionaries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from nearer._utils.schema.base import Literal, Sizes, Spec, bind, need


class AnyOf(Spec):
    """What the first of some declarations of this type says."""

    def __init__(self, *specs: Spec):
        self.specs = specs

    def takes(self, value: Any) -> bool:
        return any(spec.takes(value) for spec in self.specs)

    def _read(self, value: Any, where: str, sizes: Sizes) -> Any:
        return next(spec for spec in self.specs if spec.takes(value)).read(value, where, sizes)


def optional(*specs: Spec) -> AnyOf:
    """None, or what one of the declarations says."""
    return AnyOf(Literal(None), *specs)


@dataclass(frozen=True)
class Items(Spec):
    """A list or tuple of any length; with `own`, sizes that are named within an item are that item's own."""

    item: Spec
    length: str | None = None
    kind: type = tuple
    own: bool = False

    def takes(self, value: Any) -> bool:
        return isinstance(value, self.kind)

    def _read(self, value: Any, where: str, sizes: Sizes) -> Any:
        if self.length is not None:
            bind(sizes, self.length, len(value), where)
        return type(value)(
            self.item.read(part, f"{where}[{place}]", dict(sizes) if self.own else sizes)
            for place, part in enumerate(value)
        )


class Row(Spec):
    """A tuple with a declaration for each entry."""

    def __init__(self, *specs: Spec):
        self.specs = specs

    def takes(self, value: Any) -> bool:
        return isinstance(value, tuple) and len(value) == len(self.specs)

    def _read(self, value: tuple, where: str, sizes: Sizes) -> tuple:
        pairs = enumerate(zip(self.specs, value, strict=True))
        return tuple(spec.read(part, f"{where}[{place}]", sizes) for place, (spec, part) in pairs)


@dataclass(frozen=True)
class MayLack:
    """An entry that may be absent."""

    spec: Spec


class Record(Spec):
    """A dictionary with these keys; `others` declares the values of keys that are not among them."""

    def __init__(self, entries: Mapping[str, Spec | MayLack], others: Spec | None = None):
        self.entries, self.others = entries, others

    def takes(self, value: Any) -> bool:
        return isinstance(value, dict)

    def _read(self, value: dict, where: str, sizes: Sizes) -> dict:
        found = read_entries(value, self.entries, lambda key: f"{where}[{key!r}]", sizes, self.others)
        return {key: found[key] for key in value}  # in the order of the file


class Plain(Spec):
    """Anything of numbers, words, lists and dictionaries, for people to read."""

    def takes(self, value: Any) -> bool:
        return value is None or isinstance(value, bool | int | float | str | np.generic | list | tuple | dict)

    def _read(self, value: Any, where: str, sizes: Sizes) -> Any:
        if isinstance(value, list | tuple):
            return type(value)(self.read(part, f"{where}[]", sizes) for part in value)
        if isinstance(value, dict):
            return {key: self.read(part, f"{where}[{key!r}]", sizes) for key, part in value.items()}
        if isinstance(value, int) and not isinstance(value, bool):
            need(abs(value) < 2**63, f"{where} is too large")
        return value


def read_entries(
    values: dict[str, Any],
    entries: Mapping[str, Spec | MayLack],
    where: Callable[[str], str],
    sizes: Sizes,
    others: Spec | None = None,
) -> dict[str, Any]:
    """Checked values by name, in the order of their declarations; `where` names each in messages."""
    strange = [key for key in values if key not in entries]
    need(others is not None or not strange, f"{where(str(*strange[:1])[:50])} is unknown")
    found = {}
    for key, spec in entries.items():
        if key in values:
            spec = spec.spec if isinstance(spec, MayLack) else spec
            found[key] = spec.read(values[key], where(key), sizes)
        else:
            need(isinstance(spec, MayLack), f"{where(key)} is missing")
    if others is not None:
        found |= {key: others.read(values[key], where(key[:50]), sizes) for key in strange}
    return found
