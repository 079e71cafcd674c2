"""The container: what goes in, what comes out, what is refused."""

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse

from nearer import Interactions
from tests.refusals import refused


def pairs_of(interactions):
    return list(zip(interactions.left.tolist(), interactions.right.tolist(), strict=True))


def test_pairs_are_sorted_and_typed():
    found = Interactions([2, 0, 2, 0], [1, 3, 0, 1], weights=[4, 3, 2, 1], times=[40, 30, 20, 10])
    assert pairs_of(found) == [(0, 1), (0, 3), (2, 0), (2, 1)]
    assert found.weights.tolist() == [1, 3, 2, 4]
    assert found.times.tolist() == [10, 30, 20, 40]
    assert (found.left.dtype, found.right.dtype) == (np.int32, np.int32)
    assert (found.weights.dtype, found.times.dtype) == (np.float64, np.int64)
    assert (found.n_left, found.n_right, found.shape, len(found)) == (3, 4, (3, 4), 4)


def test_names_are_collected_on_each_side():
    found = Interactions(["bob", "ann"], [1, 0])
    assert found.left_names == ("ann", "bob")
    assert found.right_names is None
    assert pairs_of(found) == [(0, 0), (1, 1)]


def test_given_names_set_indices_and_sizes():
    found = Interactions(["bob"], ["tea"], left_names=["bob", "ann"], right_names=["milk", "tea", "rum"])
    assert pairs_of(found) == [(0, 1)]
    assert found.shape == (2, 3)


def test_equal_weights_of_one_are_none():
    assert Interactions([0, 1], [0, 1], weights=[1, 1]).weights is None
    assert Interactions([0, 1], [0, 1], weights=[1, 2]).weights.tolist() == [1, 2]


def test_the_callers_arrays_are_copied_and_the_result_is_frozen():
    left = np.array([0, 1], dtype=np.int32)
    found = Interactions(left, left, weights=[2, 3])
    left[0] = 1
    assert found.left.tolist() == [0, 1]
    with pytest.raises(ValueError, match="read-only"):
        found.left[0] = 1
    with pytest.raises(AttributeError, match="frozen"):
        found.left = left


def test_empty_interactions_are_fine():
    empty = Interactions([], [], n_left=3, n_right=2)
    assert len(empty) == 0
    assert empty.csr().shape == (3, 2)
    assert "0 pairs" in repr(empty)
    assert len(empty.core(2)) == len(empty.at_least(3)) == len(empty.transposed()) == 0


# -- pairs that occur again


def test_sums_count_and_keep_the_latest_time():
    found = Interactions([0, 1, 0], [1, 0, 1], times=[5, 1, 3])
    assert found.weights.tolist() == [2, 1]
    assert found.times.tolist() == [5, 1]
    assert Interactions([0, 0], [0, 0], weights=[2, 0.5]).weights.tolist() == [2.5]


def test_last_keeps_the_latest_or_the_last_given():
    rated = {"left": [0, 0, 0, 1], "right": [2, 2, 2, 0], "weights": [5, 3, 4, 2]}
    assert Interactions(**rated, duplicates="last").weights.tolist() == [4, 2]
    timed = Interactions(**rated, times=[1, 9, 9, 0], duplicates="last")
    assert (timed.weights.tolist(), timed.times.tolist()) == ([4, 2], [9, 0])
    timed = Interactions(**rated, times=[10, 9, 8, 0], duplicates="last")
    assert timed.weights.tolist() == [5, 2]


def test_refuse_names_the_pair_and_both_rows():
    with refused("(ann, tea)", "row 1", row=3, offers=["duplicates"]):
        Interactions(["bob", "ann", "ann", "ann"], ["tea", "tea", "rum", "tea"], duplicates="refuse")
    assert len(Interactions([0, 1], [0, 0], duplicates="refuse")) == 2


def test_weights_that_overflow_as_a_sum_are_refused():
    with refused("infinity", row=0):
        Interactions([0, 0], [0, 0], weights=[1e308, 1e308])


# -- sparse matrices


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "bsr"])
def test_sparse_there_and_back(form):
    dense = np.array([[0, 2.0, 0], [1, 0, 3]])
    found = Interactions.from_sparse(sparse.csr_matrix(dense).asformat(form), left_names=["a", "b"])
    assert np.array_equal(found.csr().toarray(), dense)
    assert found.left_names == ("a", "b")
    assert Interactions.from_sparse(found.csr(), left_names=["a", "b"]) == found


def test_sparse_arrays_and_booleans_and_zeros():
    matrix = sparse.csr_array(np.array([[True, False], [True, True]]))
    assert Interactions.from_sparse(matrix).weights is None
    stored = sparse.csr_matrix(([0.0, 2.0], [0, 1], [0, 2, 2]), shape=(2, 2))
    assert pairs_of(Interactions.from_sparse(stored)) == [(0, 1)]


