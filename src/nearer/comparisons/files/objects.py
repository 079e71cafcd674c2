"""Columns of objects, by index or by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from nearer.comparisons.files.cells import Vocabulary, is_text, whole_number, whole_numbers
from nearer.comparisons.first_index import from_zero
from nearer.comparisons.row_errors import MISSING, UNREADABLE, cannot_be_kept, no_index
from nearer.errors import InputError, Place, Setting

if TYPE_CHECKING:
    import pyarrow as pa


class Objects:
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
        self._loosely: dict[str, int] = {}  # codes by names in any case, where these leave no doubt
        self._n_loose = 0
        self._cells = Vocabulary(whole_number if numeric else self._name_code)
        self._may_mix = not (numeric or typed or self._fixed)
        self._is_number: list[bool] = []  # by the code of a name, whether it looks like a number
        self._columns_with_text = np.zeros(width, dtype=bool)
        self._first_text: tuple[int, int, str] | None = None  # row, column and cell
        self._n_rows = 0

    def codes(self, columns: Sequence[pa.Array]) -> np.ndarray:
        """Codes of shape (rows, columns), `UNREADABLE` for what is missing, no number or no known name."""
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
        """Remember the first cell that is no whole number, for the sentence about it."""
        if self._first_text is None and text.any():
            row, column = divmod(int(np.argmax(text)), text.shape[1])
            name = next(islice(self._codes, int(codes[row, column]), None))
            self._first_text = self._n_rows + row, column, name

    def codes_of(self, names: Sequence[str]) -> np.ndarray:
        """Codes of names, `UNREADABLE` where no row has mentioned one, and then the codes equal no row."""
        return np.array([self._codes.get(name.strip(), UNREADABLE) for name in names])

    def mentioned(self, column: pa.Array) -> np.ndarray:
        """Codes of the objects that a column of responses mentions, `UNREADABLE` where it says something else."""
        import pyarrow as pa

        if not is_text(column.type):
            no_index = pa.types.is_boolean(column.type) or not self.numeric
            return np.full(len(column), UNREADABLE) if no_index else self._whole(column)
        if self.numeric:
            return from_zero(Vocabulary(whole_number).values(column), self.first_index)
        for name, code in islice(self._codes.items(), self._n_loose, None):
            loose = name.strip().casefold()
            self._loosely[loose] = UNREADABLE if loose in self._loosely else code
        self._n_loose = len(self._codes)
        return Vocabulary(
            lambda cell: self._codes.get(cell, self._loosely.get(cell.strip().casefold(), UNREADABLE))
        ).values(column)

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
                place=replace(place(row), column=columns[at]),
                remedy=[
                    "use indices or names throughout",
                    Setting("names", [...], "if those numbers are names"),
                ],
            )

    def sort_names(self, indices: np.ndarray) -> tuple[str, ...] | None:
        """The names; those that were found are sorted, without those of rows that were left out.

        The indices are changed in place to fit.
        """
        if self._fixed or self.numeric:
            return tuple(self._codes) or None
        blocks = [indices[start : start + (1 << 18)] for start in range(0, len(indices), 1 << 18)]
        kept = np.zeros(len(self._codes), dtype=bool)
        for block in blocks:
            kept[block] = True
        names = sorted(name for name, code in self._codes.items() if kept[code])
        rank = np.zeros(len(self._codes), dtype=np.int32)
        rank[[self._codes[name] for name in names]] = np.arange(len(names))
        for block in blocks:
            block[:] = rank[block]
        return tuple(names)
