"""Comparisons from DataFrames and records."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from nearer.comparisons import Comparisons
from nearer.ordinal import OrdinalEmbedding
from tests.refusals import refused
from tests.tables import named

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
        with refused("(1, None, 2)", row=1, column="j", offers=["invalid"]):
            Comparisons.from_frame(holes)
        assert Comparisons.from_frame(holes, invalid="drop").n_dropped == 1

    def test_columns_without_names(self):
        assert list(Comparisons.from_frame(pd.DataFrame([[0, 1, 2]]))) == [(0, 1, 2)]
        with refused("2 columns", file="the frame"):
            Comparisons.from_frame(pd.DataFrame([[0, 1]]))

    def test_other_columns_may_hold_anything(self):
        frame = pd.DataFrame({"i": [0], "j": [1], "k": [2], "what": [object()]})
        assert len(Comparisons.from_frame(frame)) == 1

    def test_without_pandas(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "pandas", None)
        with refused("to_frame", "pip install pandas", error=ImportError):
            Comparisons([[0, 1, 2]]).to_frame()

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
        ("frame", "shown", "fields"),
        [
            ({"x": [0], "y": [1], "z": [2]}, "'x', 'y', 'z'", {"file": "the frame", "offers": ["columns"]}),
            ({"anchor": [0], "a": [1], "b": [2]}, "'a'", {"offers": ["columns"]}),
            (
                {"i": [0], "center": [1], "j": [2], "k": [3]},
                "'i' and 'center'",
                {"offers": [("columns", {"anchor": ...})]},
            ),
            ({"i": ["a"], "j": [2], "k": [3]}, "'far'", {"file": "the table"}),
            ({"i": [0, "a"], "j": [1, 1], "k": [2, 2]}, "'a'", {"row": 1, "column": "anchor"}),
            ({"i": [0], "j": [1], "k": [2], "weight": ["much"]}, "much", {"row": 0, "offers": ["invalid"]}),
            ({"i": [0], "j": [1], "k": [2], "group": [1.5]}, "1.5", {"row": 0, "column": "group"}),
            ({"i": [0], "j": [1], "k": [2], "group": [None]}, "missing", {"row": 0, "column": "group"}),
            (
                {"i": [0], "j": [1], "k": [2], "response": ["maybe"]},
                "'maybe'",
                {"row": 0, "column": "response"},
            ),
            ({"i": [[0]], "j": [1], "k": [2]}, "list", {}),
            ({"i": [0], "j": [1], "k": [2], "weight": [[1]]}, "weights", {}),
        ],
    )
    def test_refusals(self, frame, shown, fields):
        with refused(shown, **fields):
            Comparisons.from_frame(pd.DataFrame(frame))

    def test_the_plain_name_of_a_part_beats_other_names(self):
        frame = pd.DataFrame({"i": [5], "anchor": [0], "j": [2], "center": [3], "k": [4]})
        assert list(Comparisons.from_frame(frame)) == [(0, 2, 4)]

    @pytest.mark.parametrize(
        "make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "arrow"]
    )
    def test_a_frame_in_place_of_an_array(self, make):
        frame = make({key: FRAME[key] for key in ("far", "weight", "near", "id", "anchor")})
        c = Comparisons(frame)
        assert named(c) == [("cat", "dog", "car"), ("dog", "cat", "car")]
        assert c.weights.tolist() == [1, 2.5]
        assert c.ignored_columns == ("id",)
        with refused("'x', 'y', 'z'", "Comparisons.from_frame with columns=", offers=["columns"]):
            Comparisons(make({"x": [0], "y": [1], "z": [2]}))
        with refused("'weight'", parameter="weights"):
            Comparisons(frame, weights=[1, 2])

    def test_an_estimator_finds_the_columns_of_a_frame(self):
        rows = [("a", "b", "c"), ("b", "a", "c"), ("c", "b", "a"), ("a", "b", "d"), ("d", "c", "a")]
        frame = pd.DataFrame(rows, columns=["anchor", "near", "far"])
        settings = {"max_epochs": 3, "l2": 0, "random_state": 0}
        expected = OrdinalEmbedding(1, **settings).fit(Comparisons(rows))
        for given in (frame[["far", "anchor", "near"]], pl.DataFrame(frame.to_dict("list"))):
            fitted = OrdinalEmbedding(1, **settings).fit(given)
            assert fitted.names_ == expected.names_
            np.testing.assert_array_equal(fitted.embedding_, expected.embedding_)
        with refused("'left'", offers=["columns"]):
            OrdinalEmbedding(1, **settings).fit(frame.set_axis(["anchor", "left", "right"], axis=1))

    def test_polars_without_names_of_columns(self):
        assert list(Comparisons(pl.DataFrame(np.array([[0, 1, 2]])))) == [(0, 1, 2)]

    def test_not_a_frame(self):
        with refused("a list"):
            Comparisons.from_frame([[0, 1, 2]])

    @pytest.mark.parametrize(
        ("columns", "shown"),
        [
            ({"anker": "x"}, ["'anker'", "near_a"]),
            ({"anchor": "w"}, ["'w'", "'x', 'y', 'z'"]),
            ({"anchor": 7}, ["7", "'x', 'y', 'z'"]),
        ],
    )
    def test_bad_columns(self, columns, shown):
        with refused(*shown, parameter="columns"):
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
        with refused(row=1, column="weight"):
            Comparisons.from_records([{"i": 0, "j": 1, "k": 2, "weight": 1}, {"i": 0, "j": 1, "k": 2}])

    def test_refusals(self):
        with refused("no records", "at least one"):
            Comparisons.from_records([])
        with refused("'x'", row=1, column="j"):
            Comparisons.from_records([{"i": 0, "j": 1, "k": 2}, {"i": 0, "j": "x", "k": 2}])
