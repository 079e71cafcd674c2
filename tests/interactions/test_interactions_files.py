"""Interactions in files and frames: found by name, kept through every format, refused with a place."""

import gzip

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearer import Interactions
from nearer.errors import InputWarning
from tests.refusals import refused

NAMED = Interactions(
    ["ann", "bob", "bob"], ["tea, green", "rum", 'say "hi"'], weights=[2, 0.5, 1], times=[5, 9, 2**40]
)
NUMBERED = Interactions([0, 2, 2], [1, 0, 1], weights=[2, 3, 1])
FORMATS = ["csv", "tsv", "txt", "csv.gz", "jsonl", "jsonl.gz", "parquet", "npz"]


def write(folder, text, name="seen.csv"):
    path = folder / name
    path.write_text(text)
    return path


def triples(found):
    left, right = (
        np.array(names)[codes] if names else codes
        for names, codes in ((found.left_names, found.left), (found.right_names, found.right))
    )
    weights = np.ones(len(found)) if found.weights is None else found.weights
    return list(zip(left.tolist(), right.tolist(), weights.tolist(), strict=True))


# -- there and back


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize(
    "seen", [NAMED, NUMBERED, NAMED.transposed()], ids=["names", "indices", "transposed"]
)
def test_a_file_keeps_everything(tmp_path, ending, seen):
    seen.write(tmp_path / f"seen.{ending}")
    assert Interactions.read(tmp_path / f"seen.{ending}") == seen


@pytest.mark.parametrize("ending", ["parquet", "npz"])
def test_objects_without_pairs_and_names_that_are_numbers_are_kept(tmp_path, ending):
    seen = Interactions(["7", "10"], [0, 3], right_names=["NA", "b", "c", "d", "e"])
    seen.write(tmp_path / f"seen.{ending}")
    assert Interactions.read(tmp_path / f"seen.{ending}") == seen


@given(data=st.data(), ending=st.sampled_from(["csv", "jsonl", "parquet", "npz"]))
def test_any_pairs_survive_any_format(tmp_path_factory, data, ending):
    names = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=4).map(
        "x".__add__
    )
    rows = data.draw(
        st.lists(st.tuples(names, names.map(str.strip), st.floats(0.01, 100)), min_size=1, max_size=8)
    )
    left, right, weights = zip(*[(a.strip() + ".", b + ".", w) for a, b, w in rows], strict=True)
    seen = Interactions(left, right, weights)
    path = tmp_path_factory.mktemp("there") / f"seen.{ending}"
    seen.write(path)
    assert Interactions.read(path) == seen


# -- columns


@pytest.mark.parametrize(
    "names", ["user,item", "userId,movieId", "src,dst", "from,to", "Customer ID,sku", "query,doc_id"]
)
def test_columns_are_known_by_their_names(tmp_path, names):
    left, right = names.split(",")
    path = write(tmp_path, f"note,{right},{left}\nx,tea,ann\ny,rum,bob\n")
    found = Interactions.read(path)
    assert triples(found) == [("ann", "tea", 1), ("bob", "rum", 1)]
    assert found.ignored_columns == ("note",)
    assert "note" in repr(found)


@pytest.mark.parametrize("weight", ["rating", "stars", "weight", "count", "plays", "clicks", "score"])
def test_weights_are_known_by_their_names(tmp_path, weight):
    found = Interactions.read(write(tmp_path, f"user,item,{weight}\nann,tea,2\nbob,rum,4.5\n"))
    assert found.weights.tolist() == [2, 4.5]


@pytest.mark.parametrize(
    ("cells", "times"),
    [
        (("12", "7"), [12, 7]),
        (("12.5", "7"), [12.5, 7]),
        (("1970-01-02", "1970-01-01"), [86400, 0]),
        (("1970-01-01T00:01:00", "1970-01-01 00:00:02"), [60, 2]),
        (("1970-01-01T00:01:00Z", "1970-01-01T01:00:02+01:00"), [60, 2]),
        (("1970-01-01T00:00:00.25", "1970-01-02"), [0.25, 86400]),
        (("1970-01-01T00:01:00Z", "1970-01-02"), [60, 86400]),
    ],
)
def test_times_are_numbers_or_dates(tmp_path, cells, times):
    text = f"user,item,timestamp\nann,tea,{cells[0]}\nbob,rum,{cells[1]}\n"
    found = Interactions.read(write(tmp_path, text))
    assert found.times.tolist() == times
    assert found.times.dtype == (np.int64 if all(time == int(time) for time in times) else np.float64)


