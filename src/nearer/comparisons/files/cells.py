"""Cells of Arrow columns as arrays: objects, answers, weights and labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from nearer.comparisons.arrays import whole_codes
from nearer.comparisons.codes import Column, NameLookup, mentioned, number
from nearer.comparisons.files.named_columns import TableLayout
from nearer.comparisons.validation import MISSING, UNREADABLE, cannot_be_kept, from_zero, no_index
from nearer.errors import InputError, Place, Suggestion

if TYPE_CHECKING:
    import pyarrow as pa

_FIRST_ROWS = 1 << 16


class Growing:
    """An array that grows at its end.

    `ndarray.resize` lets the system move the memory; a list of parts joined at the end would need the
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
        """Return the array, cut to its rows; nothing can be appended without moving it."""
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
        """Return what the cells of a column of strings stand for."""
        column = plain_dictionary(column)
        table = np.append(self._lookup(column.dictionary), self._values[0])
        return table[column.indices.fill_null(-1).to_numpy(zero_copy_only=False)]

    def _lookup(self, cells: pa.Array) -> np.ndarray:
        """Look cells up. Arrow is much faster than a dict, but rebuilds its table at every call."""
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


class LabelColumn:
    """Collects a column of annotators or groups."""

    def __init__(self, typed: bool) -> None:
        self._typed = typed
        self._labels: list[str] = []
        self._cells = Vocabulary(self._new_label)
        self._rows = Growing(np.int64)
        self._is_text = False

    def codes(self, column: pa.Array) -> np.ndarray:
        """Return numbers as they are, strings numbered as they come, `UNREADABLE` if missing or not whole."""
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
        """Return labels as int64 or as strings."""
        table = self._table()
        return self._rows.finish() if table is None else table[self._rows.finish()]

    def integers(self) -> np.ndarray:
        """Return labels as int64; strings are numbered in sorted order."""
        table = self._table()
        if table is not None and table.dtype.kind == "U":
            table = np.argsort(np.argsort(table))
        return self._rows.finish() if table is None else table[self._rows.finish()]

    def _table(self) -> np.ndarray | None:
        """Return what the codes of strings stand for, None if codes are the labels themselves."""
        if not self._is_text:
            return None
        if not self._typed and all(map(_is_plain_integer, self._labels)):
            return np.array(list(map(int, self._labels)), dtype=np.int64)
        return np.array(self._labels, dtype=np.str_)


def is_text(kind: pa.DataType) -> bool:
    """Return whether an Arrow type holds strings, perhaps through a dictionary."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return str(kind) in ("string", "large_string", "string_view")


def text_columns(schema: pa.Schema, layout: TableLayout) -> list[bool | None]:
    """Return whether each column of objects holds texts, None if it holds nothing."""
    import pyarrow as pa

    types = [schema.field(position).type for position in range(len(layout.objects))]
    return [None if pa.types.is_null(kind) else is_text(kind) for kind in types]


def plain_dictionary(column: pa.Array) -> pa.Array:
    """Return a column of strings as a dictionary array with plain strings in its dictionary."""
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        column = column.cast(pa.large_string()).dictionary_encode()
    return pa.DictionaryArray.from_arrays(
        column.indices.cast(pa.int64()), column.dictionary.cast(pa.large_string())
    )


def whole_number(cell: str) -> int:
    """Return the whole number that a cell spells, or `UNREADABLE`.

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
    """Return whether a label is a number that is written back as it was: 7, but not 007."""
    return (
        len(label) < 18
        and label.isascii()
        and label.removeprefix("-").isdecimal()
        and str(int(label)) == label
    )


def whole_numbers(column: pa.Array) -> np.ndarray:
    """Return numbers of an Arrow column as int64, `UNREADABLE` if they are missing or not whole."""
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
    """Return the numbers of an Arrow column, NaN if they are missing; large ones are rounded, not refused."""
    import pyarrow as pa

    return column.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy(zero_copy_only=False)


class Numbers:
    """Turns a column of weights into floats, NaN for anything but numbers."""

    def __init__(self) -> None:
        self._cells = Vocabulary(number, np.float64, np.nan)

    def values(self, column: pa.Array) -> np.ndarray:
        """Return the numbers; booleans are not numbers."""
        import pyarrow as pa

        if is_text(column.type):
            return self._cells.values(column)
        if pa.types.is_boolean(column.type):
            return np.full(len(column), np.nan)
        try:
            return _floats(column)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise InputError(f"weights must be numbers, not a column of {column.type}") from None


