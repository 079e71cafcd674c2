"""Columns that belong together by their names: image1, image2, image3."""

from __future__ import annotations

from collections.abc import Sequence

from nearer.errors import InputError

_SERIES = (
    ("1", "2", "3"),
    ("a", "b", "c"),
    ("i", "j", "k"),
    ("first", "second", "third"),
    ("left", "middle", "right"),
    ("left", "center", "right"),
)
_PAIRS = (*(series[:2] for series in _SERIES[:4]), ("left", "right"))


def series_of(names: Sequence[str], odd: int, place: str) -> tuple[int, ...]:
    """The columns that differ in nothing but 1, 2, 3 or a, b, c and the like: three if there are, or two.

    >>> series_of(["trial", "image1", "image2", "image3", "odd"], 4, "")
    (1, 2, 3)
    """
    positions: dict[str, int] = {}
    for at, name in enumerate(names):
        positions.setdefault(name, at)
    for kinds in (_SERIES, _PAIRS):
        found = {
            tuple(positions[member] for member in members)
            for series in kinds
            for name in names
            for members in _members(name, series)
            if positions.keys() >= set(members)
        }
        found = {columns for columns in found if odd not in columns}
        if len(found) > 1:
            some, others = ([names[at] for at in columns] for columns in sorted(found)[:2])
            raise InputError(
                f"{place}: the columns {', '.join(some)} and {', '.join(others)} could both be the objects shown; "
                "choose with columns={'a': ..., 'b': ..., 'c': ..., 'odd': ...}"
            )
        if found:
            return found.pop()
    return ()


def _members(name: str, series: Sequence[str]) -> list[list[str]]:
    """The names of a series that begins with this one: its members come at the end, or at the start."""
    first = series[0]
    at_end = [name.removesuffix(first) + member for member in series] if name.endswith(first) else []
    at_start = [member + name.removeprefix(first) for member in series] if name.startswith(first) else []
    return [members for members in (at_end, at_start) if members]
