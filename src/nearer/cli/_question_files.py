"""Files of questions: every column kept as it is, and the objects that each row is about."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nearer.cli._loading import about_model, check_kind, read_about
from nearer.cli._row_files import typed_table
from nearer.comparisons.files.columns import QUADRUPLET, TRIPLET, Layout, layout_of
from nearer.errors import InputError, Place

if TYPE_CHECKING:
    import pyarrow as pa

    from nearer._fitting import Model
    from nearer.comparisons import Comparisons
    from nearer.comparisons.files.csv import CsvSource

Columns = Mapping[str, str | int]


@dataclass(frozen=True)
class QuestionTable:
    """The whole table, and its rows as comparisons whose first pair is the first one asked about."""

    table: pa.Table
    comparisons: Comparisons
    options: tuple[int, int]  # columns of the two objects that a triplet lets choose from


def read_questions(
    path: Path,
    estimator: Model,
    columns: Columns | None = None,
    header: bool | None = None,
    first_index: int | None = None,
) -> QuestionTable:
    """QuestionTable about the objects of a model; answers that are there as well are kept but not looked at."""
    from nearer.comparisons.files.opening import format_of, reading

    kind = format_of(path)
    if kind == "npz":
        raise InputError("questions are a table", "convert the file to csv, parquet or jsonl", place=path)
    if header is not None and kind != "csv":
        raise InputError("is for csv, tsv and txt files", "leave it out", parameter="header", place=path)
    with reading(path):
        if kind == "csv":
            return _read_text(path, estimator, columns, header, first_index)
        return _from_table(path, typed_table(path, kind), estimator, columns, first_index)


def shown_columns(header: Sequence[str]) -> dict[str, str | int] | None:
    """Return where the objects are if they are called `anchor, a, b`, which no answer without a response may be.

    >>> shown_columns(["id", "anchor", "a", "b"])
    {'anchor': 1, 'near': 2, 'far': 3}
    >>> shown_columns(["anchor", "near", "far"]) is None
    True
    """
    alone = _found_objects(header)
    with_response = _found_objects([*header, "response"])
    if alone is not None or with_response is None:
        return None
    return dict(zip(TRIPLET, with_response, strict=True))


def _found_objects(header: Sequence[str]) -> tuple[int, ...] | None:
    try:
        return layout_of(header, None, None).objects
    except InputError:
        return None


def _read_text(
    path: Path,
    estimator: Model,
    columns: Columns | None,
    header: bool | None,
    first_index: int | None,
) -> QuestionTable:
    import pyarrow as pa

    from nearer.comparisons import Comparisons
    from nearer.comparisons.files.columns import Wanted
    from nearer.comparisons.files.csv import CsvSource

    wanted = Wanted(**about_model(estimator), first_index=first_index)
    if columns is None and header is not False:
        columns = shown_columns(_first_row(path))
    source = CsvSource(path, columns, header, wanted)
    check_kind(estimator, path, named=not source.numeric[0])
    source.layout = _asked(source.layout, path)
    assembler = source.assembler()
    try:
        for batch in source.batches(as_text=True):
            assembler.add(batch)
        table = _all_text(source)
    except pa.ArrowInvalid as error:
        raise source.explained(error) from None
    return QuestionTable(table, Comparisons._of(assembler.finish()), _options(source.layout))


def _first_row(path: Path) -> list[str]:
    from nearer.comparisons.files.csv import delimiter_of
    from nearer.comparisons.files.opening import Lines, open_text

    with open_text(path) as stream:
        line = next((line for line in Lines(stream) if line.strip()), "")
    return next(csv.reader([line], delimiter=delimiter_of(line)), [])


def _all_text(source: CsvSource) -> pa.Table:
    """Return every cell as it is written."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    names = _first_row(source.path) if source.has_header else _names_without_header(source)
    return arrow_csv.read_csv(
        str(source.path),
        arrow_csv.ReadOptions(column_names=names, skip_rows=source.n_header_lines),
        arrow_csv.ParseOptions(delimiter=source.delimiter, newlines_in_values=True),
        arrow_csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False),
    )


def _names_without_header(source: CsvSource) -> list[str]:
    roles = {position: role for role, position in source.layout.roles.items()}
    return [roles.get(position, f"column {position}") for position in range(source.width)]


def _from_table(
    path: Path,
    table: pa.Table,
    estimator: Model,
    columns: Columns | None,
    first_index: int | None,
) -> QuestionTable:
    from nearer.comparisons import Comparisons

    if not table.num_rows:
        raise InputError("there are no questions", place=path)
    layout = _asked(
        layout_of(table.column_names, columns or shown_columns(table.column_names), Place(str(path))), path
    )
    roles = TRIPLET if len(layout.objects) == 3 else QUADRUPLET
    objects = table.select(list(layout.objects)).rename_columns(list(roles))

    def read(**about: Any) -> Comparisons:
        try:
            return Comparisons.from_frame(objects, first_index=first_index, **about)
        except InputError as error:
            raise error.but(place=replace(error.place or Place(), file=str(path))) from None

    return QuestionTable(table, read_about(estimator, path, read), _options(layout))


def _asked(layout: Layout, path: Path) -> Layout:
    """Return the objects alone: a response would turn rows round or leave them out."""
    if layout.odd_one_out:
        raise InputError(
            "these are odd-one-out trials", "ask questions with columns anchor, a, b", place=path
        )
    return Layout(layout.objects)


def _options(layout: Layout) -> tuple[int, int]:
    """Return columns of the two objects of which one is nearer to the anchor."""
    return layout.objects[1], layout.objects[-1]
