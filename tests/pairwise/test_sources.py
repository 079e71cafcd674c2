"""Pairs that are drawn: those that there are, each as often as any other."""

from __future__ import annotations

import numpy as np
import pytest

from nearer.errors import InputError
from nearer.objectives.pair_sources import Alike, Asked, Graded, TwoClasses
from tests.pairwise.plain import pairs_of

RNG = np.random.default_rng


def counted(first, second) -> dict[tuple[int, int], int]:
    pairs, counts = np.unique(np.stack([first, second], axis=1), axis=0, return_counts=True)
    return dict(zip(map(tuple, pairs.tolist()), counts.tolist(), strict=True))


def are_even(counts: dict, draws: int) -> bool:
    """Whether counts are those of draws from equally likely pairs: within five standard deviations."""
    expected = draws / len(counts)
    return all(abs(count - expected) < 5 * np.sqrt(expected) for count in counts.values())


@pytest.fixture
def grades():
    rng = RNG(0)
    y, groups = rng.integers(0, 3, 40), rng.integers(0, 9, 40)
    y[groups == 5] = 1  # a group without pairs
    return y, groups


def test_two_classes_make_every_pair_equally_often():
    positive = np.array([True, False, True, False, False])
    source = TwoClasses(positive, RNG(0))
    counts = counted(*source.draw(30_000, RNG(1)))
    assert set(counts) == {(i, j) for i in (0, 2) for j in (1, 3, 4)}
    assert are_even(counts, 30_000)


def test_two_classes_count_on_half_of_each_or_what_there_is():
    positive = np.arange(100) < 10
    source = TwoClasses(positive, RNG(0))
    source.count_on(16)
    first, second = source.draw(5000, RNG(1))
    assert (len(set(first)), len(set(second))) == (8, 8)
    source.count_on(60)
    first, second = source.draw(5000, RNG(1))
    assert (len(set(first)), len(set(second))) == (10, 50)


def test_rows_that_do_not_count_are_never_drawn():
    used = np.arange(10) % 3 > 0
    source = TwoClasses(np.arange(10) < 5, RNG(0), used)
    assert source.n_rows == used.sum()
    assert set(np.concatenate(source.draw(500, RNG(1)))) == set(np.flatnonzero(used))


def test_graded_pairs_are_those_of_a_group_and_equally_likely(grades):
    y, groups = grades
    source = Graded(y, groups, RNG(1))
    counts = counted(*source.draw(100_000, RNG(2)))
    assert set(counts) == set(zip(*map(np.ndarray.tolist, pairs_of(y, groups)), strict=True))
    assert are_even(counts, 100_000)
    idle = [group for group in np.unique(groups) if len(set(y[groups == group])) == 1]
    assert (source.n_idle, source.n_groups) == (len(idle), len(np.unique(groups)) - len(idle))
    assert source.n_rows == np.sum(~np.isin(groups, idle))
    assert source.n_pairs == len(counts)


def test_graded_pairs_count_on_whole_groups(grades):
    y, groups = grades
    source = Graded(y, groups, RNG(1))
    for size in (1, 9, 25, 1000):
        source.count_on(size)
        first, second = source.draw(20_000, RNG(2))
        seen = np.unique(groups[first])
        rows = np.isin(groups, seen).sum()
        assert rows >= min(size, source.n_rows)
        complete = set(zip(*map(np.ndarray.tolist, pairs_of(y, groups)), strict=True))
        assert set(counted(first, second)) == {pair for pair in complete if groups[pair[0]] in seen}
    assert len(seen) == source.n_groups


def test_without_groups_all_rows_are_one():
    y = np.array([3.0, 1.0, 2.0])
    assert set(counted(*Graded(y, None, RNG(0)).draw(100, RNG(0)))) == {(0, 1), (0, 2), (2, 1)}


def test_alike_pairs_are_equally_likely_in_both_kinds():
    labels = np.array(list("aaaabbbcd"))
    source = Alike(labels, RNG(0))
    first, second = np.sort(np.stack(source.draw(60_000, RNG(1))), axis=0)
    same, different = counted(first[::2], second[::2]), counted(first[1::2], second[1::2])
    every = [(i, j) for i in range(9) for j in range(i + 1, 9)]
    assert set(same) == {(i, j) for i, j in every if labels[i] == labels[j]}
    assert set(different) == {(i, j) for i, j in every if labels[i] != labels[j]}
    assert are_even(same, 30_000)
    assert are_even(different, 30_000)


def test_alike_counts_on_more_rows_where_few_make_no_pairs():
    source = Alike(np.repeat(np.arange(50), 2), RNG(0))
    source.count_on(2)
    first, second = source.draw(10, RNG(1))
    assert (first[::2] // 2 == second[::2] // 2).all()
    assert not Alike(np.arange(5), RNG(0)).has_pairs
    assert not Alike(np.zeros(5), RNG(0)).has_pairs


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (np.zeros((3, 2)), "pair gave an array of shape .* and type float64"),
        (np.zeros((2, 2), int), r"it must give 3 pairs of whole row numbers, of shape \(3, 2\)"),
        (np.full((3, 2), 7), "pair gave the row 7, but rows are numbered from 0 to 4"),
        (np.full((3, 2), -1), "pair gave the row -1"),
    ],
)
def test_a_function_that_gives_no_pairs_is_told_so(answer, message):
    with pytest.raises(InputError, match=message):
        Asked(lambda y, groups, rng, count: answer, np.zeros(5), None).draw(3, RNG(0))
