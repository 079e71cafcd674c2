"""Cells of Arrow columns as numbers: what each different cell stands for, weights, responses and labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nearer.comparisons.checks import whole_codes
from nearer.comparisons.codes import Codes
from nearer.comparisons.responses import number
from nearer.comparisons.row_errors import UNREADABLE, cannot_be_kept
from nearer.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

_FIRST_ROWS = 1 << 16


class Growing:
    """An array that grows at its end.

    `ndarray.resize` lets the system move the memory, where a list of parts joined at the end would need the
    result twice.
    """

    def __init__(self, dtype: Any, width: int | None = None) -> None:
        self._array = np.empty((_FIRST_ROWS,) if width is None else (_FIRST_ROWS, width), dtype=dtype)
        self._n = 0

    def __len__(self) -> int:
        return self._n

    def append(self, rows: np.ndarray) -> None:
        """Add rows at the end."""
        needed = self._n + len(rows)
        if needed > len(self._array):
            self._resize(max(needed, len(self._array) * 17 // 16))  # moving is cheap, slack is not
        self._array[self._n : needed] = rows
        self._n = needed

    def _resize(self, n_rows: int) -> None:
        self._array.resize((n_rows, *self._array.shape[1:]), refcheck=False)

    def finish(self) -> np.ndarray:
        """The array, cut to its rows; nothing can be appended without moving it."""
        if len(self._array) != self._n:
            self._resize(self._n)
        return self._array


class Vocabulary:
    """Remembers what every different cell of a file stands for, so that it is worked out only once."""

    def __init__(
        self, meaning: Callable[[str], float], dtype: Any = np.int64, missing: float = UNREADABLE
    ) -> None:
        self._meaning = meaning
        self._known: dict[str | None, float] = {None: missing}
        self._cells: pa.Array | None = None  # the keys of `_known` for Arrow, and below its values
        self._values = np.array([missing], dtype=dtype)

    def values(self, column: pa.Array) -> np.ndarray:
        """What the cells of a column of strings stand for."""
        column = _dictionary(column)
        table = np.append(self._lookup(column.dictionary), self._values[0])
        return table[column.indices.fill_null(-1).to_numpy(zero_copy_only=False)]

    def _lookup(self, cells: pa.Array) -> np.ndarray:
        """Arrow finds cells much faster than a dict, but reads all that it knows anew at every call."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if self._cells is None:
            self._cells = pa.array([None], pa.large_string())
        if len(self._known) > 8 * len(cells):
            texts = cells.to_pylist()
            self._learn([text for text in texts if text not in self._known])
            return np.fromiter(map(self._known.__getitem__, texts), self._values.dtype, len(texts))
        positions = pc.index_in(cells, value_set=self._cells)
        if positions.null_count:
            self._learn(cells.filter(positions.is_null()).to_pylist())
            positions = pc.index_in(cells, value_set=self._cells)
        return self._values[positions.to_numpy(zero_copy_only=False)]

    def _learn(self, texts: Sequence[str]) -> None:
        import pyarrow as pa

        new = {text: self._meaning(text) for text in dict.fromkeys(texts)}
        self._known.update(new)
        self._cells = pa.concat_arrays([self._cells, pa.array([*new], pa.large_string())])
        self._values = np.concatenate([self._values, np.array([*new.values()], dtype=self._values.dtype)])


class Labels:
    """Collects a column of annotators or groups."""

    def __init__(self, typed: bool) -> None:
        self._typed = typed
        self._labels: list[str] = []
        self._cells = Vocabulary(self._new_label)
        self._rows = Growing(np.int64)
        self._is_text = False

    def codes(self, column: pa.Array) -> np.ndarray:
        """Numbers as they are, strings numbered as they come, `UNREADABLE` where missing or not whole."""
        self._is_text = is_text(column.type)
        return self._cells.values(column) if self._is_text else whole_numbers(column)

    def _new_label(self, cell: str) -> int:
        if cannot_be_kept(cell):
            return UNREADABLE
        self._labels.append(cell)
        return len(self._labels) - 1

    def append(self, codes: np.ndarray) -> None:
        """Keep these rows."""
        self._rows.append(codes)

    def values(self) -> np.ndarray:
        """Labels as int64 or as strings."""
        table = self._table()
        return self._rows.finish() if table is None else table[self._rows.finish()]

    def integers(self) -> np.ndarray:
        """Labels as int64; strings are numbered in sorted order."""
        table = self._table()
        if table is not None and table.dtype.kind == "U":
            table = np.argsort(np.argsort(table))
        return self._rows.finish() if table is None else table[self._rows.finish()]

    def _table(self) -> np.ndarray | None:
        """What the codes of strings stand for, None where codes are the labels themselves."""
        if not self._is_text:
            return None
        if not self._typed and all(map(_is_plain_integer, self._labels)):
            return np.array(list(map(int, self._labels)), dtype=np.int64)
        return np.array(self._labels, dtype=np.str_)


