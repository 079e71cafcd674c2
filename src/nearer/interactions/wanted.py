"""What the caller asks for when interactions are read, whatever the table comes from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from nearer.comparisons.files.cells import text_columns, whole_number
from nearer.comparisons.files.kinds import Columns
from nearer.comparisons.files.named_columns import TableLayout
from nearer.comparisons.validation import UNREADABLE, Invalid, check_invalid
from nearer.errors import InputError, Place
from nearer.interactions.arrays import named, size_given
from nearer.interactions.columns import PairLayout, by_position, is_pair_name, pair_layout
from nearer.interactions.content import Duplicates, PairContent, check_duplicates

if TYPE_CHECKING:
    import pyarrow as pa

    from nearer.interactions.assembling import PairAssembler

Ids = Literal["indices", "names"]


class WantedRows(ABC):
    """What is asked of any table of objects: of pairs, or of posts."""

    #: the parts whose cells are objects
    sides: ClassVar[tuple[str, ...]]
    noun: ClassVar[str]
    ids: Ids | None
    invalid: Invalid

    @property
    @abstractmethod
    def names(self) -> tuple[tuple[str, ...] | None, ...]:
        """The names given, per side."""

    @property
    @abstractmethod
    def sizes(self) -> tuple[int | None, ...]:
        """The numbers of objects given, per side."""

    @property
    def known_names(self) -> Collection[str]:
        """The names given, of any side."""
        return tuple(name for names in self.names for name in names or ())

    def check(self) -> None:
        """Refuse settings that make no sense."""
        check_invalid(self.invalid)
        if self.ids not in (None, "indices", "names"):
            raise InputError(f"must be 'indices' or 'names', not {self.ids!r}", parameter="ids")

    def settings_of_tables(self) -> Mapping[str, Any]:
        """Return settings that have no meaning for arrays of an npz file."""
        return {"ids": self.ids}

    def hold_numbers(self, cells: Sequence[str]) -> tuple[bool, ...]:
        """Return whether each side is given by index; ids that are names are read as text."""
        return tuple(
            self.ids == "indices"
            or (self.ids is None and cell not in (names or ()) and whole_number(cell) != UNREADABLE)
            for cell, names in zip(cells, self.names, strict=True)
        )

    def values_are_numbers(self, cells: Sequence[Any]) -> tuple[bool, ...]:
        """Return whether each side holds numbers."""
        return tuple(not isinstance(cell, str) for cell in cells)

    def hold_indices(self, schema: pa.Schema, layout: TableLayout, source: str) -> tuple[bool, ...]:
        """Return whether each side holds numbers."""
        return tuple(not is_text for is_text in text_columns(schema, layout))

    def warn_of_unused(
        self, layout: TableLayout, columns: Columns | None, rows: Callable[[], Any], source: str
    ) -> None:
        """Say nothing: columns that are not used are listed in `ignored_columns`."""
        return


@dataclass(frozen=True)
class WantedPairs(WantedRows):
    """The interactions that the caller asks for; see `TableKind`."""

    sides: ClassVar[tuple[str, ...]] = ("left", "right")
    noun: ClassVar[str] = "pair"
    least_width: ClassVar[int] = 2

    left_names: tuple[str, ...] | None = None
    right_names: tuple[str, ...] | None = None
    n_left: int | None = None
    n_right: int | None = None
    ids: Ids | None = None
    duplicates: Duplicates | None = None
    at_least: float | None = None
    invalid: Invalid = "error"

    def __post_init__(self) -> None:
        for side in ("left", "right"):
            object.__setattr__(self, f"{side}_names", named(side, getattr(self, f"{side}_names")))
        self.check()
        check_duplicates(self.duplicates, (None,))

    @property
    def names(self) -> tuple[tuple[str, ...] | None, tuple[str, ...] | None]:
        """The names given, left and right."""
        return self.left_names, self.right_names

    @property
    def sizes(self) -> tuple[int | None, int | None]:
        """The numbers of objects given, left and right."""
        return self.n_left, self.n_right

    def layout(self, header: Sequence[object], columns: Columns | None, place: Place | None) -> PairLayout:
        """Find the columns by their names."""
        return pair_layout(header, columns, place)

    def positional(self, rows: Iterable[Sequence[Any]], width: int, place: Place | None) -> PairLayout:
        """Return the layout of a table without names."""
        return by_position(width, place)

    def may_be_row(self, cells: Sequence[str]) -> bool:
        """Return whether a line with unknown names may be a pair itself."""
        return len(cells) >= 2 and not any(map(is_pair_name, cells))

    def types(self, layout: PairLayout, sample: Iterable[Sequence[str]]) -> dict[str, pa.DataType]:
        """Return the types of weights and of times that are numbers."""
        import pyarrow as pa

        found = {"weight": pa.float64()}
        cells = [
            row[layout.time].strip() for row in sample if layout.time is not None and len(row) > layout.time
        ]
        if cells and all(whole_number(cell) != UNREADABLE and "." not in cell for cell in cells):
            found["time"] = pa.int64()
        return found

    def assembler(self, layout: PairLayout, **options: Any) -> PairAssembler:
        """Return what collects the rows."""
        from nearer.interactions.assembling import PairAssembler

        return PairAssembler(layout, self, **options)

    def with_notes(self, notes: bytes) -> WantedPairs:
        """Return names and numbers of objects as a parquet file declares them, unless the caller passed some."""
        from nearer.comparisons.files.parquet import checked_notes

        return self.or_else(*checked_notes(notes, _sides_noted))

    def or_else(self, names: Sequence[Any], sizes: Sequence[Any]) -> WantedPairs:
        """Return the same with names and numbers of objects for the sides of which the caller said nothing."""
        said: dict[str, Any] = {}
        for at, side in enumerate(("left", "right")):
            if self.names[at] is None and self.sizes[at] is None:
                said |= {f"{side}_names": names[at], f"n_{side}": sizes[at]}
        return replace(self, **said)

    def read_npz(self, path: Path) -> PairContent:
        """Return the content of an npz file."""
        from nearer.interactions.files import read_npz

        return read_npz(path, self)


def _sides_noted(notes: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
    names = [named(side, notes[f"{side}_names"]) for side in ("left", "right")]
    sizes = [
        size_given(notes[f"n_{side}"], known, side)
        for side, known in zip(("left", "right"), names, strict=True)
    ]
    return names, sizes
