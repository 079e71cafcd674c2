"""What a declaration is, and declarations of single values, arrays and names."""

from __future__ import annotations

import math
import reprlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

#: the square of this number is still finite; no model of data that nearer accepts holds larger ones
LARGEST = 1e150
#: counters stay below this: a float can still represent each of them
MOST = 2**53
#: longest text in characters, such as the name of a loss
_LONGEST_WORD = 1000

Sizes = dict[str, int]


class SchemaError(ValueError):
    """A value that does not fit its declaration."""


def need(holds: bool, sentence: str) -> None:
    """Raise this error unless the condition holds."""
    if not holds:
        raise SchemaError(sentence)


class Spec(ABC):
    """A declaration of what a value must be."""

    @abstractmethod
    def takes(self, value: Any) -> bool:
        """Return whether a value is of the declared type, whatever it holds."""

    def _read(self, value: Any, where: str, sizes: Sizes) -> Any:
        """Check what a value of the declared type holds, and return it."""
        return value

    def read(self, value: Any, where: str, sizes: Sizes) -> Any:
        """Return the value in the form that code relies on; raise `SchemaError` if it does not fit."""
        need(self.takes(value), f"{where} is {shown(value)}, which does not belong there")
        return self._read(value, where, sizes)


def bind(sizes: Sizes, name: str, length: int, where: str) -> None:
    """Record a size by name; refuse one that differs from the recorded size."""
    known = sizes.setdefault(name, length)
    need(known == length, f"{where} has the size {length} where {known} is expected")


def check_shape(shape: tuple[int, ...], wanted: tuple[Any, ...], where: str, sizes: Sizes) -> None:
    """Refuse a shape other than the declared one."""
    need(len(shape) == len(wanted), f"{where} has the shape {shape}, not {len(wanted)} dimensions")
    for length, name in zip(shape, wanted, strict=True):
        if isinstance(name, str):
            bind(sizes, name, length, where)
        else:
            need(name in (None, length), f"{where} has the shape {shape}, not {wanted}")


def check_bounds(low: Any, high: Any, bounds: Any, where: str, what: str) -> None:
    """Refuse numbers outside the bounds of a declaration, given the smallest and the largest of them."""
    need(low >= bounds.at_least, f"{where} must {what} of {bounds.at_least} or more, not {shown(low)}")
    need(low > bounds.above, f"{where} must {what} above {bounds.above}, not {shown(low)}")
    need(high <= bounds.at_most, f"{where} must {what} of {bounds.at_most} or less, not {shown(high)}")