def is_text(kind: pa.DataType) -> bool:
    """Whether an Arrow type holds strings, perhaps through a dictionary."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return str(kind) in ("string", "large_string", "string_view")


def _dictionary(column: pa.Array) -> pa.Array:
    """A column of strings as a dictionary array with plain strings in its dictionary."""
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        column = column.cast(pa.large_string()).dictionary_encode()
    return pa.DictionaryArray.from_arrays(
        column.indices.cast(pa.int64()), column.dictionary.cast(pa.large_string())
    )


def whole_number(cell: str) -> int:
    """The whole number that a cell spells, or `UNREADABLE`.

    >>> whole_number(" 7"), whole_number("7.0"), whole_number("7.5") == UNREADABLE
    (7, 7, True)
    """
    try:
        number = float(cell)
    except ValueError:
        return UNREADABLE
    # Python takes 1_000 for a number; in a table it is a name
    return int(number) if number.is_integer() and abs(number) < 2**53 and "_" not in cell else UNREADABLE


def _is_plain_integer(label: str) -> bool:
    """Whether a label is a number that is written back as it was: 7, but not 007."""
    return (
        len(label) < 18
        and label.isascii()
        and label.removeprefix("-").isdecimal()
        and str(int(label)) == label
    )


def whole_numbers(column: pa.Array) -> np.ndarray:
    """Numbers of an Arrow column as int64, `UNREADABLE` where they are missing or not whole."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_integer(kind) and kind != pa.uint64():
        return column.cast(pa.int64()).fill_null(UNREADABLE).to_numpy(zero_copy_only=False)
    if pa.types.is_null(kind):
        return np.full(len(column), UNREADABLE)
    if not (pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind)):
        raise InputError(
            f"objects, annotators and groups must be whole numbers or strings, got a column of {kind}"
        )
    return whole_codes(_floats(column))


def _floats(column: pa.Array) -> np.ndarray:
    """The numbers of an Arrow column, NaN where they are missing; large ones are rounded, not refused."""
    import pyarrow as pa

    return column.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy(zero_copy_only=False)


class Numbers:
    """Turns a column of responses or weights into floats, NaN for what is no number."""

    def __init__(self) -> None:
        self._cells = Vocabulary(number, np.float64, np.nan)

    def values(self, column: pa.Array) -> np.ndarray:
        """The numbers; booleans are none."""
        import pyarrow as pa

        if is_text(column.type):
            return self._cells.values(column)
        if pa.types.is_boolean(column.type):
            return np.full(len(column), np.nan)
        try:
            return _floats(column)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise InputError(
                f"responses and weights must be numbers, got a column of {column.type}"
            ) from None


class Words:
    """Turns a column of words into the numbers they stand for, NaN for what is no known word."""

    def __init__(self, meanings: Mapping[str, float]) -> None:
        self._cells = Vocabulary(lambda cell: meanings.get(cell.strip().lower(), np.nan), np.float64, np.nan)

    def values(self, column: pa.Array) -> np.ndarray:
        """The numbers; booleans are 1 and -1."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if is_text(column.type):
            return self._cells.values(column)
        if pa.types.is_boolean(column.type):
            return pc.if_else(column, 1.0, -1.0).fill_null(np.nan).to_numpy(zero_copy_only=False)
        return np.full(len(column), np.nan)


class Coded:
    """Turns a column of codes into what they stand for, NaN for what is none of them."""

    def __init__(self, codes: Codes) -> None:
        self.codes = codes
        self._cells = Vocabulary(codes.of_text, np.float64, np.nan)

    def values(self, column: pa.Array) -> np.ndarray:
        """What the cells stand for."""
        import pyarrow as pa

        if not is_text(column.type):
            column = column.cast(pa.large_string())
        return self._cells.values(column)
