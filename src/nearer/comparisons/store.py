"""The frozen store beneath `Comparisons`: from and to files, indexing, iteration, equality, copies and a repr."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, Self, overload

import numpy as np
from numpy.typing import ArrayLike

from nearer._utils.text import counted
from nearer.comparisons.arrays import checked
from nearer.comparisons.responses import Coding, Zero
from nearer.comparisons.validation import Content, Invalid
from nearer.errors import InputError, Place

#: more objects than this, and than this many per comparison, are not indices but somebody's own numbers
_MANY_OBJECTS, _OBJECTS_PER_ROW = 10_000_000, 1000
#: with more objects per cell than this, sorting the cells takes less memory than a mark per object
_SPARSE = 10


class Container:
    """Rows of comparisons with what belongs to them; `Comparisons` adds the ways in and out."""

    __slots__ = ("_fields",)
    __hash__: ClassVar[None]  # type: ignore[assignment]
    _fields: Content

    def __init__(
        self,
        triplets: ArrayLike,
        n_objects: int | None = None,
        *,
        weights: ArrayLike | None = None,
        annotators: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        names: Iterable[str] | None = None,
        invalid: Invalid = "error",
    ) -> None:
        check: Callable[..., Content] = checked
        if is_frame(triplets):
            from nearer.comparisons.files.frames import fields_of_given_frame

            check = fields_of_given_frame
        self._freeze(
            check(
                triplets,
                n_objects,
                weights=weights,
                annotators=annotators,
                groups=groups,
                names=names,
                invalid=invalid,
            )
        )

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        *,
        columns: Mapping[str, str | int] | None = None,
        header: bool | None = None,
        names: Iterable[str] | None = None,
        n_objects: int | None = None,
        coding: Coding | None = None,
        zero: Zero | None = None,
        codes: Mapping[str, Any] | None = None,
        first_index: int | None = None,
        invalid: Invalid = "error",
    ) -> Self:
        """Read a file: csv, tsv or txt (also with .gz), parquet, jsonl (also with .gz) or npz.

        Columns are found by their names: `anchor, near, far` (or `i, j, k`; `object, nearer, farther`;
        `head, winner, loser`); `near_a, near_b, far_a, far_b` (or `i, j, l, k`) for quadruplets; `anchor, a, b`
        and a `response` for questions with answers; `a, b, odd`, or `a, b, c` and `odd`, for odd-one-out trials,
        which make two triplets each, in one group; and optionally `weight`, `annotator`, `group`. Other columns
        are left in `ignored_columns`. Cells hold indices from 0 or names; names are sorted.

        Parameters
        ----------
        path : path
            The file; its ending says the format.
        columns : mapping, optional
            If the columns have other names: a mapping from `anchor`, `near`, `far` (or `near_a`, `near_b`, `far_a`,
            `far_b`; or `a`, `b`, `c`, `odd`), `response`, `weight`, `annotator`, `group` to a column's name or
            its position from 0.
        header : bool, optional
            Whether a text file starts with a line of column names; by default this is found out.
        names : sequence of str, optional
            All objects; their order sets the indices. Other names in the file are invalid.
        n_objects : int, optional
            The number of objects, if the file does not say.
        coding : {"signs", "position", "object"}, optional
            What a response is, needed only if it could be two things: positive for the first and negative for
            the second; 1 for the first and 2 for the second; or the object chosen. The odd one is given by a
            position or an object.
        zero : {"undecided", "second"}, optional
            What a response of 0 means, needed only if all are 0 or 1.
        codes : mapping, optional
            What stands for the `first` and the `second` option (and for the `third` object, if a column names the
            odd one), if responses are keys, buttons or numbers from 0: `{"first": 0, "second": 1}`, `{"first": "f",
            "second": "j"}`. `undecided` is left out like 0; a list holds several codes for one answer.
        first_index : {0, 1}, optional
            The number of the first object in a file of indices. By default 0, with a warning if the smallest
            index is 1.
        invalid : {"error", "drop"}
            Refuse a file with invalid rows, or leave them out and count them in `n_dropped`.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> from nearer import Comparisons
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "answers.csv"
        ...     _ = path.write_text("anchor,near,far\\ncat,dog,car\\n")
        ...     Comparisons.read(path)
        Comparisons(1 triplet, 3 objects, names)
        """
        from nearer.comparisons.files.columns import Wanted
        from nearer.comparisons.files.opening import read_table

        wanted = Wanted(
            names=names,  # type: ignore[arg-type] # any sequence: it becomes a tuple
            n_objects=n_objects,
            coding=coding,
            zero=zero,
            codes=codes,
            first_index=first_index,
            invalid=invalid,
        )
        return cls._of(read_table(path, wanted, columns, header))

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a file that `read` understands; its ending says the format.

        parquet and npz keep everything; csv, tsv and jsonl keep what their cells can hold, which leaves out
        objects that no row mentions.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> from nearer import Comparisons
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "answers.csv"
        ...     Comparisons([("cat", "dog", "car")]).write(path)
        ...     print(path.read_text())
        anchor,near,far
        cat,dog,car
        """
        from nearer.comparisons.files.opening import write_table
        from nearer.comparisons.files.writing import written

        write_table(written(self._fields), path)

    @classmethod
    def _of(cls, fields: Content) -> Self:
        """Return a container of fields that are known to be valid."""
        new = cls.__new__(cls)
        new._freeze(fields)
        return new

    def _freeze(self, fields: Content) -> None:
        for value in fields:
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
        object.__setattr__(self, "_fields", fields)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"comparisons are frozen: build new ones instead of setting {name!r}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"comparisons are frozen: build new ones instead of deleting {name!r}")

    @property
    def indices(self) -> np.ndarray:
        """The comparisons, int32 and read-only.

        A row `(i, j, k)` says d(i, j) < d(i, k), a row `(i, j, l, k)` says d(i, j) < d(l, k).
        """
        return self._fields.indices

    @property
    def n_objects(self) -> int:
        """The number of objects; indices run from 0 to `n_objects - 1`."""
        return self._fields.n_objects

    @property
    def weights(self) -> np.ndarray | None:
        """One float64 weight per row, or None if all weigh 1."""
        return self._fields.weights

    @property
    def annotators(self) -> np.ndarray | None:
        """Who gave each answer (int64 or strings), or None."""
        return self._fields.annotators

    @property
    def groups(self) -> np.ndarray | None:
        """Which screen or trial each row comes from (int64), or None if every row stands alone."""
        return self._fields.groups

    @property
    def names(self) -> tuple[str, ...] | None:
        """The name of every object, or None."""
        return self._fields.names

    @property
    def n_dropped(self) -> int:
        """How many invalid or undecided rows, or trials, were left out when the object was built."""
        return self._fields.n_dropped

    @property
    def ignored_columns(self) -> tuple[str, ...]:
        """The columns of the file or frame that were not used when the object was built from it."""
        return self._fields.ignored_columns

    @property
    def shape(self) -> tuple[int, int]:
        """`(q, 3)` for triplets, `(q, 4)` for quadruplets."""
        return self.indices.shape[0], self.indices.shape[1]

    @property
    def ndim(self) -> int:
        """Always 2, as for the array of indices."""
        return 2

    def __len__(self) -> int:
        return len(self.indices)

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        for start in range(0, len(self), 4096):  # blocks: a list of ten million tuples would fill the memory
            yield from map(tuple, self.indices[start : start + 4096].tolist())

    @overload
    def __getitem__(self, key: int) -> tuple[int, ...]: ...

    @overload
    def __getitem__(self, key: Any) -> Self: ...

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple):
            # scikit-learn asks for `X[rows, ...]`
            if len(key) != 2 or (key[1] is not Ellipsis and key[1] != slice(None)):
                raise IndexError(
                    "comparisons are indexed by rows alone; use .indices[rows, columns] for single cells"
                )
            key = key[0]
        if isinstance(key, (int, np.integer)) and not isinstance(key, bool):
            return tuple(self.indices[key].tolist())
        if not isinstance(key, slice):
            key = np.asarray(key)
            if not key.size and key.dtype.kind == "f":  # the empty list
                key = key.astype(np.intp)
            if key.ndim != 1:
                raise IndexError(f"rows are chosen by a one-dimensional index, got the shape {key.shape}")
        return self._of(self._fields.take(key)._replace(n_dropped=0, ignored_columns=()))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if dtype is not None and np.dtype(dtype) != self.indices.dtype:
            if copy is False:
                raise ValueError(f"comparisons are int32: an array of {np.dtype(dtype)} needs a copy")
            return self.indices.astype(dtype)
        return self.indices.copy() if copy else self.indices

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Container):
            return NotImplemented
        mine, theirs = self._fields, other._fields
        return (mine.n_objects, mine.names) == (theirs.n_objects, theirs.names) and all(
            np.array_equal(a, b) if a is not None and b is not None else a is b
            for a, b in [
                (mine.indices, theirs.indices),
                (mine.weights, theirs.weights),
                (mine.annotators, theirs.annotators),
                (mine.groups, theirs.groups),
            ]
        )

    __hash__ = None

    def uncompared(self) -> np.ndarray:
        """Return the indices of the objects that are in no comparison.

        >>> from nearer import Comparisons
        >>> Comparisons([[0, 1, 3]])
        Comparisons(1 triplet, 4 objects, 1 object in no comparison (2))
        >>> Comparisons([[0, 1, 3]]).uncompared()
        array([2])
        """
        check_numbers(self)
        return uncompared(self._fields)

    def __repr__(self) -> str:
        kind = "triplet" if self.shape[1] == 3 else "quadruplet"
        parts = [counted(len(self), kind), counted(self.n_objects, "object")]
        parts += [
            part for part in ("names", "weights", "annotators", "groups") if getattr(self, part) is not None
        ]
        if unseen := n_uncompared(self._fields):
            places = first_uncompared(self._fields, 3).tolist()
            first = [str(at) if self.names is None else self.names[at] for at in places]
            shown = ", ".join(first + ["..."] * (unseen > 3))
            parts.append(f"{counted(unseen, 'object')} in no comparison ({shown})")
        if self.n_dropped:
            parts.append(f"{self.n_dropped} dropped")
        if self.ignored_columns:
            parts.append(f"ignored columns: {', '.join(self.ignored_columns)}")
        return f"Comparisons({', '.join(parts)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self)._of, (self._fields,)


