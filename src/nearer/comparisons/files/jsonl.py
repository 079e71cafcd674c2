"""Reading comparisons from JSON lines: one object per line, with the keys that are column names elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nearer.comparisons.arrays import rounded
from nearer.comparisons.files.assembling import LOOKED_AT, n_survey_rows
from nearer.comparisons.files.kinds import Columns, RowSink, TableKind
from nearer.comparisons.files.opening import Lines, arrow_memory, open_bytes
from nearer.comparisons.validation import holds_half_a_character, is_missing
from nearer.errors import InputError, Place, Suggestion

if TYPE_CHECKING:
    import pyarrow as pa

_CHUNK_BYTES = 1 << 22
_PEEKED_LINES = 1000
_LONGEST_LINE = 1 << 24  # bytes; as objects of Python it may take 30 times as much
_BOM = b"\xef\xbb\xbf"


def read_jsonl(path: Path, columns: Columns | None, wanted: TableKind) -> Any:
    """Return the content of a file of JSON lines; the first records say which keys there are."""
    import pyarrow as pa

    source = JsonSource(path, columns, wanted)
    for by_hand in (False, True):
        assembler = source.assembler()
        try:
            for batch in source.batches(by_hand):
                assembler.add(batch)
        except (pa.ArrowException, UnicodeDecodeError):
            if by_hand:
                raise
            continue  # some value has another type, or is not text: look at every record by itself
        break
    fields = assembler.finish(source.n_skipped)
    wanted.warn_of_unused(source.layout, columns, source.sample, str(path))
    return fields


class JsonSource:
    """A file of JSON lines whose first records have been looked at."""

    def __init__(self, path: Path, columns: Columns | None, wanted: TableKind) -> None:
        self.path, self.wanted, self.n_skipped = path, wanted, 0
        line, text = next(self._lines(), (0, b""))
        if not line:
            raise InputError("the file is empty", f"write {wanted.noun}s to it")
        record = self._record(line, text)
        if isinstance(record, InputError):
            raise record
        records = self._peeked()
        keys = list(dict.fromkeys(key for record in records for key in record))
        self.layout = wanted.layout(keys, columns, Place(str(path), line))
        self.keys = {role: keys[position] for role, position in self.layout.roles.items()}
        self.first = {
            role: next((record[key] for record in records if record.get(key) is not None), None)
            for role, key in self.keys.items()
        }
        self.object_roles = self.layout.object_roles
        self.n_survey_rows = n_survey_rows(islice(self.sample(), LOOKED_AT))
        numeric = wanted.values_are_numbers(self._first_objects())
        self.numeric = dict(zip(self.object_roles, numeric, strict=True))

    def _first_objects(self) -> list[Any]:
        """Return the objects of the first record that lacks none."""
        for record in self._peeked()[self.n_survey_rows :]:
            cells = [record.get(self.keys[role]) for role in self.object_roles]
            if not any(is_missing(cell) and cell not in self.wanted.known_names for cell in cells):
                return cells
        return [self.first[role] for role in self.object_roles]

    def sample(self) -> Iterator[list[Any]]:
        """Yield the values of the first records, in the order of their keys."""
        return ([record.get(str(key)) for key in self.layout.header] for record in self._peeked())

    def _peeked(self) -> list[dict[str, Any]]:
        """Return the first records, as far as they can be read; not all of them need have all keys."""
        found = (self._record(line, text) for line, text in islice(self._lines(), _PEEKED_LINES))
        return [record for record in found if isinstance(record, dict)]

    def assembler(self) -> RowSink:
        """Return a fresh assembler for this file."""
        return self.wanted.assembler(
            self.layout,
            numeric=tuple(self.numeric.values()),
            typed=True,
            place=lambda row: self._place(self._line_of(row)),
            source=str(self.path),
        )

    def batches(self, by_hand: bool) -> Iterator[pa.RecordBatch]:
        """Yield the values that matter, in the order of their roles."""
        import pyarrow as pa
        from pyarrow import json as arrow_json

        if by_hand:
            yield from self._batches_by_hand()
            return
        schema = pa.schema([(self.keys[role], self._type(role)) for role in self.keys])
        for chunk in self._chunks():
            table = arrow_json.read_json(
                arrow_memory(chunk),
                arrow_json.ReadOptions(block_size=len(chunk) + 1, use_threads=False),
                arrow_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
            )
            yield from table.select(list(self.keys.values())).to_batches()

    def _type(self, role: str) -> pa.DataType:
        """Return the Arrow type that the first record suggests."""
        import pyarrow as pa

        if role == "weight":
            return pa.float64()
        if role in self.object_roles:
            return pa.int64() if self.numeric[role] else pa.string()
        value = self.first[role]
        if isinstance(value, bool):
            return pa.bool_()
        if role == "time" and isinstance(value, float):
            return pa.float64()
        if role == "response":
            return pa.float64() if isinstance(value, (int, float)) else pa.string()
        return pa.int64() if isinstance(value, int) else pa.string()

    def _batches_by_hand(self) -> Iterator[pa.RecordBatch]:
        self.n_skipped = 0
        records: list[dict[str, Any]] = []
        for line, text in self._lines():
            record = self._record(line, text)
            if isinstance(record, dict):
                self._check_kinds(line, record)
                records.append(record)
            elif self.wanted.invalid == "drop":
                self.n_skipped += 1
            else:
                raise record
            if len(records) == 1 << 16:
                yield self._batch(records)
                records = []
        yield self._batch(records)

    def _check_kinds(self, line: int, record: Mapping[str, Any]) -> None:
        """Refuse a number if other objects have names; a name among numbers is read as a cell that is not a number."""
        for role in self.object_roles:
            cell = record.get(self.keys[role])
            if not self.numeric[role] and isinstance(cell, (int, float)) and not is_missing(cell):
                raise InputError(
                    f"the object {cell!r} is a number, but others have names",
                    ["use indices or names throughout", f'write "{cell}" if that is its name'],
                    place=replace(self._place(line), column=self.keys[role]),
                )

    def _batch(self, records: list[dict[str, Any]]) -> pa.RecordBatch:
        import pyarrow as pa

        arrays = []
        for role, key in self.keys.items():
            values = [record.get(key) for record in records]
            if role in ("annotator", "group") and isinstance(self.first[role], int):
                arrays.append(
                    pa.array(
                        [rounded(v) if isinstance(v, (int, float)) else None for v in values], pa.float64()
                    )
                )
            else:
                arrays.append(pa.array([_text(value) for value in values], pa.string()))
        return pa.record_batch(arrays, names=list(self.keys))

    def _record(self, line: int, text: bytes) -> dict[str, Any] | InputError:
        if len(text) > _LONGEST_LINE:
            return self._bad_line(
                line, f"the line is longer than {_LONGEST_LINE >> 20} MB, which no answer is"
            )
        try:
            record = json.loads(text)
        except UnicodeDecodeError:
            return InputError("the text is not UTF-8", "save the file as UTF-8", place=self._place(line))
        except (ValueError, RecursionError):
            record = None
        if isinstance(record, dict):
            return self._not_text(line, record) or record
        shown = text[:60].decode(errors="replace").strip()
        return self._bad_line(line, f"{shown!r} is not a JSON object")

    def _place(self, line: int) -> Place:
        return Place(str(self.path), line)

    def _bad_line(self, line: int, problem: str) -> InputError:
        leave_out = Suggestion("invalid", "drop", "to leave it out")
        return InputError(problem, ["correct this line", leave_out], place=self._place(line))

    def _not_text(self, line: int, record: Mapping[str, Any]) -> InputError | None:
        """The sentence about half a character: an escape such as \\ud800 without its other half."""
        texts = (text for cell in record.items() for text in cell if isinstance(text, str))
        half = next(filter(holds_half_a_character, texts), None)
        return None if half is None else self._bad_line(line, f"{half!r} holds half a character")

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield lines that are not blank, with their numbers from 1."""
        with open_bytes(self.path) as stream:
            lines = Lines(stream)
            for number, text in enumerate(lines, 1):
                text = text.removeprefix(_BOM) if number == 1 else text
                if text.strip():
                    yield number + lines.n_left_out, text

    def _chunks(self) -> Iterator[bytes]:
        """Yield parts of the file that end with a line."""
        with open_bytes(self.path) as stream:
            while chunk := stream.read(_CHUNK_BYTES) + stream.readline():
                if not chunk.isspace():
                    yield chunk

    def _line_of(self, row: int) -> int:
        return next(number for position, (number, _) in enumerate(self._lines()) if position == row)


def _text(value: Any) -> str | None:
    """Return a scalar as text; anything else counts as missing."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, (str, int, float)) else None
