"""Declarations of values that are made of others: alternatives, lists, dictionaries, nearer's own classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any

import numpy as np

from nearer._utils.schema.values import (
    MOST,
    Flag,
    Integer,
    Literal,
    Number,
    SchemaError,
    Sizes,
    Spec,
    Text,
    bind,
    need,
)


class AnyOf(Spec):
    """The first of several declarations that takes the type of the value."""

    def __init__(self, *specs: Spec):
        self.specs = specs

    def takes(self, value: Any) -> bool:
        return any(spec.takes(value) for spec in self.specs)

    def _read(self, value: Any, where: str, sizes: Sizes) -> Any:
        return next(spec for spec in self.specs if spec.takes(value)).read(value, where, sizes)


def optional(*specs: Spec) -> AnyOf:
    """Return a declaration of None or of what one of the declarations takes."""
    return AnyOf(Literal(None), *specs)


@dataclass(frozen=True)
class Items(Spec):
    """A list or tuple of any length; with `own`, each item has its own named sizes."""

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
    """A tuple with one declaration per entry."""

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
    """A dictionary with these keys; `others` declares the values of all further keys."""

    def __init__(self, entries: Mapping[str, Spec | MayLack], others: Spec | None = None):
        self.entries, self.others = entries, others

    def takes(self, value: Any) -> bool:
        return isinstance(value, dict)

    def _read(self, value: dict, where: str, sizes: Sizes) -> dict:
        found = read_entries(value, self.entries, lambda key: f"{where}[{key!r}]", sizes, self.others)
        return {key: found[key] for key in value}  # in the order of the file


class Plain(Spec):
    """Any combination of numbers, text, lists and dictionaries, for people to read."""

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
    """Return checked values by name, in the order of their declarations; `where` names each in messages."""
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


#: the squares of settings beyond this overflow, and those of settings below its inverse vanish
_LARGEST_SETTING = 1e100


@dataclass(frozen=True)
class Parts:
    """One of nearer's own dataclasses as a file describes it, not yet built."""

    kind: type
    fields: dict[str, Any]

    @classmethod
    def of(cls, kind: type, fields: dict[str, Any]) -> Parts:
        """Return the parts as the present version has them; a class that is gone says so by `_moved`."""
        moved: Callable[[dict[str, Any]], Parts] | None = getattr(kind, "_moved", None)
        return cls(kind, fields) if moved is None else moved(fields)


class Part(Spec):
    """One of some dataclasses or their subclasses, each with its own `_schema`.

    Parameters
    ----------
    *kinds : type, or one function that returns a tuple of types
        A function allows a class to declare parts of its own type.
    shares : tuple of str
        Names of sizes shared with the whole; all others belong to the part.
    schema : Fields, optional
        Stricter declarations than those of the class.
    """

    def __init__(self, *kinds: Any, shares: tuple[str, ...] = (), schema: Fields | None = None):
        self._kinds, self.shares, self._declared = kinds, shares, schema

    @property
    def kinds(self) -> tuple[type, ...]:
        first = self._kinds[0]
        return self._kinds if isinstance(first, type) else first()

    def takes(self, value: Any) -> bool:
        return isinstance(value, Parts) and issubclass(value.kind, self.kinds)

    def _read(self, value: Parts, where: str, sizes: Sizes) -> Any:
        own = {name: sizes[name] for name in self.shares if name in sizes}
        declared: Fields = self._declared or value.kind._schema  # type: ignore[attr-defined]
        built = declared.built(value, where, own)
        sizes.update({name: own[name] for name in self.shares if name in own})
        return built


@dataclass(frozen=True, init=False)
class Fields:
    """One declaration per field of a dataclass."""

    specs: dict[str, Spec] = field(default_factory=dict)

    def __init__(self, **specs: Spec):
        object.__setattr__(self, "specs", specs)

    def built(self, parts: Parts, where: str, sizes: Sizes) -> Any:
        """Build the dataclass from checked fields."""
        entries = {
            one.name: self._spec(one.name) if _is_required(one) else MayLack(self._spec(one.name))
            for one in sorted(fields(parts.kind), key=self._place)
            if one.init
        }
        found = parts.kind(**read_entries(parts.fields, entries, lambda name: f"{where}.{name}", sizes))
        check_whole(found, where)
        return found

    def _spec(self, name: str) -> Spec:
        return self.specs[name]

    def _place(self, one: Any) -> int:
        """Read fields in the order of their declarations: sizes must be known before entries are compared with them."""
        return list(self.specs).index(one.name) if one.name in self.specs else 0


class Settings(Fields):
    """A frozen dataclass of settings, which checks itself when it is built: numbers, text and nested settings."""

    def _spec(self, name: str) -> Spec:
        return SETTING


class _OwnSettings(Part):
    def __init__(self) -> None:
        super().__init__(object)

    def takes(self, value: Any) -> bool:
        return isinstance(value, Parts) and isinstance(getattr(value.kind, "_schema", None), Settings)


SETTING = optional(
    Flag(),
    Integer(-MOST, 10**9),
    Number(-_LARGEST_SETTING, _LARGEST_SETTING, smallest=1 / _LARGEST_SETTING),
    Text(),
    _OwnSettings(),
)


@dataclass(frozen=True)
class Saved:
    """The declarations of an estimator: its parameters, and what a fit leaves behind."""

    params: dict[str, Spec] = field(default_factory=dict)
    fitted: dict[str, Spec | MayLack] = field(default_factory=dict)

    def read_params(self, values: dict[str, Any]) -> dict[str, Any]:
        """Return the parameters of a file; those missing in an older file keep their defaults."""
        entries: dict[str, Spec | MayLack] = {name: MayLack(spec) for name, spec in self.params.items()}
        return read_entries(values, entries, lambda name: f"the parameter {name}", {})

    def read_fitted(self, values: dict[str, Any]) -> dict[str, Any]:
        """Return the fitted attributes of a file."""
        return read_entries(values, self.fitted, str, {})


def check_whole(found: Any, where: str = "") -> None:
    """Let a class check what its declarations cannot express."""
    check: Callable[[], None] | None = getattr(found, "_check_loaded", None)
    if check is not None:
        try:
            check()
        except SchemaError as error:
            raise SchemaError(f"{where}: {error}" if where else str(error)) from None


def _is_required(one: Any) -> bool:
    return one.default is MISSING and one.default_factory is MISSING
