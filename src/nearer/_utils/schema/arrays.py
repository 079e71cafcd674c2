"""Declarations of arrays, and of the names of objects."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from nearer._utils.schema.base import LARGEST, SchemaError, Sizes, Spec, bind, check_bounds, check_shape, need


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
        The name of a size that every entry must be below, with 0 the least.
    finite : bool
        False allows NaN and infinity, and numbers of any size.
    ascending : bool
        No entry may be smaller than the one before it.
    filled : bool
        There must be at least one entry.
    dtype, order : str, optional
        What the array is converted to; by default it stays as it is, in this machine's byte order.
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
    """A setting that is an array of two dimensions, or rows of numbers as nested lists."""

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
        from nearer.comparisons.validation import check_names

        bind(sizes, self.length, len(value), where)
        need(all(isinstance(name, str) for name in value), f"{where} holds objects that are not strings")
        try:
            "\n".join(value).encode()
        except UnicodeEncodeError:
            raise SchemaError(f"{where} holds a name that is not text") from None
        check_names(value)
        return value
