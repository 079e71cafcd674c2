"""Splits: parts are disjoint, cover everything, and hold out what they say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearer import Interactions
from nearer.interactions.splits import BY
from tests.refusals import refused


@st.composite
def interactions(draw):
    n = draw(st.integers(2, 40))
    ends = st.integers(0, 6)
    left, right = (draw(st.lists(ends, min_size=n, max_size=n)) for _ in "lr")
    times = draw(st.lists(st.integers(0, 5), min_size=n, max_size=n))
    return Interactions(
        [0, 1, *left],
        [0, 1, *right],
        times=[0, 0, *times],
        n_left=9,
        right_names=[f"r{at}" for at in range(7)],
    )


def keys(part):
    return (part.left.astype(int) * 1000 + part.right).tolist()


def parts_of(seen, by, seed=0, **options):
    return seen.split(by=by, random_state=seed, **options)


@pytest.mark.parametrize("by", BY)
@given(seen=interactions(), seed=st.integers(0, 3))
def test_parts_are_disjoint_and_cover_everything(by, seen, seed):
    train, test = parts_of(seen, by, seed)
    assert sorted(keys(train) + keys(test)) == keys(seen)
    for part in (train, test):
        assert (part.shape, part.left_names, part.right_names) == (
            seen.shape,
            seen.left_names,
            seen.right_names,
        )
        assert keys(part) == sorted(keys(part))
    again = parts_of(seen, by, seed)
    assert again == (train, test)


@given(seen=interactions(), share=st.sampled_from([0.1, 0.3, 0.5, 0.9]))
def test_each_left_keeps_one_and_gives_its_share(seen, share):
    train, test = parts_of(seen, "each-left", test_size=share)
    sizes, held = (np.bincount(part.left, minlength=9) for part in (seen, test))
    assert np.array_equal(held, np.minimum(np.floor(share * sizes + 0.5), np.maximum(sizes - 1, 0)))
    assert set(train.left) == set(seen.left)


@given(seen=interactions())
def test_time_holds_out_the_latest(seen):
    train, test = parts_of(seen, "time", test_size=0.3)
    assert len(test) == min(max(round(0.3 * len(seen)), 1), len(seen) - 1)
    assert train.times.max() <= test.times.min()


@given(seen=interactions())
def test_last_holds_out_one_of_each_left_with_two(seen):
    train, test = parts_of(seen, "last")
    sizes = np.bincount(seen.left, minlength=9)
    assert np.array_equal(np.bincount(test.left, minlength=9), (sizes > 1).astype(int))
    for left, time in zip(test.left, test.times, strict=True):
        assert time == seen.times[seen.left == left].max()
        assert (train.times[train.left == left] <= time).all()


@pytest.mark.parametrize("side", ["left", "right"])
@given(seen=interactions())
def test_whole_objects_are_held_out(side, seen):
    train, test = parts_of(seen, side, test_size=0.4)
    known, new, all_ = (set(getattr(part, side)) for part in (train, test, seen))
    assert not known & new
    assert len(new) == min(max(round(0.4 * len(all_)), 1), len(all_) - 1)


def test_counts_are_met_and_shares_are_near():
    rng = np.random.default_rng(0)
    seen = Interactions(rng.integers(0, 50, 2000), rng.integers(0, 90, 2000))
    assert len(parts_of(seen, "pairs", test_size=17)[1]) == 17
    assert len(parts_of(seen, "pairs")[1]) == round(0.1 * len(seen))
    assert len(set(parts_of(seen, "right", test_size=7)[1].right)) == 7


@pytest.mark.parametrize("by", BY)
def test_seeds_differ_where_chance_matters(by):
    rng = np.random.default_rng(0)
    seen = Interactions(rng.integers(0, 50, 900), rng.integers(0, 90, 900), times=rng.integers(0, 3, 900))
    assert parts_of(seen, by, 0) != parts_of(seen, by, 1)


def test_last_without_times_is_random():
    seen = Interactions(np.repeat(np.arange(50), 4), np.tile(np.arange(4), 50))
    held = parts_of(seen, "last")[1]
    assert len(held) == 50
    assert np.bincount(held.right, minlength=4).min() > 3


def test_every_pair_of_a_left_is_equally_likely():
    seen = Interactions(np.zeros(4, dtype=int), np.arange(4))
    held = [parts_of(seen, "each-left", seed, test_size=0.5)[1].right for seed in range(200)]
    assert np.bincount(np.concatenate(held), minlength=4).min() > 75


SEEN = Interactions([0, 0, 1], [0, 1, 1])


@pytest.mark.parametrize(
    ("options", "shown", "fields"),
    [
        ({"by": "user"}, ["'user'", "'left'"], {"parameter": "by"}),
        ({"by": "time"}, ["no times"], {"parameter": "by", "offers": [("by", "pairs")]}),
        ({"by": "last", "test_size": 0.1}, ["'last'"], {"parameter": "test_size"}),
        ({"by": "each-left", "test_size": 1}, ["1"], {"parameter": "test_size"}),
        ({"test_size": 1.0}, ["1.0"], {"parameter": "test_size"}),
        ({"test_size": 0}, ["0"], {"parameter": "test_size"}),
        ({"test_size": 3}, ["3 pairs"], {"parameter": "test_size"}),
        ({"test_size": True}, ["True"], {"parameter": "test_size"}),
        ({"test_size": "half"}, ["'half'"], {"parameter": "test_size"}),
        ({"by": "left", "test_size": 2}, ["2 lefts"], {"parameter": "test_size"}),
        ({"random_state": -1}, ["-1"], {"parameter": "random_state"}),
    ],
)
def test_bad_splits_are_refused(options, shown, fields):
    with refused(*shown, **fields):
        SEEN.split(**options)


def test_too_little_to_split_is_refused():
    with refused("1 pair"):
        Interactions([0], [0]).split()
    with refused("1 left"):
        Interactions([0, 0], [0, 1]).split(by="left")
    assert [len(part) for part in Interactions([0], [0]).split(by="last")] == [1, 0]
