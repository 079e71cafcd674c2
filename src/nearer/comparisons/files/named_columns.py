"""Which column plays which part: found by their names, or where the caller says they are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

from nearer._utils.text import plain
from nearer.errors import InputError, Place, Suggestion


class TableLayout(ABC):
    """Which column of a table plays which part; `objects` are the first of `roles`."""

    objects: tuple[int, ...]
    header: tuple[object, ...]

    @property
    @abstractmethod
    def roles(self) -> dict[str, int]:
        """Position of each part, objects first."""

    @property
    def object_roles(self) -> list[str]:
        """The parts whose cells are objects."""
        return list(self.roles)[: len(self.objects)]

    @property
    def ignored(self) -> tuple[str, ...]:
        """The names of the columns that play no part."""
        used = self.roles.values()
        return tuple(
            name for at, name in enumerate(self.header) if at not in used and isinstance(name, str) and name
        )

    def column(self, role: str) -> str:
        """Return what a column is called in the table, or at least here."""
        return str(self.header[self.roles[role]]) if self.header else role


class NamedColumns:
    """Finds columns: those that were given by hand, others by their names."""

    #: the names that the column of each part may have
    aliases: ClassVar[Mapping[str, Sequence[str]]] = {}

    def __init__(
        self, header: Sequence[object], columns: Mapping[str, str | int], place: Place | None
    ) -> None:
        self.header, self.place = header, place
        self.plain = [plain(name) for name in header]
        self.chosen = {role: self._position(role, where) for role, where in columns.items()}

    def _position(self, role: str, where: str | int) -> int:
        if role not in self.aliases:
            raise InputError(
                f"has the key {role!r}, but the known ones are {', '.join(self.aliases)}", parameter="columns"
            )
        if where in self.header:
            return list(self.header).index(where)
        if isinstance(where, int) and 0 <= where < len(self.header):
            return where
        raise self.no_such_column(role, where)

    def no_such_column(self, role: str, where: object) -> InputError:
        """Return the error for a column that is not there."""
        return InputError(
            f"names {where!r} for {role!r}, but there is no such column",
            f"the columns are {listed(self.header)}",
            parameter="columns",
            place=self.place,
        )

    def setting(self, role: str) -> Suggestion:
        """Return the setting that says which column plays a part."""
        return Suggestion("columns", {role: ...}, "to choose")

    def find(self, role: str, aliases: Sequence[str] | None = None) -> int | None:
        """Return the position of the column for a part; its own name beats others that it may have."""
        if role in self.chosen:
            return self.chosen[role]
        known = {plain(alias) for alias in aliases or self.aliases[role]}
        found = [at for at in self.free() if self.plain[at] in known]
        return self.only(role, [at for at in found if self.plain[at] == plain(role)] or found)

    def free(self) -> list[int]:
        """Return columns without a part: one that was given by hand does not get a second part by its name."""
        return [at for at in range(len(self.plain)) if at not in self.chosen.values()]

    def only(self, role: str, found: Sequence[int]) -> int | None:
        """Return the one column that was found for a part; refuse two."""
        if len(found) > 1:
            both = " and ".join(repr(self.header[position]) for position in found[:2])
            raise InputError(
                f"the columns {both} could both be {role!r}", [self.setting(role)], place=self.place
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


def is_numbered(header: Sequence[object]) -> bool:
    """Return whether a frame's columns are just 0, 1, 2, ..., or what polars calls columns without names."""
    return all(isinstance(name, int) or name == f"column_{at}" for at, name in enumerate(header))


def listed(header: Sequence[object]) -> str:
    """Return the names of the columns, the first dozen of them."""
    return ", ".join(repr(name) for name in header[:12]) + (", ..." if len(header) > 12 else "")