def answers(column: pa.Array) -> Column:
    """Return a column of answers; booleans are words."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if is_text(column.type):
        column = plain_dictionary(column)
        positions = column.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        return Column(texts=column.dictionary.to_pylist(), positions=positions)
    if pa.types.is_boolean(column.type):
        positions = pc.if_else(column, 1, 0).fill_null(-1).to_numpy(zero_copy_only=False)
        return Column(texts=("false", "true"), positions=positions)
    try:
        return Column(_floats(column))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise InputError(f"responses must be numbers or texts, not a column of {column.type}") from None


class ObjectColumns:
    """Turns columns of indices or of names into codes, and collects the names."""

    def __init__(
        self,
        width: int,
        names: Sequence[str] | None,
        *,
        numeric: bool,
        typed: bool,
        first_index: int | None = None,
    ) -> None:
        self.numeric, self.first_index = numeric, first_index
        self._typed = typed
        self._fixed = names is not None
        self._codes = {name: code for code, name in enumerate(names or ())}
        self._lookup: NameLookup | None = None
        self._cells = Vocabulary(whole_number if numeric else self._name_code)
        self._may_mix = not (numeric or typed or self._fixed)
        self._is_number: list[bool] = []  # by the code of a name, whether it looks like a number
        self._columns_with_text = np.zeros(width, dtype=bool)
        self._first_text: tuple[int, int, str] | None = None  # row, column and cell
        self._n_rows = 0

    def codes(self, columns: Sequence[pa.Array]) -> np.ndarray:
        """Return codes of shape (rows, columns), `UNREADABLE` for cells that are missing or unknown."""
        if not any(is_text(column.type) for column in columns):
            return np.column_stack([self._whole(column) for column in columns])
        codes = np.column_stack([self._cells.values(column) for column in columns])
        if self.numeric:
            return from_zero(codes, self.first_index)
        if self._may_mix and not self._columns_with_text.all():
            text = ~np.array([*self._is_number, True])[np.maximum(codes, -1)] & (codes >= 0)
            self._columns_with_text |= text.any(axis=0)
            self._note_text(text, codes)
        self._n_rows += len(codes)
        return codes

    def _note_text(self, text: np.ndarray, codes: np.ndarray) -> None:
        """Remember the first cell that is not a whole number, for the error about it."""
        if self._first_text is None and text.any():
            row, column = divmod(int(np.argmax(text)), text.shape[1])
            name = next(islice(self._codes, int(codes[row, column]), None))
            self._first_text = self._n_rows + row, column, name

    def codes_of(self, names: Sequence[str]) -> np.ndarray:
        """Return codes of names, `UNREADABLE` if no row has mentioned one: such codes equal no row."""
        return np.array([self._codes.get(name.strip(), UNREADABLE) for name in names])

    def mentioned(self, column: Column) -> np.ndarray:
        """Return the codes of the objects that answers mention, `UNREADABLE` for anything else."""
        if self._lookup is None and not self.numeric:
            self._lookup = NameLookup(self._codes)
        return mentioned(column, self._lookup, self.first_index)

    def _whole(self, column: pa.Array) -> np.ndarray:
        return from_zero(whole_numbers(column), self.first_index)

    def _name_code(self, cell: str) -> int:
        name = cell if self._typed else cell.strip()
        if self._fixed or name in MISSING or cannot_be_kept(name):
            return self._codes.get(name, UNREADABLE)
        if name not in self._codes:
            self._is_number.append(whole_number(name) != UNREADABLE)
        return self._codes.setdefault(name, len(self._codes))

    def check_columns(self, columns: Sequence[str], place: Callable[[int], Place]) -> None:
        """Refuse a table in which some columns hold names and others nothing but whole numbers."""
        numbers = [name for name, text in zip(columns, self._columns_with_text, strict=True) if not text]
        if self._may_mix and numbers and self._first_text is not None:
            row, at, cell = self._first_text
            raise InputError(
                f"{no_index(cell)}, while the column {numbers[0]!r} holds nothing but indices",
                ["use indices or names throughout", Suggestion("names", [...], "if those numbers are names")],
                place=replace(place(row), column=columns[at]),
            )

    def sort_names(self, indices: np.ndarray, *, by_number: bool = False) -> tuple[str, ...] | None:
        """Return the names; those that were found are sorted, without those of rows that were left out.

        If all are numbers, they are sorted as such `by_number`.

        The indices are changed in place to fit.
        """
        if self._fixed or self.numeric:
            return tuple(self._codes) or None
        blocks = [indices[start : start + (1 << 18)] for start in range(0, len(indices), 1 << 18)]
        kept = np.zeros(len(self._codes), dtype=bool)
        for block in blocks:
            kept[block] = True
        names = [name for name, code in self._codes.items() if kept[code]]
        names.sort(key=int if by_number and all(map(_is_plain_integer, names)) else None)
        rank = np.zeros(len(self._codes), dtype=np.int32)
        rank[[self._codes[name] for name in names]] = np.arange(len(names))
        for block in blocks:
            block[:] = rank[block]
        return tuple(names)
