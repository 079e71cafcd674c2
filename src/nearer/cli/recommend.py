"""`nearer recommend`: the best items for each user, from saved towers."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nearer._utils.text import counted, plain
from nearer.cli._loading import load_for
from nearer.cli._options import AsJson, ModelFile, own_command
from nearer.cli._output import check_outputs, complain, show
from nearer.cli._table_output import check_table_name, write_table
from nearer.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from nearer.towers.two_tower import TwoTower

#: left entities shown if there is no file to write
_SHOWN = 3


def recommend(
    context: typer.Context,
    model: ModelFile,
    k: Annotated[int, typer.Option("--k", min=1, help="Length of each list.")] = 10,
    rows: Annotated[
        Path | None,
        typer.Option(
            "--rows",
            show_default="all",
            help="Users to recommend to: one name or index per line, or a csv with a column such as user.",
        ),
    ] = None,
    include_seen: Annotated[
        bool, typer.Option("--include-seen", help="Also recommend what a user was seen with in the fit.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", show_default=False, help="csv, tsv, parquet or jsonl; default: a few on stdout."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Rank the items for each user with saved towers.

    The table has the columns left, rank, right and score, the best first.
    """
    check_outputs([out], inputs=[model] if rows is None else [model, rows])
    check_table_name(out)
    towers, row = load_for(model, "recommend")
    own = own_command(row, "recommend")
    if own is not None:
        own(context, towers)
        return
    at = _wanted(towers, rows)
    if out is not None:
        table = _table(towers, at, k, include_seen)
        write_table(table, out)
        facts = {"out": out, "n_left": len(at), "k": k, "n_rows": table.num_rows}
        line = f"{out} ({counted(table.num_rows, 'row')} for {counted(len(at), 'left')})"
        show(facts, [("recommendations", line)], as_json=as_json)
    elif as_json:
        table = _table(towers, at, k, include_seen)
        show({"n_left": len(at), "k": k, "recommendations": table.to_pylist()}, [], as_json=True)
    else:
        shown = at if rows is not None else at[:_SHOWN]
        _print(_table(towers, shown, k, include_seen))
        if len(shown) < len(at):
            complain(f"these are {len(shown)} of {len(at):,}: add --out top.csv to write all")


def _wanted(towers: TwoTower, path: Path | None) -> np.ndarray:
    """Return the indices of the left entities in a file, or all."""
    import numpy as np

    if path is None:
        return np.arange(len(towers.left_embedding_))
    known = towers.left_names_ or tuple(str(number) for number in range(len(towers.left_embedding_)))
    place = {name: number for number, name in enumerate(known)}
    found = []
    for line, name in _names(path, place):
        if name not in place:
            kinds = "names" if towers.left_names_ is not None else f"indices from 0 to {len(known) - 1}"
            raise InputError(
                f"{path}, line {line}: the model does not know {name!r} on the left: give {kinds} of the fit"
            )
        found.append(place[name])
    if not found:
        raise InputError(f"{path}: there is nobody to recommend to: give at least one name or index")
    return np.array(found, dtype=np.int64)


def _names(path: Path, known: dict[str, Any]) -> list[tuple[int, str]]:
    """Return the line and the name of each entry: lines of text, or the column of the left side of a csv."""
    from nearer.comparisons.files.opening import reading
    from nearer.interactions.columns import ALIASES, is_pair_name

    with reading(path), path.open(encoding="utf-8-sig", newline="") as stream:
        if path.suffix.lower() not in (".csv", ".tsv"):
            return [(number, line.strip()) for number, line in enumerate(stream, 1) if line.strip()]
        cells = csv.reader(stream, delimiter="\t" if path.suffix.lower() == ".tsv" else ",")
        lines = [(cells.line_num, row) for row in cells if row]
    column = 0
    if lines and not any(cell in known for cell in lines[0][1]) and any(map(is_pair_name, lines[0][1])):
        lefts = {plain(name) for name in ALIASES["left"]}
        columns = [number for number, cell in enumerate(lines[0][1]) if plain(cell) in lefts]
        if len(columns) != 1:
            raise InputError(
                f"{path}: {len(columns)} columns could be that of the users: name one of them user"
            )
        column, lines = columns[0], lines[1:]
    short = next((line for line, row in lines if len(row) <= column), None)
    if short is not None:
        raise InputError(f"{path}, line {short}: there is no cell in column {column}: complete the row")
    return [(line, row[column].strip()) for line, row in lines]


def _table(towers: TwoTower, at: np.ndarray, k: int, include_seen: bool) -> pa.Table:
    """Return one row per recommendation; lists are shorter if there are fewer candidates."""
    import numpy as np
    import pyarrow as pa

    found = towers.recommend(at, k, exclude_seen=not include_seen)
    width = found.items.shape[1]
    there = (found.items >= 0).ravel()

    def entities(numbers: np.ndarray, names: tuple[str, ...] | None) -> pa.Array:
        if names is None:
            return pa.array(numbers)
        return pa.DictionaryArray.from_arrays(
            pa.array(numbers.astype(np.int32)), pa.array(names, pa.string())
        )

    return pa.table(
        {
            "left": entities(np.repeat(at, width)[there], towers.left_names_),
            "rank": np.tile(np.arange(1, width + 1), len(at))[there],
            "right": entities(found.items.ravel()[there], towers.right_names_),
            "score": found.scores.ravel()[there],
        }
    )


def _print(table: pa.Table) -> None:
    """Print the table in columns."""
    columns = [
        [name, *(f"{cell:.4f}" if isinstance(cell, float) else str(cell) for cell in column.to_pylist())]
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]
    widths = [max(map(len, column)) for column in columns]
    for row in zip(*columns, strict=True):
        typer.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
