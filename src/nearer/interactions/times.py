"""Columns of times: numbers, dates, and texts of either."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from nearer.comparisons.files.cells import Growing, is_text, plain_dictionary
from nearer.interactions.arrays import seconds

if TYPE_CHECKING:
    import pyarrow as pa


class TimeColumn:
    """Collects times as int64 or float64; dates become seconds since 1970, in UTC unless they say otherwise."""

    def __init__(self) -> None:
        self._rows: Growing | None = None

    def values(self, column: pa.Array) -> tuple[np.ndarray, np.ndarray]:
        """Return the times of a batch and a mask of those that cannot be read."""
        import pyarrow as pa

        kind = column.type
        if pa.types.is_integer(kind) and kind != pa.uint64():
            missing = column.is_null().to_numpy(zero_copy_only=False)
            return column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False), missing
        found = _as_floats(column)
        return found, ~np.isfinite(found)

    def append(self, times: np.ndarray) -> None:
        """Keep these rows."""
        if self._rows is None:
            self._rows = Growing(times.dtype)
        self._rows.append(times)

    def finish(self) -> np.ndarray:
        """Return all times, int64 if all are whole."""
        times = np.empty(0, dtype=np.int64) if self._rows is None else self._rows.finish()
        if times.dtype.kind == "f" and (np.abs(times) < 2**53).all() and (times == np.floor(times)).all():
            return times.astype(np.int64)
        return times


def _as_floats(column: pa.Array) -> np.ndarray:
    import pyarrow as pa

    kind = column.type
    if is_text(kind):
        column = plain_dictionary(column)
        table = np.append(_texts(column.dictionary), np.nan)
        return table[column.indices.fill_null(-1).to_numpy(zero_copy_only=False)]
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return seconds(_microseconds(column)).astype(np.float64)
    if pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind):
        return column.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy(zero_copy_only=False)
    return np.full(len(column), np.nan)


def _microseconds(column: pa.Array) -> np.ndarray:
    import pyarrow as pa

    numbers = column.cast(pa.timestamp("us", getattr(column.type, "tz", None)), safe=False).cast(pa.int64())
    missing = np.iinfo(np.int64).min  # numpy's own mark for a date that is missing
    return numbers.fill_null(missing).to_numpy(zero_copy_only=False).view("datetime64[us]")


def _texts(cells: pa.Array) -> np.ndarray:
    """Return what different texts stand for, NaN if that is not a time; Arrow reads most dates at once."""
    import pyarrow as pa

    for kind in (pa.timestamp("us"), pa.timestamp("us", "UTC")):
        try:
            return seconds(_microseconds(cells.cast(kind))).astype(np.float64)
        except pa.ArrowInvalid:
            continue
    return np.array([_time(cell) for cell in cells.to_pylist()], dtype=np.float64)


def _time(cell: str | None) -> float:
    """Return the number or date that a text spells.

    >>> _time("12.5"), _time("1970-01-01T00:01"), _time("soon")
    (12.5, 60.0, nan)
    """
    text = (cell or "").strip()
    try:
        return float(text) if "_" not in text else np.nan
    except ValueError:
        pass
    try:
        date = datetime.fromisoformat(text)
    except ValueError:
        return np.nan
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
