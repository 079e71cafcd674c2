"""Tables of features: one row per user or item, whose name or index is in the first column."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nearer.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa


def read_features(path: Path, names: tuple[str, ...] | None, count: int) -> np.ndarray:
    """Return one row of numbers per entity, in the order of a side of the pairs.

    A column of text becomes one column of zeros and ones per text. Rows of other entities are left out.

    Parameters
    ----------
    path : Path
        csv, tsv or parquet, with column names.
    names : tuple of str, optional
        The names of the entities; indices without names.
    count : int
        The number of entities.
    """
    import numpy as np

    table = _read(path)
    if table.num_columns < 2:
        raise InputError(
            f"{path}: there are no features: give an id in the first column and features in the others"
        )
    ids = [str(cell) for cell in table.column(0).to_pylist()]
    place = {name: row for row, name in enumerate(ids)}
    if len(place) < len(ids):
        again = next(name for row, name in enumerate(ids) if place[name] != row)
        raise InputError(f"{path}: {again!r} has two rows: keep one of them")
    wanted = names or tuple(str(number) for number in range(count))
    missing = [name for name in wanted if name not in place]
    if missing:
        raise InputError(
            f"{path}: there is no row for {missing[0]!r}"
            + (f" and {len(missing) - 1:,} others" if missing[1:] else "")
            + ": add one for each in the pairs"
        )
    rows = table.take([place[name] for name in wanted])
    columns = [_numbers(path, name, rows.column(name)) for name in rows.column_names[1:]]
    return np.concatenate(columns, axis=1)


def _read(path: Path) -> pa.Table:
    """Return a table whose first column holds texts or whole numbers."""
    import csv

    import pyarrow as pa
    from pyarrow import csv as arrow_csv
    from pyarrow import parquet

    from nearer.comparisons.files.opening import reading

    ending = path.suffix.lower()
    if ending not in (".csv", ".tsv", ".parquet"):
        raise InputError(f"{path}: give features a name that ends with one of .csv, .tsv, .parquet")
    with reading(path):
        if ending == ".parquet":
            return parquet.read_table(path)
        delimiter = "\t" if ending == ".tsv" else ","
        with path.open(encoding="utf-8-sig", newline="") as stream:
            header = next(csv.reader(stream, delimiter=delimiter), [])
        if len(set(header)) < len(header):
            raise InputError(f"{path}: two columns have the same name: rename one of them")
        return arrow_csv.read_csv(
            path,
            parse_options=arrow_csv.ParseOptions(delimiter=delimiter),
            # ids such as 007 stay as they are
            convert_options=arrow_csv.ConvertOptions(column_types={name: pa.string() for name in header[:1]}),
        )


def _numbers(path: Path, name: str, column: pa.ChunkedArray) -> np.ndarray:
    """Return a column of features as one or several columns of finite numbers."""
    import numpy as np
    import pyarrow as pa

    cells = column.to_pylist()
    empty = next((row for row, cell in enumerate(cells) if cell is None or cell == ""), None)
    if empty is not None:
        raise InputError(
            f"{path}: the column {name!r} has an empty cell: fill it in, or leave the column out"
        )
    if (
        pa.types.is_integer(column.type)
        or pa.types.is_floating(column.type)
        or pa.types.is_boolean(column.type)
    ):
        numbers = np.array(cells, dtype=np.float64)[:, None]
        if not np.isfinite(numbers).all():
            raise InputError(f"{path}: the column {name!r} holds numbers that are not finite: correct them")
        return numbers
    texts = np.array([str(cell) for cell in cells])
    return (texts[:, None] == np.unique(texts)[None]).astype(np.float64)
