"""Comparisons: who is nearer to whom, how sure, by whom."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self

from nearer.comparisons.builders import Builders
from nearer.comparisons.operations import Conflicts, Operations
from nearer.comparisons.responses import Coding, Zero
from nearer.comparisons.validation import Invalid

if TYPE_CHECKING:
    import pandas as pd

    from nearer.comparisons.cblearn import Format

__all__ = ["Comparisons", "Conflicts"]


class Comparisons(Builders, Operations):
    """Triplets "i is nearer to j than to k", or quadruplets "i and j are nearer than l and k".

    The winner comes first: a row `(i, j, k)` says d(i, j) < d(i, k), a row `(i, j, l, k)` says
    d(i, j) < d(l, k). Comparisons are frozen, and can be sliced, indexed with arrays and masks, iterated,
    compared, pickled, turned into numpy arrays, and given to scikit-learn's splitters and searches as X.

    Parameters
    ----------
    triplets : array of shape (q, 3) or (q, 4), or DataFrame
        Object indices from 0, or object names. The columns of a DataFrame are found by their names, as in
        `from_frame`.
    n_objects : int, optional
        The number of objects; by default the number of names, or the largest index plus one.
    weights : array of shape (q,), optional
        How much each comparison counts, finite and not negative.
    annotators : array of shape (q,), optional
        Who gave each answer: whole numbers or strings.
    groups : array of shape (q,), optional
        Rows that come from one screen or trial share a label; no split separates them.
    names : sequence of str, optional
        The name of every object. Left out where `triplets` holds names, they are found and sorted.
    invalid : {"error", "drop"}
        What to do with rows that are out of range, not whole numbers, or compare an object with itself:
        refuse them all, naming the first, or leave them out and count them in `n_dropped`.

    Attributes
    ----------
    indices : array of shape (q, 3) or (q, 4), int32, read-only
        The objects of each comparison, winner first.
    n_objects : int
        Number of objects, compared or not.
    weights : array of shape (q,), float64, or None
        How much each comparison counts.
    annotators : array of shape (q,), int64 or strings, or None
        Who gave each answer.
    groups : array of shape (q,), int64, or None
        Rows with the same number belong to one screen or trial, and are never separated.
    names : tuple of str, or None
        Names of the objects.
    n_dropped : int
        Rows left out because they were invalid.
    ignored_columns : tuple of str
        Columns of the table read that play no part.
    shape : tuple of int
        That of `indices`.

    Examples
    --------
    >>> from nearer import Comparisons
    >>> c = Comparisons([[0, 1, 2], [1, 0, 3]])
    >>> c
    Comparisons(2 triplets, 4 objects)
    >>> c[[False, True]].indices
    array([[1, 0, 3]], dtype=int32)
    >>> Comparisons([("cat", "dog", "car")]).names
    ('car', 'cat', 'dog')
    """

    __slots__ = ()

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
            Where the columns have other names: from `anchor`, `near`, `far` (or `near_a`, `near_b`, `far_a`,
            `far_b`; or `a`, `b`, `c`, `odd`), `response`, `weight`, `annotator`, `group` to a column's name or
            its position from 0.
        header : bool, optional
            Whether a text file starts with a line of column names; by default this is found out.
        names : sequence of str, optional
            All objects; their order sets the indices. Other names in the file are invalid.
        n_objects : int, optional
            The number of objects, if the file does not say.
        coding : {"signs", "position", "object"}, optional
            What a response is, needed only where it could be two things: positive for the first and negative for
            the second; 1 for the first and 2 for the second; or the object chosen. The odd one is given by a
            position or an object.
        zero : {"undecided", "second"}, optional
            What a response of 0 means, needed only where all are 0 or 1.
        codes : mapping, optional
            What stands for the `first` and the `second` option (and for the `third` object, where a column names the
            odd one), where responses are keys, buttons or numbers from 0: `{"first": 0, "second": 1}`, `{"first": "f",
            "second": "j"}`. `undecided` is left out like 0; a list holds several codes for one answer.
        first_index : {0, 1}, optional
            The number of the first object in a file of indices. By default 0, with a warning where the smallest
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
        from nearer.comparisons.files.opening import read_fields

        return cls._of(
            read_fields(
                path,
                columns=columns,
                header=header,
                names=names,
                n_objects=n_objects,
                coding=coding,
                zero=zero,
                codes=codes,
                first_index=first_index,
                invalid=invalid,
            )
        )

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
        from nearer.comparisons.files.opening import write_fields

        write_fields(self._fields, path)

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame with one row per comparison, and names in its cells if there are names.

        pandas is not a dependency of nearer: `pip install pandas`.

        >>> from nearer import Comparisons
        >>> print(Comparisons([("cat", "dog", "car")], weights=[2]).to_frame())
          anchor near  far  weight
        0    cat  dog  car     2.0
        """
        from nearer.comparisons.files.frames import frame_of

        return frame_of(self._fields)

    def to_cblearn(self, format: Format = "list-order") -> Any:
        """Return the comparisons in one of the formats of cblearn, which knows neither names nor groups.

        Parameters
        ----------
        format : {"list-order", "list-boolean", "list-count", "tensor-count"}
            Rows alone; rows with booleans; rows with counts; or a `sparse.COO` tensor, where contradicting
            answers cancel. Weights must be whole numbers: rows are repeated, or the weight is the count.

        Returns
        -------
        array, or (array, array), or sparse.COO

        Examples
        --------
        >>> from nearer import Comparisons
        >>> Comparisons([[0, 2, 1]]).to_cblearn("list-boolean")
        (array([[0, 1, 2]], dtype=int32), array([False]))
        """
        from nearer.comparisons.cblearn import to_cblearn

        return to_cblearn(self._fields, format)
