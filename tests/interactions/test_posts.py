"""Posts: reading, checking, cores and splits."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from nearer import Posts
from tests.refusals import refused

ROWS = [("bob", "tea", "hot"), ("ann", "tea", "hot"), ("ann", "tea", "green"), ("ann", "milk", "cold")]


def some(seed=0, n=400, shape=(12, 9, 7)):
    """Distinct rows at random."""
    rng = np.random.default_rng(seed)
    rows = np.stack([rng.integers(size, size=n) for size in shape], axis=1)
    return np.unique(rows, axis=0)


def test_rows_are_sorted_and_grouped_into_posts():
    posts = Posts.from_array(ROWS)
    assert posts.shape == (2, 2, 3)
    assert posts.user_names == ("ann", "bob")
    assert posts.pairs.tolist() == [[0, 0], [0, 1], [1, 1]]
    assert posts.csr().toarray().tolist() == [[1, 0, 0], [0, 1, 1], [0, 0, 1]]
    assert (len(posts), posts.n_posts) == (4, 3)


def test_all_ways_in_agree(tmp_path):
    import pandas as pd
    import polars as pl

    posts = Posts.from_array(ROWS)
    frame = pd.DataFrame(ROWS, columns=["userID", "resource", "tag_name"]).assign(day=5)
    ways = [
        Posts(*zip(*ROWS, strict=True)),
        Posts.from_frame(frame),
        Posts.from_frame(pl.from_pandas(frame)),
        pickle.loads(pickle.dumps(posts)),
    ]
    for ending in ("csv", "tsv", "jsonl", "parquet", "csv.gz"):
        posts.write(path := tmp_path / f"posts.{ending}")
        ways.append(Posts.read(path))
    (path := tmp_path / "bare.csv").write_text("\n".join(map(",".join, ROWS)))
    ways.append(Posts.read(path, header=False))
    assert all(way == posts for way in ways)
    assert Posts.from_frame(frame).ignored_columns == ("day",)


def test_numbers_are_indices_or_names(tmp_path):
    (path := tmp_path / "posts.csv").write_text("user,artist,tag\n7,3,0\n7,5,1\n")
    assert Posts.read(path, ids="indices").shape == (8, 6, 2)
    named = Posts.read(path, ids="names")
    assert (named.shape, named.item_names) == ((1, 2, 2), ("3", "5"))


def test_columns_can_be_named(tmp_path):
    (path := tmp_path / "posts.csv").write_text("visit,patient,diagnosis\nv,p,d\n")
    posts = Posts.read(path, user="patient", item="visit", tag="diagnosis")
    assert (posts.user_names, posts.item_names, posts.tag_names) == (("p",), ("v",), ("d",))
    with refused("visit", offers=["user"]):
        Posts.read(path)


def test_parquet_keeps_what_has_no_row(tmp_path):
    posts = Posts([0, 1], [0, 0], [1, 1], n_users=5, n_tags=3, tag_names=["a", "b", "c"])
    posts.write(path := tmp_path / "posts.parquet")
    assert Posts.read(path) == posts
    with refused("csv, jsonl or parquet"):
        posts.write(tmp_path / "posts.npz")


def test_duplicates_are_refused_or_merged(tmp_path):
    rows = [(0, 0, 1), (0, 0, 0), (0, 0, 1)]
    with refused("(0, 0, 1)", "row 0", offers=[("duplicates", "merge")], row=2):
        Posts.from_array(rows)
    assert Posts.from_array(rows, duplicates="merge") == Posts.from_array(rows[:2])
    (path := tmp_path / "posts.csv").write_text("user,item,tag\na,b,c\na,b,c\n")
    with refused("(a, b, c)", "line 2", line=3):
        Posts.read(path)
    assert len(Posts.read(path, duplicates="merge")) == 1


def test_weights_belong_to_posts():
    posts = Posts([0, 0, 1], [0, 0, 0], [0, 1, 0], weights=[2, 2, 1])
    assert posts.post_weights().tolist() == [2, 1]
    assert Posts([0], [0], [0], weights=[1]).weights is None
    with refused("a post has one weight", row=1):
        Posts([0, 0], [0, 0], [0, 1], weights=[2, 3])
    with refused("nan", row=0):
        Posts([0], [0], [0], weights=[np.nan])


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ([[0, 1]], "(q, 3)"),
        ([(0, 0, 0), (0, 0, -1)], "negative"),
        ([(0, 0, 0.5)], "0.5"),
        ([("a", "b", "")], "empty"),
        ([[0, np.nan, 0]], "empty"),
    ],
)
def test_bad_rows_are_refused(given, shown):
    with refused(shown):
        Posts.from_array(given)


def test_other_lengths_are_refused():
    with refused("2, 1 and 1"):
        Posts([0, 1], [0], [0])


@pytest.mark.parametrize("k", [2, 4, 6])
def test_the_core_is_the_plain_one(k):
    rows = some()
    while True:  # drop whatever has fewer than k posts
        counts = []
        for side in range(3):
            distinct = (
                np.unique(rows[:, [0, 1, side]], axis=0) if side == 2 else np.unique(rows[:, :2], axis=0)
            )
            counts.append(np.bincount(distinct[:, side], minlength=12)[rows[:, side]])
        keep = np.min(counts, axis=0) >= k
        if keep.all():
            break
        rows = rows[keep]
    posts = Posts.from_array(some()).core(k)
    assert np.array_equal(np.stack([posts.users, posts.items, posts.tags], axis=1), rows)


def test_the_core_renumbers_names():
    posts = Posts.from_array(some().astype(str)).core(4)
    for codes, size, names in zip(
        (posts.users, posts.items, posts.tags),
        posts.shape,
        (posts.user_names, posts.item_names, posts.tag_names),
        strict=True,
    ):
        assert set(codes.tolist()) == set(range(size))
        assert len(names) == size


def test_one_post_of_each_user_is_held_out():
    posts = Posts.from_array([*some().tolist(), (12, 0, 0), (12, 0, 1)])
    train, test = posts.split(random_state=0)
    assert test.n_posts == 12  # the last user has one post
    assert len(np.unique(test.pairs[:, 0])) == 12
    assert train.n_posts + test.n_posts == posts.n_posts
    assert len(train) + len(test) == len(posts)
    assert {*map(tuple, train.pairs.tolist())}.isdisjoint(map(tuple, test.pairs.tolist()))
    assert posts.split(random_state=0)[1] == test != posts.split(random_state=1)[1]


def test_a_share_is_held_out():
    posts = Posts.from_array(some())
    assert posts.split(0.25, random_state=0)[1].n_posts == round(0.25 * posts.n_posts)
    assert posts.split(3)[1].n_posts == 3
    with refused(parameter="test_size"):
        posts.split(2.0)
    with refused("two posts", "test_size"):
        Posts([0], [0], [0]).split()


def test_posts_are_frozen():
    posts = Posts([0], [0], [0])
    with pytest.raises(AttributeError, match="frozen"):
        posts.users = [1]
    with pytest.raises(ValueError, match="read-only"):
        posts.users[0] = 1
