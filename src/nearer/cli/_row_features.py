"""Features on the command line: columns of numbers, and of texts as categories."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nearer._utils.text import counted, warn
from nearer.cli._row_files import places_of, read_rows
from nearer.errors import InputError, Place

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

#: between the name of a column of texts and one of them, in the names of features
_IS = "="
#: different texts in a column from which it may be one of names
_MANY_TEXTS = 20
#: a smaller share of cells than this are slips in a column of numbers
_FEW = 0.1
_WITHOUT = "leave the column out"


@dataclass(frozen=True)
class Features:
    """Columns of finite numbers with names, one row per object."""

    names: tuple[str, ...]
    values: np.ndarray

    def frame(self) -> pa.Table:
        """Return a data frame, from which estimators take the names."""
        import pyarrow as pa

        return pa.table(dict(zip(self.names, self.values.T, strict=True)))


def read_features(
    path: Path, names: tuple[str, ...] | None, count: int, like: Collection[str] | None = None
) -> Features:
    """Return the features of some objects, whose names or indices are in the first column.

    A column of text becomes one column of zeros and ones per text. Rows of other objects are left out.

    Parameters
    ----------
    path : Path
        A table with column names.
    names : tuple of str, optional
        The names of the objects; indices without names.
    count : int
        The number of objects.
    like : collection of str, optional
        The features that a model knows; by default all columns are features.
    """
    # ids such as 007 stay as they are
    table = read_rows(path, lambda header: [*header[:1], *columns_behind(like or ())])
    if table.num_columns < 2:
        raise InputError(
            f"{path}: there are no features: give an id in the first column and features in the others"
        )
    place = places_of(path, table)
    wanted = names or tuple(str(number) for number in range(count))
    missing = [name for name in wanted if name not in place]
    if missing:
        raise InputError(
            f"{path}: there is no row for {missing[0]!r}"
            + (f" and {counted(len(missing) - 1, 'other')}" if missing[1:] else "")
            + f": add one for each, with the name in the column {table.column_names[0]!r}"
        )
    rows = [place[name] for name in wanted]
    return features_of(path, table, table.column_names[1:], like, rows)


def features_of(
    path: Path,
    table: pa.Table,
    columns: list[str],
    like: Collection[str] | None = None,
    rows: list[int] | None = None,
) -> Features:
    """Return the features in some columns, or those that a model knows, of some rows or of all.

    For a model, texts of the table must have been read as such: those in `columns_behind(like)`.
    """
    cells = Cells(path, table, rows)
    return _all_features(cells, columns) if like is None else _known_features(cells, like)


def known_features(model: Any) -> tuple[str, ...]:
    """Return the names of the features of a model."""
    if not hasattr(model, "feature_names_in_"):
        raise InputError(
            f"the {type(model).__name__} was fitted to an array, so it knows no names of columns: fit it to a table"
        )
    return tuple(str(name) for name in model.feature_names_in_)


def _all_features(cells: Cells, columns: list[str]) -> Features:
    """Return features; a column of text becomes one of zeros and ones per text, called `column=text`."""
    import numpy as np

    path = cells.path
    found: list[tuple[str, np.ndarray]] = []
    for name in columns:
        if cells.are_numbers(name):
            found.append((name, cells.numbers(name)))
            continue
        texts = cells.texts(name)
        different = np.unique(texts)
        if len(different) > max(_MANY_TEXTS, len(texts) / 2):
            _refuse_few_texts(cells, name, texts)
            raise InputError(
                f"{path}: the column {name!r} holds {len(different):,} different texts, as names do: leave it out, or "
                "turn it into numbers"
            )
        found += [(f"{name}{_IS}{each}", (texts == each).astype(np.float64)) for each in different]
    names = tuple(name for name, _ in found)
    if not names:
        raise InputError(f"{path}: no column is left for features: add some")
    if len(set(names)) < len(names):
        again = next(name for at, name in enumerate(names) if name in names[:at])
        raise InputError(f"{path}: two features would be called {again!r}: rename a column")
    return Features(names, np.stack([values for _, values in found], axis=1))


def _refuse_few_texts(cells: Cells, name: str, texts: np.ndarray) -> None:
    """Refuse the first text of a column that otherwise holds numbers: one slip makes a reader take all for texts."""
    import numpy as np

    wrong = np.array([not _is_number(text) for text in texts], dtype=bool)
    if 0 < wrong.mean() < _FEW:
        at = int(wrong.argmax())
        raise InputError(
            f"{str(texts[at])!r} is not a number, but most cells of the column are",
            ["correct it", _WITHOUT],
            place=cells.place(name, at),
        )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def columns_behind(names: Collection[str]) -> list[str]:
    """Return the columns of text that features may come from.

    >>> columns_behind(["age", "job=cook", "job=a=b"])
    ['job', 'job=a']
    """
    return list(dict.fromkeys(column for name in names for column, _ in _readings(name)))


def _known_features(cells: Cells, names: Collection[str]) -> Features:
    """Return the features of these names."""
    import numpy as np

    path, there = cells.path, cells.table.column_names
    found: list[np.ndarray] = []
    known: dict[str, tuple[np.ndarray, set[str]]] = {}
    for name in names:
        if name in there:
            if not cells.are_numbers(name):
                raise InputError(
                    f"{path}: the column {name!r} holds text, but the model learned from numbers: give numbers"
                )
            found.append(cells.numbers(name))
            continue
        readings = (reading for reading in _readings(name) if reading[0] in there)
        source, text = next(readings, (None, ""))
        if source is None:
            raise InputError(
                f"{path}: there is no column {_plain_name(name)!r}, which the model learned from: add it"
            )
        if source not in known:
            known[source] = cells.texts(source), set()
        known[source][1].add(text)
        found.append((known[source][0] == text).astype(np.float64))
    for source, (texts, usual) in known.items():
        new = sorted(set(texts.tolist()) - usual)
        if new:
            warn(
                f"{path}: the column {source!r} holds {new[0]!r}, which no row of the fit did: it has no effect"
            )
    return Features(tuple(names), np.stack(found, axis=1))


def _readings(name: str) -> Iterator[tuple[str, str]]:
    """Yield the column and the text that a feature may stand for."""
    parts = name.split(_IS)
    for at in range(1, len(parts)):
        yield _IS.join(parts[:at]), _IS.join(parts[at:])


def _plain_name(name: str) -> str:
    return next((column for column, _ in _readings(name)), name)


@dataclass(frozen=True)
class Cells:
    """Cells of some rows of a table; refuses empty ones with their row in the file."""

    path: Path
    table: pa.Table
    rows: list[int] | None = None

    def are_numbers(self, name: str) -> bool:
        """Return whether a column holds numbers or booleans."""
        import pyarrow as pa

        kind = self.table.schema.field(name).type
        return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))

    def numbers(self, name: str, otherwise: str = _WITHOUT) -> np.ndarray:
        """Return a column of finite numbers; `otherwise` is what to do about a cell that cannot be corrected."""
        import numpy as np

        column = self._column(name)
        self._refuse_empty(name, column.is_null().to_numpy(), otherwise)
        numbers = np.asarray(column.to_numpy(), dtype=np.float64)
        finite = np.isfinite(numbers)
        if not finite.all():
            wrong = int(finite.argmin())
            raise InputError(
                f"{numbers[wrong]:g} is not a finite number",
                ["correct it", otherwise],
                place=self.place(name, wrong),
            )
        return numbers

    def texts(self, name: str, otherwise: str = _WITHOUT) -> np.ndarray:
        """Return a column of texts, none of them empty."""
        import numpy as np

        cells = self._column(name).to_pylist()
        empty = np.array([cell is None or cell == "" for cell in cells], dtype=bool)
        self._refuse_empty(name, empty, otherwise)
        return np.array([str(cell) for cell in cells], dtype=str)

    def _column(self, name: str) -> pa.ChunkedArray:
        column = self.table.column(name)
        return column if self.rows is None else column.take(self.rows)

    def place(self, name: str, at: int) -> Place:
        """Return where one of the rows is in the file."""
        return Place(str(self.path), row=at if self.rows is None else self.rows[at], column=name)

    def _refuse_empty(self, name: str, empty: np.ndarray, otherwise: str) -> None:
        if empty.any():
            raise InputError(
                "the cell is empty",
                ["fill it in", otherwise],
                place=self.place(name, int(empty.argmax())),
            )
