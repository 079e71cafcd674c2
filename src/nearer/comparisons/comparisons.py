"""Comparisons: who is nearer to whom, how sure, by whom."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nearer.comparisons.builders import Builders
from nearer.comparisons.operations import Conflicts, Operations

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
        The name of every object. If it is left out and `triplets` holds names, they are found and sorted.
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
