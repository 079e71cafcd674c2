"""Cells that are missing, indices that count from 1, and rows of other lengths."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pyarrow.csv
import pytest

from nearer.comparisons import Comparisons
from nearer.errors import InputWarning
from tests.refusals import refused, says
from tests.tables import named


class TestMissing:
    @pytest.mark.parametrize("cell", ["NA", "NaN", "nan", "null", "None", "", " NA", "N/A", "<NA>"])
    def test_text(self, tmp_path, cell):
        path = tmp_path / "a.csv"
        path.write_text(f"Anchor,near,far\ncat,dog,car\ncat,{cell},bus\n")
        with refused(file=str(path), line=3, column="near", offers=["invalid", "names"]):
            Comparisons.read(path)
        c = Comparisons.read(path, invalid="drop")
        assert (c.names, c.n_dropped) == (("car", "cat", "dog"), 1)
        path.write_text(f"anchor,near,far\n0,{cell},2\n0,1,2\n")
        with refused(line=2, column="near"):
            Comparisons.read(path)
        numbers = Comparisons.read(path, invalid="drop")
        assert numbers.names is None
        assert list(numbers) == [(0, 1, 2)]

    def test_typed_tables(self, read):
        text = "anchor,near,far\ncat,dog,car\ncat,NA,bus\n"
        with refused(column="near"):
            read(text)
        assert read(text, invalid="drop").names == ("car", "cat", "dog")
        assert read(text, names=["NA", "bus", "car", "cat", "dog"]).n_dropped == 0

    @pytest.mark.parametrize("role", ["weight", "annotator", "group", "response"])
    def test_other_columns(self, tmp_path, role):
        path = tmp_path / "a.csv"
        path.write_text(f"anchor,near,far,{role}\n0,1,2,1\n0,1,3,NA\n")
        with refused(line=3, column=role, offers=["invalid"]):
            Comparisons.read(path)
        assert Comparisons.read(path, invalid="drop").n_dropped == 1

    def test_an_annotator_that_reads_as_missing_is_not_written(self, tmp_path):
        c = Comparisons([("a", "b", "c")], annotators=["NA"])
        with refused("'NA'", "parquet", file=str(tmp_path / "a.csv")):
            c.write(tmp_path / "a.csv")
        c.write(tmp_path / "a.parquet")
        assert Comparisons.read(tmp_path / "a.parquet") == c


class TestFirstIndex:
    text = "anchor,near,far\n1,2,3\n2,3,1\n"

    def test_a_warning_that_shows_the_line_of_the_caller(self, read):
        with pytest.warns(InputWarning) as caught:
            c = read(self.text)
        says(caught[0].message, offers=[("first_index", 1), ("first_index", 0)])
        assert caught[0].filename == read.__code__.co_filename
        assert list(c) == [(1, 2, 3), (2, 3, 1)]
        assert "1 object in no comparison (0)" in repr(c)

    def test_counting_from_one(self, read):
        assert list(read(self.text, first_index=1)) == [(0, 1, 2), (1, 2, 0)]
        assert read(self.text, first_index=1, names=["a", "b", "c"]).names == ("a", "b", "c")
        assert list(read(self.text, first_index=0)) == [(1, 2, 3), (2, 3, 1)]
        assert read(self.text, n_objects=4).n_objects == 4
        chosen = "anchor,a,b,response\n1,2,3,3\n1,2,4,2\n"
        assert list(read(chosen, first_index=1, coding="object")) == [(0, 2, 1), (0, 1, 3)]
        assert list(read("a,b,c,odd\n1,2,3,3\n", first_index=1)) == [(0, 1, 2), (1, 0, 2)]

    def test_npz_and_frames(self, tmp_path):
        rows = [[1, 2, 3], [2, 3, 1]]
        np.savez(tmp_path / "a.npz", triplets=rows)
        frame = pd.DataFrame(rows, columns=["i", "j", "k"])
        records = frame.to_dict("records")
        with pytest.warns(InputWarning, match=r"a.npz: .* first_index=1"):
            Comparisons.read(tmp_path / "a.npz")
        for build in (
            lambda **options: Comparisons.read(tmp_path / "a.npz", **options),
            lambda **options: Comparisons.from_frame(frame, **options),
            lambda **options: Comparisons.from_records(records, **options),
        ):
            assert list(build(first_index=1)) == [(0, 1, 2), (1, 2, 0)]
            with pytest.warns(InputWarning, match="first_index=1"):
                build()

    def test_what_nearer_wrote_is_beyond_doubt(self, tmp_path):
        c = Comparisons([[1, 2, 3]], 4)
        for name in ("a.npz", "a.parquet"):
            c.write(tmp_path / name)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                assert Comparisons.read(tmp_path / name) == c

    def test_refusals(self, read, tmp_path):
        with refused("(0, 2, 3)", "index 0", offers=["invalid"]):
            read("anchor,near,far\n0,2,3\n", first_index=1)
        with refused("3 objects", offers=[("first_index", 1), "invalid"]):
            read(self.text, n_objects=3)
        with refused(2, parameter="first_index"):
            read(self.text, first_index=2)
        with refused(parameter="first_index"):
            read("anchor,near,far\na,b,c\n", first_index=1)
        np.savez(tmp_path / "a.npz", triplets=[["a", "b", "c"]])
        with refused(parameter="first_index", file=str(tmp_path / "a.npz")):
            Comparisons.read(tmp_path / "a.npz", first_index=1)


class TestRaggedRows:
    text = "anchor,near,far\ncat,dog,car\n   \ncat,dog\ndog,cat,bus\n"

    def test_arrow_gets_no_python_to_call(self, tmp_path, monkeypatch):
        """A callback that a thread of Arrow lets go of while Python ends aborts the process."""
        options = pyarrow.csv.ParseOptions
        handlers = []
        monkeypatch.setattr(
            pyarrow.csv,
            "ParseOptions",
            lambda **given: handlers.append(given.get("invalid_row_handler")) or options(**given),
        )
        path = tmp_path / "a.csv"
        path.write_text(self.text)
        assert Comparisons.read(path, invalid="drop").n_dropped == 1
        assert set(handlers) == {None}

    @pytest.mark.parametrize("chunk", [1, 20, 1 << 20])
    def test_rows_after_a_ragged_one_are_read(self, tmp_path, monkeypatch, chunk):
        monkeypatch.setattr("nearer.comparisons.files.csv._CHUNK_BYTES", chunk)
        path = tmp_path / "a.csv"
        path.write_text(self.text + "cat,bus,dog\nbus,NA,dog\nbus,cat,dog,x\ncar,cat,dog\n")
        c = Comparisons.read(path, invalid="drop")
        assert named(c) == [
            ("cat", "dog", "car"),
            ("dog", "cat", "bus"),
            ("cat", "bus", "dog"),
            ("car", "cat", "dog"),
        ]
        assert c.n_dropped == 3
        with refused("2 cells", line=4, offers=["invalid"]):
            Comparisons.read(path)

    @pytest.mark.parametrize("chunk", [1, 1 << 20])
    def test_quotes_over_several_lines(self, tmp_path, monkeypatch, chunk):
        monkeypatch.setattr("nearer.comparisons.files.csv._CHUNK_BYTES", chunk)
        path = tmp_path / "a.csv"
        path.write_bytes(
            b'\xef\xbb\xbf"anchor\nobject",near,far\r\n"two\nlines","say ""hi""\n",c\r\n1,2\r\nc,"two\nlines",d\r\n'
        )
        c = Comparisons.read(path, columns={"anchor": 0, "near": 1, "far": 2}, header=True, invalid="drop")
        assert named(c) == [("two\nlines", 'say "hi"', "c"), ("c", "two\nlines", "d")]
        assert c.n_dropped == 1

    def test_blank_lines_are_no_rows(self, tmp_path):
        path = tmp_path / "a.csv"
        path.write_text("i,j,k,weight\n0,1,2,1\n   \n2,1,0,2\n")
        c = Comparisons.read(path)
        assert list(c) == [(0, 1, 2), (2, 1, 0)]
        assert c.weights.tolist() == [1, 2]
        assert c.n_dropped == 0
        path.write_bytes(b"i,j,k\na,b,c\n   \na,b,\xff\n")
        with refused("UTF-8", line=4):
            Comparisons.read(path)


class TestNumbersThatAreNoIndices:
    """However comparisons come in, the sentence names the row and the value, and the row can be dropped."""

    @pytest.mark.parametrize("value", ["2.5", "1e20", "9223372036854775813", "-5e18"])
    def test_files(self, read, value):
        with refused(column="k", offers=["invalid"]) as caught:
            read(f"i,j,k\n0,1,2\n1,0,{value}\n")
        assert caught.value.place.line in (2, 3) or caught.value.place.row == 1
        assert caught.value.problem.split(" is ")[0].strip("'") in (value, repr(float(value)))
        assert ("not a whole number" in caught.value.problem) == (value == "2.5")
        assert len(read(f"i,j,k\n0,1,2\n1,0,{value}\n", invalid="drop")) == 1

    @pytest.mark.parametrize("value", [10**20, 10**400, 2**63 + 5], ids=["wide", "endless", "unsigned"])
    @pytest.mark.parametrize(
        "make",
        [
            lambda k, **options: Comparisons([[0, 1, 2], [1, 0, k]], **options),
            lambda k, **options: Comparisons.from_records(
                [{"i": 0, "j": 1, "k": 2}, {"i": 1, "j": 0, "k": k}], **options
            ),
            lambda k, **options: Comparisons.from_frame(
                pd.DataFrame({"i": [0, 1], "j": [1, 0], "k": [2, k]}), **options
            ),
        ],
        ids=["list", "records", "frame"],
    )
    def test_integers_of_more_than_64_bits(self, make, value):
        with refused(row=1, offers=["invalid"]):
            make(value)
        assert len(make(value, invalid="drop")) == 1

    def test_annotators(self, tmp_path):
        path = tmp_path / "a.parquet"
        pd.DataFrame({"i": [0], "j": [1], "k": [2], "annotator": [1e20]}).to_parquet(path)
        with refused("1e+20", file=str(path), row=0, column="annotator"):
            Comparisons.read(path)
