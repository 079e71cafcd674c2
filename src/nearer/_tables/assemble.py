"""From batches of table rows to the fields of a `Comparisons`, in little more memory than the result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nearer._comparing.checks import Fields, Invalid, check_invalid, check_n_objects, check_names
from nearer._comparing.faults import (
    UNKEPT,
    UNREADABLE,
    cannot_be_kept,
    describe,
    fault_error,
    faulty,
    faulty_weights,
)
from nearer._comparing.first_index import check_first_index, refuse_for_names, warn_of_one
from nearer._comparing.odd import both_triplets, odd_last
from nearer._comparing.responses import Coding, Zero, check_coding, oriented
from nearer._tables.cells import Growing, Labels, Numbers, whole_number
from nearer._tables.columns import Layout
from nearer._tables.objects import Objects
from nearer._tables.told import OddOnes, Responses

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

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", check_names(self.names))
        check_invalid(self.invalid)
        check_coding(self.coding)
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
        self.responses = Responses(layout, self.objects, wanted.zero, wanted.coding)
        self.odd_ones = OddOnes(layout, self.objects, wanted.coding) if layout.odd is not None else None
        self.numbers = Numbers()
        self.indices = Growing(np.int32, self.width)
        self.weights = Growing(np.float64) if "weight" in self.roles else None
        self.counts: Growing | None = None  # begins with the first response that is not 1 or -1
        self.labels: dict[str, Labels] = {
            role: Labels(typed) for role in ("annotator", "group") if role in self.roles
        }
        self.trials = Growing(np.int64) if layout.odd_one_out and "group" not in self.roles else None
        self.n_rows, self.n_bad, self.n_undecided = 0, 0, 0
        self.first_fault: tuple[int, str] | None = None

    def add(self, batch: pa.RecordBatch) -> None:
        """Take the rows of one batch."""
        columns = dict(zip(self.roles, batch.columns, strict=True))
        codes = self.objects.codes(list(columns.values())[: self.width])
        weights = self.numbers.values(columns["weight"]) if "weight" in columns else None
        labels = {role: labels.codes(columns[role]) for role, labels in self.labels.items()}
        told = self._told(columns, codes)
        bad = faulty(codes, self.limit) | faulty_weights(weights, len(codes)) | np.isnan(told)
        for label_codes in labels.values():
            bad |= label_codes == UNREADABLE
        if bad.any():
            self._note(batch, codes, bad, np.isnan(told))
        is_response = "response" in columns
        keep = ~bad & (told != 0) if is_response else ~bad
        self.n_undecided += int(np.count_nonzero(~bad)) - int(np.count_nonzero(keep))
        if is_response:
            codes = oriented(codes, told < 0)
        elif self.odd_ones is not None:
            codes = odd_last(codes, np.where(bad, 0, told).astype(np.intp))
        rows = np.flatnonzero(keep)
        if is_response:
            self._count(np.abs(told[rows]))
        self._keep(codes, rows, weights, labels)
        self.n_rows += len(codes)

    def _told(self, columns: dict[str, pa.Array], codes: np.ndarray) -> np.ndarray:
        """What people answered, NaN where it cannot be read."""
        start = self.n_rows
        if "response" in columns:
            return self.responses.signs(columns["response"], codes, lambda row: self.place(start + row))
        if self.odd_ones is not None:
            return self.odd_ones.positions(columns["odd"], codes, lambda row: self.place(start + row))
        return np.ones(len(codes))

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
        for role, cell in extras.items():
            if cell is None:
                return f"the {role} is missing in column {self.layout.column(role)!r}"
            if role == "response" and untold:
                return f"the response {cell!r} is not {self._expected()}"
            if role == "odd" and untold:
                return f"the odd one {cell!r} is none of {tuple(objects)}, nor 1, 2 or 3, nor the name of a column"
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

    def _expected(self) -> str:
        if self.wanted.coding == "position":
            return "1 or 2, first or second"
        if self.wanted.coding == "object":
            return "one of the two objects"
        return "1, -1, 0, true, false, left, right, first, second, a, b, a number of answers, or one of the two objects"

    def finish(self, n_skipped: int = 0) -> Fields:
        """The fields of all rows; `n_skipped` rows were left out before they came here."""
        if self.first_fault is not None and self.wanted.invalid == "error":
            row, what = self.first_fault
            raise fault_error(self.place(row), what, self.n_bad, self.n_rows)
        self.objects.check_columns(self._object_columns(), self.place)
        if "response" in self.roles:
            self.responses.check(self.place(0))
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
