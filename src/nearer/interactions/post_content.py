"""What posts hold, in its final form: users, items and their tags, sorted and checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from nearer.errors import InputError, Place, Suggestion

SIDES = ("user", "item", "tag")
Duplicates = Literal["refuse", "merge"]


class PostContent(NamedTuple):
    """The content of `Posts`: one row per tag of a post, sorted by user, item and tag, each row once."""

    codes: np.ndarray
    sizes: tuple[int, ...]
    names: tuple[tuple[str, ...] | None, ...]
    weights: np.ndarray | None = None
    ignored_columns: tuple[str, ...] = ()
    n_dropped: int = 0

    def take(self, rows: Any) -> PostContent:
        """Return some rows (a mask or ascending positions) with the same sizes and names."""
        weights = None if self.weights is None else self.weights[rows]
        return PostContent(self.codes[rows], self.sizes, self.names, weights)

    def first_rows(self) -> np.ndarray:
        """Return the position of the first row of each post."""
        pairs = self.codes[:, :2]
        return np.flatnonzero(np.append(True, (pairs[1:] != pairs[:-1]).any(axis=1))[: len(pairs)])

    def post_of_rows(self) -> np.ndarray:
        """Return the number of the post that each row belongs to."""
        new = np.zeros(len(self.codes), dtype=np.int64)
        new[self.first_rows()[1:]] = 1
        return np.cumsum(new)


def settled_posts(content: PostContent, duplicates: str, place: Callable[[int], Place]) -> PostContent:
    """Sort rows, treat repeated ones, and check weights. `place` returns the place of a row as it was given."""
    check_duplicates(duplicates)
    if content.weights is not None:
        _check_weights(content.weights, place)
    order = np.lexsort(content.codes.T[::-1])
    codes = content.codes[order]
    again = np.append(False, (codes[1:] == codes[:-1]).all(axis=1))[: len(codes)]
    if again.any() and duplicates == "refuse":
        raise _twice(content, order, again, place)
    weights = None if content.weights is None else content.weights[order]
    found = content._replace(codes=codes.astype(np.int32), weights=weights)
    if weights is not None:
        _check_alike(found, order, place)
        found = found._replace(weights=None if (weights == 1).all() else weights)
    if not again.any():
        return found
    kept = found.take(~again)
    return kept._replace(ignored_columns=content.ignored_columns, n_dropped=content.n_dropped)


def check_duplicates(duplicates: Any) -> None:
    """Refuse anything but the known ways to treat repeated rows."""
    if duplicates not in ("refuse", "merge"):
        raise InputError(f"must be 'refuse' or 'merge', not {duplicates!r}", parameter="duplicates")


def core_rows(content: PostContent, k: int) -> np.ndarray:
    """Return a mask of the rows that remain after users, items and tags with fewer than k posts go, repeatedly."""
    keep = np.ones(len(content.codes), dtype=bool)
    while keep.any():
        part = content.take(keep)
        first = part.first_rows()
        few = np.zeros(len(part.codes), dtype=bool)
        for side, size in enumerate(content.sizes):
            rows = slice(None) if side == 2 else first  # every row of a post is another tag
            counts = np.bincount(part.codes[rows, side], minlength=size)
            few |= counts[part.codes[:, side]] < k
        if not few.any():
            break
        keep[np.flatnonzero(keep)[few]] = False
    return keep


def with_used_names(content: PostContent) -> PostContent:
    """Return the same without names, and indices, of what is in no row; what has no names stays."""
    codes, sizes, names = content.codes.copy(), list(content.sizes), list(content.names)
    for side, known in enumerate(content.names):
        if known is None:
            continue
        used, codes[:, side] = np.unique(codes[:, side], return_inverse=True)
        sizes[side], names[side] = len(used), tuple(known[at] for at in used.tolist())
    return content._replace(codes=codes, sizes=tuple(sizes), names=tuple(names))


def held_out(content: PostContent, test_size: Any, rng: np.random.Generator) -> np.ndarray:
    """Return a mask of the rows of posts in the test part; see `Posts.split`."""
    post, users = content.post_of_rows(), content.codes[content.first_rows(), 0]
    n = len(users)
    test = np.zeros(n, dtype=bool)
    shuffled = rng.permutation(n)
    if test_size is None:
        of_user = shuffled[np.argsort(users[shuffled], kind="stable")]
        last = np.append(users[of_user][1:] != users[of_user][:-1], True)[:n]
        test[of_user[last]] = True
        test &= np.bincount(users, minlength=1)[users] > 1
    else:
        test[shuffled[: _number(test_size, n)]] = True
    if not test.any():
        raise InputError(
            "no user has two posts, so none can be held out",
            [Suggestion("test_size", 0.1, "to hold out a share of all posts")],
        )
    return test[post]


def _number(test_size: Any, n: int) -> int:
    """Return how many of n posts are held out: at least one, not all."""
    is_count = isinstance(test_size, int | np.integer) and not isinstance(test_size, bool)
    is_share = isinstance(test_size, float | np.floating)
    if not (is_count or is_share) or not 0 < test_size < (n if is_count else 1):
        raise InputError(
            f"must be a share between 0 and 1, or a number below the {n:,} posts there are, not {test_size!r}",
            parameter="test_size",
        )
    if n < 2:
        raise InputError("one post cannot be split", "give at least two")
    return int(test_size) if is_count else min(max(round(float(test_size) * n), 1), n - 1)


def _twice(
    content: PostContent, order: np.ndarray, again: np.ndarray, place: Callable[[int], Place]
) -> InputError:
    """Return the error about the first row, as given, that repeats another."""
    repeats = np.flatnonzero(again)
    at = int(repeats[np.argmin(order[repeats])])
    row, before = int(order[at]), int(order[np.flatnonzero(~again[: at + 1])[-1]])
    where = place(before)
    earlier = f"line {where.line}" if where.line is not None else f"row {before}"
    times = f"; {len(repeats):,} rows repeat an earlier one" if len(repeats) > 1 else ""
    return InputError(
        f"{words(content, row)} occurs again, after {earlier}{times}",
        [Suggestion("duplicates", "merge", "to keep one of each")],
        place=place(row),
    )


def words(content: PostContent, row: int) -> str:
    """Return what a row says, for messages."""
    cells = [
        code if known is None else known[code]
        for code, known in zip(content.codes[row].tolist(), content.names, strict=True)
    ]
    return f"the row ({', '.join(map(str, cells))})"


def _check_weights(weights: np.ndarray, place: Callable[[int], Place]) -> None:
    bad = ~(np.isfinite(weights) & (weights > 0))
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"the weight {weights[row]:g} is not a finite number above 0",
            "correct this row",
            place=place(row),
        )


def _check_alike(content: PostContent, order: np.ndarray, place: Callable[[int], Place]) -> None:
    """Refuse two weights within one post."""
    assert content.weights is not None
    of_post = content.weights[content.first_rows()][content.post_of_rows()]
    other = np.flatnonzero(content.weights != of_post)
    if len(other):
        at = int(other[np.argmin(order[other])])
        raise InputError(
            f"{words(content, at)} has the weight {content.weights[at]:g}, another row of its post "
            f"{of_post[at]:g}: a post has one weight",
            "give it in each of its rows",
            place=place(int(order[at])),
        )