def is_frame(data: Any) -> bool:
    """Return whether something is a DataFrame or an Arrow table: its columns have names, and their order says nothing.

    >>> import pandas as pd
    >>> is_frame(pd.DataFrame({"i": [0]})), is_frame([[0, 1, 2]]), is_frame(pd.Series([0]))
    (True, False, False)
    """
    return hasattr(data, "__dataframe__") or (
        hasattr(data, "__arrow_c_stream__") and hasattr(data, "columns")
    )


def check_numbers(comparisons: Container, file: str | None = None) -> None:
    """Refuse indices that are somebody's own numbers; `file` is where they were read."""
    n_objects, count = comparisons.n_objects, len(comparisons)
    if n_objects > max(_MANY_OBJECTS, _OBJECTS_PER_ROW * count):
        raise InputError(
            f"{n_objects:,} objects are too many for {counted(count, 'comparison')}",
            "if indices are numbers such as a database's, give names instead (array.astype(str) in Python, a "
            "letter before each number in a file)",
            place=None if file is None else Place(file),
        )


def compared_objects(fields: Content) -> np.ndarray:
    """Return the indices of the objects that some row mentions, ascending."""
    if fields.n_objects > _SPARSE * fields.indices.size:
        return np.unique(fields.indices)
    seen = np.zeros(fields.n_objects, dtype=bool)
    for column in fields.indices.T:
        seen[column] = True
    return np.flatnonzero(seen)


def n_uncompared(fields: Content) -> int:
    """Return the number of objects that no row mentions."""
    return fields.n_objects - len(compared_objects(fields))


def first_uncompared(fields: Content, count: int) -> np.ndarray:
    """Return the lowest `count` indices of objects that no row mentions."""
    seen = compared_objects(fields)
    candidates = np.arange(min(len(seen) + count, fields.n_objects))  # of which at most len(seen) are seen
    return np.setdiff1d(candidates, seen, assume_unique=True)[:count]


def uncompared(fields: Content) -> np.ndarray:
    """Return the indices of all objects that no row mentions."""
    seen = np.zeros(fields.n_objects, dtype=bool)
    seen[compared_objects(fields)] = True
    return np.flatnonzero(~seen)
