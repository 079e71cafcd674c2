"""JSON lines, parquet and npz; writing; millions of rows."""

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
from tests.refusals import refused
from tests.tables import named


@pytest.fixture
def write(write):
    return lambda text, name="a.jsonl": write(text, name)


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
        ("lines", "shown", "line", "column"),
        [
            ("", "empty", None, None),
            ("[0, 1, 2]\n", "'[0, 1, 2]'", 1, None),
            ('{"i": 0, "j": 1, "k": 2}\n\n{"i": 0\n', "JSON", 3, None),
            ('{"i": 0, "j": 1, "k": 2}\n\n{"i": 0, "j": 1}\n', "(0, 1, None)", 3, "k"),
            ('{"i": 0, "j": 1, "k": 2}\n{"i": 0, "j": 1, "k": "x"}\n', "'x'", 2, "k"),
            ('{"i": 0, "j": 1, "k": 2}\n{"i": 0, "j": 1, "k": true}\n', "'true'", 2, "k"),
            ('{"i": 0, "j": 1, "k": [2]}\n', "(0, 1, None)", 1, "k"),
            ('{"i": 0, "j": 1, "z": 2}\n', "'i', 'j', 'z'", 1, None),
            ('{"i": "a", "j": "b", "k": "c"}\n{"i": "a", "j": 1, "k": "c"}\n', "1", 2, "j"),
            ('{"i": "a", "j": 1, "k": "c"}\n', "1", 1, "j"),
            ('{"i": "a", "j": "NA", "k": "c"}\n', "(a, NA, c)", 1, "j"),
            (
                '{"i": 0, "j": 1, "k": 2, "group": 1}\n{"i": 0, "j": 1, "k": 2, "group": "x"}\n',
                "",
                2,
                "group",
            ),
        ],
    )
    def test_bad_files(self, write, lines, shown, line, column):
        path = write(lines)
        with refused(shown, file=str(path)) as caught:
            Comparisons.read(path)
        assert (caught.value.place.line, caught.value.place.column) == (line, column)

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
        with refused("newer", file=str(path)):
            Comparisons.read(path)

    @pytest.mark.parametrize("key", ["triplets", "indices"])
    def test_plain_npz(self, tmp_path, key):
        np.savez(tmp_path / "a.npz", **{key: [[0, 1, 2]], "weights": [2], "other": [1]})
        assert Comparisons.read(tmp_path / "a.npz") == Comparisons([[0, 1, 2]], weights=[2])

    @pytest.mark.parametrize(
        ("frame", "shown"),
        [
            ({"i": [0, 1], "j": [1, 1], "k": [2, 0]}, "row 1"),
            ({"i": ["a"], "j": [1], "k": [2]}, "'anchor'"),
            ({"x": [0], "y": [1], "z": [2]}, "'x', 'y', 'z'"),
            ({"i": [], "j": [], "k": []}, "no comparison"),
        ],
    )
    def test_bad_parquet(self, tmp_path, frame, shown):
        path = tmp_path / "a.parquet"
        pq.write_table(pa.table(frame), path)
        with refused(shown, file=str(path)):
            Comparisons.read(path)

    @pytest.mark.parametrize("name", ["a.parquet", "a.npz"])
    def test_wrong_content(self, write, name):
        path = write("i,j,k\n0,1,2\n", name)
        with refused(path.suffix[1:], file=str(path)):
            Comparisons.read(path)

    def test_bad_npz(self, tmp_path):
        path = tmp_path / "a.npz"
        np.savez(path, rows=[[0, 1, 2]])
        with refused("'triplets'", "rows", file=str(path)):
            Comparisons.read(path)
        np.savez(path, triplets=np.empty((0, 3)))
        with refused("'triplets'", file=str(path)):
            Comparisons.read(path)
        np.savez(path, triplets=np.array([[0, 1, {}]], dtype=object))
        with refused("'triplets'", "object", file=str(path)):
            Comparisons.read(path)
        np.savez(path, triplets=[[0, 1, 1]])
        with refused("(0, 1, 1)", file=str(path), row=0):
            Comparisons.read(path)
        codes = {"first": 0, "second": 1}
        for setting in (
            {"columns": {"anchor": 0}},
            {"zero": "second"},
            {"coding": "object"},
            {"codes": codes},
        ):
            with refused(file=str(path), parameter=next(iter(setting))):
                Comparisons.read(path, **setting)

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
        with refused("shape", "dimensions", file=str(tmp_path / "a.npz")):
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
        with refused("' a'", "parquet", file=str(path)):
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
import nearer.comparisons.files.csv, nearer.comparisons.files.opening
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
before = peak()
c = Comparisons.read(sys.argv[1])
print(len(c), (peak() - before) / c.indices.nbytes)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in other units elsewhere")
def test_millions_of_rows_in_three_times_their_memory(tmp_path):
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 1000, (4_000_000, 3), dtype=np.int32)
    path = tmp_path / "answers.csv"
    Comparisons(rows, names=[f"object {i}" for i in range(1000)], invalid="drop").write(path)
    try:
        done = subprocess.run(
            [sys.executable, "-c", MEASURE, str(path)], capture_output=True, text=True, check=True
        )
    finally:
        path.unlink()
    n_rows, share = map(float, done.stdout.split())
    assert n_rows > 3_960_000
    assert share < 3
