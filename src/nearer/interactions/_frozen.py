"""What frozen containers share: fields that nobody can set, equality and copies."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np


class Frozen:
    """A container of a named tuple `_fields` of arrays and plain values."""

    __slots__ = ("_fields",)
    __hash__: ClassVar[None]  # type: ignore[assignment]
    _fields: Any
    #: what it is called in messages
    _noun: ClassVar[str]

    @classmethod
    def _of(cls, fields: Any) -> Self:
        """Return a container of fields that are known to be valid."""
        new = cls.__new__(cls)
        new._freeze(fields)
        return new

    def _freeze(self, fields: Any) -> None:
        for value in fields:
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
        object.__setattr__(self, "_fields", fields)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{self._noun} are frozen: build new ones instead of setting {name!r}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{self._noun} are frozen: build new ones instead of deleting {name!r}")

    @property
    def ignored_columns(self) -> tuple[str, ...]:
        """The columns of the file or frame that were not used when the object was built from it."""
        return self._fields.ignored_columns

    @property
    def n_dropped(self) -> int:
        """How many invalid rows were left out when the object was built."""
        return self._fields.n_dropped

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)) and not isinstance(self, type(other)):
            return NotImplemented
        # fields before these say what the rows are; the others say what they were read from
        count = self._fields._fields.index("ignored_columns")
        return all(map(_same, self._fields[:count], other._fields[:count]))  # type: ignore[attr-defined]

    __hash__ = None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self)._of, (self._fields,)


def _same(mine: Any, theirs: Any) -> bool:
    arrays = isinstance(mine, np.ndarray) or isinstance(theirs, np.ndarray)
    return np.array_equal(mine, theirs) if arrays else bool(mine == theirs)
