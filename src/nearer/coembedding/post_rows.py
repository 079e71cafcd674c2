"""What `TagRecommender` takes: posts, users and items by name or number, and their features."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from nearer._utils.tables import finite_rows
from nearer.comparisons.store import is_frame
from nearer.comparisons.validation import is_missing
from nearer.errors import InputError, Place
from nearer.interactions import Posts
from nearer.pairwise.inputs import check_not_constant

#: the number of a user or an item that the model does not know
UNKNOWN = -1


def as_posts(posts: Any, weights: ArrayLike | None = None) -> Posts:
    """Return posts, given as such, as a frame or as rows of user, item and tag."""
    if not isinstance(posts, Posts):
        if isinstance(posts, str):
            raise InputError(
                f"must be posts, not {posts!r}", f"read a file with Posts.read({posts!r})", parameter="posts"
            )
        if not is_frame(posts):
            return Posts.from_array(posts, weights)
        posts = Posts.from_frame(posts)
    if weights is not None:
        raise InputError(
            "are given beside posts that hold them", "give posts with weights", parameter="weights"
        )
    return posts


def checked_features(features: Any, side: str, count: int | None, parameter: str | None = None) -> Any:
    """Return features of users, items or tags, dense or CSR, one row each."""
    if features is None:
        return None
    name = parameter or f"{side}_features"
    try:
        found = sparse.csr_matrix(features) if sparse.issparse(features) else np.asarray(features)
        if found.ndim != 2 or (count is not None and found.shape[0] != count):
            wanted = "" if count is None else f", but there are {count:,} {side}s"
            raise InputError(f"have shape {found.shape}{wanted}: give one row per {side}")
        found = finite_rows(found.astype(np.float64))
        if count is not None:
            check_not_constant(found)
    except InputError as error:
        raise error.but(parameter=name) from None
    except (TypeError, ValueError):
        raise InputError("must hold numbers", "encode texts and categories", parameter=name) from None
    return found


def described(numbers: np.ndarray, features: Any, used: np.ndarray) -> Any:
    """Return a row per post that describes its user, or its item: features, or which of those in use it is."""
    if features is not None:
        return features[numbers]
    columns = np.searchsorted(used, numbers)
    shape = len(numbers), len(used)
    return sparse.csr_matrix((np.ones(len(numbers)), columns, np.arange(len(numbers) + 1)), shape=shape)


def side_by_side(first: Any, second: Any) -> Any:
    """Return the columns of both tables, CSR if one of them is."""
    if sparse.issparse(first) or sparse.issparse(second):
        return sparse.hstack([sparse.csr_matrix(first), sparse.csr_matrix(second)], format="csr")
    return np.hstack([first, second])


def numbers_of(given: Any, names: tuple[str, ...] | None, count: int, side: str) -> np.ndarray:
    """Return numbers of users or items given by name or number; `UNKNOWN` for those that the model does not know.

    >>> numbers_of(["tea", "wine"], ("milk", "tea"), 2, "item").tolist(), numbers_of(None, None, 3, "item").tolist()
    ([1, -1], [-1])
    """
    if given is None:
        return np.array([UNKNOWN])
    cells = np.atleast_1d(np.asarray(given))
    if cells.ndim != 1:
        raise InputError(f"must be one name or number each, not of shape {cells.shape}", parameter=f"{side}s")
    if cells.dtype.kind in "OUST":
        return _of_cells(cells, names, count, side)
    numbers = cells if cells.dtype.kind in "iu" else _whole(cells, side)
    bad = numbers < UNKNOWN
    if bad.any():
        row = int(np.argmax(bad))
        _refuse(cells[row], row, side)
    return np.where(numbers < count, numbers, UNKNOWN).astype(np.int64)


def _of_cells(cells: np.ndarray, names: tuple[str, ...] | None, count: int, side: str) -> np.ndarray:
    known = {} if names is None else {name: number for number, name in enumerate(names)}
    found = np.full(len(cells), UNKNOWN, dtype=np.int64)
    for row, cell in enumerate(cells.tolist()):
        if isinstance(cell, str):
            found[row] = known.get(cell, UNKNOWN)
        elif not is_missing(cell):
            if isinstance(cell, bool) or not isinstance(cell, int) or cell < UNKNOWN:
                _refuse(cell, row, side)
            found[row] = cell if cell < count else UNKNOWN
    return found


def _whole(cells: np.ndarray, side: str) -> np.ndarray:
    if cells.dtype.kind == "f":
        there = ~np.isnan(cells)  # missing ones are unknown
        bad = np.flatnonzero(there & ((cells != np.floor(cells)) | (np.abs(cells) > 2**53)))
        if not len(bad):
            return np.where(there, cells, UNKNOWN).astype(np.int64)
        _refuse(cells[bad[0]], int(bad[0]), side)
    raise InputError(f"must hold names or numbers, not {cells.dtype}", parameter=f"{side}s")


def _refuse(cell: Any, row: int, side: str) -> None:
    raise InputError(
        f"{cell!r} is neither a name nor a number from 0",
        f"give -1 or None for a {side} that is not known",
        parameter=f"{side}s",
        place=Place(row=row),
    )
