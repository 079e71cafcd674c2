"""Reading comparisons from delimited text: csv, tsv, txt, plain or gzipped."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from nearer._comparing.checks import UNREADABLE, Fields
from nearer._tables.assemble import Assembler, Wanted
from nearer._tables.cells import whole_number
from nearer._tables.columns import Layout, layout_of, positional
from nearer._tables.opening import open_text
from nearer.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

TextColumns = bool | Literal["objects"]  # which columns to read as text rather than by their types
_PEEKED_ROWS = 10_000
_BLOCK_BYTES = 1 << 18
_BATCH_ROWS = 1 << 17


def read_csv(
    path: Path, columns: Mapping[str, str | int] | None, header: bool | None, wanted: Wanted
) -> Fields:
    """The comparisons of a delimited text file.

    Columns are first read as the types they seem to have; where that fails, objects and then all columns
    are read as text, which is slower and tells which cell is wrong.
    """
    import pyarrow as pa

    source = CsvSource(path, columns, header, wanted)
    stages: tuple[TextColumns, ...] = (False, "objects", True) if source.numeric else (False, True)
    for as_text in stages:
        assembler = source.assembler()
        try:
            for batch in source.batches(as_text):
                assembler.add(batch)
        except pa.ArrowInvalid as error:
            if as_text is True or source.is_ragged:
                raise source.explained(error) from None
            continue
        break
    return assembler.finish(source.n_skipped)


class CsvSource:
    """A file whose first rows have been looked at: delimiter, header, parts of the columns, kind of cells."""

    def __init__(
        self, path: Path, columns: Mapping[str, str | int] | None, header: bool | None, wanted: Wanted
    ) -> None:
        self.path, self.wanted = path, wanted
        self.n_skipped, self.is_ragged = 0, False
        with open_text(path) as stream:
            start = next((line for line in stream if line.strip()), "")
        if not start:
            raise InputError(f"{path}: the file is empty; it should hold comparisons")
        self.delimiter = delimiter_of(start)
        peeked = list(islice(self.rows(), _PEEKED_ROWS))
        first_line, rows = peeked[0][0], [cells for _, cells in peeked]
        self._check_encoding(first_line, rows[0])
        self.width = len(rows[0])
        self.has_header = _has_header(rows, columns) if header is None else header
        self.layout = self._layout(rows[0], columns, f"{path}, line {first_line}")
        # a quoted name of a column may go over several lines
        self.n_header_lines = first_line + "".join(rows[0]).count("\n") if self.has_header else 0
        data = rows[1:] if self.has_header else rows
        if not data:
            raise InputError(f"{path}: there is a header but no comparison below it")
        first = [data[0][position].strip() for position in self.layout.objects if position < len(data[0])]
        is_named = wanted.names is not None and set(first) <= set(wanted.names)
        self.numeric = not is_named and all(whole_number(cell) != UNREADABLE for cell in first)

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """The cells of every row that is not blank, with the number of its line, from 1."""
        line = 0
        with open_text(self.path) as stream:
            reader = csv.reader(stream, delimiter=self.delimiter)
            try:
                for cells in reader:
                    if len(cells) > 1 or (cells and cells[0].strip()):
                        yield line + 1, cells
                    # a quoted cell may go over several lines: the next row starts after it
                    line = reader.line_num
            except csv.Error as error:
                raise InputError(f"{self.path}, line {line + 1}: {error}; correct this line") from None

    def _check_encoding(self, line: int, cells: Sequence[str]) -> None:
        try:
            "".join(cells).encode()
        except UnicodeEncodeError:
            raise InputError(
                f"{self.path}, line {line}: the text is not UTF-8; save the file as UTF-8"
            ) from None

    def _layout(self, first: Sequence[str], columns: Mapping[str, str | int] | None, place: str) -> Layout:
        if not self.has_header and columns is None:
            return positional(self.width, place)
        if not self.has_header:
            return layout_of(range(self.width), columns, place)
        try:
            return layout_of(first, columns, place)
        except InputError as error:
            raise InputError(f"{error}, or header=False if this line is a comparison itself") from None

    def assembler(self) -> Assembler:
        """A fresh assembler for this file."""
        return Assembler(
            self.layout,
            self.wanted,
            numeric=self.numeric,
            typed=False,
            place=lambda row: f"{self.path}, line {self.line_of(row)}",
        )

    def batches(self, as_text: TextColumns) -> Iterator[pa.RecordBatch]:
        """The columns that matter, in the order of their roles."""
        from pyarrow import csv as arrow_csv

        self.n_skipped = 0
        names = [f"column {position}" for position in range(self.width)]
        types = {
            names[position]: kind for position, kind in zip(self.positions, self._types(as_text), strict=True)
        }
        with arrow_csv.open_csv(
            str(self.path),
            arrow_csv.ReadOptions(
                column_names=names, skip_rows=self.n_header_lines, block_size=_BLOCK_BYTES, use_threads=False
            ),
            arrow_csv.ParseOptions(
                delimiter=self.delimiter, newlines_in_values=True, invalid_row_handler=self._on_ragged_row
            ),
            arrow_csv.ConvertOptions(
                column_types=types,
                include_columns=[names[position] for position in self.positions],
                null_values=[""],
                strings_can_be_null=True,
            ),
        ) as reader:
            yield from _larger(reader)

    @property
    def positions(self) -> list[int]:
        """Positions of the columns that matter."""
        return list(self.layout.roles.values())

    def _types(self, as_text: TextColumns) -> list[Any]:
        import pyarrow as pa

        text = pa.dictionary(pa.int32(), pa.string())
        typed = {} if as_text is True else {"weight": pa.float64(), "group": pa.int64()}
        if self.numeric and not as_text:
            typed |= {role: pa.int32() for role in list(self.layout.roles)[: len(self.layout.objects)]}
        return [typed.get(role, text) for role in self.layout.roles]

    def _on_ragged_row(self, row: Any) -> str:
        if not row.text.strip():
            return "skip"
        if self.wanted.invalid == "drop":
            self.n_skipped += 1
            return "skip"
        self.is_ragged = True
        return "error"

    def line_of(self, row: int) -> int:
        """The line of the file on which a row of data starts, from 1."""
        return next(islice(self.rows(), row + self.has_header, None))[0]

    def explained(self, error: Exception) -> InputError:
        """The sentence for a file that cannot be cut into cells."""
        for line, cells in self.rows():
            self._check_encoding(line, cells)
            if len(cells) != self.width:
                return InputError(
                    f"{self.path}, line {line}: {len(cells)} cells where the first line has {self.width}; "
                    "correct this line or pass invalid='drop' to leave it out"
                )
        return InputError(f"{self.path}: {str(error).splitlines()[0]}; is this a text file with columns?")


def _larger(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Batches joined until they are worth the look-up of their names; the reader's own blocks are small,
    because it reads many of them ahead."""
    import pyarrow as pa

    parts: list[pa.RecordBatch] = []
    for batch in batches:
        parts.append(batch)
        if sum(map(len, parts)) >= _BATCH_ROWS:
            yield from pa.Table.from_batches(parts).combine_chunks().to_batches()
            parts = []
    if parts:
        yield from pa.Table.from_batches(parts).combine_chunks().to_batches()


def delimiter_of(line: str) -> str:
    """The first of tab, comma, semicolon and blank that cuts a line into three cells or more."""
    for delimiter in "\t,; ":
        if len(next(csv.reader([line], delimiter=delimiter))) >= 3:
            return delimiter
    return ","


def _has_header(rows: Sequence[Sequence[str]], columns: Mapping[str, str | int] | None) -> bool:
    """Whether the first row names the columns.

    It does where it names known parts; it does not where it holds a number, or where each of its cells
    comes again further down, as objects do. Otherwise it is taken for a header, whose names are then unknown.
    """
    first = [cell.strip() for cell in rows[0]]
    if columns is not None and any(isinstance(where, str) for where in columns.values()):
        return True
    if columns is None:
        try:
            layout_of(first, None, "")
        except InputError:
            pass
        else:
            return True
    if any(whole_number(cell) != UNREADABLE for cell in first):
        return False
    return not set(first) <= {cell.strip() for row in rows[1:] for cell in row}
