"""Comparisons from answers, odd ones out, choices, rankings and cblearn's formats."""

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
from tests.refusals import refused
from tests.tables import named

ROWS = np.array([[0, 1, 2], [1, 2, 3], [3, 0, 1], [2, 3, 0]])


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
        with refused(
            offers=[("zero", "second"), ("zero", "undecided"), ("codes", {"first": 0, "second": 1})]
        ):
            Comparisons.from_responses(ROWS, [1, 0, 0, 1])
        assert list(Comparisons.from_responses(ROWS, [1, 0, 0, 1], zero="second"))[1] == (1, 3, 2)
        assert Comparisons.from_responses(ROWS, [1, 0, 0, 1], zero="undecided").n_dropped == 2
        assert len(Comparisons.from_responses(ROWS, [1, 1, 1, 1])) == 4
        with refused("'no'", parameter="zero"):
            Comparisons.from_responses(ROWS, [1, 1, 1, 1], zero="no")

    def test_ones_and_twos_are_ambiguous(self):
        for responses in ([1, 2, 2, 1], [1.0, 2.0, 2.0, 0.0]):
            with refused(offers=[("coding", "position"), ("coding", "signs")]):
                Comparisons.from_responses(ROWS, responses)
        c = Comparisons.from_responses(ROWS, [1, 2, 2, 0], coding="position")
        assert list(c) == [(0, 1, 2), (1, 3, 2), (3, 1, 0)]
        assert c.weights is None
        assert c.n_dropped == 1
        counts = Comparisons.from_responses(ROWS, [1, 2, 2, 1], coding="signs")
        assert counts.indices.tolist() == ROWS.tolist()
        assert counts.weights.tolist() == [1, 2, 2, 1]
        with refused(row=3):
            Comparisons.from_responses(ROWS, [1, 2, 2, 3], coding="position")

    def test_the_object_chosen(self):
        expected = [(0, 2, 1), (1, 2, 3), (3, 1, 0), (2, 3, 0)]
        with refused("(1, 2, 3)", offers=[("coding", "object")]):
            Comparisons.from_responses(ROWS, [2, 2, 1, 3])
        assert list(Comparisons.from_responses(ROWS, [2, 2, 1, 3], coding="object")) == expected
        names = np.array(["cat", "dog", "car", "bus"])
        c = Comparisons.from_responses(names[ROWS], ["car", "CAR", "dog", "bus"], names=names)
        assert list(c) == expected
        with refused(row=0, offers=[("coding", "position"), ("coding", "object")]):
            Comparisons.from_responses([["x", "b", "a"]], ["a"])
        assert named(Comparisons.from_responses([["x", "b", "a"]], ["a"], coding="object")) == [
            ("x", "a", "b")
        ]

    @pytest.mark.parametrize("words", ["yes no", "left right", "First SECOND", "a b", "true false", "1 -1"])
    def test_words(self, words):
        first, second = words.split()
        assert list(Comparisons.from_responses(ROWS[:2], [first, second])) == [(0, 1, 2), (1, 3, 2)]

    def test_bad_codings(self):
        with refused("'order'", "'signs', 'position', 'object'", parameter="coding"):
            Comparisons.from_responses(ROWS, [1] * 4, coding="order")
        with refused("'second'", "'position'", parameter="zero"):
            Comparisons.from_responses(ROWS, [1] * 4, coding="position", zero="second")

    @pytest.mark.parametrize(
        "make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "arrow"]
    )
    def test_questions_in_a_frame_are_found_by_name(self, make):
        frame = make(
            {"right": ["car", "bus"], "rt": [1, 2], "left": ["dog", "dog"], "anchor": ["cat", "cat"]}
        )
        c = Comparisons.from_responses(frame, [True, False])
        assert named(c) == [("cat", "dog", "car"), ("cat", "bus", "dog")]
        with refused("'x', 'y', 'z'", file="the frame", offers=["columns"]):
            Comparisons.from_responses(make({"x": [0], "y": [1], "z": [2]}), [1])
        assert list(Comparisons.from_responses(pd.DataFrame([[0, 1, 2]]), [-1])) == [(0, 2, 1)]

    @pytest.mark.parametrize(
        ("responses", "row", "shown"),
        [
            ([1, np.nan, 1, -1], 1, "nan"),
            ([1, np.inf, 1, -1], 1, "inf"),
            ([[1, 1], [1, -1], [1, 1], [1, 1]], 1, "[1, -1]"),
            (["yes", "no", "perhaps", "no"], 2, "'perhaps'"),
        ],
    )
    def test_bad_responses(self, responses, row, shown):
        with refused(f"the response {shown} is not", row=row, offers=[("invalid", "drop")]):
            Comparisons.from_responses(ROWS, responses)

    @pytest.mark.parametrize("responses", [np.ones((4, 3)), [1, 1], np.ones((2, 2))])
    def test_shapes_of_responses(self, responses):
        with refused(parameter="responses"):
            Comparisons.from_responses(ROWS, responses)

    def test_bad_responses_can_be_dropped(self):
        c = Comparisons.from_responses([*ROWS.tolist(), [1, 1, 2]], [1, np.nan, 0, -1, 1], invalid="drop")
        assert list(c) == [(0, 1, 2), (2, 0, 3)]
        assert c.n_dropped == 3

    def test_errors_name_the_row_of_the_question(self):
        with refused("(1, 1, 3)", row=2):
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

    def test_frames(self):
        trials = {"odd": ["car", "dog"], "a": ["cat", "bus"], "b": ["dog", "car"], "annotator": [5, 6]}
        c = Comparisons.from_odd_one_out(pd.DataFrame(trials))
        assert named(c)[::2] == [("cat", "dog", "car"), ("bus", "car", "dog")]
        assert c.annotators.tolist() == [5, 5, 6, 6]
        by_order = pd.DataFrame({"x": ["car"], "y": ["cat"], "z": ["dog"]})
        assert named(Comparisons.from_odd_one_out(by_order)) == [("car", "cat", "dog"), ("cat", "car", "dog")]
        assert named(Comparisons.from_odd_one_out(by_order, odd=0))[0] == ("cat", "dog", "car")

    def test_bad_trials_are_counted_as_trials(self):
        trials = [[0, 1, 2], [4, 4, 5], [3, 3, 1], [0, 1, 3]]
        with refused("2 invalid rows among 4", row=1):
            Comparisons.from_odd_one_out(trials)
        assert Comparisons.from_odd_one_out(trials, invalid="drop").n_dropped == 2

    def test_refusals(self):
        with refused("3 objects", "the shape (1, 4)"):
            Comparisons.from_odd_one_out([[0, 1, 2, 3]])
        with refused(3, parameter="odd"):
            Comparisons.from_odd_one_out([[0, 1, 2]], odd=3)
        with refused("(4, 4, 5)", row=1):
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

    def test_frames(self):
        shown = pd.DataFrame({"x": ["b", "a"], "y": ["c", "c"], "z": ["d", None]})
        for chosen in (pd.Series(["d", "c"]), pd.DataFrame({"first": ["d", "c"], "second": [None, None]})):
            c = Comparisons.from_choices(pd.Series(["a", "b"], index=[7, 8]), shown, chosen)
            assert named(c) == [("a", "d", "b"), ("a", "d", "c"), ("b", "c", "a")]
        picked = pl.DataFrame({"x": [False, True], "y": [True, False]})
        c = Comparisons.from_choices([0, 1], pl.DataFrame({"x": [1, 2], "y": [2, 3]}), picked)
        assert list(c) == [(0, 2, 1), (1, 2, 3)]

    def test_nothing_or_everything_chosen_says_nothing(self):
        assert len(Comparisons.from_choices([0, 0], [[1, 2], [1, 2]], [[], [1, 2]], n_objects=3)) == 0

    @pytest.mark.parametrize(
        ("arguments", "shown", "fields"),
        [
            (([0], [[1, 2]], [[3]]), "shown", {"parameter": "chosen", "row": 0}),
            (([0, 1], [[1, 2]], [[1]]), (2,), {"parameter": "probe"}),
            (([0], [[1, 2]], [[1], [2]]), "2", {"parameter": "chosen"}),
            (([0], [[1, 2]], [[True]]), "boolean", {"parameter": "chosen"}),
            (([0], [["a", "b"]], [["a"]]), "by name and others by index", {}),
            (([1], [[1, 2]], [[1]]), "(1, 1, 2)", {"row": 0, "offers": ["invalid"]}),
            ((["b"], [["b", "c"]], [["b"]]), "(b, b, c)", {"row": 0, "offers": ["invalid"]}),
            ((["a", "b"], [["b", "c"], [1, 2]], [["b"], [1]]), "by name", {"row": 1}),
        ],
    )
    def test_refusals(self, arguments, shown, fields):
        with refused(shown, **fields):
            Comparisons.from_choices(*arguments)

    def test_unknown_names(self):
        arguments = (["a", "b"], [["b", "c"], ["a", "cow"]], [["b"], ["a"]])
        with refused("'cow'", row=1):
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
        with refused("'some'", parameter="pairs"):
            Comparisons.from_rankings([0], [[1, 2]], pairs="some")
        with refused("(1, 2, 2)", row=1):
            Comparisons.from_rankings([0, 1], [[1, 2], [2, 2]])
        with refused("1.5", row=2):
            Comparisons.from_rankings([0, 0, 0], [[1, 2], [2, 1, 3], [3, 1.5, 2]])
        with refused("None", row=1, offers=["names"]):
            Comparisons.from_rankings(["a", "b"], [["b", "c"], ["a", None, "c"]])
        with refused("'NA'", row=1, offers=["names"]):
            Comparisons.from_rankings(["a", "NA"], [["b", "c"], ["a", "c"]])

    @pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
    def test_frames(self, make):
        ranking = make({"first": ["b", "a", "d"], "second": ["c", "c", "a"], "third": ["d", None, "c"]})
        c = Comparisons.from_rankings(["a", "b", "b"], ranking, pairs="adjacent")
        assert named(c) == [
            ("a", "b", "c"),
            ("a", "c", "d"),
            ("b", "a", "c"),
            ("b", "d", "a"),
            ("b", "a", "c"),
        ]
        assert c.groups.tolist() == [0, 0, 1, 2, 2]
        twice = make({"first": ["b", "c"], "second": ["c", "c"]})
        with refused("(a, c, c)", row=1):
            Comparisons.from_rankings(["a", "a"], twice)


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

    def test_weights_beyond_any_list_are_refused(self):
        many = Comparisons([[0, 2, 1], [0, 1, 2]], weights=[1, 10**9])
        with refused(parameter="format", offers=[("format", "list-count")]):
            many.to_cblearn()
        assert many.to_cblearn("list-count")[1].tolist() == [-1, 10**9]
        with refused("1e+300"):
            Comparisons([[0, 1, 2]], weights=[1e300]).to_cblearn("list-count")

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
        with refused("1.5", row=0):
            c.to_cblearn()
        with refused("'table'", "list-order", parameter="format"):
            c.to_cblearn("table")
        monkeypatch.setitem(sys.modules, "sparse", None)
        with pytest.raises(ImportError, match="pip install sparse"):
            Comparisons([[0, 1, 2]]).to_cblearn("tensor-count")
        with refused(parameter="response"):
            Comparisons.from_cblearn(tensor([[0, 1, 2]], [1], 3), [1])
        with refused((4, 7)):
            Comparisons.from_cblearn(scipy.sparse.coo_array((4, 7)))
        with refused(parameter="response"):
            Comparisons.from_cblearn([[0, 1, 2]], ["left"])
