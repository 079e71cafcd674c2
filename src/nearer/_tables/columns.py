"""Which column of a table plays which part."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nearer._tables.series import series_of
from nearer.errors import InputError

TRIPLET = ("anchor", "near", "far")
QUADRUPLET = ("near_a", "near_b", "far_a", "far_b")
TRIO = ("a", "b", "c")  # three objects, and `odd` says which is the odd one
PAIR_AND_ODD = ("a", "b", "odd")
EXTRAS = ("response", "weight", "annotator", "group")

_ALIASES: dict[str, tuple[str, ...]] = {
    "anchor": ("anchor", "i", "object", "probe", "reference", "head", "center", "centre"),
    "near": ("near", "nearer", "closer", "j", "winner", "positive"),
    "far": ("far", "farther", "further", "k", "loser", "negative"),
    "near_a": ("near_a", "i"),
    "near_b": ("near_b", "j"),
    "far_a": ("far_a", "l"),
    "far_b": ("far_b", "k"),
    # names that only say what was shown; who won is in the response
    "a": ("a", "first", "left", "option_a"),
    "b": ("b", "second", "right", "option_b"),
    "c": (),
    "odd": ("odd", "odd_one", "odd_one_out"),
    "response": ("response", "responses", "answer"),
    "weight": ("weight", "weights", "count"),
    "annotator": (
        *("annotator", "annotators", "annotator_id", "worker", "worker_id", "participant", "participant_id"),
        *("subject", "subject_id"),
    ),
    "group": ("group", "groups", "screen", "screen_id", "trial", "trial_id"),
}
# a response beside `a` and `b`; beside `near` and `far`, which tell already, it is anyone's guess
_CHOICE = ("choice", "chosen", "chose", "picked", "selected")


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
    def counts_trials_by_annotator(self) -> bool:
        """Whether the groups are trials, which are mostly numbered anew for every annotator."""
        return self.group is not None and bool(self.header) and _plain(self.header[self.group])[:5] == "trial"

    def column(self, role: str) -> str:
        """What a column is called in the table, or at least here."""
        return str(self.header[self.roles[role]]) if self.header else role


def layout_of(header: Sequence[object], columns: Mapping[str, str | int] | None, place: str) -> Layout:
    """Find the columns by the names in the header, or where `columns` says they are.

    >>> layout_of(["id", "Anchor", "near", "far"], None, "answers.csv").objects
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


def positional(width: int, place: str) -> Layout:
    """The layout of a table without names: exactly three or four columns."""
    if width not in (3, 4):
        raise InputError(
            f"{place}: {width} columns without names, where triplets have 3 and quadruplets 4; name the "
            "columns, or pass columns={'anchor': 0, 'near': 1, 'far': 2} with their positions"
        )
    return Layout(tuple(range(width)))


def _is_numbered(header: Sequence[object]) -> bool:
    """Whether a frame's columns are just 0, 1, 2, ..., or what polars calls columns without names."""
    return all(isinstance(name, int) or name == f"column_{at}" for at, name in enumerate(header))


def _plain(name: object) -> str:
    """The name of a column without what people spell differently: `Worker ID`, `worker_id`, `WorkerId`."""
    return re.sub(r"[\s_.-]", "", str(name)).lower()


class _Header:
    """Finds columns: those that were given by hand, others by their names."""

    def __init__(self, header: Sequence[object], columns: Mapping[str, str | int], place: str) -> None:
        self.header, self.place = header, place
        self.plain = [_plain(name) for name in header]
        self.chosen = {role: self._position(role, where) for role, where in columns.items()}

    def _position(self, role: str, where: str | int) -> int:
        if role not in _ALIASES:
            raise InputError(f"columns has the key {role!r}; the known ones are {', '.join(_ALIASES)}")
        if where in self.header:
            return list(self.header).index(where)
        if isinstance(where, int) and 0 <= where < len(self.header):
            return where
        raise InputError(
            f"{self.place}: there is no column {where!r} for {role!r}; the columns are {_shown(self.header)}"
        )

    def find(self, role: str, aliases: Sequence[str] | None = None) -> int | None:
        """The position of the column for a part; its own name beats others that it may have."""
        if role in self.chosen:
            return self.chosen[role]
        known = {_plain(alias) for alias in aliases or _ALIASES[role]}
        # a column that was given one part by hand does not get a second one by its name
        free = [at for at in range(len(self.plain)) if at not in self.chosen.values()]
        found = [at for at in free if self.plain[at] in known]
        found = [at for at in found if self.plain[at] == _plain(role)] or found
        if len(found) > 1:
            both = " and ".join(repr(self.header[position]) for position in found[:2])
            raise InputError(
                f"{self.place}: the columns {both} could both be {role!r}; "
                f"choose with columns={{{role!r}: ...}}"
            )
        return found[0] if found else None

    def find_all(self, *roles: str) -> tuple[int, ...] | None:
        """The positions of the columns for several parts, None if one of them is not there."""
        found = []
        for role in roles:
            if (position := self.find(role)) is None:
                return None
            found.append(position)
        return tuple(found)

    def odd_one_out(self) -> tuple[tuple[int, ...], int | None]:
        """The two or three columns of objects and the one that tells the odd one; none in other tables."""
        odd = self.find("odd")
        if odd is None or self.chosen.keys() & {*TRIPLET, *QUADRUPLET}:
            return (), None
        shown = tuple(self.chosen[part] for part in TRIO if part in self.chosen)
        shown = shown or series_of(self.plain, odd, self.place)
        # an anchor beside the objects asks another question
        anchored = "odd" not in self.chosen and self.find("anchor") not in (None, *shown)
        return (shown, odd) if len(shown) > 1 and not anchored else ((), None)

    def comparisons(self) -> tuple[tuple[int, ...], int | None]:
        """The columns of the objects, and the one of the response where the objects are a question."""
        parts: tuple[str, ...] = QUADRUPLET
        objects = None
        if not self.chosen.keys() & {*TRIPLET, "a", "b"}:
            objects = self.find_all(*QUADRUPLET)
        if objects is None:
            parts, objects = TRIPLET, self.find_all(*TRIPLET)
        if objects is not None:
            return objects, self._response_beside(parts)
        objects = self.find_all("anchor", "a", "b")
        if objects is None:
            raise InputError(
                f"{self.place}: the columns {_shown(self.header)} are not {', '.join(TRIPLET)} or "
                f"{', '.join(QUADRUPLET)}; rename them or pass columns={{'anchor': ..., 'near': ..., 'far': ...}}"
            )
        # beside a and b, `winner` holds the one that was nearer
        told = (self.find("response"), self.find("response", _CHOICE), self.find("near"))
        response = next((position for position in told if position is not None), None)
        if response is None:
            raise InputError(
                f"{self.place}: the column {self.header[objects[1]]!r} does not say who won; "
                "add a column 'response', or pass columns={'near': ..., 'far': ...}"
            )
        return objects, response

    def _response_beside(self, parts: Sequence[str]) -> int | None:
        """The response beside columns that say who won: then they are merely the two options."""
        response = self.find("response")
        choice = self.find("response", _CHOICE) if response is None and not self.chosen else None
        if choice is not None:
            raise InputError(
                f"{self.place}: the column {self.header[choice]!r} may say who won, but so do {parts[1]!r} and "
                f"{parts[-1]!r}; pass columns={{'response': {self.header[choice]!r}}} if it does, "
                f"or columns={{'near': ..., 'far': ...}} if they do"
            )
        return response


def _shown(header: Sequence[object]) -> str:
    return ", ".join(repr(name) for name in header[:12]) + (", ..." if len(header) > 12 else "")