def test_columns_by_hand(tmp_path):
    path = write(tmp_path, "a,b,c,d\nann,tea,3,9\nbob,rum,4,8\n")
    found = Interactions.read(path, left="b", right=0, weight="c", time="d")
    assert triples(found) == [("rum", "bob", 4), ("tea", "ann", 3)]
    assert found.times.tolist() == [8, 9]


def test_two_columns_without_a_header_are_left_and_right(tmp_path):
    assert triples(Interactions.read(write(tmp_path, "0,3\n1,2\n"))) == [(0, 3, 1), (1, 2, 1)]
    path = write(tmp_path, "ann tea\nann rum\n", "seen.txt")
    assert triples(Interactions.read(path, header=False)) == [("ann", "rum", 1), ("ann", "tea", 1)]


@pytest.mark.parametrize(
    ("text", "options", "shown", "fields"),
    [
        ("who,what\nann,tea\n", {}, ["'who'"], {"line": 1, "offers": [("left", "who"), ("header", False)]}),
        ("user,what\nann,tea\n", {}, ["'what'"], {"line": 1, "offers": ["right"], "hides": ["left"]}),
        ("0,1,5\n1,2,3\n", {}, ["3 columns"], {"line": 1, "offers": ["left", "weight"]}),
        ("0\n1\n", {}, ["one column"], {"line": 1}),
        ("1::5::3\n2::6::4\n", {}, ["one column", "::"], {"line": 1}),
        ("user,uid,item\na,b,c\n", {}, ["'uid'"], {"line": 1, "offers": ["left"]}),
        ("user,item,rating,count\na,b,1,2\n", {}, ["'rating'", "'count'"], {"line": 1, "offers": ["weight"]}),
        ("user,item\na,b\n", {"weight": "stars"}, ["'stars'"], {"parameter": "weight"}),
        ("user,item\na,\n", {}, ["empty"], {"line": 2, "column": "item", "offers": [("invalid", "drop")]}),
        ("user,item\n0,1\n3,x\n", {}, ["'x'"], {"line": 3, "column": "item", "offers": [("ids", "names")]}),
        ("user,item\n0,1\n3,-2\n", {}, ["-2"], {"line": 3, "column": "item"}),
        ("user,item\n0,1.5\n", {"ids": "indices"}, ["1.5"], {"line": 2, "column": "item"}),
        ("user,item,rating\na,b,0\n", {}, ["0"], {"line": 2, "column": "rating", "offers": ["at_least"]}),
        ("user,item,rating\na,b,good\n", {}, ["'good'"], {"line": 2, "column": "rating"}),
        ("user,item,rating\na,b,\n", {}, ["missing"], {"line": 2, "column": "rating"}),
        ("user,item,rating\na,b,nan\n", {"at_least": 1}, ["missing"], {"line": 2, "column": "rating"}),
        ("user,item,time\na,b,soon\n", {}, ["'soon'"], {"line": 2, "column": "time"}),
        ("user,item\na,b\nuser,item\n", {}, ["repeats"], {"line": 3}),
        ("user,item\na,b\na,b,c\n", {}, ["3 cells"], {"line": 3}),
        ("user,item\n", {}, ["no pair"], {}),
        ("", {}, ["empty"], {}),
        ("user,item\n0,5\n", {"n_right": 3}, ["5"], {"line": 2, "column": "item"}),
        ("user,item\na,b\n", {"left_names": ["z"]}, ["'a'"], {"line": 2, "column": "user"}),
        ("user,item\na,b\n", {"ids": "numbers"}, ["'numbers'"], {"parameter": "ids"}),
        ("user,item\na,b\n", {"duplicates": "first"}, ["'first'"], {"parameter": "duplicates"}),
        ("user,item\na,b\n", {"invalid": "skip"}, ["'skip'"], {"parameter": "invalid"}),
        ("user,item\na,b\n", {"at_least": "x"}, ["'x'"], {"parameter": "at_least"}),
        ("user,item\na,b\na,b\n", {"duplicates": "refuse"}, ["(a, b)", "line 2"], {"line": 3}),
    ],
)
def test_what_cannot_be_read_is_refused(tmp_path, text, options, shown, fields):
    with refused(*shown, **fields):
        Interactions.read(write(tmp_path, text), **options)


