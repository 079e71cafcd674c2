"""`nearer recommend`: the best items for each user, from saved towers; other models have their own."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nearer._utils.group import Shares, own_rank, processes
from nearer._utils.text import counted, plain
from nearer.cli._loading import load_for
from nearer.cli._options import (
    AsJson,
    ItemColumn,
    ModelFile,
    UserColumn,
    own_command,
    refuse_options_of_others,
)
from nearer.cli._output import check_outputs, complain
from nearer.cli._ranked_output import entities, ranked_table, show_lists, write_lists
from nearer.cli._table_output import check_table_name
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
            help="Users to recommend to: one name or index per line, or a csv with a column such as user. For tags: a "
            "table with a user and an item per row.",
        ),
    ] = None,
    include_seen: Annotated[
        bool,
        typer.Option(
            "--include-seen",
            help="Also recommend what the fit has seen: items of a user, or tags of a user for an item.",
        ),
    ] = False,
    user: UserColumn = None,
    item: ItemColumn = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", show_default=False, help="csv, tsv, parquet or jsonl; default: a few on stdout."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Rank the items for each user with saved towers or links, or the tags for each user and item.

    The table has the columns left, rank, right and score, or user, item, rank, tag and score, the best first.
    """
    check_outputs([out], inputs=[model] if rows is None else [model, rows])
    check_table_name(out)
    towers, row = load_for(model, "recommend")
    refuse_options_of_others(context, str(row.model), f"the {row.name} in {model}")
    own = own_command(row, "recommend")
    if own is not None:
        own(context, towers)
        return
    at = _wanted(towers, rows)
    facts = {"n_left": len(at), "k": k}
    if out is not None:
        table = _in_shares(lambda some: _table(towers, some, k, include_seen), at)
        if table is not None:
            write_lists(table, out, facts, counted(len(at), "left object"), as_json)
        return
    if own_rank() > 0:  # of several processes, the first prints
        return
    shown = at if rows is not None or as_json else at[:_SHOWN]
    show_lists(_table(towers, shown, k, include_seen), facts, as_json)
    if len(shown) < len(at):
        complain(f"these are {len(shown)} of {len(at):,}: add --out top.csv to write all")


def _in_shares(table_of: Callable[[np.ndarray], pa.Table], at: np.ndarray) -> pa.Table | None:
    """Return a table about some rows, of which each process makes a part: whole in the first, None in others."""
    import pyarrow as pa

    group = processes()
    parts = group.to_first(table_of(at[Shares.equal(group, len(at)).own]))
    return None if parts is None else pa.concat_tables(parts).unify_dictionaries()


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
    found = towers.recommend(at, k, exclude_seen=not include_seen)
    return ranked_table({"left": entities(at, towers.left_names_)}, found, "right", towers.right_names_)
