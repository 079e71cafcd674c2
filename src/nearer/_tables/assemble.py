"""From batches of table rows to the fields of a `Comparisons`, in little more memory than the result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nearer._comparing.checks import (
    UNREADABLE,
    Fields,
    Invalid,
    check_n_objects,
    describe,
    fault_error,
    faulty,
    faulty_weights,
)
from nearer._comparing.responses import Zero, check_zero, oriented, refuse_ambiguous, signed_responses
from nearer._tables.cells import RESPONSES, Growing, Labels, Numbers, Objects
from nearer._tables.columns import Layout
from nearer.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Wanted:
    """What the caller asks for, whatever the table comes from."""

    names: tuple[str, ...] | None = None
    n_objects: int | None = None
    zero: Zero | None = None
    invalid: Invalid = "error"


class Assembler:
    """Takes batches one by one, keeps the valid rows, counts the others and remembers the first of them.

    Parameters
    ----------
    layout : Layout
        The part each column plays; batches hold the columns of `layout.roles`, in that order.
    wanted : Wanted
        Names, number of objects and what to do with bad rows.
    numeric : bool
        Whether the cells of objects are indices; otherwise they are names.
    typed : bool
        Whether cells have types of their own; in plain text, labels that look like numbers are numbers, and
        blanks around a name do not count.
    place : callable
        Gives the words for where a row is.
    """

    def __init__(
        self, layout: Layout, wanted: Wanted, *, numeric: bool, typed: bool, place: Callable[[int], str]
    ) -> None:
        self.roles = list(layout.roles)
        self.width = len(layout.objects)
        self.wanted, self.place = wanted, place
        self.objects = Objects(self.width, wanted.names, numeric=numeric, typed=typed)
        limit = check_n_objects(wanted.n_objects, wanted.names)
        self.limit = (
            limit if numeric or wanted.names is not None else None
        )  # names still to be found have none
        check_zero(wanted.zero)
        self.indices = Growing(np.int32, self.width)
        self.numbers = {"response": Numbers(RESPONSES), "weight": Numbers()}
        self.kept = {role: Growing(np.float64) for role in self.numbers if role in self.roles}
        self.labels = {role: Labels(typed) for role in ("annotator", "group") if role in self.roles}
        self.responses_seen: set[float] = set()
        self.n_rows, self.n_bad, self.n_undecided = 0, 0, 0
        self.first_fault: tuple[int, str] | None = None

    def add(self, batch: pa.RecordBatch) -> None:
        """Take the rows of one batch."""
        columns = dict(zip(self.roles, batch.columns, strict=True))
        codes = self.objects.codes(list(columns.values())[: self.width])
        weights = self.numbers["weight"].values(columns["weight"]) if "weight" in columns else None
        labels = {role: labels.codes(columns[role]) for role, labels in self.labels.items()}
        signed = self._signed(columns["response"]) if "response" in columns else np.ones(len(codes))
        bad = faulty(codes, self.limit) | faulty_weights(weights, len(codes)) | np.isnan(signed)
        for label_codes in labels.values():
            bad |= label_codes == UNREADABLE
        if bad.any():
            self._note(batch, codes, bad, np.isnan(signed))
        keep = ~bad & (signed != 0)
        self.n_rows += len(codes)
        self.n_undecided += int(np.count_nonzero(~bad)) - int(np.count_nonzero(keep))
        if "response" in columns:
            codes = oriented(codes, signed < 0)
        self.indices.append(codes[keep])
        for role, values in (("response", np.abs(signed)), ("weight", weights)):
            if role in self.kept and values is not None:
                self.kept[role].append(values[keep])
        for role, label_codes in labels.items():
            self.labels[role].append(label_codes[keep])

    def _signed(self, column: pa.Array) -> np.ndarray:
        """The responses of a batch, NaN where they cannot be read."""
        values = self.numbers["response"].values(column)
        if len(self.responses_seen) < 3:  # more than two different ones are beyond doubt
            self.responses_seen.update(np.unique(values).tolist()[:3])
        return np.where(np.isfinite(values), signed_responses(values, self.wanted.zero), np.nan)

    def _note(
        self, batch: pa.RecordBatch, codes: np.ndarray, bad: np.ndarray, no_response: np.ndarray
    ) -> None:
        """Count bad rows, and put the first of all into words."""
        self.n_bad += int(np.count_nonzero(bad))
        if self.first_fault is None:
            row = int(np.argmax(bad))
            cells = [column[row].as_py() for column in batch.columns]
            self.first_fault = self.n_rows + row, self._describe(cells, codes[row].tolist(), no_response[row])

    def _describe(self, cells: list[Any], codes: list[int], no_response: bool) -> str:
        objects, named = cells[: self.width], not self.objects.numeric
        extras = dict(zip(self.roles[self.width :], cells[self.width :], strict=True))
        if faulty(np.array([codes]), self.limit)[0]:
            return describe(objects, codes, self.limit, named)
        for role, cell in extras.items():
            if cell is None:
                return f"the {role} is missing"
            if role == "response" and no_response:
                return f"the response {cell!r} is not 1, -1, 0, true, false or a number of answers"
            if role in self.labels and isinstance(cell, float) and not cell.is_integer():
                return f"the {role} {cell} is neither a whole number nor a string"
        return describe(objects, codes, self.limit, named, extras.get("weight"))

    def finish(self, n_skipped: int = 0) -> Fields:
        """The fields of all rows; `n_skipped` rows were left out before they came here."""
        if self.first_fault is not None and self.wanted.invalid == "error":
            row, what = self.first_fault
            raise fault_error(self.place(row), what, self.n_bad, self.n_rows)
        self.objects.check_columns(self.roles, self.place)
        if self.wanted.zero is None and "response" in self.kept:
            self._refuse_ambiguous()
        indices = self.indices.finish()
        names = self.objects.sort_names(indices)
        n_objects = check_n_objects(self.wanted.n_objects, names)
        return Fields(
            indices,
            int(indices.max(initial=-1)) + 1 if n_objects is None else n_objects,
            self._weights(),
            self.labels["annotator"].values() if "annotator" in self.labels else None,
            self.labels["group"].integers() if "group" in self.labels else None,
            names,
            self.n_bad + self.n_undecided + n_skipped,
        )

    def _refuse_ambiguous(self) -> None:
        try:
            refuse_ambiguous(self.responses_seen)
        except InputError as error:
            raise InputError(f"{self.place(0)}: {error}") from None

    def _weights(self) -> np.ndarray | None:
        """Weights times counts of answers, None where all are 1 because nothing was said."""
        weights = self.kept["weight"].finish() if "weight" in self.kept else None
        counts = self.kept["response"].finish() if "response" in self.kept else None
        if counts is None or np.all(counts == 1):
            return weights
        return counts if weights is None else weights * counts
