"""Comparisons from and to tables in memory: DataFrames, Arrow tables, records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nearer._utils.optional import optional
from nearer.comparisons.arrays import rounded
from nearer.comparisons.files.cells import is_text
from nearer.comparisons.files.columns import QUADRUPLET, TRIPLET, Wanted, layout_of
from nearer.comparisons.files.kinds import Columns, TableKind
from nearer.comparisons.files.named_columns import TableLayout, is_numbered
from nearer.comparisons.files.remedies import SAMPLE_ROWS
from nearer.comparisons.validation import Content, holds_half_a_character, row_place
from nearer.errors import InputError, Place, Suggestion

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_BATCH_ROWS = 1 << 18


def fields_of_frame(frame: Any, *, columns: Columns | None = None, **options: Any) -> Content:
    """Return the comparisons of a DataFrame; options as for `Wanted`."""
    wanted = Wanted(**options)
    if columns is None and is_numbered(header_of(frame)):
        wanted.positional(_sample(frame), len(header_of(frame)), Place("the frame"))
    return read_frame(frame, columns, wanted)


def read_frame(frame: Any, columns: Columns | None, wanted: TableKind) -> Any:
    """Return the content of a DataFrame, as `wanted` says."""
    layout = wanted.layout(header_of(frame), columns, Place("the frame"))
    positions = list(layout.roles.values())
    if hasattr(frame, "iloc"):  # pandas: convert no column but those that matter, others may hold anything
        table = _from_pandas(frame.iloc[:, positions], list(layout.roles))
    else:
        table = _as_arrow(frame).select(positions)
    fields = fields_of_table(table, layout, wanted)
    wanted.warn_of_unused(layout, columns, lambda: _sample(frame), "the frame")
    return fields


def fields_of_given_frame(
    frame: Any,
    n_objects: int | None = None,
    *,
    weights: Any = None,
    annotators: Any = None,
    groups: Any = None,
    **options: Any,
) -> Content:
    """Return the comparisons of a DataFrame that was passed in place of an array."""
    for role, values in (("weight", weights), ("annotator", annotators), ("group", groups)):
        if values is not None:
            raise InputError(
                "must be a column of the frame", f"add the column {role!r} to the frame", parameter=f"{role}s"
            )
    try:
        return fields_of_frame(frame, n_objects=n_objects, **options)
    except InputError as error:
        elsewhere = [_with_from_frame(step) for step in error.remedy]
        raise error.but(remedy=tuple(elsewhere)) from None


def _with_from_frame(step: str | Suggestion) -> str | Suggestion:
    """Say which constructor takes a setting that is not a parameter of the others."""
    if isinstance(step, str) or step.name in ("names", "invalid"):
        return step
    return replace(step, verb="use Comparisons.from_frame with")


def questions_of_frame(frame: Any) -> np.ndarray:
    """Return the objects of a DataFrame of questions, in their order: anchor, a, b."""
    header = header_of(frame)
    try:
        layout = layout_of(header, None, Place("the frame"))
    except InputError:  # the responses come by themselves
        layout = layout_of([*header, "response"], None, Place("the frame"))
    if hasattr(frame, "iloc"):
        return frame.iloc[:, list(layout.objects)].to_numpy()
    columns = [_as_arrow(frame).column(at) for at in layout.objects]
    return np.column_stack([column.to_pylist() if is_text(column.type) else column for column in columns])


def says_which_is_odd(frame: Any) -> bool:
    """Return whether the columns of a DataFrame are those of odd-one-out trials."""
    try:
        return layout_of(header_of(frame), None, None).odd_one_out
    except InputError:
        return False


def header_of(frame: Any) -> list[Any]:
    return list(frame.columns) if hasattr(frame, "iloc") else _as_arrow(frame).column_names


def fields_of_records(
    records: Iterable[Mapping[str, Any]], *, columns: Columns | None = None, **options: Any
) -> Content:
    """Return the comparisons of a list of dicts; options as for `Wanted`."""
    import pyarrow as pa

    wanted = Wanted(**options)
    rows = list(records)
    keys = list(dict.fromkeys(key for row in rows for key in row))
    if not rows:
        raise InputError("there are no records; give at least one")
    layout = layout_of(keys, columns, Place("the records"))
    roles = {role: keys[position] for role, position in layout.roles.items()}
    arrays = [_column([row.get(key) for row in rows], str(key)) for key in roles.values()]
    fields = fields_of_table(pa.table(arrays, names=list(roles)), layout, wanted)
    wanted.warn_of_unused(
        layout, columns, lambda: ([row.get(key) for key in keys] for row in rows), "the records"
    )
    return fields


def rows_of(batch: pa.RecordBatch | pa.Table) -> Iterator[tuple[Any, ...]]:
    """Return the cells of some rows."""
    return zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _sample(frame: Any) -> Iterable[Sequence[Any]]:
    """Return the cells of the first rows of a frame."""
    if hasattr(frame, "iloc"):
        return frame.iloc[:SAMPLE_ROWS].to_numpy(dtype=object).tolist()
    return rows_of(_as_arrow(frame).slice(0, SAMPLE_ROWS))


def fields_of_table(table: pa.Table, layout: TableLayout, wanted: TableKind) -> Any:
    """Return the content of an Arrow table with the columns of `layout.roles`, in that order."""
    numeric = wanted.hold_indices(table.schema, layout, "the table")
    assembler = wanted.assembler(layout, numeric=numeric, typed=True, place=row_place, source="the table")
    for batch in table.to_batches(max_chunksize=_BATCH_ROWS):
        assembler.add(batch)
    return assembler.finish()


def _from_pandas(frame: pd.DataFrame, roles: Sequence[str]) -> pa.Table:
    import pyarrow as pa

    frame = frame.set_axis(list(roles), axis=1)
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeEncodeError):
        return pa.table([_column(frame[role].tolist(), role) for role in roles], names=list(roles))


def _as_arrow(frame: Any) -> pa.Table:
    import pyarrow as pa

    if isinstance(frame, pa.Table):
        return frame
    if hasattr(frame, "__arrow_c_stream__"):
        return pa.table(frame)
    if hasattr(frame, "__dataframe__"):
        from pyarrow.interchange import from_dataframe

        return from_dataframe(frame)
    raise InputError(
        f"a {type(frame).__name__} is not a table", "pass a DataFrame of pandas or polars, or an Arrow table"
    )


def _column(values: list[Any], name: str) -> pa.Array:
    """Return a list as an Arrow array; a list of numbers and strings together is refused."""
    import pyarrow as pa

    try:
        return pa.array(values)
    except OverflowError:  # integers of more than 64 bits: rows that can be left out, or be named
        return pa.array([rounded(value) for value in values])
    except UnicodeEncodeError:
        halved = (isinstance(value, str) and holds_half_a_character(value) for value in values)
        row = next((row for row, is_halved in enumerate(halved) if is_halved), 0)
        raise InputError(
            f"{values[row]!r} holds half a character", "correct this row", place=Place(row=row, column=name)
        ) from None
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        texts = [isinstance(value, str) for value in values if value is not None]
        odd = next(
            (
                row
                for row, value in enumerate(values)
                if value is not None and isinstance(value, str) != texts[0]
            ),
            0,
        )
        raise InputError(
            f"the column mixes numbers and names, here {values[odd]!r}",
            "use one or the other",
            place=Place(row=odd, column=name),
        ) from None


def frame_of(fields: Content) -> pd.DataFrame:
    """Return a pandas DataFrame of comparisons."""
    pandas = optional("pandas", "to_frame")
    columns: dict[str, Any] = {}
    names = None if fields.names is None else np.array(fields.names, dtype=object)
    for role, codes in zip(object_roles(fields), fields.indices.T, strict=True):
        columns[role] = codes.copy() if names is None else names[codes]
    extras = {"weight": fields.weights, "annotator": fields.annotators, "group": fields.groups}
    columns |= {role: values.copy() for role, values in extras.items() if values is not None}
    return pandas.DataFrame(columns)


def object_roles(fields: Content) -> tuple[str, ...]:
    """Return the names of the columns of objects."""
    return TRIPLET if fields.indices.shape[1] == 3 else QUADRUPLET
