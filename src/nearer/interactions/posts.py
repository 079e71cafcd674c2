"""Posts: which tags a user gave to an item."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, Self, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from nearer._utils.validation import RandomState, generator, whole
from nearer.comparisons.validation import Invalid
from nearer.errors import InputError
from nearer.interactions.post_content import (
    SIDES,
    Duplicates,
    core_rows,
    held_out,
    with_used_names,
)
from nearer.interactions.post_store import PostStore
from nearer.interactions.post_tables import WantedPosts
from nearer.interactions.wanted import Ids

__all__ = ["Posts"]


class PostOptions(TypedDict, total=False):
    """What `Posts.read` and `Posts.from_frame` take besides the table."""

    user: str | int | None
    item: str | int | None
    tag: str | int | None
    weight: str | int | None
    ids: Ids | None
    user_names: Iterable[str] | None
    item_names: Iterable[str] | None
    tag_names: Iterable[str] | None
    n_users: int | None
    n_items: int | None
    n_tags: int | None
    duplicates: Duplicates
    invalid: Invalid


class Posts(PostStore):
    """Which tags a user gave to an item. A post is a user and an item with its set of tags.

    Anything of this form will do: a query, a document and its topics, or a patient, a visit and diagnoses. There is a
    row per tag of a post; rows are sorted by user, item and tag. Posts are frozen, and can be compared and pickled.

    Parameters
    ----------
    users, items, tags : arrays of shape (q,)
        Indices from 0, or names. Names that are found are sorted.
    weights : array of shape (q,), optional
        How much the post of each row counts: finite, above 0, and the same in all rows of a post.
    n_users, n_items, n_tags : int, optional
        How many there are; by default the number of names, or the largest index plus one.
    user_names, item_names, tag_names : sequences of str, optional
        All names; their order sets the indices.
    duplicates : {"refuse", "merge"}
        What to do if a user, an item and a tag occur together again: raise an error, or keep one row.

    Attributes
    ----------
    users, items, tags : arrays of shape (q,), int32, read-only
        The rows, sorted.
    weights : array of shape (q,), float64, or None
        Weights of the posts of the rows; None if all are 1.
    pairs : array of shape (n_posts, 2)
        User and item of each post.
    n_posts : int
        Number of posts.
    shape : tuple of int
        `(n_users, n_items, n_tags)`.
    user_names, item_names, tag_names : tuples of str, or None
        Names.
    ignored_columns : tuple of str
        Columns of the table read that play no part.
    n_dropped : int
        Invalid rows that were left out.

    Examples
    --------
    >>> from nearer import Posts
    >>> posts = Posts(["ann", "ann", "bob"], ["tea", "tea", "tea"], ["hot", "green", "hot"])
    >>> posts
    Posts(2 posts with 3 tags, 2 users, 1 item, 2 different tags, names)
    >>> posts.csr().toarray()
    array([[1., 1.],
           [0., 1.]])
    """

    __slots__ = ()

    @classmethod
    def from_array(cls, posts: ArrayLike, weights: ArrayLike | None = None, **options: Any) -> Self:
        """Build posts from rows of user, item and tag: indices, or names.

        Parameters
        ----------
        posts : array of shape (q, 3)
            One row per tag of a post.
        weights, **options
            As for `Posts`.

        Examples
        --------
        >>> from nearer import Posts
        >>> Posts.from_array([(0, 0, 0), (0, 0, 1), (1, 0, 1)])
        Posts(2 posts with 3 tags, 2 users, 1 item, 2 different tags)
        """
        try:
            rows = np.asarray(posts)
        except ValueError:
            rows = np.empty(0)
        if rows.ndim != 2 or rows.shape[1] != 3:
            raise InputError(
                f"must have the shape (q, 3), not {rows.shape}: a user, an item and a tag per row",
                parameter="posts",
            )
        users, items, tags = rows.T
        return cls(users, items, tags, weights, **options)

    @classmethod
    def from_frame(cls, frame: Any, **options: Unpack[PostOptions]) -> Self:
        """Build posts from a DataFrame of pandas or polars, or an Arrow table, with a row per tag of a post.

        Parameters
        ----------
        frame : DataFrame
            Columns are found by their names, as in `Posts.read`.
        **options
            As for `Posts.read`.

        Examples
        --------
        >>> import pandas as pd
        >>> from nearer import Posts
        >>> Posts.from_frame(pd.DataFrame({"userID": ["ann"], "artistID": ["Bach"], "tagID": ["organ"]}))
        Posts(1 post with 1 tag, 1 user, 1 item, 1 different tag, names)
        """
        from nearer.interactions.files import rows_of_frame

        return cls._of(rows_of_frame(frame, *_asked({**options})))

    @classmethod
    def read(
        cls, path: str | os.PathLike[str], *, header: bool | None = None, **options: Unpack[PostOptions]
    ) -> Self:
        """Read a file with a row per tag of a post: csv, tsv or txt (also with .gz), parquet, or jsonl.

        Columns are found by their names: `user`, `member`, `author` and the like; `item`, `resource`, `artist`,
        `movie`, `url` and the like; `tag`, `label`, `keyword` and the like; each also with `_id`. A column `weight`
        holds weights of posts. Others are left in `ignored_columns`. A file without a header has three columns.

        Parameters
        ----------
        path : path
            The file; its ending says the format.
        header : bool, optional
            Whether a text file starts with a line of column names; by default this is found out.
        user, item, tag, weight : str or int, optional
            The name of a column, or its position from 0, if it has another name.
        ids : {"indices", "names"}, optional
            What whole numbers are: indices from 0, or names such as a database's ids. By default indices, with a
            warning if they look like ids.
        user_names, item_names, tag_names : sequence of str, optional
            All names; their order sets the indices. Other names in the file are invalid.
        n_users, n_items, n_tags : int, optional
            How many there are, if the file does not say.
        duplicates : {"refuse", "merge"}
            What to do with a row that occurs again: refuse the file, or keep one.
        invalid : {"error", "drop"}
            Refuse a file with invalid rows, or leave them out and count them in `n_dropped`.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> from nearer import Posts
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "posts.csv"
        ...     _ = path.write_text("user,url,tag\\nann,a.org,news\\nann,a.org,daily\\n")
        ...     Posts.read(path)
        Posts(1 post with 2 tags, 1 user, 1 item, 2 different tags, names)
        """
        from nearer.interactions.files import rows_of_file

        return cls._of(rows_of_file(path, *_asked({**options}), header))

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a file that `read` understands: csv, tsv, jsonl or parquet; its ending says the format.

        parquet keeps everything. The others leave out what is in no row.

        >>> import tempfile, pathlib
        >>> from nearer import Posts
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "posts.csv"
        ...     Posts(["ann"], ["tea"], ["hot"]).write(path)
        ...     print(path.read_text())
        user,item,tag
        ann,tea,hot
        """
        from nearer.interactions.post_files import write_posts

        write_posts(self._fields, path)

    def core(self, k: int) -> Self:
        """Return the post-core: drop users, items and tags with fewer than k posts until all have k.

        Sides with names lose those of what is dropped, and are numbered again. Sides without names keep their indices.

        >>> from nearer import Posts
        >>> Posts([0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 0, 1]).core(2).n_posts
        0
        >>> Posts([0, 0, 1, 1, 2], [0, 1, 0, 1, 1], [0, 0, 0, 0, 5]).core(2).n_posts
        4
        """
        whole("k", k)
        return self._of(with_used_names(self._fields.take(core_rows(self._fields, k))))

    def split(self, test_size: float | None = None, random_state: RandomState = None) -> tuple[Self, Self]:
        """Divide whole posts into a training and a test part of the same shape and names.

        Parameters
        ----------
        test_size : float or int, optional
            The share or the number of posts to hold out. By default one post of each user that has two or more.
        random_state : None, int, Generator or RandomState
            The source of chance.

        Returns
        -------
        train, test : Posts

        Examples
        --------
        >>> from nearer import Posts
        >>> train, test = Posts([0, 0, 0, 1], [0, 0, 1, 1], [0, 1, 1, 0]).split(random_state=0)
        >>> train.n_posts, test.n_posts
        (2, 1)
        """
        chosen = held_out(self._fields, test_size, generator(random_state))
        return self._of(self._fields.take(~chosen)), self._of(self._fields.take(chosen))


def _asked(options: dict[str, Any]) -> tuple[WantedPosts, dict[str, Any]]:
    """Return what is wanted and which columns were named."""
    columns = {role: options.pop(role, None) for role in (*SIDES, "weight")}
    return WantedPosts(**options), columns