def test_bad_rows_can_be_dropped_and_are_counted(tmp_path):
    path = write(tmp_path, "user,item,rating\na,b,3\na,,3\nc,d,-1\na,b,3,4\ne,f,2\n")
    found = Interactions.read(path, invalid="drop")
    assert triples(found) == [("a", "b", 3), ("e", "f", 2)]
    assert found.n_dropped == 3
    assert "3 dropped" in repr(found)


def test_a_repeated_pair_is_placed_among_dropped_rows(tmp_path):
    path = write(tmp_path, "user,item\na,b\na,\nc,d\n,x\na,b\n")
    with refused("(a, b)", "line 2", line=6):
        Interactions.read(path, invalid="drop", duplicates="refuse")


# -- ids


def test_ids_can_be_names_sorted_as_numbers(tmp_path):
    path = write(tmp_path, "user,item\n10,100\n9,100\n9,x\n")
    found = Interactions.read(path, ids="names")
    assert found.left_names == ("9", "10")
    assert found.right_names == ("100", "x")


@pytest.mark.parametrize("first", [1, 5_000])
def test_numbers_that_look_like_ids_are_warned_of(tmp_path, first):
    path = write(tmp_path, f"user,item\n{first},0\n{first + 1},1\n")
    with pytest.warns(InputWarning, match="'user'") as caught:
        found = Interactions.read(path)
    assert {step.value for step in caught[0].message.remedy} == {"names", "indices"}
    assert found.n_left == first + 2
    for ids in ("names", "indices"):  # no warning
        Interactions.read(path, ids=ids)
    Interactions.read(path, n_left=first + 2)


def test_numbers_of_a_database_are_refused_in_files(tmp_path):
    path = write(tmp_path, "user,item\n999999999,0\n5,1\n")
    with refused("999,999,999", column="user", offers=[("ids", "names")]):
        Interactions.read(path)
    big = write(tmp_path, "user,item\n999999999999,0\n5,1\n")
    with refused("999999999999", line=2, column="user", offers=[("ids", "names")]):
        Interactions.read(big)
    assert Interactions.read(big, ids="names").left_names == ("5", "999999999999")


# -- ratings


RATED = "user,item,rating{}\nann,tea,5{}\nbob,tea,1{}\nann,tea,2{}\n"


def test_ratings_of_one_pair_are_never_added(tmp_path):
    path = write(tmp_path, RATED.format("", "", "", ""))
    with refused("(ann, tea)", "line 2", line=4, offers=["duplicates"]):
        Interactions.read(path)
    assert Interactions.read(path, duplicates="last").weights.tolist() == [2, 1]
    assert Interactions.read(path, duplicates="sum").weights.tolist() == [7, 1]
    timed = write(tmp_path, RATED.format(",time", ",9", ",1", ",3"))
    assert Interactions.read(timed).weights.tolist() == [5, 1]


def test_counts_of_one_pair_are_added(tmp_path):
    path = write(tmp_path, RATED.format("", "", "", "").replace("rating", "plays"))
    assert Interactions.read(path).weights.tolist() == [7, 1]


def test_a_threshold_takes_ratings_of_any_sign(tmp_path):
    path = write(tmp_path, "user,item,rating\nann,tea,-3\nbob,tea,0\neve,rum,2\n")
    assert triples(Interactions.read(path, at_least=0)) == [("bob", "tea", 1), ("eve", "rum", 1)]


# -- frames and arrays


COLUMNS = {
    "user": [12, 7, 12],
    "item": ["tea", "tea", "rum"],
    "rating": [5, 3, 4],
    "date": ["2024-01-03"] * 3,
}
frames = pytest.mark.parametrize(
    "frame",
    [pd.DataFrame(COLUMNS), pl.DataFrame(COLUMNS), pa.table(COLUMNS)],
    ids=["pandas", "polars", "pyarrow"],
)


