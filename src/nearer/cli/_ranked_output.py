"""Top lists that `nearer recommend` writes or shows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from nearer._utils.text import counted
from nearer.cli._output import show
from nearer.cli._table_output import write_table

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from nearer.interactions.lists import Recommended

Names = tuple[str, ...] | None


def ranked_table(asked: dict[str, pa.Array], found: Recommended, what: str, names: Names) -> pa.Table:
    """Return one row per recommendation; lists are shorter if there are fewer candidates.

    Parameters
    ----------
    asked : dict of pyarrow.Array
        Columns that say whose list it is, one cell per list.
    found : Recommended
        The lists, by index.
    what : str
        The name of the column of what is recommended.
    names : tuple of str, optional
        Its names; indices without them.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa
    >>> from nearer.interactions.lists import Recommended
    >>> found = Recommended(np.array([[1, 0], [0, -1]]), np.array([[2.0, 1.0], [3.0, -np.inf]]))
    >>> ranked_table({"user": pa.array(["ann", "bob"])}, found, "tag", ("hot", "cold")).to_pydict()["tag"]
    ['cold', 'hot', 'hot']
    """
    import numpy as np
    import pyarrow as pa

    n, width = found.items.shape
    there = (found.items >= 0).ravel()
    lists = pa.array(np.repeat(np.arange(n), width)[there])
    return pa.table(
        {
            **{name: column.take(lists) for name, column in asked.items()},
            "rank": np.tile(np.arange(1, width + 1), n)[there],
            what: entities(found.items.ravel()[there], names),
            "score": found.scores.ravel()[there],
        }
    )


def entities(numbers: np.ndarray, names: Names) -> pa.Array:
    """Return a column of names, or of indices if there are none."""
    import numpy as np
    import pyarrow as pa

    if names is None:
        return pa.array(numbers)
    return pa.DictionaryArray.from_arrays(pa.array(numbers.astype(np.int32)), pa.array(names, pa.string()))


def write_lists(table: pa.Table, out: Path, facts: dict[str, Any], lists: str, as_json: bool) -> None:
    """Write a table of top lists to a file and say so; `lists` says of whom."""
    write_table(table, out)
    line = f"{out} ({counted(table.num_rows, 'row')} for {lists})"
    show({"out": out, **facts, "n_rows": table.num_rows}, [("recommendations", line)], as_json=as_json)


def show_lists(table: pa.Table, facts: dict[str, Any], as_json: bool) -> None:
    """Print a table of top lists, in columns or as JSON."""
    if as_json:
        show({**facts, "recommendations": table.to_pylist()}, [], as_json=True)
        return
    columns = [
        [name, *(f"{cell:.4f}" if isinstance(cell, float) else str(cell) for cell in column.to_pylist())]
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]
    widths = [max(map(len, column)) for column in columns]
    for row in zip(*columns, strict=True):
        typer.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
