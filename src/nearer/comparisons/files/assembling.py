"""From batches of table rows to the fields of a `Comparisons`, in little more memory than the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nearer._utils.text import warn
from nearer.comparisons.checks import Fields, Invalid, check_invalid, check_n_objects, check_names
from nearer.comparisons.codes import ODD_UNDECIDED, check_codes
from nearer.comparisons.files.cells import Growing, Labels, Numbers, whole_number
from nearer.comparisons.files.columns import Layout
from nearer.comparisons.files.objects import Objects
from nearer.comparisons.files.response_columns import OddOnes, Responses, Untold
from nearer.comparisons.files.survey import LOOKED_AT, n_survey_rows, warn_of_survey_rows
from nearer.comparisons.first_index import check_first_index, refuse_for_names, warn_of_one
from nearer.comparisons.odd_one_out import both_triplets, odd_last
from nearer.comparisons.responses import Coding, Zero, check_coding, oriented
from nearer.comparisons.row_errors import (
    UNKEPT,
    UNREADABLE,
    cannot_be_kept,
    describe,
    fault_error,
    faulty,
    faulty_weights,
)
from nearer.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Wanted:
    """What the caller asks for, whatever the table comes from."""

    names: tuple[str, ...] | None = None
    n_objects: int | None = None
    coding: Coding | None = None
    zero: Zero | None = None
    first_index: int | None = None
    invalid: Invalid = "error"
    codes: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", check_names(self.names))
        check_invalid(self.invalid)
        check_coding(self.coding)
        check_codes(self.codes, self.coding, self.zero)
        check_first_index(self.first_index)


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
        Gives the words for where a row is.
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
        place: Callable[[int], str],
        source: str,
        n_survey_rows: int = 0,
    ) -> None:
        self.layout, self.wanted, self.place, self.source = layout, wanted, place, source
        self.roles = list(layout.roles)
        self.width = len(layout.objects)
        if not numeric:
            refuse_for_names(source, wanted.first_index)
        self.objects = Objects(
            self.width, wanted.names, numeric=numeric, typed=typed, first_index=wanted.first_index
        )
        # names still to be found are not limited
        limited = numeric or wanted.names is not None
        self.limit = check_n_objects(wanted.n_objects, wanted.names) if limited else None
        self.told = self._reader()
        self.untold = Untold()
        self.numbers = Numbers()
        self.indices = Growing(np.int32, self.width)
        self.weights = Growing(np.float64) if "weight" in self.roles else None
        self.counts: Growing | None = None  # begins with the first response that is not 1 or -1
        self.labels: dict[str, Labels] = {
            role: Labels(typed) for role in ("annotator", "group") if role in self.roles
        }
        self.trials = Growing(np.int64) if layout.odd_one_out and "group" not in self.roles else None
        self.n_rows, self.n_bad, self.n_undecided = 0, 0, 0
        self.n_survey_rows, self.n_sliced = n_survey_rows, 0
        self.first_fault: tuple[int, str] | None = None

    def _reader(self) -> Responses | OddOnes | None:
        """What reads the column that tells the answers, None where the order of the objects tells."""
        wanted = self.wanted
        if self.layout.response is not None:
            return Responses(self.layout, self.objects, wanted.zero, wanted.coding, wanted.codes)
        if self.layout.odd is not None:
            return OddOnes(self.layout, self.objects, wanted.coding, wanted.codes)
        if wanted.codes is not None:
            raise InputError(
                f"{self.source}: codes are for a column of responses or odd ones, and none is known by its name; "
                "leave them out, or pass columns={'response': ...}"
            )
        return None

    def add(self, batch: pa.RecordBatch) -> None:
        """Take the rows of one batch."""
        batch = self._without_survey_rows(batch)
        columns = dict(zip(self.roles, batch.columns, strict=True))
        codes = self.objects.codes(list(columns.values())[: self.width])
        weights = self.numbers.values(columns["weight"]) if "weight" in columns else None
        labels = {role: labels.codes(columns[role]) for role, labels in self.labels.items()}
        bad = faulty(codes, self.limit) | self._repeats_header(codes)
        told = self._told(columns, codes, ~bad)
        bad |= faulty_weights(weights, len(codes)) | np.isnan(told)
        for label_codes in labels.values():
            bad |= label_codes == UNREADABLE
        if bad.any():
            self._note(batch, codes, bad, np.isnan(told))
        undecided = told == (ODD_UNDECIDED if isinstance(self.told, OddOnes) else 0.0)
        keep = ~bad & ~undecided
        self.n_undecided += int(np.count_nonzero(~bad & undecided))
        if isinstance(self.told, Responses):
            codes = oriented(codes, told < 0)
            self._count(np.abs(told[keep]))
        elif self.told is not None:
            codes = odd_last(codes, np.where(keep, told, 0).astype(np.intp))
        self._keep(codes, np.flatnonzero(keep), weights, labels)
        self.n_rows += len(codes)

    def _without_survey_rows(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The first batch without the rows that are not answers."""
        if self.n_rows or self.n_survey_rows:
            return batch
        rows = zip(*(column[:LOOKED_AT].to_pylist() for column in batch.columns), strict=True)
        self.n_survey_rows = self.n_sliced = n_survey_rows(rows)
        return batch.slice(self.n_sliced)

    def _place(self, row: int) -> str:
        """The words for where a row is, counted without those of a survey tool."""
        return self.place(row + self.n_sliced)

    def _told(self, columns: dict[str, pa.Array], codes: np.ndarray, usable: np.ndarray) -> np.ndarray:
        """What people answered, NaN where it cannot be read."""
        if self.told is None:
            return np.ones(len(codes))
        column, start = columns["odd" if isinstance(self.told, OddOnes) else "response"], self.n_rows
        told = self.told.read(column, codes, usable, lambda row: self._place(start + row))
        self.untold.see(column, told, usable, start)
        return told

    def _repeats_header(self, codes: np.ndarray) -> np.ndarray:
        """Rows that hold the names of the columns once more, as in files that were joined."""
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
        self, codes: np.ndarray, rows: np.ndarray, weights: np.ndarray | None, labels: dict[str, np.ndarray]
    ) -> None:
        """Append these rows; one of an odd-one-out trial gives two triplets."""
        codes = codes[rows]
        if self.trials is not None:
            self.trials.append(np.repeat(rows + self.n_rows, 2))
        if self.layout.odd_one_out:
            codes, rows = both_triplets(codes), np.repeat(rows, 2)
        self.indices.append(codes)
        if self.weights is not None and weights is not None:
            self.weights.append(weights[rows])
        for role, label_codes in labels.items():
            self.labels[role].append(label_codes[rows])

    def _note(self, batch: pa.RecordBatch, codes: np.ndarray, bad: np.ndarray, untold: np.ndarray) -> None:
        """Count bad rows, and put the first of all into words."""
        self.n_bad += int(np.count_nonzero(bad))
        if self.first_fault is None:
            row = int(np.argmax(bad))
            cells = [column[row].as_py() for column in batch.columns]
            self.first_fault = self.n_rows + row, self._describe(cells, codes[row].tolist(), untold[row])

    def _describe(self, cells: list[Any], codes: list[int], untold: bool) -> str:
        objects = cells[: self.width]
        extras = dict(zip(self.roles[self.width :], cells[self.width :], strict=True))
        if faulty(np.array([codes]), self.limit)[0]:
            return self._described(objects, codes)
        if self._repeats_header(np.array([codes]))[0]:
            return f"({', '.join(map(str, objects))}) repeats the names of the columns"
        for role, cell in extras.items():
            if cell is None:
                return f"the {role} is missing in column {self.layout.column(role)!r}"
            if role in ("response", "odd") and untold and self.told is not None:
                return self.told.unreadable(cell, objects)
            if role in self.labels and isinstance(cell, str) and cannot_be_kept(cell):
                return f"the {role} {cell!r} holds {UNKEPT}"
            if role in self.labels and not isinstance(cell, str) and whole_number(str(cell)) == UNREADABLE:
                return f"the {role} {cell} is neither a string nor a whole number below 2**53"
        return self._described(objects, codes, extras.get("weight"))

    def _described(self, objects: list[Any], codes: list[int], weight: float | None = None) -> str:
        return describe(
            objects,
            codes,
            self.limit,
            named=not self.objects.numeric,
            weight=weight,
            columns=self._object_columns(),
            first_index=self.wanted.first_index or 0,
        )

    def _object_columns(self) -> list[str]:
        return [self.layout.column(role) for role in self.roles[: self.width]]

    def finish(self, n_skipped: int = 0) -> Fields:
        """The fields of all rows; `n_skipped` rows were left out before they came here."""
        self._check_told()
        if self.first_fault is not None and self.wanted.invalid == "error":
            row, what = self.first_fault
            raise fault_error(self._place(row), what, self.n_bad, self.n_rows)
        self.objects.check_columns(self._object_columns(), self._place)
        if self.n_survey_rows:
            warn_of_survey_rows(self.source, self.n_survey_rows)
        indices = self.indices.finish()
        names = self.objects.sort_names(indices)
        n_objects = check_n_objects(self.wanted.n_objects, names)
        if n_objects is None and self.wanted.first_index is None:
            warn_of_one(self.source, indices)
        return Fields(
            indices,
            int(indices.max(initial=-1)) + 1 if n_objects is None else n_objects,
            self._weights(),
            self.labels["annotator"].values() if "annotator" in self.labels else None,
            self._groups(),
            names,
            self.n_bad + self.n_undecided + n_skipped,
            self.layout.ignored,
        )

    def _check_told(self) -> None:
        """Refuse answers that can be read in two ways, or of which many cannot be read at all."""
        if self.told is None or not self.n_rows:
            return
        self.told.check(self._place(0))
        if not self.untold.matter:
            return
        shown, remedy = self.untold.shown(), self.told.remedy(self.untold.cells)
        if self.wanted.invalid == "drop":
            if self.wanted.codes is None:  # codes say all; what is none of them may go
                warn(f"{self.source}: {shown} and were left out; {remedy}")
        else:
            raise InputError(f"{self._place(self.untold.first_row)}: {shown}; {remedy}")

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
        """Weights times counts of answers, None where neither says anything."""
        weights = None if self.weights is None else self.weights.finish()
        counts = None if self.counts is None else self.counts.finish()
        if counts is None:
            return weights
        return counts if weights is None else weights * counts