@frames
def test_frames_are_read_by_name(frame):
    found = Interactions.from_frame(frame, ids="names", at_least=4)
    assert triples(found) == [("12", "rum", 1), ("12", "tea", 1)]
    assert found.left_names == ("7", "12")
    assert found.times.tolist() == [19725 * 86400] * 2


def test_columns_of_dates_and_missing_cells():
    frame = pd.DataFrame(COLUMNS).assign(date=pd.to_datetime(COLUMNS["date"]))
    assert Interactions.from_frame(frame, ids="names").times.tolist() == [19725 * 86400] * 3
    frame.loc[1, "date"] = pd.NaT
    with refused("missing", row=1, column="date"):
        Interactions.from_frame(frame, ids="names")


def test_numbers_are_looked_up_among_names_given():
    frame = pd.DataFrame(COLUMNS)
    found = Interactions.from_frame(frame, ids="names", left_names=["12", "7"])
    assert found.left_names == ("12", "7")
    assert found.left.tolist() == [0, 0, 1]
    with refused("'7'", row=1, column="user"):
        Interactions.from_frame(frame, ids="names", left_names=["12", "8"])


def test_frames_without_names_and_what_is_no_frame():
    assert len(Interactions.from_frame(pd.DataFrame([[0, 1], [1, 0]]))) == 2
    with refused("3 columns", offers=["left"]):
        Interactions.from_frame(pd.DataFrame([[0, 1, 2]]))
    with refused("list"):
        Interactions.from_frame([[0, 1]])


@pytest.mark.parametrize(
    ("arrays", "options", "shown"),
    [
        ({"left": [0]}, {}, "'right'"),
        ({"left": [[0]], "right": [0]}, {}, "(1, 1)"),
        ({"left": [0], "right": [1j]}, {}, "complex"),
        ({"left": [0], "right": [1]}, {"left": "x"}, "columns"),
        ({"left": [0], "right": [1]}, {"ids": "names"}, "ids"),
    ],
)
def test_bad_npz_files_are_refused(tmp_path, arrays, options, shown):
    np.savez(tmp_path / "seen.npz", **arrays)
    with refused(shown, file=str(tmp_path / "seen.npz")):
        Interactions.read(tmp_path / "seen.npz", **options)


def test_npz_files_take_thresholds_and_names(tmp_path):
    np.savez(tmp_path / "seen.npz", left=[0, 1], right=["a", "b"], weights=[1, 5])
    found = Interactions.read(tmp_path / "seen.npz", at_least=4)
    assert triples(found) == [(1, "b", 1)]


def test_damaged_files_are_named(tmp_path):
    path = tmp_path / "seen.csv.gz"
    path.write_bytes(gzip.compress(b"user,item\na,b\n")[:-9])
    with refused("gzip", file=str(path)):
        Interactions.read(path)
    comparisons = tmp_path / "notes.parquet"
    table = pa.table({"user": [0], "item": [1]}).replace_schema_metadata(
        {"nearer": '{"version": 1, "names": null}'}
    )
    pa.parquet.write_table(table, comparisons)
    with refused("damaged", file=str(comparisons)):
        Interactions.read(comparisons)


def test_json_values_of_either_kind(tmp_path):
    path = write(
        tmp_path,
        '{"user": 3, "item": "tea", "time": 1.5}\n{"user": 0, "item": "rum", "time": 2}\n',
        "a.jsonl",
    )
    found = Interactions.read(path)
    assert triples(found) == [(0, "rum", 1), (3, "tea", 1)]
    assert found.times.tolist() == [2, 1.5]


@pytest.mark.parametrize(
    ("others", "said"), [(["b.csv"], "a file that is"), (["b.csv", "c.JSONL.gz"], "2 files")]
)
def test_other_tables_in_a_folder_of_parquet_are_named(tmp_path, others, said):
    Interactions(["ann"], ["tea"]).write(tmp_path / "a.parquet")
    for name in [*others, "_SUCCESS", ".a.parquet.crc"]:
        (tmp_path / name).write_text("")
    with pytest.warns(UserWarning, match=f"{said}.*not parquet, such as 'b.csv', will not be read"):
        assert len(Interactions.read(tmp_path)) == 1
    for name in others:
        (tmp_path / name).unlink()
    assert len(Interactions.read(tmp_path)) == 1  # without a warning
