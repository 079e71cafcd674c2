"""Which column of a table of interactions plays which part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from nearer._utils.text import plain
from nearer.comparisons.files.kinds import Columns
from nearer.comparisons.files.named_columns import NamedColumns, TableLayout, is_numbered, listed
from nearer.errors import InputError, Place, Suggestion

ALIASES: dict[str, tuple[str, ...]] = {
    "left": (
        *("left", "left_id", "user", "users", "user_id", "uid", "user_name", "customer", "customer_id"),
        *("client", "client_id", "visitor", "visitor_id", "member", "member_id", "account", "account_id"),
        *("reader", "reader_id", "listener", "listener_id", "source", "source_id", "src", "from"),
        *("query", "query_id", "qid"),
    ),
    "right": (
        *(
            "right",
            "right_id",
            "item",
            "items",
            "item_id",
            "iid",
            "movie",
            "movie_id",
            "product",
            "product_id",
        ),
        *("sku", "asin", "isbn", "book", "book_id", "song", "song_id", "track", "track_id", "artist"),
        *(
            "artist_id",
            "article",
            "article_id",
            "target",
            "target_id",
            "dst",
            "to",
            "document",
            "document_id",
        ),
        *("doc", "doc_id"),
    ),
    "weight": (
        *("weight", "weights", "count", "counts", "plays", "play_count", "clicks", "views", "quantity"),
        *("rating", "ratings", "stars", "score", "scores"),
    ),
    "time": ("time", "timestamp", "date", "datetime", "ts", "created_at"),
}
#: weights by these names are ratings: to add those of one pair would be wrong
_RATINGS = {"rating", "ratings", "stars", "score", "scores"}
_NAMES = {plain(name) for names in ALIASES.values() for name in names}


@dataclass(frozen=True)
class PairLayout(TableLayout):
    """Positions of the columns that matter: left, right, and what goes with them."""

    objects: tuple[int, ...]
    weight: int | None = None
    time: int | None = None
    header: tuple[object, ...] = ()

    @property
    def roles(self) -> dict[str, int]:
        """Position of each part, in the order in which tables are written."""
        found = {"left": self.objects[0], "right": self.objects[1], "weight": self.weight, "time": self.time}
        return {role: position for role, position in found.items() if position is not None}

    @property
    def holds_ratings(self) -> bool:
        """Whether the weights are ratings, by the name of their column."""
        return "weight" in self.roles and plain(self.column("weight")) in _RATINGS


def pair_layout(header: Sequence[object], columns: Columns | None, place: Place | None) -> PairLayout:
    """Find the columns by the names in the header, or where `columns` says they are.

    >>> pair_layout(["rating", "userId", "movieId"], None, None).roles
    {'left': 1, 'right': 2, 'weight': 0}
    """
    if columns is None and (is_numbered(header) or len(header) < 2):
        return by_position(len(header), place)
    named = _PairColumns(header, columns or {}, place)
    objects = named.find_all("left", "right")
    if objects is None:
        raise _unknown(header, {role: named.find(role) for role in ("left", "right")}).but(place=place)
    return PairLayout(objects, named.find("weight"), named.find("time"), tuple(header))


def by_position(width: int, place: Place | None) -> PairLayout:
    """Return the layout of a table without names, which has two columns; a third may be anything."""
    if width == 2:
        return PairLayout((0, 1))
    if width < 2:
        raise InputError(
            "there is one column, but a pair has two",
            "separate the cells by single tabs, commas, semicolons or blanks; replace separators such as ::",
            place=place,
        )
    raise InputError(
        f"there are {width} columns and no names of columns, so which are the left and the right object is not known "
        "(positions count from 0)",
        ["name the columns", _both(0, 1), Suggestion("weight", 2, "as well, if that is a weight or rating")],
        place=place,
    )


def is_pair_name(cell: object) -> bool:
    """Return whether a cell is the name of some part, so that its row is a header."""
    return plain(cell) in _NAMES


class _PairColumns(NamedColumns):
    """Finds the columns of pairs; each part is a parameter of its own."""

    aliases: ClassVar[dict[str, tuple[str, ...]]] = ALIASES

    def no_such_column(self, role: str, where: object) -> InputError:
        """Return the error for a column that is not there."""
        return InputError(
            f"is {where!r}, but there is no such column",
            f"the columns are {listed(self.header)}",
            parameter=role,
            place=self.place,
        )

    def setting(self, role: str) -> Suggestion:
        """Return the setting that says which column plays a part."""
        return Suggestion(role, ..., "to choose")


def _unknown(header: Sequence[object], found: dict[str, int | None]) -> InputError:
    missing = [role for role, at in found.items() if at is None]
    remedy = Suggestion(missing[0], ..., "to say which it is")
    if len(missing) == 2:
        remedy = _both(*(header if len(header) == 2 else (..., ...)))
    return InputError(
        f"none of the columns {listed(header)} is known to be the {' or the '.join(missing)} object, such as "
        "'user' or 'item'",
        [remedy],
    )


def _both(left: Any, right: Any) -> Suggestion:
    which = "the right column" if right is ... else f"{right!r} as the right column"
    return Suggestion("left", left, f"and name {which} in the same way")