def shown(value: Any) -> str:
    """Return a value as text for a message, shortened."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} of shape {value.shape}"
    if hasattr(value, "kind") and isinstance(value.kind, type):  # one of our classes, not yet built
        return f"a {value.kind.__name__}"
    return reprlib.repr(value)


class Literal(Spec):
    """One of some values."""

    def __init__(self, *values: Any):
        self.values = values

    def takes(self, value: Any) -> bool:
        return any(type(value) is type(known) and value == known for known in self.values)


class Flag(Spec):
    """True or False."""

    def takes(self, value: Any) -> bool:
        return isinstance(value, bool | np.bool_)


class Text(Spec):
    """A word or a sentence."""

    def takes(self, value: Any) -> bool:
        return isinstance(value, str)

    def _read(self, value: str, where: str, sizes: Sizes) -> str:
        need(len(value) <= _LONGEST_WORD, f"{where} has {len(value):,} letters")
        return value


@dataclass(frozen=True)
class Number(Spec):
    """A number within bounds; with `finite=False` also NaN and infinity. Below `smallest` in size it must be 0."""

    at_least: float = -math.inf
    at_most: float = math.inf
    above: float = -math.inf
    finite: bool = True
    smallest: float = 0.0

    def takes(self, value: Any) -> bool:
        return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)

    def _read(self, value: Any, where: str, sizes: Sizes) -> Any:
        if isinstance(value, int):  # of any length: it may be too long for a float
            need(abs(value) <= 2**1023, f"{where} is too large")
            value = value if abs(value) < MOST else float(value)  # compiled loops cannot take longer integers
        if not math.isfinite(value):
            need(not self.finite, f"{where} is {value}")
            return value
        check_bounds(value, value, self, where, "be a number")
        need(value == 0 or abs(value) >= self.smallest, f"{where} is {value}, too close to 0")
        return value


@dataclass(frozen=True)
class Integer(Spec):
    """A whole number within bounds."""

    at_least: int = 0
    at_most: int = MOST
    above: float = -math.inf

    def takes(self, value: Any) -> bool:
        return isinstance(value, int | np.integer) and not isinstance(value, bool)

    def _read(self, value: Any, where: str, sizes: Sizes) -> Any:
        check_bounds(value, value, self, where, "be a whole number")
        return value


@dataclass(frozen=True)
class Size(Spec):
    """A whole number that equals a named size."""

    name: str

    def takes(self, value: Any) -> bool:
        return Integer().takes(value)

    def _read(self, value: Any, where: str, sizes: Sizes) -> Any:
        bind(sizes, self.name, int(value), where)
        return value


@dataclass(frozen=True, init=False)
class Array(Spec):
    """An array of numbers.

    Parameters
    ----------
    *shape : str, int or None
        One per dimension: the name of a size, a fixed length, or any length.
    kinds : str
        Letters of `numpy.dtype.kind`: "f" are float32 and float64.
    at_least, at_most, above : float
        Bounds of every entry.
    below : str, optional
        The name of a size that every entry must be below; entries are then 0 or more.
    finite : bool
        False allows NaN and infinity, and numbers of any size.
    ascending : bool
        No entry may be smaller than the one before it.
    filled : bool
        There must be at least one entry.
    dtype, order : str, optional
        Convert the array to these; by default only its byte order changes to that of this machine.
    """

    shape: tuple[str | int | None, ...]
    kinds: str = "f"
    at_least: float = -LARGEST
    at_most: float = LARGEST
    above: float = -math.inf
    below: str | None = None
    finite: bool = True
    ascending: bool = False
    filled: bool = False
    dtype: str | None = None
    order: Any = None

    def __init__(self, *shape: str | int | None, **options: Any):
        if "below" in options:
            options["at_least"] = 0
        for name, value in {**options, "shape": shape}.items():
            object.__setattr__(self, name, value)

    def takes(self, value: Any) -> bool:
        is_array = isinstance(value, np.ndarray) and value.ndim == len(self.shape)
        return is_array and value.dtype.kind in self.kinds

    def _read(self, value: np.ndarray, where: str, sizes: Sizes) -> np.ndarray:
        kind, wide = value.dtype.kind, value.dtype.itemsize
        known = wide in (4, 8) if kind == "f" else wide <= 8 if kind in "iub" else wide > 0
        need(known, f"{where} holds numbers of the type {value.dtype}")
        check_shape(value.shape, self.shape, where, sizes)
        need(not self.filled or value.size > 0, f"{where} is empty")
        if value.size and kind in "iuf":
            self._check_entries(value, where, sizes)
        dtype = np.dtype(self.dtype) if self.dtype else value.dtype.newbyteorder("=")
        converted = np.asarray(value, dtype=dtype, order=self.order)
        return converted if converted.flags.writeable else converted.copy()

    def _check_entries(self, value: np.ndarray, where: str, sizes: Sizes) -> None:
        low, high = value.min().item(), value.max().item()  # NaN if there is one
        if value.dtype.kind == "f" and self.finite:
            need(math.isfinite(low) and math.isfinite(high), f"{where} holds numbers that are not finite")
        if value.dtype.kind != "f" or self.finite:
            check_bounds(low, high, self, where, "hold numbers")
        if self.below is not None:
            limit = sizes[self.below]
            need(high < limit, f"{where} must hold numbers below {limit}, not {high}")
        if self.ascending:
            need(bool((value[1:] >= value[:-1]).all()), f"{where} must not fall from one entry to the next")


class Matrix(Spec):
    """A setting that is a two-dimensional array, or rows of numbers as nested lists."""

    def takes(self, value: Any) -> bool:
        return isinstance(value, np.ndarray | list | tuple)

    def _read(self, value: Any, where: str, sizes: Sizes) -> Any:
        numbers = Array(None, None, kinds="fiu", finite=False)
        checked = numbers.read(np.asarray(value), where, sizes)
        return checked if isinstance(value, np.ndarray) else value


@dataclass(frozen=True)
class Strings(Spec):
    """An array of strings."""

    length: str | int

    def takes(self, value: Any) -> bool:
        return isinstance(value, np.ndarray) and value.dtype.kind in "OU"

    def _read(self, value: np.ndarray, where: str, sizes: Sizes) -> np.ndarray:
        check_shape(value.shape, (self.length,), where, sizes)
        need(all(isinstance(entry, str) for entry in value), f"{where} holds objects that are not strings")
        return value


@dataclass(frozen=True)
class Names(Spec):
    """Names of objects: a tuple of different strings."""

    length: str

    def takes(self, value: Any) -> bool:
        return isinstance(value, tuple)

    def _read(self, value: tuple, where: str, sizes: Sizes) -> tuple:
        bind(sizes, self.length, len(value), where)
        need(all(isinstance(name, str) for name in value), f"{where} holds objects that are not strings")
        try:
            "\n".join(value).encode()
        except UnicodeEncodeError:
            raise SchemaError(f"{where} holds a name that is not text") from None
        need(
            all(value) and not any("\0" in name for name in value),
            f"{where} holds a name that is empty or has NUL",
        )
        need(len(set(value)) == len(value), f"{where} holds a name twice")
        return value