def test_csr_is_sorted_and_a_copy():
    found = Interactions([1, 0, 1], [2, 1, 0])
    matrix = found.csr()
    assert isinstance(matrix, sparse.csr_matrix)
    assert matrix.dtype == np.float64
    assert matrix.indices.tolist() == [1, 0, 2]
    assert matrix.has_sorted_indices
    matrix.data[:] = 7
    matrix.indices[0] = 0
    assert found.weights is None
    assert found.right.tolist() == [1, 0, 2]


@pytest.mark.parametrize(
    ("matrix", "shown"),
    [(np.eye(2), "ndarray"), (sparse.csr_matrix(np.eye(2) * 1j), "complex")],
)
def test_what_is_no_sparse_matrix_of_numbers_is_refused(matrix, shown):
    with refused(shown, parameter="M"):
        Interactions.from_sparse(matrix)


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
def test_bad_entries_of_a_sparse_matrix_are_named(value):
    with refused(f"{value:g}", row=1, column=2):
        Interactions.from_sparse(sparse.coo_matrix(([1.0, value], ([0, 1], [0, 2]))))


def test_names_must_fit_the_matrix():
    with refused("3 names", parameter="n_right"):
        Interactions.from_sparse(sparse.eye(2), right_names=["a", "b", "c"])


# -- refusals


@pytest.mark.parametrize(
    ("arguments", "shown", "fields"),
    [
        (([0, -1], [0, 0]), ["-1"], {"row": 1, "column": "left"}),
        (([0, 1], [0.5, 0]), ["0.5"], {"row": 0, "column": "right"}),
        (([0, np.nan], [0, 0]), ["empty"], {"row": 1, "column": "left"}),
        ((["a", None], [0, 0]), ["empty"], {"row": 1, "column": "left"}),
        (([0, 1], [0]), ["1 rows", "2"], {"parameter": "right"}),
        (([0, 1], [0, 1], [1]), ["2 rows"], {"parameter": "weights"}),
        (([0, 1], [0, 1], None, [1, 2, 3]), ["2 rows"], {"parameter": "times"}),
        (([0, 1], [0, 1], [1, 0]), ["0"], {"row": 1, "column": "weights", "offers": ["at_least"]}),
        (([0, 1], [0, 1], [1, -2]), ["-2"], {"row": 1, "column": "weights"}),
        (([0, 1], [0, 1], [np.nan, 1]), ["nan"], {"row": 0, "column": "weights"}),
        (([0, 1], [0, 1], [np.inf, 1]), ["inf"], {"row": 0, "column": "weights"}),
        (([0, 1], [0, 1], ["x", 1]), ["numbers"], {"parameter": "weights"}),
        (([0, 1], [0, 1], None, [1, np.nan]), ["missing"], {"row": 1, "column": "times"}),
        (([0, 1], [0, 1], None, ["now", "then"]), ["dates"], {"parameter": "times"}),
        (([[0, 1]], [0]), ["(1, 2)"], {"parameter": "left"}),
        (("seen.csv", [0]), ["Interactions.read"], {"parameter": "left"}),
        ((sparse.eye(2), [0]), ["from_sparse"], {"parameter": "left"}),
        (({"user": [0]}, [0]), ["from_frame"], {"parameter": "left"}),
        (([True, False], [0, 1]), ["bool"], {"parameter": "left"}),
        (([0, 2**40], [0, 0]), ["out of range"], {"row": 1, "column": "left"}),
    ],
)
def test_bad_arrays_are_refused(arguments, shown, fields):
    with refused(*shown, **fields):
        Interactions(*arguments)


@pytest.mark.parametrize(
    ("options", "shown", "fields"),
    [
        ({"n_left": 1}, ["1", "exchanged"], {"row": 1, "column": "left"}),
        ({"n_right": 7}, ["9"], {"row": 1, "column": "right"}),
        ({"n_left": 2.5}, ["2.5"], {"parameter": "n_left"}),
        ({"left_names": ["a"], "n_left": 2}, ["1 names"], {"parameter": "n_left"}),
        ({"right_names": ["a", "a"]}, ["'a'"], {"parameter": "right_names"}),
        ({"duplicates": "first"}, ["'first'"], {"parameter": "duplicates"}),
    ],
)
def test_bad_settings_are_refused(options, shown, fields):
    with refused(*shown, **fields):
        Interactions([0, 1], [3, 9], **options)


def test_an_unknown_name_is_refused():
    with refused("'eve'", row=1, column="left"):
        Interactions(["ann", "eve"], [0, 0], left_names=["ann", "bob"])


