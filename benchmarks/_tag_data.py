"""Posts of last.fm: users, artists and tags that occur often enough, and which posts are held out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from benchmarks._data import load
from nearer import Posts
from nearer.coembedding.post_rows import described, side_by_side
from nearer.coembedding.post_terms import PostTerms


class Split(NamedTuple):
    """Posts to learn from, and one per user to predict. Both have the same users, items and tags."""

    train: Posts
    test: Posts


def core(level: int) -> Posts:
    """Return the posts of users, artists and tags that have at least `level` posts each."""
    arrays = load("hetrec_lastfm")
    columns = (arrays[f"tag_{side}"].astype(int) for side in ("user", "artist", "tag"))
    return compact(Posts(*columns, duplicates="merge").core(level))


def compact(posts: Posts) -> Posts:
    """Return posts with users, items and tags numbered again, without gaps.

    >>> compact(Posts([3, 7], [2, 2], [9, 0])).shape
    (2, 1, 2)
    """
    columns = (posts.users, posts.items, posts.tags)
    return Posts(*(np.unique(column, return_inverse=True)[1] for column in columns))


def held_out(posts: Posts, seed: int) -> Split:
    """Return all posts but one per user, and those."""
    return Split(*posts.split(random_state=seed))


def terms(posts: Posts) -> PostTerms:
    """Return posts as `TagRecommender` sees them if all users, items and tags are in use."""
    sides = (described(posts.pairs[:, at], None, np.arange(posts.shape[at])) for at in range(2))
    return PostTerms(side_by_side(*sides), posts.csr())


def all_in_use(posts: Posts) -> bool:
    """Return whether every user, item and tag has a post.

    >>> all_in_use(Posts([0, 1], [0, 0], [0, 1])), all_in_use(Posts([0, 2], [0, 0], [0, 1]))
    (True, False)
    """
    columns = (posts.users, posts.items, posts.tags)
    return all(len(np.unique(column)) == count for column, count in zip(columns, posts.shape, strict=True))
