"""From batches of table rows to the content of a `Comparisons`, in little more memory than the result."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nearer._utils.text import warn
from nearer.comparisons.arrays import both_triplets, odd_last, oriented
from nearer.comparisons.files.cells import (
    Growing,
    LabelColumn,
    Numbers,
    ObjectColumns,
    answers,
    whole_number,
)
from nearer.comparisons.files.columns import Layout, Wanted
from nearer.comparisons.responses import AnswerReader, OddReader, ResponseReader
from nearer.comparisons.validation import (
    UNKEPT,
    UNREADABLE,
    Content,
    Fault,
    RowValidator,
    cannot_be_kept,
    check_n_objects,
    describe,
    faulty,
    refuse_for_names,
    warn_of_one,
)
from nearer.errors import InputError, Place, Suggestion

if TYPE_CHECKING:
    import pyarrow as pa

#: how many rows below the header may be a survey tool's own
LOOKED_AT = 3
_IMPORT_ID = re.compile(r"""\s*\{\s*['"]ImportId['"]\s*:""")


class Assembler:
    """Takes batches one by one, keeps the valid rows, counts the others and remembers the first of them.

    Parameters
    ----------
    layout : Layout
        The part each column plays; batches hold the columns of `layout.roles`, in that order.
    wanted : Wanted
        Names, number of objects, what responses mean and what to do with bad rows.
    numeric : bool
        Whether the cells of objects are indices; otherwise they are names.
    typed : bool
        Whether cells have types of their own; in plain text, labels that look like numbers are numbers, and
        blanks around a name do not count.
    place : callable
        Returns the place of a row, for messages.
    source : str
        The words for the whole table.
    n_survey_rows : int
        How many rows of a survey tool the reader left out before the first batch.
    """

    def __init__(
        self,
        layout: Layout,
        wanted: Wanted,
        *,
        numeric: bool,
        typed: bool,
        place: Callable[[int], Place],
        source: str,
        n_survey_rows: int = 0,
    ) -> None:
        self.layout, self.wanted, self.place, self.source = layout, wanted, place, source
        self.roles = list(layout.roles)
        self.width = len(layout.objects)
        if not numeric:
            refuse_for_names(source, wanted.first_index)
        self.objects = ObjectColumns(
            self.width, wanted.names, numeric=numeric, typed=typed, first_index=wanted.first_index
        )
        # names still to be found are not limited
        limited = numeric or wanted.names is not None
        limit = check_n_objects(wanted.n_objects, wanted.names) if limited else None
        self.rows = RowValidator(limit, wanted.invalid)
        self.reader = self._reader()
        self.numbers = Numbers()
        self.indices = Growing(np.int32, self.width)
        self.weights = Growing(np.float64) if "weight" in self.roles else None
        self.counts: Growing | None = None  # begins with the first response that is not 1 or -1
        self.labels: dict[str, LabelColumn] = {
            role: LabelColumn(typed) for role in ("annotator", "group") if role in self.roles
        }
        self.trials = Growing(np.int64) if layout.odd_one_out and "group" not in self.roles else None
        self.n_undecided, self.n_survey_rows, self.n_sliced = 0, n_survey_rows, 0

    def _reader(self) -> AnswerReader | None:
        """Return the reader of the column with the answers, None if the order of the objects is the answer."""
        wanted, header = self.wanted, self.layout.header
        if self.layout.response is not None:
            options = [header[at] for at in self.layout.objects[1:]] if header and self.width == 3 else []
            return ResponseReader(wanted.coding, wanted.zero, wanted.codes, options)
        if self.layout.odd is not None:
            return OddReader(wanted.coding, wanted.codes, [header[at] for at in self.layout.objects])
        if wanted.codes is not None:
            raise InputError(
                "is for a column of responses or odd ones, and none is known by its name",
                ["leave it out", Suggestion("columns", {"response": ...})],
                parameter="codes",
                place=self.source,
            )
        return None

    def add(self, batch: pa.RecordBatch) -> None:
        """Take the rows of one batch."""
        batch = self._without_survey_rows(batch)
        columns = dict(zip(self.roles, batch.columns, strict=True))
        codes = self.objects.codes(list(columns.values())[: self.width])
        weights = self.numbers.values(columns["weight"]) if "weight" in columns else None
        labels = {role: labels.codes(columns[role]) for role, labels in self.labels.items()}
        bad, start = self._repeats_header(codes), self.rows.n_rows
        values = self._answers(columns, codes, bad)
        if values is not None:
            bad |= np.isnan(values)
        for label_codes in labels.values():
            bad |= label_codes == UNREADABLE

        def fault(row: int) -> Fault:
            cells = [column[row].as_py() for column in batch.columns]
            return self._describe(cells, codes[row].tolist(), values is not None and np.isnan(values[row]))

        keep = self.rows.check(codes, weights, fault, known_bad=bad)
        if values is not None and self.reader is not None:
            undecided = keep & (values == self.reader.undecided)
            self.n_undecided += int(np.count_nonzero(undecided))
            keep &= ~undecided
            codes = self._winner_first(codes, values, keep)
        self._keep(codes, np.flatnonzero(keep), start, weights, labels)

    def _without_survey_rows(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the first batch without the rows that are not answers."""
        if self.rows.n_rows or self.n_survey_rows:
            return batch
        rows = zip(*(column[:LOOKED_AT].to_pylist() for column in batch.columns), strict=True)
        self.n_survey_rows = self.n_sliced = n_survey_rows(rows)
        return batch.slice(self.n_sliced)

    def _place(self, row: int) -> Place:
        """Return where a row is, counted without those of a survey tool."""
        return self.place(row + self.n_sliced)

    def _answers(self, columns: dict[str, pa.Array], codes: np.ndarray, bad: np.ndarray) -> np.ndarray | None:
        """Return what people answered, NaN if it cannot be read, None without a column of answers."""
        if self.reader is None:
            return None
        column = answers(columns["odd" if isinstance(self.reader, OddReader) else "response"])
        usable, start = ~(bad | faulty(codes, self.rows.limit)), self.rows.n_rows
        said = self.objects.mentioned(column)
        return self.reader.read(column, said, codes, usable, self._place, start)

    def _winner_first(self, codes: np.ndarray, values: np.ndarray, keep: np.ndarray) -> np.ndarray:
        """Return the objects of each row in the order that the answers say, and keep counts of answers."""
        if isinstance(self.reader, OddReader):
            return odd_last(codes, np.where(keep, values, 0).astype(np.intp))
        self._count(np.abs(values[keep]))
        return oriented(codes, values < 0)

    def _repeats_header(self, codes: np.ndarray) -> np.ndarray:
        """Return the rows that repeat the names of the columns, as in files that were joined."""
        if self.objects.numeric or not self.layout.header:
            return np.zeros(len(codes), dtype=bool)
        return (codes == self.objects.codes_of(self._object_columns())).all(axis=1)

    def _count(self, counts: np.ndarray) -> None:
        """Keep how often answers were given, if ever one was given more than once."""
        if self.counts is None and (counts != 1).any():
            self.counts = Growing(np.float64)
            self.counts.append(np.ones(len(self.indices)))
        if self.counts is not None:
            self.counts.append(counts)

    def _keep(
        self,
        codes: np.ndarray,
        rows: np.ndarray,
        start: int,
        weights: np.ndarray | None,
        labels: dict[str, np.ndarray],
    ) -> None:
        """Append these rows; one of an odd-one-out trial makes two triplets."""
        codes = codes[rows]
        if self.trials is not None:
            self.trials.append(np.repeat(rows + start, 2))
        if self.layout.odd_one_out:
            codes, rows = both_triplets(codes), np.repeat(rows, 2)
        self.indices.append(codes)
        if self.weights is not None and weights is not None:
            self.weights.append(weights[rows])
        for role, label_codes in labels.items():
            self.labels[role].append(label_codes[rows])

    def _describe(self, cells: list[Any], codes: list[int], unread: bool) -> Fault:
        """Say what is wrong with a row: first its objects, then its other cells."""
        objects = cells[: self.width]
        extras = dict(zip(self.roles[self.width :], cells[self.width :], strict=True))
        if not faulty(np.array([codes]), self.rows.limit)[0]:
            if self._repeats_header(np.array([codes]))[0]:
                return Fault(f"({', '.join(map(str, objects))}) repeats the names of the columns")
            for role, cell in extras.items():
                problem = self._problem(role, cell, objects, unread)
                if problem is not None:
                    return Fault(problem, self.layout.column(role))
        return describe(
            objects,
            codes,
            self.rows.limit,
            named=not self.objects.numeric,
            weight=extras.get("weight"),
            columns=self._object_columns(),
            first_index=self.wanted.first_index or 0,
            names=self.wanted.names,
        )

    def _problem(self, role: str, cell: Any, objects: list[Any], unread: bool) -> str | None:
        """Say what is wrong with a cell that is not an object."""
        if cell is None:
            return f"the {role} is missing"
        if role in ("response", "odd") and unread and self.reader is not None:
            return self.reader.unreadable(cell, objects)
        if role in self.labels and isinstance(cell, str) and cannot_be_kept(cell):
            return f"the {role} {cell!r} holds {UNKEPT}"
        if role in self.labels and not isinstance(cell, str) and whole_number(str(cell)) == UNREADABLE:
            return f"the {role} {cell} is neither a string nor a whole number below 2**53"
        return None

    def _object_columns(self) -> list[str]:
        return [self.layout.column(role) for role in self.roles[: self.width]]

    def finish(self, n_skipped: int = 0) -> Content:
        """Return the content of all rows; `n_skipped` rows were left out before they came here."""
        if self.reader is not None and self.rows.n_rows:
            self.reader.check(self._place(0))
            self.reader.refuse_unread(self.wanted.invalid, self._place, self.source)
        self.rows.refuse(self._place)
        self.objects.check_columns(self._object_columns(), self._place)
        if self.n_survey_rows:
            _warn_of_survey_rows(self.source, self.n_survey_rows)
        indices = self.indices.finish()
        names = self.objects.sort_names(indices)
        n_objects = check_n_objects(self.wanted.n_objects, names)
        if n_objects is None and self.wanted.first_index is None:
            warn_of_one(self.source, indices)
        return Content(
            indices,
            int(indices.max(initial=-1)) + 1 if n_objects is None else n_objects,
            self._weights(),
            self.labels["annotator"].values() if "annotator" in self.labels else None,
            self._groups(),
            names,
            self.rows.n_bad + self.n_undecided + n_skipped,
            self.layout.ignored,
        )

    def _groups(self) -> np.ndarray | None:
        if self.trials is not None:
            return self.trials.finish()
        if "group" not in self.labels:
            return None
        groups = self.labels["group"].integers()
        if "annotator" in self.labels and self.layout.counts_trials_by_annotator:
            _, trial = np.unique(groups, return_inverse=True)
            people, person = np.unique(self.labels["annotator"].integers(), return_inverse=True)
            groups = np.unique(trial * len(people) + person, return_inverse=True)[1].astype(np.int64)
        return groups

    def _weights(self) -> np.ndarray | None:
        """Return weights times counts of answers, None if neither says anything."""
        weights = None if self.weights is None else self.weights.finish()
        counts = None if self.counts is None else self.counts.finish()
        if counts is None:
            return weights
        return counts if weights is None else weights * counts


def n_survey_rows(rows: Iterable[Sequence[Any]]) -> int:
    """Return how many of the first rows are Qualtrics' own: the questions' texts, then `{"ImportId": ...}`.

    >>> n_survey_rows([["Which is nearer?"], ['{"ImportId":"QID1"}'], ["left"]])
    2
    >>> n_survey_rows([["left"], ["right"]])
    0
    """
    for at, row in enumerate(rows):
        if at < LOOKED_AT and any(isinstance(cell, str) and _IMPORT_ID.match(cell) for cell in row):
            return at + 1
    return 0


def _warn_of_survey_rows(source: str, n_rows: int) -> None:
    """Say that rows were left out that are no answers."""
    which = "row" if n_rows == 1 else f"{n_rows} rows"
    warn(
        f"{source}: left out the first {which} below the column names, which {'holds' if n_rows == 1 else 'hold'} "
        "the question texts and import ids of Qualtrics, not answers"
    )
