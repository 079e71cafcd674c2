"""From batches of table rows to the content of an `Interactions`, or of other rows of objects."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nearer._utils.text import warn
from nearer.comparisons.arrays import name_codes
from nearer.comparisons.files.cells import Growing, Numbers, ObjectColumns
from nearer.comparisons.files.named_columns import TableLayout
from nearer.comparisons.validation import MOST_OBJECTS, UNREADABLE, not_named
from nearer.errors import InputError, InputWarning, Place, Suggestion
from nearer.interactions.arrays import fault_of, size_given, size_of
from nearer.interactions.columns import PairLayout
from nearer.interactions.content import PairContent, settled
from nearer.interactions.times import TimeColumn
from nearer.interactions.wanted import WantedPairs, WantedRows

if TYPE_CHECKING:
    import pyarrow as pa

_AS_NAMES = Suggestion("ids", "names", "if such numbers are ids")
_AS_INDICES = Suggestion("ids", "indices", "if they are indices from 0")
_DROP = Suggestion("invalid", "drop", "to leave such rows out")
#: with fewer than one index in this many in use, numbers above this look like ids
_SPARSE, _FEW = 4, 1000


class _Side:
    """Collects the objects of one side: indices, names, or numbers that are names."""

    def __init__(self, side: str, wanted: WantedRows, numeric: bool, typed: bool) -> None:
        at = wanted.sides.index(side)
        self.side, self.names, self.size = side, wanted.names[at], wanted.sizes[at]
        self.asked, self.numeric = wanted.ids, numeric
        #: numbers with a type of their own that stand for names
        self.by_number = numeric and typed and wanted.ids == "names"
        self.cells = ObjectColumns(1, None if self.by_number else self.names, numeric=numeric, typed=typed)
        limited = not self.by_number and (numeric or self.names is not None)
        self.limit = size_given(self.size, self.names, side) if limited else None
        self.rows = Growing(np.int64 if self.by_number else np.int32)

    def codes(self, column: pa.Array) -> np.ndarray:
        """Return codes, `UNREADABLE` for cells that are missing or unknown."""
        return self.cells.codes([column])[:, 0]

    def bad(self, codes: np.ndarray) -> np.ndarray:
        """Return which codes are invalid."""
        if self.by_number:
            return codes == UNREADABLE
        return (codes < 0) | (codes >= (MOST_OBJECTS if self.limit is None else self.limit))

    def fault(self, cell: Any, code: int, place: Place, n_bad: int) -> InputError:
        """Return the error about a cell."""
        known = self.limit if self.numeric or self.names is not None else None
        offers = (_AS_NAMES, _DROP) if self.numeric else (_DROP,)
        return fault_of(cell, code, known, self.names, self.side, place, n_bad, offers)

    def finish(self) -> tuple[np.ndarray, tuple[str, ...] | None]:
        """Return codes and names."""
        codes = self.rows.finish()
        if not self.by_number:
            return codes, self.cells.sort_names(codes, by_number=True)
        numbers, positions = np.unique(codes, return_inverse=True)
        texts = [str(number) for number in numbers.tolist()]
        if self.names is None:
            return positions, tuple(texts)
        return name_codes(texts, self.names)[positions], self.names


class RowAssembler(ABC):
    """Takes batches one by one, keeps the valid rows, counts the others and remembers the first of them."""

    #: what else to do about a weight that is not above 0
    _if_rated: tuple[Suggestion, ...] = ()

    def __init__(
        self,
        layout: TableLayout,
        wanted: WantedRows,
        *,
        numeric: tuple[bool, ...],
        typed: bool,
        place: Callable[[int], Place],
        source: str,
        n_survey_rows: int = 0,
    ) -> None:
        self.layout, self.wanted, self.place, self.source = layout, wanted, place, source
        self.roles = list(layout.roles)
        self.sides = [
            _Side(side, wanted, is_number, typed)
            for side, is_number in zip(wanted.sides, numeric, strict=True)
        ]
        self.numbers = Numbers()
        self.weights = Growing(np.float64) if "weight" in self.roles else None
        self.times = TimeColumn() if "time" in self.roles else None
        self.n_rows = self.n_bad = 0
        self._bad_rows: list[np.ndarray] = []
        self._describe: Callable[[], InputError] | None = None

    def add(self, batch: pa.RecordBatch) -> None:
        """Take the rows of one batch."""
        columns = dict(zip(self.roles, batch.columns, strict=True))
        codes = [side.codes(columns[side.side]) for side in self.sides]
        faults = {side.side: side.bad(found) for side, found in zip(self.sides, codes, strict=True)}
        faults["header"] = self._repeats_header(codes)
        weights, times = None, None
        if self.weights is not None:
            weights = self.numbers.values(columns["weight"])
            faults["weight"] = self._bad_weights(weights)
        if self.times is not None:
            times, faults["time"] = self.times.values(columns["time"])
        bad = np.logical_or.reduce(list(faults.values()))
        if bad.any():
            self._note(batch, codes, faults, bad)
        keep = slice(None) if not bad.any() else ~bad
        for side, found in zip(self.sides, codes, strict=True):
            side.rows.append(found[keep])
        if self.weights is not None and weights is not None:
            self.weights.append(weights[keep])
        if self.times is not None and times is not None:
            self.times.append(times[keep])
        self.n_rows += len(bad)

    @property
    def _any_sign(self) -> bool:
        """Return whether weights may be 0 or below."""
        return False

    def _bad_weights(self, weights: np.ndarray) -> np.ndarray:
        """Return weights that are not finite, and those of 0 or below unless they are ratings with a threshold."""
        bad = ~np.isfinite(weights)
        return bad if self._any_sign else bad | (weights <= 0)

    def _repeats_header(self, codes: list[np.ndarray]) -> np.ndarray:
        """Return the rows that repeat the names of the columns, as in files that were joined."""
        repeats = np.ones(len(codes[0]), dtype=bool)
        for side, found in zip(self.sides, codes, strict=True):
            if side.numeric or not self.layout.header:
                return np.zeros(len(found), dtype=bool)
            repeats &= found == side.cells.codes_of([self.layout.column(side.side)])[0]
        return repeats

    def _note(
        self, batch: pa.RecordBatch, codes: list[np.ndarray], faults: dict[str, np.ndarray], bad: np.ndarray
    ) -> None:
        """Count bad rows and remember the first."""
        row = int(np.argmax(bad))
        if self._describe is None:
            cells = {
                role: column[row].as_py() for role, column in zip(self.roles, batch.columns, strict=True)
            }
            what = next(role for role, mask in faults.items() if mask[row])
            at = self.n_rows + row
            found = [int(side_codes[row]) for side_codes in codes]
            self._describe = lambda: self._fault(what, cells, found, at)
        self.n_bad += int(np.count_nonzero(bad))
        self._bad_rows.append(np.flatnonzero(bad) + self.n_rows)

    def _fault(self, what: str, cells: dict[str, Any], codes: list[int], row: int) -> InputError:
        """Return the error about the first bad row."""
        if what == "header":
            return InputError(
                f"({', '.join(str(cells[side]) for side in self.wanted.sides)}) repeats the names of the columns",
                ["correct this row", _DROP],
                place=self.place(row),
            )
        place = replace(self.place(row), column=self.layout.column(what))
        if what in self.wanted.sides:
            at = self.wanted.sides.index(what)
            return self.sides[at].fault(cells[what], codes[at], place, self.n_bad)
        more = f", the first of {self.n_bad:,} invalid rows among {self.n_rows:,}" if self.n_bad > 1 else ""
        if cells[what] is None:
            return InputError(f"the {what} is missing{more}", ["correct this row", _DROP], place=place)
        needed = (
            "a number or a date such as 2024-05-31 12:00" if what == "time" else "a finite number above 0"
        )
        return InputError(
            f"the {what} {cells[what]!r} is not {needed}{more}",
            ["correct this row", *(self._if_rated if what == "weight" else []), _DROP],
            place=place,
        )

    def finish(self, n_skipped: int = 0) -> Any:
        """Return the content of all rows; `n_skipped` rows were left out before they came here."""
        if self._describe is not None and self.wanted.invalid == "error":
            raise self._describe()
        found = [side.finish() for side in self.sides]
        codes, names = [one for one, _ in found], [known for _, known in found]
        self._check_known(codes)
        sizes = [self._size(*part) for part in zip(self.sides, codes, names, strict=True)]
        self._warn_of_ids(codes)
        return self._content(codes, sizes, names, self.n_bad + n_skipped)

    @abstractmethod
    def _content(
        self, codes: list[np.ndarray], sizes: list[int], names: list[tuple[str, ...] | None], n_dropped: int
    ) -> Any:
        """Return rows, settled."""

    def _check_known(self, codes: list[np.ndarray]) -> None:
        """Refuse numbers that are none of the names given."""
        for side, found in zip(self.sides, codes, strict=True):
            if len(found) and found.min() < 0:
                row = int(np.argmin(found))
                place = replace(self._place_of_kept(row), column=self.layout.column(side.side))
                number = side.rows.finish()[row]
                raise InputError(not_named(str(number), side.names), "correct this row", place=place)

    def _size(self, side: _Side, codes: np.ndarray, names: tuple[str, ...] | None) -> int:
        try:
            return size_of(codes, side.size, names, side.side)
        except InputError as error:
            if error.parameter != side.side:
                raise
            place = Place(self.source, column=self.layout.column(side.side))
            raise InputError(
                f"the column {error.problem}", [_AS_NAMES, *error.remedy[1:]], place=place
            ) from None

    def _place_of_kept(self, row: int) -> Place:
        """Return the place of a row that was kept, counted among those."""
        if self._bad_rows:
            bad = np.concatenate(self._bad_rows)
            row += int(np.searchsorted(bad - np.arange(len(bad)), row, side="right"))
        return self.place(row)

    def _warn_of_ids(self, codes: list[np.ndarray]) -> None:
        """Warn of columns of numbers that may be ids rather than indices."""
        for side, found in zip(self.sides, codes, strict=True):
            if not side.numeric or side.asked is not None or side.size is not None or side.names is not None:
                continue
            n = int(found.max(initial=-1)) + 1
            used = int(np.count_nonzero(np.bincount(found))) if n else 0
            column = repr(self.layout.column(side.side))
            problem = None
            if n > max(_FEW, _SPARSE * used):
                problem = (
                    f"the column {column} holds numbers up to {n - 1:,}, but only {used:,} different ones"
                )
            elif n and found.min() == 1:
                problem = f"the smallest number in the column {column} is 1, so index 0 has no pair"
            if problem is not None:
                warn(InputWarning(problem, [_AS_NAMES, _AS_INDICES], place=self.source))
                return


class PairAssembler(RowAssembler):
    """Collects pairs."""

    layout: PairLayout
    wanted: WantedPairs
    _if_rated = (Suggestion("at_least", ..., "to keep the pairs rated at least this high"),)

    @property
    def _any_sign(self) -> bool:
        return self.wanted.at_least is not None

    def _content(
        self, codes: list[np.ndarray], sizes: list[int], names: list[tuple[str, ...] | None], n_dropped: int
    ) -> PairContent:
        (left, right), (n_left, n_right), (left_names, right_names) = codes, sizes, names
        pairs = PairContent(
            left,
            right,
            n_left,
            n_right,
            None if self.weights is None else self.weights.finish(),
            None if self.times is None else self.times.finish(),
            left_names,
            right_names,
            self.layout.ignored,
            n_dropped,
        )
        return settled(pairs, self._duplicates(), self._place_of_kept, at_least=self.wanted.at_least)

    def _duplicates(self) -> Any:
        """Return what to do with repeated pairs: ratings are never added unless the caller says so."""
        if self.wanted.duplicates is not None:
            return self.wanted.duplicates
        if not self.layout.holds_ratings:
            return "sum"
        return "refuse" if self.times is None else "last"
