"""What the caller asks for, and which column of a table plays which part."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from nearer._utils.text import plain
from nearer.comparisons.files import remedies
from nearer.comparisons.files.cells import text_columns, whole_number
from nearer.comparisons.files.column_names import (
    ALIASES,
    ANCHORS_WITH_STEMS,
    CHOICES,
    MORE_ANCHORS,
    PRESSES,
    is_known,
    is_response,
    options_of,
    series_of,
    third_of,
)
from nearer.comparisons.files.kinds import Columns
from nearer.comparisons.files.named_columns import NamedColumns, TableLayout, is_numbered
from nearer.comparisons.responses import Coding, Zero, check_meaning
from nearer.comparisons.validation import (
    UNREADABLE,
    Content,
    Invalid,
    check_first_index,
    check_invalid,
    check_n_objects,
    check_names,
)
from nearer.errors import InputError, Place

if TYPE_CHECKING:
    import pyarrow as pa

    from nearer.comparisons.files.assembling import Assembler

TRIPLET = ("anchor", "near", "far")
QUADRUPLET = ("near_a", "near_b", "far_a", "far_b")
TRIO = ("a", "b", "c")  # three objects, and `odd` says which is the odd one
PAIR_AND_ODD = ("a", "b", "odd")
EXTRAS = ("response", "weight", "annotator", "group")


@dataclass(frozen=True)
class Layout(TableLayout):
    """Positions of the columns that matter: three or four of objects, and what goes with them."""

    objects: tuple[int, ...]
    response: int | None = None
    weight: int | None = None
    annotator: int | None = None
    group: int | None = None
    odd_one_out: bool = False
    odd: int | None = None  # names the odd one of three objects; without it the last object is the odd one
    header: tuple[object, ...] = ()

    @property
    def roles(self) -> dict[str, int]:
        """Position of each part, in the order in which tables are written."""
        names = TRIPLET if len(self.objects) == 3 else QUADRUPLET
        if self.odd_one_out:
            names = PAIR_AND_ODD if self.odd is None else TRIO
        parts = dict(zip(names, self.objects, strict=True))
        extras = {name: getattr(self, name) for name in ("odd", *EXTRAS)}
        return parts | {name: position for name, position in extras.items() if position is not None}

    @property
    def unused(self) -> list[int]:
        """Columns that might hold responses, if the order of the objects is said to be the answer."""
        if self.response is not None or self.odd_one_out:
            return []
        used = self.roles.values()
        return [at for at in range(len(self.header)) if at not in used]

    @property
    def counts_trials_by_annotator(self) -> bool:
        """Whether the groups are trials, which mostly count from the start for every annotator."""
        return self.group is not None and bool(self.header) and plain(self.header[self.group])[:5] == "trial"


def layout_of(
    header: Sequence[object], columns: Mapping[str, str | int] | None, place: Place | None
) -> Layout:
    """Find the columns by the names in the header, or where `columns` says they are.

    >>> layout_of(["id", "Anchor", "near", "far"], None, None).objects
    (1, 2, 3)
    """
    if columns is None and is_numbered(header):
        return positional(len(header), place)
    by_name = _Header(header, columns or {}, place)
    extras: dict[str, Any] = {name: by_name.find(name) for name in EXTRAS[1:]}
    shown, odd = by_name.odd_one_out()
    if odd is None:
        return Layout(*by_name.comparisons(), **extras, header=tuple(header))
    objects = shown if len(shown) == 3 else (*shown, odd)
    in_column = odd if len(shown) == 3 else None
    return Layout(objects, **extras, odd_one_out=True, odd=in_column, header=tuple(header))


def positional(width: int, place: Place | None) -> Layout:
    """Return the layout of a table without names: exactly three or four columns."""
    if width not in (3, 4):
        raise remedies.no_names(width).but(place=place)
    return Layout(tuple(range(width)))


@dataclass(frozen=True)
class Wanted:
    """The comparisons that the caller asks for, whatever the table comes from; see `TableKind`."""

    noun: ClassVar[str] = "comparison"
    least_width: ClassVar[int] = 3

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
        if any(said is not None for said in (self.coding, self.zero, self.codes)):
            check_meaning(self.coding, self.zero, self.codes)
        check_first_index(self.first_index)

    @property
    def known_names(self) -> Collection[str]:
        """The names given."""
        return self.names or ()

    def settings_of_tables(self) -> dict[str, Any]:
        """Return settings that have no meaning for arrays of an npz file."""
        return {"zero": self.zero, "coding": self.coding, "codes": self.codes}

    def layout(self, header: Sequence[object], columns: Columns | None, place: Place | None) -> Layout:
        """Find the columns by their names."""
        return layout_of(header, columns, place)

    def positional(self, rows: Iterable[Sequence[Any]], width: int, place: Place | None) -> Layout:
        """Return the layout of a table without names; refuse one whose last column looks like a response."""
        layout = positional(width, place)
        if width == 4:
            remedies.refuse_hidden_response(rows, place)
        return layout

    def may_be_row(self, cells: Sequence[str]) -> bool:
        """Return whether a line with unknown names may be a comparison itself."""
        return len(cells) in (3, 4) and not any(map(is_known, cells))

    def hold_numbers(self, cells: Sequence[str]) -> tuple[bool, ...]:
        """Return whether objects are given by index: all of them, or none."""
        is_named = self.names is not None and set(cells) <= set(self.names)
        return (not is_named and all(whole_number(cell) != UNREADABLE for cell in cells),) * len(cells)

    def values_are_numbers(self, cells: Sequence[Any]) -> tuple[bool, ...]:
        """Return whether objects are given by index: one name makes all of them names."""
        return (not any(isinstance(cell, str) for cell in cells),) * len(cells)

    def hold_indices(self, schema: pa.Schema, layout: Layout, source: str) -> tuple[bool, ...]:
        """Return whether objects are given by index; refuse indices in some columns and names in others."""
        kinds = dict(zip(text_columns(schema, layout), layout.roles, strict=False))
        kinds.pop(None, None)
        if len(kinds) == 2:
            raise InputError(
                f"the column for {kinds[True]!r} holds names and that for {kinds[False]!r} numbers",
                "use indices or names throughout",
                place=source,
            )
        return (True not in kinds,) * len(layout.objects)

    def types(self, layout: Layout, sample: Iterable[Sequence[str]]) -> dict[str, pa.DataType]:
        """Return the types of columns other than objects."""
        import pyarrow as pa

        return {"weight": pa.float64(), "group": pa.int64()}

    def assembler(self, layout: Layout, *, numeric: tuple[bool, ...], **options: Any) -> Assembler:
        """Return what collects the rows."""
        from nearer.comparisons.files.assembling import Assembler

        return Assembler(layout, self, numeric=numeric[0], **options)

    def warn_of_unused(
        self,
        layout: Layout,
        columns: Columns | None,
        rows: Callable[[], Iterable[Sequence[Any]]],
        source: str,
    ) -> None:
        """Warn if a response seems to have been left out."""
        if layout.unused:
            remedies.warn_of_unused(layout, columns, rows(), source)

    def with_notes(self, notes: bytes) -> Wanted:
        """Return names and number of objects as a parquet file declares them, unless the caller passed some."""
        from nearer.comparisons.files.parquet import checked_notes

        names, n_objects = checked_notes(notes, _objects_noted)
        if self.n_objects is not None or self.names is not None:
            n_objects = self.n_objects
        return replace(self, names=self.names or names, n_objects=n_objects)

    def read_npz(self, path: Path) -> Content:
        """Return the content of an npz file."""
        from nearer.comparisons.files.npz import read_npz

        return read_npz(path, self)


def _objects_noted(notes: Mapping[str, Any]) -> tuple[tuple[str, ...] | None, int | None]:
    names = check_names(notes["names"])
    return names, check_n_objects(notes["n_objects"], names)


class _Header(NamedColumns):
    """Finds the columns of comparisons: those that were given by hand, others by their names."""

    aliases = ALIASES

    def odd_one_out(self) -> tuple[tuple[int, ...], int | None]:
        """Return the two or three columns of objects and the one that names the odd one; none in other tables."""
        odd = self.find("odd")
        if odd is None or self.chosen.keys() & {*TRIPLET, *QUADRUPLET}:
            return (), None
        shown = tuple(self.chosen[part] for part in TRIO if part in self.chosen)
        shown = shown or series_of(self.plain, odd, self.place)
        # an anchor next to the objects asks another question
        anchored = "odd" not in self.chosen and self._anchor() not in (None, *shown)
        return (shown, odd) if len(shown) > 1 and not anchored else ((), None)

    def comparisons(self) -> tuple[tuple[int, ...], int | None]:
        """Return the columns of the objects, and the one of the response if the objects are a question."""
        parts: tuple[str, ...] = QUADRUPLET
        objects = None
        if not self.chosen.keys() & {*TRIPLET, "a", "b"}:
            objects = self.find_all(*QUADRUPLET)
        if objects is None:
            parts, objects = TRIPLET, self._anchored("near", "far")
        if objects is not None:
            return objects, self._response_next_to(parts, objects)
        objects = self._anchored("a", "b") or self._anchored_options()
        if objects is None:
            raise remedies.unknown_columns(self.header, self._parts()).but(place=self.place)
        return objects, self._response_to(objects)

    def _anchor(self) -> int | None:
        """Return the anchor: by its usual names, by others, or by one that also says what is shown."""
        for names in (None, MORE_ANCHORS, ANCHORS_WITH_STEMS):
            if (position := self.find("anchor", names)) is not None:
                return position
        return None

    def _anchored(self, *roles: str) -> tuple[int, ...] | None:
        """Return the anchor and two more parts, None if one of them is not there."""
        others = self.find_all(*roles)
        anchor = None if others is None else self._anchor()
        return None if others is None or anchor is None else (anchor, *others)

    def _anchored_options(self) -> tuple[int, ...] | None:
        """Return the anchor and two options by names such as option1 and option2."""
        anchor = self._anchor()
        if anchor is None or self.chosen.keys() & {"a", "b"}:
            return None
        pair = options_of(self.plain, [at for at in self.free() if at != anchor], self.place)
        return None if pair is None else (anchor, *pair)

    def _parts(self) -> dict[str, int]:
        """Return the parts of a question that are known, if not all of them are."""
        found = {"anchor": self._anchor(), "a": self.find("a"), "b": self.find("b")}
        return {role: position for role, position in found.items() if position is not None}

    def _response_to(self, objects: tuple[int, ...]) -> int:
        """Return the response to a question with two options."""
        response = self._named_response(objects, (*ALIASES["response"], *CHOICES, *PRESSES))
        if response is None:
            response = self.find("near")  # next to a and b, `winner` holds the one that was nearer
        if response is None:
            labels = {self.find(role) for role in EXTRAS[1:]}
            unused = [at for at in self.free() if at not in (*objects, *labels)]
            raise remedies.no_response(self.header, objects, unused).but(place=self.place)
        third = third_of(self.plain, *objects[1:])
        if third is not None and not self.chosen.keys() & {"a", "b"}:
            raise remedies.three_options(self.header, (*objects, third), response).but(place=self.place)
        return response

    def _named_response(self, objects: tuple[int, ...], names: Sequence[str]) -> int | None:
        """Return the one column with a name of a response; `response` itself beats others."""
        if "response" in self.chosen:
            return self.chosen["response"]
        free = [at for at in self.free() if at not in objects]
        found = [at for at in free if is_response(self.plain[at], names)]
        return self.only("response", [at for at in found if self.plain[at] == "response"] or found)

    def _response_next_to(self, parts: Sequence[str], objects: tuple[int, ...]) -> int | None:
        """Return the response next to columns that say who won: then they are merely the two options."""
        response = self.find("response")
        choice = None
        if response is None and not self.chosen:
            choice = self._named_response(objects, CHOICES)
        if choice is not None:
            where = dict(zip(parts, objects, strict=True))
            raise remedies.two_that_tell(self.header, where, choice).but(place=self.place)
        return response
