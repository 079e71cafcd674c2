"""Putting comparisons together."""

import numpy as np
import pytest

from nearer.comparisons import Comparisons
from nearer.comparisons.joining import joined, reindexed
from nearer.errors import InputError


def test_joined_keeps_rows_weights_and_groups_apart():
    first = Comparisons([[0, 1, 2], [1, 0, 2]], groups=[7, 7])
    second = Comparisons([[0, 1, 3]], weights=[2.0])
    both = joined(first, second)
    np.testing.assert_array_equal(both.indices, [[0, 1, 2], [1, 0, 2], [0, 1, 3]])
    np.testing.assert_array_equal(both.weights, [1, 1, 2])
    assert both.groups[0] == both.groups[1] != both.groups[2]
    assert both.n_objects == 4


def test_joined_mixes_triplets_and_quadruplets():
    both = joined(Comparisons([[0, 1, 2]]), Comparisons([[0, 1, 2, 3]]))
    np.testing.assert_array_equal(both.indices, [[0, 1, 0, 2], [0, 1, 2, 3]])


def test_joined_by_name():
    both = joined(Comparisons([("b", "c", "a")]), Comparisons([("d", "a", "b")]))
    assert both.names == ("a", "b", "c", "d")
    np.testing.assert_array_equal(both.indices, [[1, 2, 0], [3, 0, 1]])


def test_named_and_numbered_do_not_mix():
    named, numbered, more = Comparisons([("a", "b", "c")]), Comparisons([[0, 2, 1]]), Comparisons([[0, 1, 3]])
    assert joined(named, numbered).names == ("a", "b", "c")
    for first, second in ((named, more), (numbered, named)):
        with pytest.raises(
            InputError, match="some comparisons name their objects and the others number them"
        ):
            joined(first, second)


def test_reindexed_ignores_unused_names_and_refuses_unknown_ones():
    c = Comparisons([("a", "b", "c")], names=("a", "b", "c", "never used"))
    assert reindexed(c, ("c", "b", "a")).indices.tolist() == [[2, 1, 0]]
    with pytest.raises(InputError, match=r"does not know the object 'a' \(nor 1 others\)"):
        reindexed(c, ("c", "x"))
