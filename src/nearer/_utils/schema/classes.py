"""Declarations of nearer's own classes: estimators, the dataclasses they hold, and settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields
from typing import Any

from nearer._utils.schema.base import MOST, Flag, Integer, Number, SchemaError, Sizes, Spec, Text
from nearer._utils.schema.containers import MayLack, optional, read_entries

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
    """One of some dataclasses, or of their subclasses, each with a `_schema` of its own.

    Parameters
    ----------
    *kinds : type, or one function that returns a tuple of types
        A function lets a class declare parts of its own type.
    shares : tuple of str
        Names of sizes that are those of the whole; others are the part's own.
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
        """The dataclass of checked fields."""
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
        """Declarations are read in their own order: sizes must be known before entries are compared with them."""
        return list(self.specs).index(one.name) if one.name in self.specs else 0


class Settings(Fields):
    """A frozen dataclass of settings, which checks itself when it is built: numbers, words and settings within it."""

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
        """Parameters of a file; those that it lacks, written before they existed, have their defaults."""
        entries: dict[str, Spec | MayLack] = {name: MayLack(spec) for name, spec in self.params.items()}
        return read_entries(values, entries, lambda name: f"the parameter {name}", {})

    def read_fitted(self, values: dict[str, Any]) -> dict[str, Any]:
        """Fitted attributes of a file."""
        return read_entries(values, self.fitted, str, {})


def check_whole(found: Any, where: str = "") -> None:
    """Let a class check what its declarations cannot say."""
    check: Callable[[], None] | None = getattr(found, "_check_loaded", None)
    if check is not None:
        try:
            check()
        except SchemaError as error:
            raise SchemaError(f"{where}: {error}" if where else str(error)) from None


def _is_required(one: Any) -> bool:
    return one.default is MISSING and one.default_factory is MISSING
