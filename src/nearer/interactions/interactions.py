"""Interactions: who with what."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self, TypedDict, Unpack

from nearer._utils.group import ALONE, processes
from nearer._utils.validation import RandomState, generator, whole
from nearer.comparisons.validation import Invalid
from nearer.interactions.content import Duplicates, above
from nearer.interactions.splits import By, core_rows, held_out, with_used_names
from nearer.interactions.store import PairStore
from nearer.interactions.wanted import Ids, WantedPairs

if TYPE_CHECKING:
    from scipy.sparse import sparray, spmatrix

__all__ = ["Interactions"]


class PairOptions(TypedDict, total=False):
    """What `Interactions.read` and `Interactions.from_frame` take besides the table."""

    left: str | int | None
    right: str | int | None
    weight: str | int | None
    time: str | int | None
    ids: Ids | None
    left_names: Iterable[str] | None
    right_names: Iterable[str] | None
    n_left: int | None
    n_right: int | None
    duplicates: Duplicates | None
    at_least: float | None
    invalid: Invalid


def _asked(options: dict[str, Any]) -> tuple[WantedPairs, dict[str, Any]]:
    """Return what is wanted and which columns were named."""
    columns = {role: options.pop(role, None) for role in ("left", "right", "weight", "time")}
    return WantedPairs(**options), columns


class Interactions(PairStore):
    """Pairs of a left and a right object: users and items, readers and articles, queries and documents.

    Every pair occurs once. Pairs are sorted by left and then by right. Interactions are frozen, and can be sliced,
    indexed with masks, compared and pickled.

    Parameters
    ----------
    left, right : arrays of shape (q,)
        Indices from 0, or names. Names that are found are sorted.
    weights : array of shape (q,), optional
        How much each pair counts, such as a count or a rating: finite and above 0.
    times : array of shape (q,), optional
        When each pair was seen: numbers, or dates, which become seconds since 1970.
    n_left, n_right : int, optional
        The numbers of objects; by default the number of names, or the largest index plus one.
    left_names, right_names : sequences of str, optional
        The names of all objects; their order sets the indices.
    duplicates : {"sum", "last", "refuse"}
        What to do with a pair that occurs again. "sum" adds the weights (1 each without weights) and keeps the
        latest time; "last" keeps the latest, without times the last given; "refuse" raises an error.
        Ratings must not be added: use "last" for them.

    Attributes
    ----------
    left, right : arrays of shape (q,), int32, read-only
        The pairs, sorted by left and then by right.
    weights : array of shape (q,), float64, or None
        How much each pair counts; None if all weigh 1.
    times : array of shape (q,), int64 or float64, or None
        When each pair was seen.
    n_left, n_right : int
        Numbers of objects, with pairs or without.
    shape : tuple of int
        `(n_left, n_right)`.
    left_names, right_names : tuples of str, or None
        Names of the objects.
    ignored_columns : tuple of str
        Columns of the table read that play no part.
    n_dropped : int
        Invalid rows that were left out.

    Examples
    --------
    >>> from nearer import Interactions
    >>> seen = Interactions(["ann", "bob", "ann"], ["tea", "tea", "milk"])
    >>> seen
    Interactions(3 pairs, 2 left, 2 right, density 75%, names)
    >>> seen.csr().toarray()
    array([[1., 1.],
           [0., 1.]])
    >>> Interactions([0, 0, 1], [2, 2, 0]).weights
    array([2., 1.])
    """

    __slots__ = ()

    @classmethod
    def from_sparse(
        cls,
        M: spmatrix | sparray,
        *,
        left_names: Iterable[str] | None = None,
        right_names: Iterable[str] | None = None,
    ) -> Self:
        """Build interactions from a sparse matrix of scipy; zeros are dropped, entries given twice are summed.

        Examples
        --------
        >>> from scipy.sparse import coo_matrix
        >>> from nearer import Interactions
        >>> counts = coo_matrix(([2.0, 0.0, 1.0], ([0, 0, 1], [1, 2, 2])))
        >>> Interactions.from_sparse(counts)
        Interactions(2 pairs, 2 left, 3 right, density 33.3%, weights)
        """
        from nearer.interactions.arrays import pairs_of_sparse

        return cls._of(pairs_of_sparse(M, left_names, right_names))

    @classmethod
    def from_frame(cls, frame: Any, **options: Unpack[PairOptions]) -> Self:
        """Build interactions from a DataFrame of pandas or polars, or an Arrow table.

        Parameters
        ----------
        frame : DataFrame
            Columns are found by their names, as in `Interactions.read`.
        **options
            `left`, `right`, `weight`, `time`, `ids`, `left_names`, `right_names`, `n_left`, `n_right`, `duplicates`,
            `at_least` and `invalid` as for `Interactions.read`.

        Examples
        --------
        >>> import pandas as pd
        >>> from nearer import Interactions
        >>> Interactions.from_frame(pd.DataFrame({"user": ["ann", "bob"], "item": ["tea", "tea"]}))
        Interactions(2 pairs, 2 left, 1 right, density 100%, names)
        """
        from nearer.interactions.files import rows_of_frame

        return cls._of(rows_of_frame(frame, *_asked({**options})))

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        *,
        header: bool | None = None,
        shared: bool = False,
        **options: Unpack[PairOptions],
    ) -> Self:
        """Read a file: csv, tsv or txt (also with .gz), parquet, jsonl (also with .gz) or npz; or a folder of parquet.

        Columns are found by their names: `user`, `customer`, `source`, `query` and the like for left; `item`, `movie`,
        `product`, `target`, `document` and the like for right, each also with `_id`; optionally a weight (`weight`,
        `count`, `plays`, `rating`, `stars`) and a time (`time`, `timestamp`, `date`). Other columns are left in
        `ignored_columns`. A file without a header has two columns, left and right.

        Parameters
        ----------
        path : path
            The file; its ending says the format. The parquet files in a folder are one table, in the order of their
            names.
        header : bool, optional
            Whether a text file starts with a line of column names; by default this is found out.
        shared : bool
            Whether all processes that `torchrun` has started make this call: each then reads some files of the folder,
            and all get the whole.
        left, right, weight, time : str or int, optional
            The name of a column, or its position from 0, if it has another name. Times are numbers or dates such as
            2024-05-31T12:00, which become seconds since 1970.
        ids : {"indices", "names"}, optional
            What whole numbers in the columns of objects are: indices from 0, or names such as a database's ids. By
            default indices, with a warning if they look like ids.
        left_names, right_names : sequence of str, optional
            All objects; their order sets the indices. Other names in the file are invalid.
        n_left, n_right : int, optional
            The numbers of objects, if the file does not say.
        duplicates : {"sum", "last", "refuse"}, optional
            What to do with a pair that occurs again, as for `Interactions`. By default "sum". But ratings, which
            are weights in a column named `rating`, `stars` or `score`, are not added: the latest counts, and
            without times repeated pairs are refused.
        at_least : float, optional
            Keep the pairs with at least this weight, each of which then counts once, as `Interactions.at_least` does.
            Ratings may then be 0 or negative.
        invalid : {"error", "drop"}
            Refuse a file with invalid rows, or leave them out and count them in `n_dropped`.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> from nearer import Interactions
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "ratings.csv"
        ...     _ = path.write_text("user,movie,rating\\nann,Alien,5\\nbob,Alien,2\\n")
        ...     Interactions.read(path, at_least=4)
        Interactions(1 pair, 2 left, 1 right, density 50%, names)
        """
        from nearer.interactions.files import rows_of_file

        group = processes() if shared else ALONE
        return cls._of(rows_of_file(path, *_asked({**options}), header, group))

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a file that `read` understands; its ending says the format.

        parquet and npz keep everything. csv, tsv and jsonl leave out objects that have no pair.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> from nearer import Interactions
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "seen.csv"
        ...     Interactions(["ann"], ["tea"], weights=[2]).write(path)
        ...     print(path.read_text())
        left,right,weight
        ann,tea,2
        """
        from nearer.comparisons.files.opening import write_table
        from nearer.interactions.files import written

        write_table(written(self._fields), path)

    def at_least(self, threshold: float) -> Self:
        """Return the pairs whose weight is at least a threshold; each then counts once.

        This makes likes of ratings. Pairs below the threshold are dropped as if they had never been seen.

        >>> from nearer import Interactions
        >>> rated = Interactions([0, 0, 1], [0, 1, 1], weights=[5, 2, 4])
        >>> rated.at_least(4)
        Interactions(2 pairs, 2 left, 2 right, density 50%)
        """
        return self._of(above(self._fields, threshold))

    def core(self, k: int) -> Self:
        """Return the k-core: drop lefts and rights with fewer than k pairs until all that have pairs have k.

        A side with names loses the names of what is dropped, and is numbered again: names tell what each index
        stands for. A side without names keeps its indices and its size, and what is dropped merely has no pairs.

        >>> from nearer import Interactions
        >>> seen = Interactions(["ann", "ann", "bob", "bob", "eve"], [0, 1, 0, 1, 2])
        >>> seen.core(2), seen.core(2).left_names
        (Interactions(4 pairs, 2 left, 3 right, density 66.7%, left names), ('ann', 'bob'))
        """
        whole("k", k)
        return self._of(with_used_names(self._fields.take(core_rows(self._fields, k))))

    def split(
        self,
        test_size: float | None = None,
        by: By = "pairs",
        random_state: RandomState = None,
    ) -> tuple[Self, Self]:
        """Divide into a training and a test part of the same shape and names.

        Parameters
        ----------
        test_size : float or int, optional
            The share in the test part, by default 0.1, or the number: of pairs, or of objects for "left" and
            "right".
        by : {"pairs", "each-left", "time", "last", "left", "right"}
            What is held out. "pairs": any pairs, at random. "each-left": this share of each left's own pairs, at
            random and rounded; at least one stays in training. "time": the latest pairs. "last": the latest pair of
            each left that has two or more, without times a random one; it takes no `test_size`. "left" or
            "right": all pairs of some of the objects, which are then unknown in training (cold start).
        random_state : None, int, Generator or RandomState
            The source of chance; "time" and "last" draw among pairs of the same time.

        Returns
        -------
        train, test : Interactions

        Examples
        --------
        >>> from nearer import Interactions
        >>> seen = Interactions([0, 0, 0, 1, 1], [0, 1, 2, 0, 2], times=[5, 9, 7, 1, 2])
        >>> train, test = seen.split(by="last")
        >>> list(zip(test.left.tolist(), test.right.tolist()))
        [(0, 1), (1, 2)]
        >>> train.shape == test.shape == seen.shape
        True
        """
        chosen = held_out(self._fields, test_size, by, generator(random_state))
        return self._of(self._fields.take(~chosen)), self._of(self._fields.take(chosen))

    def transposed(self) -> Self:
        """Return the same pairs with left and right exchanged.

        >>> from nearer import Interactions
        >>> Interactions([0, 0], [3, 1]).transposed().left
        array([1, 3], dtype=int32)
        """
        return self._of(self._fields.transposed())