def test_numbers_of_a_database_are_refused_with_a_remedy():
    ids = [3, 999_999_999]
    with refused("999,999,999", "astype(str)", parameter="left", offers=[("n_left", 10**9)]):
        Interactions(ids, [0, 1])
    assert Interactions(np.array(ids).astype(str), [0, 1]).left_names == ("3", "999999999")
    assert Interactions(ids, [0, 1], n_left=10**9).n_left == 10**9


# -- parts and copies


def test_dates_become_seconds():
    dates = np.array(["1970-01-01T00:00:03", "1970-01-02"], dtype="datetime64[ns]")
    found = Interactions([0, 1], [0, 1], times=dates)
    assert (found.times.tolist(), found.times.dtype) == ([3, 86400], np.int64)
    half = Interactions([0], [0], times=np.array(["1970-01-01T00:00:03.5"], dtype="datetime64[ms]"))
    assert half.times.tolist() == [3.5]
    with refused("missing", row=1):
        Interactions([0, 1], [0, 1], times=np.array(["1970-01-01", "NaT"], dtype="datetime64[s]"))


def test_at_least_keeps_shape_and_forgets_weights():
    rated = Interactions([0, 1, 2], [0, 1, 2], weights=[5, 3, 4], times=[1, 2, 3])
    liked = rated.at_least(4)
    assert (pairs_of(liked), liked.weights, liked.shape) == ([(0, 0), (2, 2)], None, (3, 3))
    assert liked.times.tolist() == [1, 3]
    assert len(liked.at_least(1)) == 2
    assert len(liked.at_least(1.5)) == 0
    with refused("nan", parameter="at_least"):
        rated.at_least(np.nan)


def test_core_drops_until_all_have_k():
    # dropping right 2 leaves left 2 with one pair, so that it goes too
    left = ["a", "a", "b", "b", "c", "c"]
    seen = Interactions(left, [0, 1, 0, 1, 1, 2], weights=[1, 2, 3, 4, 5, 6])
    core = seen.core(2)
    assert pairs_of(core) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert (core.left_names, core.shape, core.weights.tolist()) == (("a", "b"), (2, 3), [1, 2, 3, 4])
    assert seen.core(1) == seen
    assert len(seen.core(3)) == 0
    with refused("0", parameter="k"):
        seen.core(0)


def test_core_without_names_keeps_indices():
    core = Interactions([0, 1, 1, 2, 2], [0, 1, 2, 1, 2]).core(2)
    assert pairs_of(core) == [(1, 1), (1, 2), (2, 1), (2, 2)]
    assert core.shape == (3, 3)


def test_masks_slices_and_positions_choose_pairs():
    seen = Interactions([0, 1, 2], [2, 1, 0], weights=[1, 2, 3], right_names=["a", "b", "c"])
    assert pairs_of(seen[[True, False, True]]) == [(0, 2), (2, 0)]
    assert pairs_of(seen[[2, 0]]) == [(0, 2), (2, 0)]
    assert seen[1:].weights.tolist() == [2, 3]
    assert seen[-1] == (2, 0)
    assert seen[:1].shape == seen.shape
    assert seen[[]].right_names == seen.right_names
    for bad in ([0, 0], [[0]], [5], [True]):
        with pytest.raises(IndexError):
            seen[bad]


def test_transposed_twice_is_the_same():
    seen = Interactions([0, 0, 1], [2, 0, 1], [1, 2, 3], [4, 5, 6], left_names=["a", "b"])
    other = seen.transposed()
    assert pairs_of(other) == [(0, 0), (1, 1), (2, 0)]
    assert (other.right_names, other.weights.tolist(), other.times.tolist()) == (
        ("a", "b"),
        [2, 3, 1],
        [5, 6, 4],
    )
    assert np.array_equal(other.csr().toarray(), seen.csr().toarray().T)
    assert other.transposed() == seen


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
def test_copies_are_equal(again):
    seen = Interactions(["a", "b"], [0, 1], weights=[1, 2], times=[0.5, 1])
    assert again(seen) == seen


def test_equality_sees_every_field():
    base = {"left": [0, 1], "right": [0, 1], "weights": [1, 2], "times": [3, 4]}
    seen = Interactions(**base)
    assert seen == Interactions([1, 0], [1, 0], [2, 1], [4, 3])
    for change in (
        {"left": [0, 0]},
        {"weights": None},
        {"times": None},
        {"times": [3, 5]},
        {"n_left": 3},
        {"right_names": ["a", "b"]},
    ):
        assert seen != Interactions(**{**base, **change})
    assert seen != "interactions"


def test_repr_counts():
    seen = Interactions(["a", "b"], [0, 3], weights=[1, 2], times=[0, 1])
    assert repr(seen) == "Interactions(2 pairs, 2 left, 4 right, density 25%, left names, weights, times)"
