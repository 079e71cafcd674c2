"""The container itself: what it accepts, what it holds, how it behaves as a value and as an array."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

from nearer.comparisons import Comparisons
from tests.refusals import refused

TRIPLETS = [[0, 1, 2], [1, 2, 3], [3, 0, 1], [2, 3, 0]]
QUADRUPLETS = [[0, 1, 2, 3], [0, 1, 0, 2]]


@pytest.fixture
def full():
    return Comparisons(
        TRIPLETS,
        5,
        weights=[1, 2, 0.5, 0],
        annotators=["ann", "bob", "ann", "eve"],
        groups=[7, 7, 3, 3],
        names=["a", "b", "c", "d", "e"],
    )


class TestContent:
    def test_indices_are_int32_contiguous_and_read_only(self):
        given = np.asfortranarray(TRIPLETS)
        c = Comparisons(given)
        given[0, 0] = 3
        assert c.indices.dtype == np.int32
        assert c.indices.flags.c_contiguous
        assert c.indices.tolist() == TRIPLETS
        with pytest.raises(ValueError, match="read-only"):
            c.indices[0, 0] = 1

    def test_number_of_objects(self):
        assert Comparisons(TRIPLETS).n_objects == 4
        assert Comparisons(TRIPLETS, 9).n_objects == 9
        assert Comparisons(TRIPLETS, names=list("abcdefg")).n_objects == 7

    def test_fields(self, full):
        assert full.weights.dtype == np.float64
        assert full.groups.dtype == np.int64
        assert full.annotators.tolist() == ["ann", "bob", "ann", "eve"]
        assert full.names == ("a", "b", "c", "d", "e")
        assert full.shape == (4, 3)
        assert full.ndim == 2
        assert len(full) == 4

    def test_labels(self):
        c = Comparisons(TRIPLETS, annotators=[3.0, 1.0, 2.0, 3.0], groups=["x", "b", "x", "a"])
        assert c.annotators.dtype == np.int64
        assert c.groups.tolist() == [2, 1, 2, 0]

    def test_labels_without_a_type_of_their_own(self):
        c = Comparisons(
            TRIPLETS,
            annotators=np.array(list("abca"), dtype=object),
            groups=np.array([4, 4, 1, 1], dtype=object),
        )
        assert c.annotators.dtype.kind == "U"
        assert c.groups.tolist() == [4, 4, 1, 1]
        with refused(parameter="annotators"):
            Comparisons(TRIPLETS, annotators=["a", None, "b", "c"])

    @pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint64, np.float32, np.float64, object])
    def test_types_of_indices(self, dtype):
        assert Comparisons(np.array(TRIPLETS, dtype=dtype)).indices.tolist() == TRIPLETS

    def test_names_in_cells(self):
        c = Comparisons([("dog", "cat", "car"), ("cat", "dog", "bus")])
        assert c.names == ("bus", "car", "cat", "dog")
        assert list(c) == [(3, 2, 1), (2, 3, 0)]
        given = Comparisons(
            np.array([["dog", "cat", "car"]], dtype=object), names=["car", "bus", "cat", "dog"]
        )
        assert list(given) == [(3, 2, 0)]

    def test_empty(self):
        assert Comparisons([]).shape == (0, 3)
        assert Comparisons(np.empty((0, 4)), 5).shape == (0, 4)
        assert Comparisons([], names=["a"]).n_objects == 1

    def test_quadruplets(self):
        assert Comparisons(QUADRUPLETS).quadruplets().tolist() == QUADRUPLETS
        quadruplets = Comparisons([[0, 1, 2]]).quadruplets()
        assert quadruplets.tolist() == [[0, 1, 0, 2]]
        assert quadruplets.dtype == np.int32


class TestBadInput:
    @pytest.mark.parametrize(
        ("rows", "shown"),
        [
            ([[0, 1]], "got (1, 2)"),
            ([0, 1, 2], "got (3,)"),
            ([[[0, 1, 2]]], "got (1, 1, 3)"),
            ([[0, 1, 2], [0, 1]], "different lengths"),
            ([[True, False, True]], "array of bool"),
            (np.array([[0, "a", 1]], dtype=object), "array of object"),
            (np.array([[0, {}, 1]], dtype=object), "array of object"),
        ],
    )
    def test_arrays_that_are_not_rows(self, rows, shown):
        with refused(shown):
            Comparisons(rows)

    @pytest.mark.parametrize(
        ("bad", "shown", "column"),
        [
            ([0, 1, -1], "index -1", None),
            ([0, 1, np.nan], "1.0, nan) has an empty cell", 2),
            ([0, 1, None], "(0, 1, None) has an empty cell", 2),
            ([0, 1, 2.5], "2.5 is not a whole", 2),
            ([0, 1, np.inf], "inf is not a whole", 2),
            ([0, 1, 2**40], "the index 1099511627776", None),
            ([0, 0, 2], "(0, 0, 2) compares", None),
            ([0, 2, 0], "(0, 2, 0) compares", None),
            ([0, 2, 2], "(0, 2, 2) compares", None),
            ([0, 0, 1, 2], "(0, 0, 1, 2) compares", None),
            ([0, 1, 2, 2], "(0, 1, 2, 2) compares", None),
            ([0, 1, 0, 1], "(0, 1, 0, 1) compares", None),
            ([0, 1, 1, 0], "(0, 1, 1, 0) compares", None),
            (["a", "b", ""], "(a, b, )", 2),
            (["a", "NA", "c"], "(a, NA, c)", 1),
            (["a", "b", np.nan], "(a, b, nan) has an empty cell", 2),
        ],
    )
    def test_bad_rows_are_named_and_can_be_dropped(self, bad, shown, column):
        good = list(range(len(bad))) if not isinstance(bad[0], str) else list("abc")
        rows = [tuple(good), tuple(bad)]
        with refused(shown, row=1, offers=[("invalid", "drop")]) as caught:
            Comparisons(rows)
        assert caught.value.place.column == column
        kept = Comparisons(rows, invalid="drop")
        assert (len(kept), kept.n_dropped) == (1, 1)

    @pytest.mark.parametrize(
        ("fields", "parameter", "shown"),
        [
            ({"n_objects": 2.5}, "n_objects", "2.5"),
            ({"n_objects": True}, "n_objects", "True"),
            ({"n_objects": -1}, "n_objects", "-1"),
            ({"n_objects": 3, "names": list("abcd")}, "n_objects", "4 names"),
            ({"names": "abcd"}, "names", "'abcd'"),
            ({"names": ["a", "b", "a", "d"]}, "names", "'a'"),
            ({"names": ["a", "", "c", "d"]}, "names", "''"),
            ({"names": ["a", "b\0", "c", "d"]}, "names", "NUL"),
            ({"names": [1, 2, 3, 4]}, "names", "1"),
            ({"names": ["a", "\ud800", "c", "d"]}, "names", repr("\ud800")),
            ({"weights": [1, 2]}, "weights", (2,)),
            ({"weights": ["x"] * 4}, "weights", "numbers"),
            ({"annotators": [1.5] * 4}, "annotators", "float64"),
            ({"groups": [1, 2, np.nan, 3]}, "groups", "float64"),
            ({"groups": [1, 2]}, "groups", (2,)),
            ({"invalid": "ignore"}, "invalid", "'ignore'"),
        ],
    )
    def test_bad_fields_are_named(self, fields, parameter, shown):
        with refused(shown, parameter=parameter):
            Comparisons(TRIPLETS, **fields)

    @pytest.mark.parametrize(
        ("fields", "row", "shown"),
        [
            ({"n_objects": 3}, 1, "index 3"),
            ({"weights": [1, -1, 1, 1]}, 1, "-1.0"),
            ({"weights": [1, 1, np.nan, 1]}, 2, "nan"),
        ],
    )
    def test_rows_that_do_not_fit_the_fields(self, fields, row, shown):
        with refused(shown, row=row, offers=["invalid"]):
            Comparisons(TRIPLETS, **fields)

    def test_unknown_name(self):
        with refused("'cow'", row=1, column=2, offers=["invalid"]):
            Comparisons([["a", "b", "c"], ["a", "b", "cow"]], names=["a", "b", "c"])

    def test_an_object_may_be_called_na_if_the_names_say_so(self):
        assert list(Comparisons([["a", "NA", "c"]], names=["NA", "a", "c"])) == [(1, 0, 2)]
        dropped = Comparisons([["a", "NA", "c"], ["a", "b", "c"]], invalid="drop")
        assert (dropped.names, dropped.n_dropped) == (("a", "b", "c"), 1)

    def test_error_counts_and_names_the_first(self):
        with refused("2 invalid rows among 4", row=1):
            Comparisons([[0, 1, 2], [0, 0, 1], [1, 1, 1], [2, 1, 0]])

    def test_drop(self):
        c = Comparisons(
            [[0, 1, 2], [0, 0, 1], [0, 1, 9], [np.nan, 1, 2], [2, 1, 0], [1, 2, 0]],
            3,
            weights=[1, 2, 3, 4, 5, np.inf],
            annotators=list("abcdef"),
            groups=range(6),
            invalid="drop",
        )
        assert list(c) == [(0, 1, 2), (2, 1, 0)]
        assert c.n_dropped == 4
        assert c.weights.tolist() == [1, 5]
        assert c.annotators.tolist() == ["a", "e"]
        assert c.groups.tolist() == [0, 4]

    def test_dropped_rows_do_not_count_objects(self):
        assert Comparisons([[0, 1, 2], [9, 9, 1]], invalid="drop").n_objects == 3


class TestValue:
    def test_frozen(self, full):
        for name in ("indices", "n_objects", "other"):
            with pytest.raises(AttributeError, match="frozen"):
                setattr(full, name, 1)
        with pytest.raises(AttributeError, match="frozen"):
            del full.indices

    def test_no_hash(self, full):
        with pytest.raises(TypeError, match="unhashable"):
            hash(full)

    @pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, lambda c: pickle.loads(pickle.dumps(c))])
    def test_copies(self, full, clone):
        twin = clone(full)
        assert twin == full
        assert not twin.indices.flags.writeable
        assert type(twin) is Comparisons

    def test_pickle_keeps_the_count_of_dropped_rows(self):
        c = Comparisons([[0, 1, 2], [0, 0, 1]], invalid="drop")
        assert pickle.loads(pickle.dumps(c)).n_dropped == 1

    def test_equality(self, full):
        plain = Comparisons(TRIPLETS)
        assert plain == Comparisons(TRIPLETS)
        assert plain != full
        assert plain != Comparisons(TRIPLETS, 9)
        assert plain != Comparisons(TRIPLETS, weights=[1] * 4)
        assert plain != Comparisons(TRIPLETS[:3], 4)
        assert plain != Comparisons(TRIPLETS, names=list("abcd"))
        assert plain != TRIPLETS

    def test_repr(self, full):
        about = "names, weights, annotators, groups, 1 object in no comparison (e)"
        assert repr(full) == f"Comparisons(4 triplets, 5 objects, {about})"
        assert repr(Comparisons(QUADRUPLETS)) == "Comparisons(2 quadruplets, 4 objects)"
        dropped = Comparisons([[0, 1, 2], [0, 0, 1]], invalid="drop")
        assert repr(dropped) == "Comparisons(1 triplet, 3 objects, 1 dropped)"

    def test_objects_in_no_comparison(self, full):
        assert full.uncompared().tolist() == [4]
        assert Comparisons(TRIPLETS).uncompared().tolist() == []
        many = Comparisons([[1, 2, 3]], 9)
        assert many.uncompared().tolist() == [0, 4, 5, 6, 7, 8]
        assert "6 objects in no comparison (0, 4, 5, ...)" in repr(many)

    def test_iteration_gives_tuples_of_ints(self, full):
        rows = list(full)
        assert rows == [tuple(row) for row in TRIPLETS]
        assert type(rows[0][0]) is int
        many = Comparisons(np.tile(TRIPLETS, (3000, 1)))
        assert len(list(many)) == 12000


class TestIndexing:
    @pytest.mark.parametrize(
        "key",
        [
            [3, 0],
            np.array([3, 0]),
            np.array([3, 0], dtype=np.uint8),
            (np.array([3, 0]), ...),
            ([3, 0], slice(None)),
        ],
    )
    def test_rows(self, full, key):
        part = full[key]
        assert isinstance(part, Comparisons)
        assert part.indices.tolist() == [TRIPLETS[3], TRIPLETS[0]]
        assert part.weights.tolist() == [0, 1]
        assert part.annotators.tolist() == ["eve", "ann"]
        assert part.groups.tolist() == [3, 7]
        assert part.n_objects == 5
        assert part.names == full.names

    def test_masks_and_slices(self, full):
        assert list(full[[True, False, False, True]]) == [full[0], full[3]]
        assert list(full[np.array([False] * 4)]) == []
        assert list(full[1:3]) == [full[1], full[2]]
        assert list(full[::-1]) == list(full)[::-1]
        assert full[::-1].indices.flags.c_contiguous
        assert len(full[[]]) == 0
        assert len(full[4:]) == 0
        assert full.head(2) == full[:2]
        assert len(full.head(0)) == 0
        assert len(full.head(-3)) == 0

    def test_one_row(self, full):
        assert full[1] == (1, 2, 3)
        assert full[np.int64(-1)] == (2, 3, 0)
        with pytest.raises(IndexError):
            full[4]

    def test_refusals(self, full):
        with pytest.raises(IndexError, match=r"use .indices\[rows, columns\]"):
            full[:, 0]
        with pytest.raises(IndexError, match="one-dimensional"):
            full[np.zeros((2, 2), dtype=int)]
        with pytest.raises(IndexError):
            full[[True, False]]

    def test_a_part_has_dropped_nothing(self):
        c = Comparisons([[0, 1, 2], [0, 0, 1]], invalid="drop")
        assert c[:1].n_dropped == 0


class TestNumpy:
    def test_round_trip(self, full):
        assert Comparisons(np.asarray(full), 5).indices.tolist() == TRIPLETS
        assert np.asarray(full) is full.indices
        assert np.array(full).flags.writeable
        assert np.asarray(full, dtype=np.float32).dtype == np.float32

    def test_no_copy_on_demand(self, full):
        with pytest.raises(ValueError, match="needs a copy"):
            full.__array__(np.int64, copy=False)
        assert full.__array__(copy=False) is full.indices


def test_import_is_light():
    code = (
        "import sys, nearer.comparisons as m; m.Comparisons([[0, 1, 2]]).split; "
        "bad = {'pyarrow', 'pandas', 'sklearn', 'scipy', 'numba', 'matplotlib'} & set(sys.modules); "
        "sys.exit(repr(bad) if bad else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
