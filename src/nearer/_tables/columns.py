"""Which column of a table plays which part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nearer.errors import InputError

TRIPLET = ("anchor", "near", "far")
QUADRUPLET = ("near_a", "near_b", "far_a", "far_b")
EXTRAS = ("response", "weight", "annotator", "group")

# Names that only say what was shown; who won is in the response.
_OPTIONS = {"near": ("a", "first", "left", "option_a"), "far": ("b", "second", "right", "option_b")}
_ALIASES: dict[str, tuple[str, ...]] = {
    "anchor": ("anchor", "i", "object", "probe", "reference", "head", "center", "centre"),
    "near": ("near", "nearer", "j", "winner", "closer", "positive", *_OPTIONS["near"]),
    "far": ("far", "farther", "further", "k", "loser", "negative", *_OPTIONS["far"]),
    "near_a": ("near_a", "i"),
    "near_b": ("near_b", "j"),
    "far_a": ("far_a", "l"),
    "far_b": ("far_b", "k"),
    "response": ("response", "responses", "answer"),
    "weight": ("weight", "weights", "count"),
    "annotator": (
        "annotator",
        "annotators",
        "worker",
        "worker_id",
        "participant",
        "participant_id",
        "subject",
    ),
    "group": ("group", "groups", "screen", "screen_id"),
}


@dataclass(frozen=True)
class Layout:
    """Positions of the columns that matter: three or four of objects, and what goes with them."""

    objects: tuple[int, ...]
    response: int | None = None
    weight: int | None = None
    annotator: int | None = None
    group: int | None = None

    @property
    def roles(self) -> dict[str, int]:
        """Position of each part, in the order in which tables are written."""
        parts = dict(zip(TRIPLET if len(self.objects) == 3 else QUADRUPLET, self.objects, strict=True))
        extras = {name: getattr(self, name) for name in EXTRAS}
        return parts | {name: position for name, position in extras.items() if position is not None}


def layout_of(header: Sequence[object], columns: Mapping[str, str | int] | None, place: str) -> Layout:
    """Find the columns by the names in the header, or where `columns` says they are.

    >>> layout_of(["id", "Anchor", "near", "far"], None, "answers.csv").objects
    (1, 2, 3)
    """
    if columns is None and _is_numbered(header):
        return positional(len(header), place)
    chosen = {role: _position(header, where, role, place) for role, where in (columns or {}).items()}
    roles = chosen | {
        role: position
        for role in _ALIASES
        if role not in chosen and (position := _by_alias(header, role, place)) is not None
    }
    # a column that was given one part does not get a second one by its name
    roles = {r: p for r, p in roles.items() if r in chosen or p not in chosen.values()}
    parts = _parts(roles, chosen, header, place)
    layout = Layout(tuple(roles[part] for part in parts), **{name: roles.get(name) for name in EXTRAS})
    _check_options(layout, chosen, header, place)
    return layout


def positional(width: int, place: str) -> Layout:
    """The layout of a table without names: exactly three or four columns."""
    if width not in (3, 4):
        raise InputError(
            f"{place}: {width} columns without names, where triplets have 3 and quadruplets 4; name the "
            "columns, or pass columns={'anchor': 0, 'near': 1, 'far': 2} with their positions"
        )
    return Layout(tuple(range(width)))


def _is_numbered(header: Sequence[object]) -> bool:
    """Whether a frame's columns are just 0, 1, 2, ..."""
    return all(isinstance(name, int) for name in header)


def _position(header: Sequence[object], where: str | int, role: str, place: str) -> int:
    if role not in _ALIASES:
        raise InputError(f"columns has the key {role!r}; the known ones are {', '.join(_ALIASES)}")
    if where in header:
        return list(header).index(where)
    if isinstance(where, int) and 0 <= where < len(header):
        return where
    raise InputError(f"{place}: there is no column {where!r} for {role!r}; the columns are {_shown(header)}")


def _by_alias(header: Sequence[object], role: str, place: str) -> int | None:
    names = [str(name).strip().lower() for name in header]
    found = [position for position, name in enumerate(names) if name in _ALIASES[role]]
    # its own name beats another one, and what says who won beats what was shown
    exact = [p for p in found if names[p] == role] or [
        p for p in found if names[p] not in _OPTIONS.get(role, ())
    ]
    found = exact or found
    if len(found) > 1:
        both = " and ".join(repr(header[position]) for position in found[:2])
        raise InputError(
            f"{place}: the columns {both} could both be {role!r}; choose with columns={{{role!r}: ...}}"
        )
    return found[0] if found else None


def _parts(
    roles: Mapping[str, int], chosen: Mapping[str, int], header: Sequence[object], place: str
) -> tuple[str, ...]:
    """Whether the columns make triplets or quadruplets."""
    wants_triplets = any(part in chosen for part in TRIPLET)
    if not wants_triplets and all(part in roles for part in QUADRUPLET):
        return QUADRUPLET
    if all(part in roles for part in TRIPLET):
        return TRIPLET
    raise InputError(
        f"{place}: the columns {_shown(header)} are not {', '.join(TRIPLET)} or {', '.join(QUADRUPLET)}; "
        "rename them or pass columns={'anchor': ..., 'near': ..., 'far': ...}"
    )


def _check_options(layout: Layout, chosen: Mapping[str, int], header: Sequence[object], place: str) -> None:
    if layout.response is not None or len(layout.objects) == 4:
        return
    for role, position in zip(TRIPLET, layout.objects, strict=True):
        name = str(header[position]).strip().lower()
        if role not in chosen and name in _OPTIONS.get(role, ()):
            raise InputError(
                f"{place}: the column {header[position]!r} does not say who won; add a column 'response', "
                "or pass columns={'near': ..., 'far': ...}"
            )


def _shown(header: Sequence[object]) -> str:
    return ", ".join(repr(name) for name in header[:12]) + (", ..." if len(header) > 12 else "")
