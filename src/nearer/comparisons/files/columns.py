"""Which column of a table plays which part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nearer._utils.text import plain
from nearer.comparisons.files import remedies
from nearer.comparisons.files.column_names import (
    ALIASES,
    ANCHORS_WITH_STEMS,
    CHOICES,
    MORE_ANCHORS,
    PRESSES,
    is_response,
    options_of,
    series_of,
    third_of,
)
from nearer.errors import InputError, Place, Suggestion

TRIPLET = ("anchor", "near", "far")
QUADRUPLET = ("near_a", "near_b", "far_a", "far_b")
TRIO = ("a", "b", "c")  # three objects, and `odd` says which is the odd one
PAIR_AND_ODD = ("a", "b", "odd")
EXTRAS = ("response", "weight", "annotator", "group")


@dataclass(frozen=True)
class Layout:
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
    def ignored(self) -> tuple[str, ...]:
        """The names of the columns that play no part."""
        used = self.roles.values()
        return tuple(
            name for at, name in enumerate(self.header) if at not in used and isinstance(name, str) and name
        )

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

    def column(self, role: str) -> str:
        """Return what a column is called in the table, or at least here."""
        return str(self.header[self.roles[role]]) if self.header else role


def layout_of(
    header: Sequence[object], columns: Mapping[str, str | int] | None, place: Place | None
) -> Layout:
    """Find the columns by the names in the header, or where `columns` says they are.

    >>> layout_of(["id", "Anchor", "near", "far"], None, None).objects
    (1, 2, 3)
    """
    if columns is None and _is_numbered(header):
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


def _is_numbered(header: Sequence[object]) -> bool:
    """Return whether a frame's columns are just 0, 1, 2, ..., or what polars calls columns without names."""
    return all(isinstance(name, int) or name == f"column_{at}" for at, name in enumerate(header))


class _Header:
    """Finds columns: those that were given by hand, others by their names."""

    def __init__(
        self, header: Sequence[object], columns: Mapping[str, str | int], place: Place | None
    ) -> None:
        self.header, self.place = header, place
        self.plain = [plain(name) for name in header]
        self.chosen = {role: self._position(role, where) for role, where in columns.items()}

    def _position(self, role: str, where: str | int) -> int:
        if role not in ALIASES:
            raise InputError(
                f"has the key {role!r}, but the known ones are {', '.join(ALIASES)}", parameter="columns"
            )
        if where in self.header:
            return list(self.header).index(where)
        if isinstance(where, int) and 0 <= where < len(self.header):
            return where
        raise InputError(
            f"names {where!r} for {role!r}, but there is no such column",
            f"the columns are {remedies.listed(self.header)}",
            parameter="columns",
            place=self.place,
        )

    def find(self, role: str, aliases: Sequence[str] | None = None) -> int | None:
        """Return the position of the column for a part; its own name beats others that it may have."""
        if role in self.chosen:
            return self.chosen[role]
        known = {plain(alias) for alias in aliases or ALIASES[role]}
        found = [at for at in self._free() if self.plain[at] in known]
        return self._only(role, [at for at in found if self.plain[at] == plain(role)] or found)

    def _free(self) -> list[int]:
        """Return columns without a part: one that was given by hand does not get a second part by its name."""
        return [at for at in range(len(self.plain)) if at not in self.chosen.values()]

    def _only(self, role: str, found: Sequence[int]) -> int | None:
        """Return the one column that was found for a part; refuse two."""
        if len(found) > 1:
            both = " and ".join(repr(self.header[position]) for position in found[:2])
            raise InputError(
                f"the columns {both} could both be {role!r}",
                [Suggestion("columns", {role: ...}, "to choose")],
                place=self.place,
            )
        return found[0] if found else None

    def find_all(self, *roles: str) -> tuple[int, ...] | None:
        """Return the positions of the columns for several parts, None if one of them is not there."""
        found = []
        for role in roles:
            if (position := self.find(role)) is None:
                return None
            found.append(position)
        return tuple(found)

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
        pair = options_of(self.plain, [at for at in self._free() if at != anchor], self.place)
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
            unused = [at for at in self._free() if at not in (*objects, *labels)]
            raise remedies.no_response(self.header, objects, unused).but(place=self.place)
        third = third_of(self.plain, *objects[1:])
        if third is not None and not self.chosen.keys() & {"a", "b"}:
            raise remedies.three_options(self.header, (*objects, third), response).but(place=self.place)
        return response

    def _named_response(self, objects: tuple[int, ...], names: Sequence[str]) -> int | None:
        """Return the one column with a name of a response; `response` itself beats others."""
        if "response" in self.chosen:
            return self.chosen["response"]
        free = [at for at in self._free() if at not in objects]
        found = [at for at in free if is_response(self.plain[at], names)]
        return self._only("response", [at for at in found if self.plain[at] == "response"] or found)

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
