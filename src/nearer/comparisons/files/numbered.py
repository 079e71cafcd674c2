"""Columns that belong together by their names: image1, image2, image3."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from nearer.comparisons.files.column_names import STEMS
from nearer.errors import InputError, Place, Setting

_SERIES = (
    ("1", "2", "3"),
    ("a", "b", "c"),
    ("i", "j", "k"),
    ("first", "second", "third"),
    ("left", "middle", "right"),
    ("left", "center", "right"),
)
_PAIRS = (*(series[:2] for series in _SERIES[:4]), ("left", "right"))


def series_of(names: Sequence[str], odd: int, place: Place | None) -> tuple[int, ...]:
    """The columns that differ in nothing but 1, 2, 3 or a, b, c and the like: three if there are, or two.

    >>> series_of(["trial", "image1", "image2", "image3", "odd"], 4, None)
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
                f"the columns {', '.join(some)} and {', '.join(others)} could both be the objects shown",
                place=place,
                remedy=[Setting("columns", dict.fromkeys(("a", "b", "c", "odd"), ...), "to choose")],
            )
        if found:
            return found.pop()
    return ()


def options_of(names: Sequence[str], free: Collection[int], place: Place | None) -> tuple[int, int] | None:
    """Two columns that are the options of a question by their names: option1 and option2, left_image and right_image.

    >>> options_of(["reference", "imageleft", "imageright", "rt1", "rt2"], range(5), None)
    (1, 2)
    """
    found = {
        (names.index(first), names.index(second))
        for pair in _PAIRS
        for stem in STEMS
        for first, second in ((stem + pair[0], stem + pair[1]), (pair[0] + stem, pair[1] + stem))
        if first in names and second in names
    }
    found = {pair for pair in found if set(pair) <= set(free)}
    if len(found) > 1:
        some, others = (" and ".join(names[at] for at in pair) for pair in sorted(found)[:2])
        raise InputError(
            f"the columns {some}, and {others}, could both be the options",
            place=place,
            remedy=[Setting("columns", dict.fromkeys(("a", "b", "response"), ...), "to choose")],
        )
    return found.pop() if found else None


def third_of(names: Sequence[str], first: int, second: int) -> int | None:
    """The column that completes a series with two others: option3 after option1 and option2.

    >>> third_of(["option1", "option2", "option3"], 0, 1), third_of(["a", "b"], 0, 1)
    (2, None)
    """
    for series in _SERIES:
        for members in _members(names[first], series):
            others = [member for member in members[1:] if member != names[second]]
            if len(others) == 1 and others[0] in names:
                return names.index(others[0])
    return None


def _members(name: str, series: Sequence[str]) -> list[list[str]]:
    """The names of a series that begins with this one: its members come at the end, or at the start."""
    first = series[0]
    at_end = [name.removesuffix(first) + member for member in series] if name.endswith(first) else []
    at_start = [member + name.removeprefix(first) for member in series] if name.startswith(first) else []
    return [members for members in (at_end, at_start) if members]
