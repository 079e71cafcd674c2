"""Tables of posts: which column plays which part, what is asked of them, and how rows become posts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from nearer._utils.text import counted, plain
from nearer.comparisons.files.kinds import Columns
from nearer.comparisons.files.named_columns import NamedColumns, TableLayout, is_numbered, listed
from nearer.comparisons.validation import Invalid
from nearer.errors import InputError, Place, Suggestion
from nearer.interactions.arrays import count_of, named, size_given
from nearer.interactions.post_content import SIDES, PostContent, check_duplicates
from nearer.interactions.wanted import Ids, WantedRows

if TYPE_CHECKING:
    import pyarrow as pa

    from nearer.interactions.post_files import PostAssembler

ALIASES: dict[str, tuple[str, ...]] = {
    "user": (
        *("user", "users", "user_id", "uid", "user_name", "member", "member_id", "account", "account_id"),
        *("author", "author_id", "person", "person_id", "reader", "reader_id", "listener", "listener_id"),
        *("customer", "customer_id", "annotator", "annotator_id", "left"),
    ),
    "item": (
        *("item", "items", "item_id", "iid", "resource", "resource_id", "artist", "artist_id", "movie"),
        *("movie_id", "film", "film_id", "book", "book_id", "song", "song_id", "track", "track_id", "url"),
        *("url_id", "bookmark", "bookmark_id", "document", "document_id", "doc", "doc_id", "article"),
        *("article_id", "photo", "photo_id", "image", "image_id", "product", "product_id", "content_id"),
        *("question", "question_id", "context", "right"),
    ),
    "tag": (
        *("tag", "tags", "tag_id", "tag_name", "label", "labels", "label_id", "keyword", "keyword_id"),
        *("topic", "topic_id", "category", "category_id", "target", "target_id"),
    ),
    "weight": ("weight", "weights"),
}
_NAMES = {plain(name) for names in ALIASES.values() for name in names}


@dataclass(frozen=True)
class PostLayout(TableLayout):
    """Positions of the columns that matter: user, item, tag, and perhaps a weight."""

    objects: tuple[int, ...]
    weight: int | None = None
    header: tuple[object, ...] = ()

    @property
    def roles(self) -> dict[str, int]:
        """Position of each part."""
        found = dict(zip(SIDES, self.objects, strict=True))
        return found if self.weight is None else {**found, "weight": self.weight}


def post_layout(header: Sequence[object], columns: Columns | None, place: Place | None) -> PostLayout:
    """Find the columns by the names in the header, or where `columns` says they are.

    >>> post_layout(["userID", "artistID", "tagID", "day"], None, None).roles
    {'user': 0, 'item': 1, 'tag': 2}
    """
    if columns is None and (is_numbered(header) or len(header) < 3):
        return by_position(header, place)
    objects = positions_of(header, columns, place)
    return PostLayout(objects, _PostColumns(header, columns or {}, place).find("weight"), tuple(header))


def positions_of(
    header: Sequence[object], columns: Columns | None, place: Place | None, sides: Sequence[str] = SIDES
) -> tuple[int, ...]:
    """Return where users, items and tags are, or some of these.

    >>> positions_of(["song", "listener", "plays"], None, None, ["user", "item"])
    (1, 0)
    """
    named = _PostColumns(header, columns or {}, place)
    found = named.find_all(*sides)
    if found is None:
        missing = next(role for role in sides if named.find(role) is None)
        raise InputError(
            f"none of the columns {listed(header)} is known to be the {missing}",
            [Suggestion(missing, ..., "to say which it is")],
            place=place,
        )
    return found


def by_position(header: Sequence[object], place: Place | None) -> PostLayout:
    """Return the layout of a table without names, which has three columns; refuse one with other numbers of them."""
    width, are = len(header), "is" if len(header) == 1 else "are"
    if width == 3:
        return PostLayout((0, 1, 2))
    found = f"there {are} {counted(width, 'column')}, but a row has three: user, item and tag"
    if not is_numbered(header):
        found = f"there {are} only {listed(header)}, but a row has three cells: user, item and tag"
    raise InputError(
        found,
        "name the columns" if width > 3 else "separate the cells by single tabs, commas or semicolons",
        place=place,
    )


class _PostColumns(NamedColumns):
    """Finds the columns of posts; each part is a parameter of its own."""

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


@dataclass(frozen=True)
class WantedPosts(WantedRows):
    """The posts that the caller asks for; see `TableKind`."""

    sides: ClassVar[tuple[str, ...]] = SIDES
    noun: ClassVar[str] = "post"
    least_width: ClassVar[int] = 3

    user_names: Iterable[str] | None = None
    item_names: Iterable[str] | None = None
    tag_names: Iterable[str] | None = None
    n_users: int | None = None
    n_items: int | None = None
    n_tags: int | None = None
    ids: Ids | None = None
    duplicates: str = "refuse"
    invalid: Invalid = "error"

    def __post_init__(self) -> None:
        for side in SIDES:
            object.__setattr__(self, f"{side}_names", named(side, getattr(self, f"{side}_names")))
        self.check()
        check_duplicates(self.duplicates)

    @property
    def names(self) -> tuple[tuple[str, ...] | None, ...]:
        """The names given: users, items, tags."""
        return tuple(getattr(self, f"{side}_names") for side in SIDES)

    @property
    def sizes(self) -> tuple[int | None, ...]:
        """The numbers given: users, items, tags."""
        return tuple(getattr(self, count_of(side)) for side in SIDES)

    def layout(self, header: Sequence[object], columns: Columns | None, place: Place | None) -> PostLayout:
        """Find the columns by their names."""
        return post_layout(header, columns, place)

    def positional(self, rows: Iterable[Sequence[Any]], width: int, place: Place | None) -> PostLayout:
        """Return the layout of a table without names."""
        return by_position(range(width), place)

    def may_be_row(self, cells: Sequence[str]) -> bool:
        """Return whether a line with unknown names may be a row itself."""
        return len(cells) == 3 and not any(plain(cell) in _NAMES for cell in cells)

    def types(self, layout: PostLayout, sample: Iterable[Sequence[str]]) -> dict[str, pa.DataType]:
        """Return the type of weights."""
        import pyarrow as pa

        return {"weight": pa.float64()}

    def assembler(self, layout: PostLayout, **options: Any) -> PostAssembler:
        """Return what collects the rows."""
        from nearer.interactions.post_files import PostAssembler

        return PostAssembler(layout, self, **options)

    def with_notes(self, notes: bytes) -> WantedPosts:
        """Return names and numbers as a parquet file declares them, unless the caller passed some."""
        from nearer.comparisons.files.parquet import checked_notes

        if any(value is not None for value in (*self.names, *self.sizes)):
            return self
        return replace(self, **checked_notes(notes, _noted))

    def read_npz(self, path: Path) -> PostContent:
        """Refuse: posts are tables."""
        raise InputError("posts are read from tables", "save them as csv, jsonl or parquet", place=path)


def _noted(notes: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for side in SIDES:
        names = found[f"{side}_names"] = named(side, notes[f"{side}_names"])
        found[count_of(side)] = size_given(notes[count_of(side)], names, side)
    return found
