"""Comparisons from answers, odd ones out, choices, rankings, tables and cblearn's formats."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

from nearer.comparisons import Comparisons
from nearer.errors import InputError

ROWS = np.array([[0, 1, 2], [1, 2, 3], [3, 0, 1], [2, 3, 0]])


def named(c):
    return [tuple(c.names[i] for i in row) for row in c]


class TestResponses:
    def test_signs_and_booleans(self):
        expected = [(0, 1, 2), (1, 3, 2), (3, 1, 0), (2, 3, 0)]
        for responses in ([1, -1, -1, 1], [True, False, False, True], np.array([1.0, -1, -1, 1])):
            c = Comparisons.from_responses(ROWS, responses)
            assert list(c) == expected
            assert c.weights is None
            assert c.groups is None

    def test_quadruplets(self):
        assert list(Comparisons.from_responses([[0, 1, 2, 3]], [-1])) == [(2, 3, 0, 1)]

    def test_counts_become_weights(self):
        c = Comparisons.from_responses(ROWS, [3, -2, 0, 1], weights=[1, 0.5, 1, 1], annotators=list("abcd"))
        assert list(c) == [(0, 1, 2), (1, 3, 2), (2, 3, 0)]
        assert c.weights.tolist() == [3, 1, 1]
        assert c.annotators.tolist() == ["a", "b", "d"]
        assert c.n_dropped == 1

    def test_votes(self):
        c = Comparisons.from_responses(ROWS, [[2, 1], [0, 3], [0, 0], [1, 0]])
        assert list(c) == [(0, 1, 2), (0, 2, 1), (1, 3, 2), (2, 3, 0)]
        assert c.weights.tolist() == [2, 1, 3, 1]
        assert c.groups.tolist() == [0, 0, 1, 3]
        assert c.n_dropped == 1

    def test_given_groups_stay(self):
        assert (
            Comparisons.from_responses(ROWS, [[1, 1]] * 4, groups=list("bbaa")).groups.tolist()
            == [1] * 4 + [0] * 4
        )

    def test_zeros_and_ones_are_ambiguous(self):
        with pytest.raises(InputError, match="pass zero='second' or zero='undecided'"):
            Comparisons.from_responses(ROWS, [1, 0, 0, 1])
        assert list(Comparisons.from_responses(ROWS, [1, 0, 0, 1], zero="second"))[1] == (1, 3, 2)
        assert Comparisons.from_responses(ROWS, [1, 0, 0, 1], zero="undecided").n_dropped == 2
        assert len(Comparisons.from_responses(ROWS, [1, 1, 1, 1])) == 4
        with pytest.raises(InputError, match="zero='no' is not known"):
            Comparisons.from_responses(ROWS, [1, 1, 1, 1], zero="no")

    @pytest.mark.parametrize(
        ("responses", "message"),
        [
            ([1, 1], "4 questions but 2 responses"),
            ([1, np.nan, 1, -1], r"row 1 .*: the response is missing"),
            ([[1, 1], [1, -1], [1, 1], [1, 1]], r"row 1 .*a negative number of votes"),
            (["yes"] * 4, "responses must be booleans or numbers"),
            (np.ones((4, 3)), r"got \(4, 3\)"),
        ],
    )
    def test_bad_responses(self, responses, message):
        with pytest.raises(InputError, match=message):
            Comparisons.from_responses(ROWS, responses)

    def test_bad_responses_can_be_dropped(self):
        c = Comparisons.from_responses([*ROWS.tolist(), [1, 1, 2]], [1, np.nan, 0, -1, 1], invalid="drop")
        assert list(c) == [(0, 1, 2), (2, 0, 3)]
        assert c.n_dropped == 3

    def test_errors_name_the_row_of_the_question(self):
        with pytest.raises(InputError, match=r"row 2 \(counting from 0\): \(1, 1, 3\)"):
            Comparisons.from_responses([[0, 1, 2], [0, 1, 3], [1, 1, 3]], [0, 1, 1], zero="undecided")

    def test_unknown_options_are_refused(self):
        with pytest.raises(TypeError, match="unexpected keyword"):
            Comparisons.from_responses(ROWS, [1] * 4, weight=[1] * 4)


class TestOddOneOut:
    def test_two_triplets_in_one_group(self):
        c = Comparisons.from_odd_one_out([["cat", "dog", "car"], ["bus", "car", "dog"]], annotators=[5, 6])
        assert named(c) == [
            ("cat", "dog", "car"),
            ("dog", "cat", "car"),
            ("bus", "car", "dog"),
            ("car", "bus", "dog"),
        ]
        assert c.groups.tolist() == [0, 0, 1, 1]
        assert c.annotators.tolist() == [5, 5, 6, 6]

    def test_column_of_the_odd_one(self):
        assert list(Comparisons.from_odd_one_out([[7, 1, 2]], odd=0)) == [(1, 2, 7), (2, 1, 7)]

    def test_refusals(self):
        with pytest.raises(InputError, match="3 objects"):
            Comparisons.from_odd_one_out([[0, 1, 2, 3]])
        with pytest.raises(InputError, match="pass 0, 1 or 2"):
            Comparisons.from_odd_one_out([[0, 1, 2]], odd=3)
        with pytest.raises(InputError, match=r"row 1 .*\(4, 4, 5\)"):
            Comparisons.from_odd_one_out([[0, 1, 2], [4, 4, 5]])


class TestChoices:
    def test_choose_two_of_four(self):
        expected = [(0, 2, 1), (0, 2, 3), (0, 4, 1), (0, 4, 3)]
        mask = [[False, True, False, True]]
        for chosen in ([[4, 2]], np.array([[2, 4]]), mask, np.array(mask)):
            c = Comparisons.from_choices([0], np.array([[1, 2, 3, 4]]), chosen)
            assert list(c) == expected
            assert c.groups.tolist() == [0] * 4

    def test_one_choice_a_screen(self):
        c = Comparisons.from_choices([0, 1], [[1, 2], [2, 3]], [1, 3], weights=[1, 2])
        assert list(c) == [(0, 1, 2), (1, 3, 2)]
        assert c.weights.tolist() == [1, 2]

    def test_ragged_screens_with_names(self):
        c = Comparisons.from_choices(
            ["a", "b"], [["b", "c", "d"], ["a", "c"]], [["d"], ["c"]], annotators=["x", "y"]
        )
        assert named(c) == [("a", "d", "b"), ("a", "d", "c"), ("b", "c", "a")]
        assert c.groups.tolist() == [0, 0, 1]
        assert c.annotators.tolist() == ["x", "x", "y"]

    def test_nothing_or_everything_chosen_says_nothing(self):
        assert len(Comparisons.from_choices([0, 0], [[1, 2], [1, 2]], [[], [1, 2]], n_objects=3)) == 0

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (([0], [[1, 2]], [[3]]), "screen 0 .* not among those shown"),
            (([0, 1], [[1, 2]], [[1]]), "1 lists of objects but the probes have the shape"),
            (([0], [[1, 2]], [[1], [2]]), "1 screens but 2 choices"),
            (([0], [[1, 2]], [[True]]), "the booleans do not fit"),
            (([0], [["a", "b"]], [["a"]]), "some objects are given by name and others by index"),
            (([1], [[1, 2]], [[1]]), r"row 0 .*\(1, 1, 2\) compares"),
        ],
    )
    def test_refusals(self, arguments, message):
        with pytest.raises(InputError, match=message):
            Comparisons.from_choices(*arguments)

    def test_unknown_names(self):
        arguments = (["a", "b"], [["b", "c"], ["a", "cow"]], [["b"], ["a"]])
        with pytest.raises(InputError, match="'cow' is not one of the names given"):
            Comparisons.from_choices(*arguments, names=["a", "b", "c"])
        c = Comparisons.from_choices(*arguments, names=["a", "b", "c"], invalid="drop")
        assert named(c) == [("a", "b", "c")]
        assert c.n_dropped == 1


class TestRankings:
    def test_all_pairs_and_neighbours(self):
        ranking = [[3, 1, 2], [4, 5]]
        c = Comparisons.from_rankings([0, 1], ranking)
        assert list(c) == [(0, 3, 1), (0, 3, 2), (0, 1, 2), (1, 4, 5)]
        assert c.groups.tolist() == [0, 0, 0, 1]
        adjacent = Comparisons.from_rankings([0, 1], ranking, pairs="adjacent")
        assert list(adjacent) == [(0, 3, 1), (0, 1, 2), (1, 4, 5)]

    def test_refusals(self):
        with pytest.raises(InputError, match="pairs='some' is not known"):
            Comparisons.from_rankings([0], [[1, 2]], pairs="some")
        with pytest.raises(InputError, match=r"row 1 .*\(1, 2, 2\)"):
            Comparisons.from_rankings([0, 1], [[1, 2], [2, 2]])
        with pytest.raises(InputError, match=r"1.5 is not a whole number"):
            Comparisons.from_rankings([0], [[1.5, 2]])


FRAME = {
    "id": [10, 11],
    "anchor": ["cat", "dog"],
    "near": ["dog", "cat"],
    "far": ["car", "car"],
    "weight": [1.0, 2.5],
    "annotator": ["ann", "bob"],
    "group": [4, 4],
}


class TestFrames:
    @pytest.mark.parametrize(
        "make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "arrow"]
    )
    def test_kinds_of_frames(self, make):
        c = Comparisons.from_frame(make(FRAME))
        assert named(c) == [("cat", "dog", "car"), ("dog", "cat", "car")]
        assert c.weights.tolist() == [1, 2.5]
        assert c.annotators.tolist() == ["ann", "bob"]
        assert c.groups.tolist() == [4, 4]

    def test_interchange_protocol(self):
        class Other:
            def __init__(self, frame):
                self.frame = frame

            def __dataframe__(self, **options):
                return self.frame.__dataframe__(**options)

        c = Comparisons.from_frame(Other(pa.table({"i": [0], "j": [1], "k": [2]})))
        assert list(c) == [(0, 1, 2)]

    def test_categories_and_missing_values(self):
        frame = pd.DataFrame(FRAME).astype({"anchor": "category"})
        assert named(Comparisons.from_frame(frame)) == named(Comparisons.from_frame(pd.DataFrame(FRAME)))
        frame = pl.DataFrame(FRAME).with_columns(pl.col("near").cast(pl.Categorical))
        assert len(Comparisons.from_frame(frame)) == 2
        holes = pd.DataFrame({"i": [0, 1], "j": [1, np.nan], "k": [2, 2]})
        with pytest.raises(InputError, match=r"row 1 \(counting from 0\): \(1, None, 2\) has an empty cell"):
            Comparisons.from_frame(holes)
        assert Comparisons.from_frame(holes, invalid="drop").n_dropped == 1

    def test_columns_without_names(self):
        assert list(Comparisons.from_frame(pd.DataFrame([[0, 1, 2]]))) == [(0, 1, 2)]
        with pytest.raises(InputError, match="2 columns without names"):
            Comparisons.from_frame(pd.DataFrame([[0, 1]]))

    def test_other_columns_may_hold_anything(self):
        frame = pd.DataFrame({"i": [0], "j": [1], "k": [2], "what": [object()]})
        assert len(Comparisons.from_frame(frame)) == 1

    def test_columns_by_hand(self):
        frame = pd.DataFrame({"x": [0], "y": [1], "z": [2], "w": [3.0]})
        c = Comparisons.from_frame(frame, columns={"anchor": "x", "near": "z", "far": "y", "weight": 3})
        assert list(c) == [(0, 2, 1)]
        assert c.weights.tolist() == [3]

    def test_responses(self):
        frame = pd.DataFrame({"anchor": [0, 0], "a": [1, 1], "b": [2, 3], "response": [True, False]})
        assert list(Comparisons.from_frame(frame)) == [(0, 1, 2), (0, 3, 1)]

    def test_round_trip(self):
        c = Comparisons.from_frame(pd.DataFrame(FRAME))
        assert c.to_frame().columns.tolist() == ["anchor", "near", "far", "weight", "annotator", "group"]
        assert Comparisons.from_frame(c.to_frame(), names=c.names) == c
        plain = Comparisons([[0, 1, 2, 3]])
        assert plain.to_frame().columns.tolist() == ["near_a", "near_b", "far_a", "far_b"]
        assert Comparisons.from_frame(plain.to_frame()) == plain

    @pytest.mark.parametrize(
        ("frame", "message"),
        [
            ({"x": [0], "y": [1], "z": [2]}, "the columns 'x', 'y', 'z' are not anchor, near, far or near_a"),
            ({"anchor": [0], "a": [1], "b": [2]}, "the column 'a' does not say who won"),
            ({"i": [0], "center": [1], "j": [2], "k": [3]}, "'i' and 'center' could both be 'anchor'"),
            ({"i": ["a"], "j": [2], "k": [3]}, "'anchor' holds names and that for 'far' numbers"),
            ({"i": [0, "a"], "j": [1, 1], "k": [2, 2]}, r"row 1 .*column 'anchor' mixes numbers and names"),
            ({"i": [0], "j": [1], "k": [2], "weight": ["much"]}, "the weight much is not a finite number"),
            ({"i": [0], "j": [1], "k": [2], "group": [1.5]}, "the group 1.5 is neither"),
            ({"i": [0], "j": [1], "k": [2], "group": [None]}, "the group is missing"),
            ({"i": [0], "j": [1], "k": [2], "response": ["maybe"]}, "the response 'maybe' is not 1, -1, 0"),
            ({"i": [[0]], "j": [1], "k": [2]}, "whole numbers or strings, got a column of list"),
            ({"i": [0], "j": [1], "k": [2], "weight": [[1]]}, "weights must be numbers"),
        ],
    )
    def test_refusals(self, frame, message):
        with pytest.raises(InputError, match=message):
            Comparisons.from_frame(pd.DataFrame(frame))

    def test_the_plain_name_of_a_part_beats_other_names(self):
        frame = pd.DataFrame({"i": [0], "anchor": [1], "j": [2], "center": [3], "k": [4]})
        assert list(Comparisons.from_frame(frame)) == [(1, 2, 4)]

    def test_not_a_frame(self):
        with pytest.raises(InputError, match="a list is no table"):
            Comparisons.from_frame([[0, 1, 2]])

    @pytest.mark.parametrize(
        ("columns", "message"),
        [
            ({"anker": "x"}, "columns has the key 'anker'"),
            ({"anchor": "w"}, "no column 'w' for 'anchor'; the columns are 'x', 'y', 'z'"),
            ({"anchor": 7}, "no column 7"),
        ],
    )
    def test_bad_columns(self, columns, message):
        with pytest.raises(InputError, match=message):
            Comparisons.from_frame(pd.DataFrame({"x": [0], "y": [1], "z": [2]}), columns=columns)


class TestRecords:
    def test_names_weights_and_missing_keys(self):
        c = Comparisons.from_records(
            [
                {"anchor": "a", "near": "b", "far": "c", "weight": 2},
                {"anchor": "c", "near": "a", "far": "b", "weight": 1},
            ]
        )
        assert named(c) == [("a", "b", "c"), ("c", "a", "b")]
        assert c.weights.tolist() == [2, 1]
        with pytest.raises(InputError, match=r"row 1 .*the weight is missing"):
            Comparisons.from_records([{"i": 0, "j": 1, "k": 2, "weight": 1}, {"i": 0, "j": 1, "k": 2}])

    def test_refusals(self):
        with pytest.raises(InputError, match="no records"):
            Comparisons.from_records([])
        with pytest.raises(InputError, match="mixes numbers and names, here 'x'"):
            Comparisons.from_records([{"i": 0, "j": 1, "k": 2}, {"i": 0, "j": "x", "k": 2}])


class Tensor(SimpleNamespace):
    """What of a `sparse.COO` counts here."""


def tensor(rows, data, n):
    return Tensor(coords=np.array(rows).T, data=np.array(data), shape=(n,) * len(rows[0]))


class TestCblearn:
    def test_lists(self):
        rows = [[0, 1, 2], [3, 1, 0]]
        assert list(Comparisons.from_cblearn(rows)) == [(0, 1, 2), (3, 1, 0)]
        expected = [(0, 1, 2), (3, 0, 1)]
        for response in (
            [True, False],
            [1, -1],
            [1, 0],
        ):  # in cblearn numbers that are all 0 or 1 are booleans
            assert list(Comparisons.from_cblearn(rows, response)) == expected
        counted = Comparisons.from_cblearn([*rows, [2, 0, 1]], [2, -1, 0])
        assert list(counted) == expected
        assert counted.weights.tolist() == [2, 1]
        assert counted.n_dropped == 1

    def test_quadruplets_turn_by_pairs(self):
        assert list(Comparisons.from_cblearn([[0, 1, 2, 3]], [False])) == [(2, 3, 0, 1)]

    def test_sparse_tensor(self):
        c = Comparisons.from_cblearn(tensor([[0, 1, 2], [3, 0, 1]], [2, -1], 5))
        assert list(c) == [(0, 1, 2), (3, 1, 0)]
        assert c.weights.tolist() == [2, 1]
        assert c.n_objects == 5
        four = Comparisons.from_cblearn(tensor([[0, 1, 2, 3]], [-1], 4))
        assert list(four) == [(2, 3, 0, 1)]

    def test_flat_scipy_matrix(self):
        flat = scipy.sparse.coo_array(([1, -1], ([0, 3], [1 * 4 + 2, 0 * 4 + 1])), shape=(4, 16))
        for matrix in (flat, flat.tocsr()):
            assert sorted(Comparisons.from_cblearn(matrix)) == [(0, 1, 2), (3, 1, 0)]

    def test_to_lists(self):
        c = Comparisons([[0, 2, 1], [0, 1, 2], [1, 0, 3]], weights=[1, 2, 0])
        assert c.to_cblearn().tolist() == [[0, 2, 1], [0, 1, 2], [0, 1, 2]]
        rows, response = c.to_cblearn("list-boolean")
        assert rows.tolist() == [[0, 1, 2]] * 3
        assert response.tolist() == [False, True, True]
        rows, response = c.to_cblearn("list-count")
        assert rows.tolist() == [[0, 1, 2]] * 2
        assert response.tolist() == [-1, 2]

    def test_standard_order_of_quadruplets(self):
        rows, response = Comparisons([[3, 2, 1, 0], [1, 0, 3, 2], [2, 1, 1, 0]]).to_cblearn("list-boolean")
        assert rows.tolist() == [[0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 1, 2]]
        assert response.tolist() == [False, True, False]

    def test_to_tensor(self, monkeypatch):
        fake = SimpleNamespace(COO=lambda coords, data, shape: Tensor(coords=coords, data=data, shape=shape))
        monkeypatch.setitem(sys.modules, "sparse", fake)
        c = Comparisons([[0, 2, 1], [3, 0, 1]], 5, weights=[3, 1])
        result = c.to_cblearn("tensor-count")
        assert result.shape == (5, 5, 5)
        assert result.coords.tolist() == [[0, 3], [1, 0], [2, 1]]
        assert result.data.tolist() == [-3, 1]
        assert Comparisons.from_cblearn(result) == c

    def test_refusals(self, monkeypatch):
        c = Comparisons([[0, 1, 2]], weights=[1.5])
        with pytest.raises(InputError, match=r"the weight 1.5 is no whole number"):
            c.to_cblearn()
        with pytest.raises(InputError, match="format='table' is not known"):
            c.to_cblearn("table")
        monkeypatch.setitem(sys.modules, "sparse", None)
        with pytest.raises(ImportError, match="pip install sparse"):
            Comparisons([[0, 1, 2]]).to_cblearn("tensor-count")
        with pytest.raises(InputError, match="leave the response out"):
            Comparisons.from_cblearn(tensor([[0, 1, 2]], [1], 3), [1])
        with pytest.raises(InputError, match=r"shape \(n, n, n\)"):
            Comparisons.from_cblearn(scipy.sparse.coo_array((4, 7)))
        with pytest.raises(InputError, match="booleans or numbers"):
            Comparisons.from_cblearn([[0, 1, 2]], ["left"])
