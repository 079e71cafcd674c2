"""Indices that are numbers of a database: a model would need room for every number below the largest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nearer._utils.text import counted
from nearer.errors import InputError, Place

if TYPE_CHECKING:
    from nearer.comparisons.store import Container

#: more objects than this, and than this many per comparison, are not indices but somebody's own numbers
_MANY_OBJECTS, _OBJECTS_PER_ROW = 10_000_000, 1000


def check_numbers(comparisons: Container, file: str | None = None) -> None:
    """Refuse indices that are somebody's own numbers; `file` is where they were read."""
    n_objects, count = comparisons.n_objects, len(comparisons)
    if n_objects > max(_MANY_OBJECTS, _OBJECTS_PER_ROW * count):
        raise InputError(
            f"{n_objects:,} objects are too many for {counted(count, 'comparison')}",
            place=None if file is None else Place(file),
            remedy="if indices are numbers such as a database's, give names instead (array.astype(str) in Python, a "
            "letter before each number in a file)",
        )
