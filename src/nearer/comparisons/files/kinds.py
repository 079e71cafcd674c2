"""What the readers of files and frames must know about the rows that they read: comparisons, or pairs.

A reader cuts a file into cells and batches. A kind finds the parts among the columns and assembles the result.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

from nearer.comparisons.files.named_columns import TableLayout
from nearer.comparisons.validation import Invalid
from nearer.errors import Place

if TYPE_CHECKING:
    import pyarrow as pa

Columns = Mapping[str, str | int]


class RowSink(Protocol):
    """Takes batches of the columns of `TableLayout.roles`, in that order."""

    def add(self, batch: pa.RecordBatch) -> None:
        """Take the rows of one batch."""
        ...

    def finish(self, n_skipped: int = 0) -> Any:
        """Return the content of all rows; `n_skipped` rows were left out before they came here."""
        ...


class TableKind(Protocol):
    """What the caller asks for, whatever the table comes from."""

    #: what one row is, in messages
    noun: ClassVar[str]
    #: how many columns there are at least
    least_width: ClassVar[int]

    @property
    def invalid(self) -> Invalid:
        """What to do with bad rows."""
        ...

    @property
    def known_names(self) -> Collection[str]:
        """Names that the caller gave; one of them may look like an empty cell."""
        ...

    def settings_of_tables(self) -> Mapping[str, Any]:
        """Return settings that have no meaning for arrays of an npz file."""
        ...

    def layout(self, header: Sequence[object], columns: Columns | None, place: Place | None) -> TableLayout:
        """Find the columns by their names."""
        ...

    def positional(self, rows: Iterable[Sequence[Any]], width: int, place: Place | None) -> TableLayout:
        """Return the layout of a table without names; `rows` are a sample."""
        ...

    def may_be_row(self, cells: Sequence[str]) -> bool:
        """Return whether a line with unknown names may be a row itself."""
        ...

    def hold_numbers(self, cells: Sequence[str]) -> tuple[bool, ...]:
        """Return whether each column of objects is read as numbers, by the texts of its first cells."""
        ...

    def values_are_numbers(self, cells: Sequence[Any]) -> tuple[bool, ...]:
        """Return whether each column of objects holds numbers, by first values that have types."""
        ...

    def hold_indices(self, schema: pa.Schema, layout: Any, source: str) -> tuple[bool, ...]:
        """Return whether each column of objects holds numbers, by its type."""
        ...

    def types(self, layout: Any, sample: Iterable[Sequence[str]]) -> dict[str, pa.DataType]:
        """Return types of columns of a text file other than objects; the others are text."""
        ...

    def assembler(
        self,
        layout: Any,
        *,
        numeric: tuple[bool, ...],
        typed: bool,
        place: Callable[[int], Place],
        source: str,
        n_survey_rows: int = 0,
    ) -> RowSink:
        """Return what collects the rows."""
        ...

    def warn_of_unused(
        self, layout: Any, columns: Columns | None, rows: Callable[[], Iterable[Sequence[Any]]], source: str
    ) -> None:
        """Warn if a column that is not used should be."""
        ...

    def with_notes(self, notes: bytes) -> Self:
        """Return the same with what `write` has noted about objects in a parquet file."""
        ...

    def read_npz(self, path: Any) -> Any:
        """Return the content of an npz file."""
        ...
