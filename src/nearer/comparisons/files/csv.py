"""Reading delimited text: csv, tsv, txt, plain or gzipped."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from nearer.comparisons.files.assembling import LOOKED_AT, n_survey_rows
from nearer.comparisons.files.cells import whole_number
from nearer.comparisons.files.kinds import Columns, RowSink, TableKind
from nearer.comparisons.files.named_columns import TableLayout
from nearer.comparisons.files.opening import Lines, arrow_memory, open_bytes, open_text
from nearer.comparisons.files.remedies import SAMPLE_ROWS
from nearer.comparisons.validation import MISSING, UNREADABLE
from nearer.errors import InputError, Place, Suggestion

if TYPE_CHECKING:
    import pyarrow as pa

TextColumns = bool | Literal["objects"]  # which columns to read as text rather than by their types
_DELIMITERS = "\t,; "
_PEEKED_ROWS = 10_000
_MOST_COLUMNS = 100_000
_BLOCK_BYTES = 1 << 18
_BATCH_ROWS = 1 << 17
_CHUNK_BYTES = 1 << 21


def read_csv(path: Path, columns: Columns | None, header: bool | None, wanted: TableKind) -> Any:
    """Return the content of a delimited text file.

    Columns are first read as the types they seem to have. If that fails, objects and then all columns
    are read as text, which is slower and shows which cell is wrong. If Arrow cannot cut the file into cells, it is
    read in chunks, and those that are at fault are cut by hand.
    """
    import pyarrow as pa

    source = CsvSource(path, columns, header, wanted)
    stages: tuple[TextColumns, ...] = (False, "objects", True) if any(source.numeric) else (False, True)
    for as_text in stages:
        assembler = source.assembler()
        try:
            for batch in source.batches(as_text):
                assembler.add(batch)
            return source.finished(assembler)
        except pa.ArrowInvalid as error:
            if str(error).startswith("CSV parse error"):
                break  # rows of different lengths: reading cells as text does not help
    assembler = source.assembler()
    for batch in source.batches_by_chunk():
        assembler.add(batch)
    return source.finished(assembler)


class CsvSource:
    """A file whose first rows have been looked at: delimiter, header, parts of the columns, type of cells."""

    def __init__(self, path: Path, columns: Columns | None, header: bool | None, wanted: TableKind) -> None:
        self.path, self.wanted = path, wanted
        self.missing = MISSING - set(wanted.known_names)
        self.n_skipped = 0
        with open_text(path) as stream:
            start = next((line for line in Lines(stream) if line.strip()), "")
        if not start:
            raise InputError("the file is empty", f"write {wanted.noun}s to it")
        if max(map(start.count, _DELIMITERS)) > _MOST_COLUMNS:
            problem = f"the first line has more than {_MOST_COLUMNS:,} cells"
            raise InputError(problem, "is this a table?")
        self.delimiter = delimiter_of(start, wanted.least_width)
        peeked = list(islice(self.rows(), _PEEKED_ROWS))
        first_line, rows = peeked[0][0], [cells for _, cells in peeked]
        self._check_encoding(first_line, rows[0])
        self.width = len(rows[0])
        self.columns = columns
        self.has_header = _has_header(rows, columns, wanted) if header is None else header
        self.n_survey_rows = n_survey_rows(rows[1 : 1 + LOOKED_AT]) if self.has_header else 0
        self.n_header_rows = self.has_header + self.n_survey_rows
        data = rows[self.n_header_rows :]
        self.layout: Any = self._layout(rows[0], data, self._place(first_line))
        if not data:
            raise InputError(f"there is a header but no {wanted.noun} below it")
        # a cell of the header may go over several lines, and blank ones may follow
        self.n_header_lines = peeked[self.n_header_rows][0] - 1 if self.has_header else 0
        self.sample = data[:SAMPLE_ROWS]
        self.numeric = wanted.hold_numbers(self._first_objects(data))

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the cells of every row that is not blank, with the number of its line, from 1."""
        line = 0
        with open_text(self.path) as stream:
            lines = Lines(stream)
            reader = csv.reader(lines, delimiter=self.delimiter)
            try:
                for cells in reader:
                    if _is_row(cells):
                        yield line + 1, cells
                    # a quoted cell may go over several lines: the next row starts after it
                    line = reader.line_num + lines.n_left_out
            except csv.Error as error:
                raise InputError(str(error), "correct this line", place=self._place(line + 1)) from None

    def _check_encoding(self, line: int, cells: Sequence[str]) -> None:
        try:
            "".join(cells).encode()
        except UnicodeEncodeError:
            raise InputError(
                "the text is not UTF-8", "save the file as UTF-8", place=self._place(line)
            ) from None

    def _layout(self, first: Sequence[str], data: Sequence[Sequence[str]], place: Place) -> TableLayout:
        if not self.has_header and self.columns is None:
            return self.wanted.positional(data, self.width, place)
        if not self.has_header:
            return self.wanted.layout(range(self.width), self.columns, place)
        try:
            return self.wanted.layout(first, self.columns, place)
        except InputError as error:
            if not self.wanted.may_be_row(first):
                raise
            no_header = Suggestion("header", False, f"if this line is a {self.wanted.noun} itself")
            raise error.but(remedy=(*error.remedy, no_header)) from None

    def _first_objects(self, rows: Iterable[Sequence[str]]) -> list[str]:
        """Return the objects of the first row that lacks none."""
        for row in rows:
            cells = [row[position].strip() for position in self.layout.objects if position < len(row)]
            if len(cells) == len(self.layout.objects) and not self.missing & set(cells):
                return cells
        return [""] * len(self.layout.objects)

    def assembler(self) -> RowSink:
        """Return a fresh assembler for this file."""
        return self.wanted.assembler(
            self.layout,
            numeric=self.numeric,
            typed=False,
            place=lambda row: self._place(self.line_of(row)),
            source=str(self.path),
            n_survey_rows=self.n_survey_rows,
        )

    def finished(self, assembler: RowSink) -> Any:
        """Return the fields of all rows, with a warning if a column seems to have been left out."""
        fields = assembler.finish(self.n_skipped)
        self.wanted.warn_of_unused(self.layout, self.columns, lambda: self.sample, str(self.path))
        return fields

    def batches(self, as_text: TextColumns) -> Iterator[pa.RecordBatch]:
        """Yield the columns that matter, in the order of their roles."""
        from pyarrow import csv as arrow_csv

        with arrow_csv.open_csv(
            str(self.path),
            self._read_options(self.n_header_lines, _BLOCK_BYTES),
            self._parse_options(),
            self._convert_options(as_text),
        ) as reader:
            yield from _larger(reader)

    def _read_options(self, n_lines_to_skip: int, block_size: int) -> Any:
        from pyarrow import csv as arrow_csv

        names = [f"column {position}" for position in range(self.width)]
        return arrow_csv.ReadOptions(
            column_names=names, skip_rows=n_lines_to_skip, block_size=block_size, use_threads=False
        )

    def _parse_options(self) -> Any:
        """Return how rows are cut into cells.

        There is no `invalid_row_handler`: a thread of Arrow may let go of it while the interpreter ends, and
        abort the process.
        """
        from pyarrow import csv as arrow_csv

        return arrow_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True)

    def _convert_options(self, as_text: TextColumns) -> Any:
        from pyarrow import csv as arrow_csv

        names = [f"column {position}" for position in self.positions]
        return arrow_csv.ConvertOptions(
            column_types=dict(zip(names, self._types(as_text), strict=True)),
            include_columns=names,
            null_values=sorted(self.missing),
            strings_can_be_null=True,
        )

    @property
    def positions(self) -> list[int]:
        """Positions of the columns that matter."""
        return list(self.layout.roles.values())

    def _types(self, as_text: TextColumns) -> list[Any]:
        import pyarrow as pa

        text = pa.dictionary(pa.int32(), pa.string())
        typed = {} if as_text is True else self.wanted.types(self.layout, self.sample)
        if not as_text:
            objects = zip(self.layout.object_roles, self.numeric, strict=True)
            typed |= {role: pa.int32() for role, is_number in objects if is_number}
        return [typed.get(role, text) for role in self.layout.roles]

    def batches_by_chunk(self) -> Iterator[pa.RecordBatch]:
        """Yield the columns that matter, as text; a chunk that Arrow cannot cut into cells is cut by hand."""
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        self.n_skipped = 0
        parse, convert = self._parse_options(), self._convert_options(as_text=True)
        for n_chunk, chunk in enumerate(self._chunks()):
            read = self._read_options(0 if n_chunk else self.n_header_lines, len(chunk))
            try:
                table = arrow_csv.read_csv(arrow_memory(chunk), read, parse, convert)
            except pa.ArrowInvalid as error:
                table = self._cut_by_hand(chunk, error, first=not n_chunk)
            yield from table.combine_chunks().to_batches()

    def _chunks(self) -> Iterator[bytes]:
        """Yield parts of the file that end with a line, outside of quotes."""
        with open_bytes(self.path) as stream:
            while chunk := stream.read(_CHUNK_BYTES) + stream.readline():
                while chunk.count(b'"') % 2 and (more := stream.read(_CHUNK_BYTES) + stream.readline()):
                    chunk += more
                yield chunk

    def _cut_by_hand(self, chunk: bytes, error: Exception, first: bool) -> pa.Table:
        """Return the rows of a chunk, without those that are blank or, if the caller wants so, of another length."""
        import pyarrow as pa

        text = chunk.decode("utf-8-sig" if first else "utf-8", errors="surrogateescape")
        try:
            rows = list(filter(_is_row, csv.reader(StringIO(text, newline=""), delimiter=self.delimiter)))
            rows = rows[self.n_header_rows :] if first else rows
            whole = [cells for cells in rows if len(cells) == self.width]
            if len(whole) < len(rows) and self.wanted.invalid == "error":
                raise self.explained(error)
            self.n_skipped += len(rows) - len(whole)
            columns = [
                [None if cells[position] in self.missing else cells[position] for cells in whole]
                for position in self.positions
            ]
            return pa.table(
                [pa.array(column, pa.string()) for column in columns], names=list(self.layout.roles)
            )
        except (csv.Error, UnicodeEncodeError):
            raise self.explained(error) from None

    def _ragged(self, line: int, cells: Sequence[str]) -> InputError:
        return InputError(
            f"{len(cells)} cells where the first line has {self.width}",
            ["correct this line", Suggestion("invalid", "drop", "to leave it out")],
            place=self._place(line),
        )

    def _place(self, line: int) -> Place:
        return Place(str(self.path), line)

    def line_of(self, row: int) -> int:
        """Return the line of the file on which a row of data starts, from 1."""
        return next(islice(self.rows(), row + self.n_header_rows, None))[0]

    def explained(self, error: Exception) -> InputError:
        """Return the sentence for a file that cannot be cut into cells."""
        for line, cells in self.rows():
            self._check_encoding(line, cells)
            if len(cells) != self.width:
                return self._ragged(line, cells)
        problem = str(error).splitlines()[0]
        return InputError(problem, "is this a text file with columns?")


