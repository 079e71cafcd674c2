"""Labels in files of rows: columns of zeros and ones, or one column of texts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nearer.cli._row_features import Cells
from nearer.errors import InputError, Suggestion

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

#: what stands between labels of a cell in many files: whether it does here must be said
_BETWEEN = "|;,"
_WITHOUT = "leave the row out"
#: more numbers than this, some of them with decimals, are measurements and not names of classes
_MOST_NUMBERS = 20


@dataclass(frozen=True)
class LabelColumns:
    """Labels of the rows of a file.

    Attributes
    ----------
    names : list of str
        The different labels; sorted if they are texts in cells.
    table : array (n, m) of bool
        Which row has which.
    single : bool
        Whether every row has exactly one, in a column of its own.
    columns : list of str
        The columns of the file.
    separator : str, optional
        What stands between the labels of a cell, if they are texts of one column.
    """

    names: list[str]
    table: np.ndarray
    single: bool
    columns: list[str]
    separator: str | None = None

    def __len__(self) -> int:
        return len(self.table)

    def target(self) -> Any:
        """Return what `fit` takes: a label per row, or a frame of zeros and ones."""
        import numpy as np
        import pyarrow as pa

        if self.single:
            return np.array(self.names)[self.table.argmax(axis=1)]
        return pa.table(dict(zip(self.names, self.table.T.astype(np.int8), strict=True)))

    def take(self, rows: np.ndarray) -> LabelColumns:
        """Return some rows."""
        return replace(self, table=self.table[rows])


def flags_of(path: Path, table: pa.Table, columns: list[str]) -> LabelColumns:
    """Return the labels that columns of zeros and ones stand for."""
    import numpy as np

    cells, found = Cells(path, table), np.zeros((table.num_rows, len(columns)), dtype=bool)
    for at, name in enumerate(columns):
        if not cells.are_numbers(name):
            raise InputError(
                f"{path}: the column {name!r} holds text, but several columns of labels hold 0 or 1: correct it, or "
                "name a single column of texts"
            )
        numbers = cells.numbers(name, _WITHOUT)
        strange = ~np.isin(numbers, (0, 1))
        if strange.any():
            row = int(strange.argmax())
            raise InputError(
                f"{numbers[row]:g} is neither 0 nor 1",
                ["correct the label", _WITHOUT],
                place=cells.place(name, row),
            )
        found[:, at] = numbers > 0
    return LabelColumns(columns, found, False, columns)


def texts_of(path: Path, table: pa.Table, column: str, separator: str | None) -> LabelColumns:
    """Return the labels in one column of texts: one per cell, or several with a separator between them.

    Parameters
    ----------
    path : Path
        Where the table is from.
    table : pyarrow.Table
    column : str
        A column read as text.
    separator : str, optional
        The empty text says that each cell holds one label; None that this is not known.
    """
    import numpy as np

    if separator:
        names, flags = _sets(table.column(column).to_pylist(), separator)
        return LabelColumns(names, flags, False, [column], separator)
    if separator is None:
        cells = table.column(column).to_pylist()
        found = next((mark for mark in _BETWEEN for cell in cells if mark in cell), None)
        if found is not None:
            raise InputError(
                f"{path}: the column {column!r} holds {found!r}",
                [
                    Suggestion("separator", found, "if a cell lists several labels"),
                    Suggestion("separator", "", "if each holds one"),
                ],
            )
    cells = one_per_row(path, table, column)
    kinds, codes = np.unique(cells, return_inverse=True)
    flags = np.zeros((len(cells), len(kinds)), dtype=bool)
    flags[np.arange(len(cells)), codes] = True
    return LabelColumns(kinds.tolist(), flags, True, [column], "")


def one_per_row(path: Path, table: pa.Table, column: str) -> np.ndarray:
    """Return the labels in a column that holds one per cell; refuse measurements."""
    import numpy as np

    found = Cells(path, table).texts(column, _WITHOUT)
    names = np.unique(found)
    try:
        numbers = names.astype(float)
    except ValueError:
        return found
    if len(names) > _MOST_NUMBERS and (numbers != np.round(numbers)).any():
        raise InputError(
            f"{path}: the column {column!r} holds {len(names)} different numbers, such as {names[0]}: name a column of "
            "classes, or sort the numbers into a few classes first"
        )
    return found


def _sets(cells: list[str], separator: str) -> tuple[list[str], np.ndarray]:
    """Return the different labels, sorted, and which cell has which."""
    import numpy as np

    sets = [{part.strip() for part in cell.split(separator)} - {""} for cell in cells]
    names = sorted(set().union(*sets))
    at = {name: number for number, name in enumerate(names)}
    flags = np.zeros((len(sets), len(names)), dtype=bool)
    for row, labels in enumerate(sets):
        flags[row, [at[name] for name in labels]] = True
    return names, flags
