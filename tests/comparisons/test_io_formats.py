"""JSON lines, parquet and npz; writing; ten million rows."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import nearer.comparisons.files.jsonl
from nearer.comparisons import Comparisons
from nearer.errors import InputError


@pytest.fixture
def write(tmp_path):
    def write(text, name="a.jsonl"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def named(c):
    return [tuple(c.names[i] for i in row) for row in c]


class TestJsonLines:
    def test_records(self, write):
        text = (
            '\ufeff{"anchor": "a", "near": "b", "far": "c", "weight": 2, "x": [1]}\n\n'
            '{"far": "a", "anchor": "c", "near": "b", "weight": 1.5}'
        )
        c = Comparisons.read(write(text))
        assert named(c) == [("a", "b", "c"), ("c", "b", "a")]
        assert c.weights.tolist() == [2, 1.5]

    def test_strings_are_names_and_numbers_indices(self, write):
        assert Comparisons.read(write('{"i": "1", "j": "2", "k": "0"}\n')).names == ("0", "1", "2")
        assert Comparisons.read(write('{"i": 1, "j": 2, "k": 0}\n')).names is None

    def test_values_of_other_types(self, write):
        text = '{"i": 1, "j": 2, "k": 0, "annotator": 4}\n{"i": 1.0, "j": "2", "k": 3, "annotator": 5}\n'
        c = Comparisons.read(write(text))
        assert list(c) == [(1, 2, 0), (1, 2, 3)]
        assert c.annotators.tolist() == [4, 5]

    @pytest.mark.parametrize("answers", ["true false", "1 -1", '"yes" "no"', "1 -1.0"])
    def test_responses(self, write, answers):
        first, second = answers.split()
        start = '{"i": 0, "a": 1, '
        text = f'{start}"b": 2, "response": {first}}}\n{start}"b": 3, "response": {second}}}\n'
        assert list(Comparisons.read(write(text))) == [(0, 1, 2), (0, 3, 1)]

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "the file is empty"),
            ("[0, 1, 2]\n", r"line 1: '\[0, 1, 2\]' is not a JSON object"),
            ('{"i": 0, "j": 1, "k": 2}\n\n{"i": 0\n', "line 3: .* is not a JSON object"),
            ('{"i": 0, "j": 1, "k": 2}\n\n{"i": 0, "j": 1}\n', r"line 3: \(0, 1, None\) has an empty cell"),
            ('{"i": 0, "j": 1, "k": 2}\n{"i": 0, "j": 1, "k": "x"}\n', "line 2: 'x' is not a whole number"),
            (
                '{"i": 0, "j": 1, "k": 2}\n{"i": 0, "j": 1, "k": true}\n',
                "line 2: 'true' is not a whole number",
            ),
            ('{"i": 0, "j": 1, "k": [2]}\n', r"line 1: \(0, 1, None\) has an empty cell"),
            ('{"i": 0, "j": 1, "z": 2}\n', "line 1: the columns 'i', 'j', 'z'"),
            (
                '{"i": "a", "j": "b", "k": "c"}\n{"i": "a", "j": 1, "k": "c"}\n',
                "line 2: the object 1 in 'j' is a number, where others have names",
            ),
            ('{"i": "a", "j": 1, "k": "c"}\n', "line 1: the object 1 in 'j' is a number"),
            ('{"i": "a", "j": "NA", "k": "c"}\n', r"line 1: \(a, NA, c\) has an empty cell in column 'j'"),
            (
                '{"i": 0, "j": 1, "k": 2, "group": 1}\n{"i": 0, "j": 1, "k": 2, "group": "x"}\n',
                "the group is missing",
            ),
        ],
    )
    def test_bad_files(self, write, text, message):
        path = write(text)
        with pytest.raises(InputError, match=message) as caught:
            Comparisons.read(path)
        assert str(caught.value).startswith(str(path))

    def test_drop(self, write):
        text = '{"i": 0, "j": 1, "k": 2}\nnonsense\n{"i": 0, "j": 1}\n{"i": 1, "j": 0, "k": 2}\n'
        c = Comparisons.read(write(text), invalid="drop")
        assert list(c) == [(0, 1, 2), (1, 0, 2)]
        assert c.n_dropped == 2

    def test_many_chunks(self, tmp_path, monkeypatch):
        monkeypatch.setattr(nearer.comparisons.files.jsonl, "_CHUNK_BYTES", 100)
        rng = np.random.default_rng(0)
        c = Comparisons(np.argsort(rng.random((200, 9)), axis=1)[:, :3], names=list("abcdefghi"))
        c.write(tmp_path / "a.jsonl.gz")
        assert Comparisons.read(tmp_path / "a.jsonl.gz") == c


class TestParquetAndNpz:
    def test_plain_parquet(self, tmp_path):
        path = tmp_path / "a.parquet"
        pd.DataFrame({"winner": ["b"], "loser": ["c"], "head": ["a"], "x": [1]}).to_parquet(path)
        assert named(Comparisons.read(path)) == [("a", "b", "c")]

    def test_parquet_of_other_tools_sees_names(self, tmp_path):
        path = tmp_path / "a.parquet"
        Comparisons([("cat", "dog", "car")], weights=[2]).write(path)
        assert pq.read_table(path).to_pylist() == [
            {"anchor": "cat", "near": "dog", "far": "car", "weight": 2.0}
        ]

    def test_given_names_beat_those_in_the_file(self, tmp_path):
        c = Comparisons([("cat", "dog", "car")])
        for name in ("a.parquet", "a.npz"):
            c.write(tmp_path / name)
        names = ["dog", "car", "cow", "cat"]
        assert list(Comparisons.read(tmp_path / "a.parquet", names=names)) == [(3, 0, 1)]

    def test_newer_parquet_is_refused(self, tmp_path):
        path = tmp_path / "a.parquet"
        notes = json.dumps({"version": 99, "n_objects": 3, "names": None})
        pq.write_table(
            pa.table({"i": [0], "j": [1], "k": [2]}).replace_schema_metadata({"nearer": notes}), path
        )
        with pytest.raises(InputError, match="newer version of nearer"):
            Comparisons.read(path)

    @pytest.mark.parametrize("key", ["triplets", "indices"])
    def test_plain_npz(self, tmp_path, key):
        np.savez(tmp_path / "a.npz", **{key: [[0, 1, 2]], "weights": [2], "other": [1]})
        assert Comparisons.read(tmp_path / "a.npz") == Comparisons([[0, 1, 2]], weights=[2])

    @pytest.mark.parametrize(
        ("frame", "message"),
        [
            ({"i": [0, 1], "j": [1, 1], "k": [2, 0]}, r"row 1 \(counting from 0\): \(1, 1, 0\)"),
            ({"i": ["a"], "j": [1], "k": [2]}, "holds names and that for"),
            ({"x": [0], "y": [1], "z": [2]}, "the columns 'x', 'y', 'z'"),
            ({"i": [], "j": [], "k": []}, "holds no comparison"),
        ],
    )
    def test_bad_parquet(self, tmp_path, frame, message):
        path = tmp_path / "a.parquet"
        pq.write_table(pa.table(frame), path)
        with pytest.raises(InputError, match=message) as caught:
            Comparisons.read(path)
        assert str(caught.value).startswith(str(path))

    @pytest.mark.parametrize("name", ["a.parquet", "a.npz"])
    def test_wrong_content(self, write, name):
        with pytest.raises(InputError, match=r"this is not an? (parquet|npz) file"):
            Comparisons.read(write("i,j,k\n0,1,2\n", name))

    def test_bad_npz(self, tmp_path):
        path = tmp_path / "a.npz"
        np.savez(path, rows=[[0, 1, 2]])
        with pytest.raises(InputError, match="no array 'triplets', 'quadruplets' or 'indices' among rows"):
            Comparisons.read(path)
        np.savez(path, triplets=np.empty((0, 3)))
        with pytest.raises(InputError, match="holds no comparison"):
            Comparisons.read(path)
        np.savez(path, triplets=np.array([[0, 1, {}]], dtype=object))
        with pytest.raises(InputError, match=r"'triplets' holds object.*plain array"):
            Comparisons.read(path)
        np.savez(path, triplets=[[0, 1, 1]])
        with pytest.raises(InputError, match=r"a.npz, row 0 \(counting from 0\): \(0, 1, 1\)"):
            Comparisons.read(path)
        with pytest.raises(InputError, match="columns, zero, coding and codes are for tables"):
            Comparisons.read(path, columns={"anchor": 0})

    @pytest.mark.parametrize(
        "arrays",
        [
            {"triplets": 5},
            {"triplets": [0, 1, 2]},
            {"triplets": [[0, 1, 2]], "weights": 1},
            {"n_objects": [3]},
        ],
    )
    def test_npz_of_other_dimensions(self, tmp_path, arrays):
        np.savez(tmp_path / "a.npz", **arrays)
        with pytest.raises(
            InputError, match=r"a.npz: the array '\w+' has the shape .*it should have \d dimension"
        ):
            Comparisons.read(tmp_path / "a.npz")


class TestWrite:
    def test_csv_is_plain(self, tmp_path):
        path = tmp_path / "a.csv"
        Comparisons([[0, 1, 2]], weights=[0.1], annotators=["x,y"], groups=[3]).write(path)
        assert path.read_text() == 'anchor,near,far,weight,annotator,group\n0,1,2,0.1,"x,y",3\n'
        Comparisons([[0, 1, 2, 3]]).write(tmp_path / "a.tsv")
        assert (tmp_path / "a.tsv").read_text() == "near_a\tnear_b\tfar_a\tfar_b\n0\t1\t2\t3\n"

    def test_jsonl_is_plain(self, tmp_path):
        path = tmp_path / "a.jsonl"
        Comparisons([('say "a"', "b", "c")], weights=[0.5]).write(path)
        assert json.loads(path.read_text()) == {"anchor": 'say "a"', "near": "b", "far": "c", "weight": 0.5}

    def test_what_csv_cannot_hold_is_refused_and_leaves_nothing(self, tmp_path):
        path = tmp_path / "a.csv"
        path.write_text("old")
        with pytest.raises(InputError, match="a text file cannot keep ' a'"):
            Comparisons([(" a", "b", "c")]).write(path)
        assert path.read_text() == "old"
        assert list(tmp_path.iterdir()) == [path]

    def test_many_blocks(self, tmp_path, monkeypatch):
        monkeypatch.setattr("nearer.comparisons.files.writing._BLOCK_ROWS", 7)
        rng = np.random.default_rng(0)
        c = Comparisons(
            np.argsort(rng.random((50, 9)), axis=1)[:, :3], names=list("abcdefghi"), groups=range(50)
        )
        for name in ("a.csv", "a.csv.gz", "a.jsonl"):
            c.write(tmp_path / name)
            assert Comparisons.read(tmp_path / name) == c


MEASURE = """
import resource, sys
import pyarrow.compute, pyarrow.csv
from nearer import Comparisons
import nearer.comparisons.files.csv, nearer.comparisons.files.formats
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
before = peak()
c = Comparisons.read(sys.argv[1])
print(len(c), (peak() - before) / c.indices.nbytes)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in other units elsewhere")
def test_ten_million_rows_in_three_times_their_memory(tmp_path):
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 1000, (10_000_000, 3), dtype=np.int32)
    path = tmp_path / "answers.csv"
    Comparisons(rows, names=[f"object {i}" for i in range(1000)], invalid="drop").write(path)
    try:
        done = subprocess.run(
            [sys.executable, "-c", MEASURE, str(path)], capture_output=True, text=True, check=True
        )
    finally:
        path.unlink()
    n_rows, share = map(float, done.stdout.split())
    assert n_rows > 9_900_000
    assert share < 3