def _larger(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Join batches until they are worth the look-up of their names; the reader's own blocks are small,
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


def _is_row(cells: Sequence[str]) -> bool:
    """Return whether a line is more than blanks."""
    return len(cells) > 1 or bool(cells and cells[0].strip())


def delimiter_of(line: str, least_width: int = 3) -> str:
    """Return the first of tab, comma, semicolon and blank that cuts a line into enough cells."""
    for delimiter in _DELIMITERS:
        with suppress(csv.Error):  # a cell longer than any: the reader says so, with the line
            if len(next(csv.reader([line], delimiter=delimiter))) >= least_width:
                return delimiter
    return ","


def _has_header(rows: Sequence[Sequence[str]], columns: Columns | None, wanted: TableKind) -> bool:
    """Return whether the first row names the columns.

    It does if it names known parts. It does not if it holds a number, or if each of its cells
    comes again further down, as objects do. Otherwise it is taken for a header, whose names are then unknown.
    """
    first = [cell.strip() for cell in rows[0]]
    if columns is not None and any(isinstance(where, str) for where in columns.values()):
        return True
    if columns is None:
        try:
            wanted.layout(first, None, None)
        except InputError:
            pass
        else:
            return True
    if any(whole_number(cell) != UNREADABLE for cell in first):
        return False
    return not set(first) <= {cell.strip() for row in rows[1:] for cell in row}
