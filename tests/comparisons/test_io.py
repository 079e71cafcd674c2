"""Delimited text: columns, headers, names, spellings, and one sentence for what is wrong."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

import nearer.comparisons.files.csv
from nearer.comparisons import Comparisons
from nearer.errors import InputError
from tests.refusals import refused
from tests.tables import named


class TestCsv:
    @pytest.mark.parametrize(
        "header",
        ["anchor,near,far", "i,j,k", "object,nearer,farther", "head,winner,loser", " Anchor , NEAR,Far"],
    )
    def test_known_headers(self, write, header):
        assert list(Comparisons.read(write(f"{header}\n0,1,2\n3,2,1\n"))) == [(0, 1, 2), (3, 2, 1)]

    @pytest.mark.parametrize("header", ["near_a,near_b,far_a,far_b", "i,j,l,k"])
    def test_quadruplets(self, write, header):
        assert list(Comparisons.read(write(f"{header}\n0,1,2,3\n"))) == [(0, 1, 2, 3)]

    def test_the_order_of_columns_does_not_matter(self, write):
        assert list(Comparisons.read(write("id,far,anchor,note,near\n7,2,0,x,1\n"))) == [(0, 1, 2)]
        assert list(Comparisons.read(write("k,l,j,i\n3,2,1,0\n"))) == [(0, 1, 2, 3)]

    def test_names_are_sorted(self, write):
        c = Comparisons.read(write("anchor,near,far\ndog,cat,car\ncat,dog,bus\n"))
        assert c.names == ("bus", "car", "cat", "dog")
        assert named(c) == [("dog", "cat", "car"), ("cat", "dog", "bus")]

    def test_given_names(self, write):
        c = Comparisons.read(write("anchor,near,far\ndog,cat,car\n"), names=["cat", "car", "dog", "bus"])
        assert list(c) == [(2, 0, 1)]
        assert c.n_objects == 4
        indices = Comparisons.read(write("0,1,2\n"), names=["cat", "car", "dog", "bus"])
        assert indices.n_objects == 4
        assert list(indices) == [(0, 1, 2)]

    def test_names_that_look_like_numbers(self, write):
        path = write("anchor,near,far\n300,alien,heat\nheat,300,alien\nalien,heat,1984\n")
        assert Comparisons.read(path).names == ("1984", "300", "alien", "heat")
        path = write("anchor,near,far\n2,0,1\n")
        assert list(Comparisons.read(path, names=["2", "1", "0"])) == [(0, 2, 1)]

    def test_number_of_objects(self, write):
        assert Comparisons.read(write("0,1,2\n"), n_objects=9).n_objects == 9
        with refused(9, "3 names", parameter="n_objects"):
            Comparisons.read(write("a,b,c\na,b,c\n"), header=False, n_objects=9)

    def test_everything_in_one_file(self, write):
        c = Comparisons.read(
            write("anchor,near,far,weight,annotator,group\na,b,c,0.5,ann,7\nb,c,a,2,bob,7\n"),
        )
        assert c.weights.tolist() == [0.5, 2]
        assert c.annotators.tolist() == ["ann", "bob"]
        assert c.groups.tolist() == [7, 7]

    def test_labels(self, write):
        c = Comparisons.read(write("i,j,k,worker,screen\n0,1,2,12,s9\n1,2,0,3,s1\n"))
        assert c.annotators.tolist() == [12, 3]
        assert c.groups.tolist() == [1, 0]
        zeros = Comparisons.read(write("i,j,k,worker\n0,1,2,007\n1,2,0,3\n"))
        assert zeros.annotators.tolist() == ["007", "3"]

    @pytest.mark.parametrize(
        ("cells", "weights"),
        [("1 -1", None), ("true False", None), ("yes no", None), ("2 -3", [2, 3]), ("1.0 -1.0", None)],
    )
    def test_responses(self, write, cells, weights):
        first, second = cells.split()
        c = Comparisons.read(write(f"anchor,a,b,response\n0,1,2,{first}\n0,1,3,{second}\n"))
        assert list(c) == [(0, 1, 2), (0, 3, 1)]
        assert (None if c.weights is None else c.weights.tolist()) == weights

    def test_undecided(self, write):
        c = Comparisons.read(write("i,j,k,response,weight\n0,1,2,0,1\n0,1,3,-2,3\n"))
        assert list(c) == [(0, 3, 1)]
        assert c.weights.tolist() == [6]
        assert c.n_dropped == 1

    def test_zeros_and_ones(self, write):
        path = write("i,j,k,response\n0,1,2,0\n0,1,3,1\n")
        with pytest.raises(
            InputError, match=r"answers.csv, line 2: the responses \(0, 1\) .*codes=.*zero='second'"
        ):
            Comparisons.read(path)
        assert list(Comparisons.read(path, zero="second")) == [(0, 2, 1), (0, 1, 3)]
        assert list(Comparisons.read(path, zero="undecided")) == [(0, 1, 3)]

    def test_columns_by_hand(self, write):
        path = write("probe_image,left,right,x\n0,1,2,3\n")
        c = Comparisons.read(
            path, columns={"anchor": "probe_image", "near": "right", "far": 1, "weight": "x"}
        )
        assert list(c) == [(0, 2, 1)]
        assert c.weights.tolist() == [3]
        bare = write("9,0,1,2,5\n9,3,2,1,6\n")
        assert list(Comparisons.read(bare, columns={"anchor": 1, "near": 2, "far": 3})) == [
            (0, 1, 2),
            (3, 2, 1),
        ]

    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("a.csv", "\ufeffi,j,k\r\n0,1,2\r\n\r\n3,2,1\r\n"),
            ("a.csv", "\n\n  \ni,j,k\n\n0,1,2\n   \n3,2,1"),
            ("a.csv", '"i","j","k"\n"0","1","2"\n3, 2 ,1\n'),
            ("a.csv", "i;j;k\n0;1;2\n3;2;1\n"),
            ("a.tsv", "i\tj\tk\n0\t1\t2\n3\t2\t1\n"),
            ("a.txt", "0 1 2\n3 2 1\n"),
            ("a.CSV", "0,1,2\n3,2,1\n"),
            ("a.csv", "0.0,1.0,2.0\n3.0,2.0,1.0\n"),
            ("a.csv", '"i","j","the\n\nthird",k\n0,1,x,2\n3,2,y,1\n'),
        ],
    )
    def test_spellings_of_one_file(self, write, name, text):
        assert list(Comparisons.read(write(text, name))) == [(0, 1, 2), (3, 2, 1)]

    def test_quotes_and_new_lines_in_names(self, write):
        c = Comparisons.read(write('anchor,near,far\n"big, red","say ""hi""","two\nlines"\n'))
        assert named(c) == [("big, red", 'say "hi"', "two\nlines")]

    def test_columns_that_do_not_matter_need_not_be_utf8(self, write):
        assert list(Comparisons.read(write(b"i,j,k,note\n0,1,2,caf\xe9\n"))) == [(0, 1, 2)]

    def test_gzip(self, write):
        path = write(gzip.compress(b"i,j,k\n0,1,2\n"), "answers.csv.gz")
        assert list(Comparisons.read(path)) == [(0, 1, 2)]

    def test_many_blocks(self, write, monkeypatch):
        monkeypatch.setattr(nearer.comparisons.files.csv, "_BLOCK_BYTES", 64)
        monkeypatch.setattr(nearer.comparisons.files.csv, "_BATCH_ROWS", 7)
        rng = np.random.default_rng(0)
        rows = np.argsort(rng.random((500, 20)), axis=1)[:, :3]
        numbers = Comparisons.read(write("".join(f"{i},{j},{k}\n" for i, j, k in rows)))
        assert numbers.indices.tolist() == rows.tolist()
        text = "anchor,near,far\n" + "".join(f"n{i:02},n{j:02},n{k:02}\n" for i, j, k in rows)
        assert Comparisons.read(write(text)).indices.tolist() == rows.tolist()

    def test_many_labels(self, tmp_path, monkeypatch):
        """Far more different cells in the file than in any batch."""
        monkeypatch.setattr(nearer.comparisons.files.csv, "_BLOCK_BYTES", 256)
        monkeypatch.setattr(nearer.comparisons.files.csv, "_BATCH_ROWS", 5)
        rows = np.tile([[0, 1, 2], [1, 2, 0]], (150, 1))
        c = Comparisons(rows, annotators=[f"worker {i // 2}" for i in range(300)])
        c.write(tmp_path / "a.csv")
        assert Comparisons.read(tmp_path / "a.csv") == c

    def test_more_rows_than_one_buffer(self, tmp_path, monkeypatch):
        monkeypatch.setattr("nearer.comparisons.files.cells._FIRST_ROWS", 1 << 10)
        rng = np.random.default_rng(0)
        rows = np.argsort(rng.random((200_000, 4)), axis=1)[:, :3]
        c = Comparisons(rows, 4, weights=rng.random(200_000), groups=np.arange(200_000) // 2)
        c.write(tmp_path / "a.csv")
        assert Comparisons.read(tmp_path / "a.csv") == c


class TestHeader:
    def test_numbers_are_data(self, write):
        assert len(Comparisons.read(write("0,1,2\n1,2,0\n"))) == 2
        assert len(Comparisons.read(write("0,1,2,3\n"))) == 1

    def test_names_that_come_again_are_data(self, write):
        c = Comparisons.read(write("cat,dog,car\ndog,cat,bus\ncar,bus,dog\n"))
        assert len(c) == 3
        assert c.n_objects == 4

    def test_unknown_names_are_refused(self, write):
        path = write("cat,dog,car\ndog,cat,bus\n")
        with refused("'cat', 'dog', 'car'", line=1, offers=["columns", ("header", False)]):
            Comparisons.read(path)
        assert len(Comparisons.read(path, header=False)) == 2
        with refused("'x', 'y', 'z'", line=1, offers=["columns"]):
            Comparisons.read(write("x,y,z\n0,1,2\n"))

    def test_a_header_of_objects(self, write):
        path = write("i,j,k\nj,k,i\nk,i,j\n")
        assert len(Comparisons.read(path)) == 2
        assert len(Comparisons.read(path, header=False)) == 3

    def test_a_header_of_numbers(self, write):
        path = write("0,1,2\n0,1,2\n")
        assert len(Comparisons.read(path)) == 2
        c = Comparisons.read(path, header=True, columns={"anchor": 0, "near": 1, "far": 2})
        assert len(c) == 1

    def test_only_text_has_headers(self, write):
        with refused(parameter="header"):
            Comparisons.read(write("", "a.parquet"), header=True)


LONG = "100000000000000000000"
# text, what must be shown, line, column
BAD_CSV = [
    ("", "empty", None, None),
    ("\ufeff\n  \n", "empty", None, None),
    ("anchor,near,far\n", "no comparison", None, None),
    ("anchor,near,far\n\n0,1,2\n0,1\n", "2 cells", 4, None),
    ("0,1,2\n0,1,2,3\n", "4 cells", 2, None),
    ("0,1,2\n1,cat,0\n", "'cat'", 2, "near"),
    ("0,1,2\n1,2.5,0\n", "'2.5'", 2, "near"),
    ("0,1,2\n\n1,,0\n", "(1, None, 0)", 3, "near"),
    ("0,1,2\n1,-4,0\n", "index -4", 2, None),
    ("0,1,2\n1,99999999999,0\n", "index 99999999999", 2, None),
    ("0,1,2\n1,1,0\n2,2,2\n", "2 invalid rows among 3", 2, None),
    ("a,b,c\nb,,a\nc,a,b\n", "(b, None, a)", 2, "near"),
    ("anchor,near,far\na,b,b\n", "(a, b, b)", 2, None),
    ("anchor,near,far\n0,a,b\n1,b,a\n", "'anchor' holds nothing but indices", 2, "near"),
    ("0,a,b\n1,b,a\n", "'anchor' holds nothing but indices", 1, "near"),
    ("i,j,k\n0,1,2.5\n0,1,2\n", "'i' holds nothing but indices", 2, "k"),
    ("i,j,k\n0,1,1_0\n0,1,2\n", "'1_0'", 2, "k"),
    (f"0,1,{LONG}\n0,1,2\n", LONG, 1, "far"),
    (f"0,1,2\n0,1,{LONG}\n", LONG, 2, "far"),
    ("i,j,k\n" + "7,8,9\n" * 5 + "7,8,x\n", "'x'", 7, "k"),
    ('i,j,k\n"0\n",1,2\n2,2,0\n', "(2, 2, 0)", 4, None),
    ("0,1,2,3,4\n", "5 columns", 1, None),
    ("0,1\n", "2 columns", 1, None),
    ("anchor,near,other\n0,1,2\n", "'anchor', 'near', 'other'", 1, None),
    ("anchor,a,b\n0,1,2\n", "'response'", 1, None),
    ("i,j,k,weight\n0,1,2,1\n0,1,2,heavy\n", "heavy", 3, None),
    ("i,j,k,weight\n0,1,2,-1\n", "-1.0", 2, None),
    ("i,j,k,weight\n0,1,2,\n", "missing", 2, "weight"),
    ("i,j,k,annotator\n0,1,2,\n", "missing", 2, "annotator"),
    ("i,j,k,response\n0,1,2,perhaps\n", "'perhaps'", 2, "response"),
    ("i,j,k,response\n0,1,2,\n", "missing", 2, "response"),
    (b"anchor,near,far\na,b,\xff\n", "UTF-8", 2, None),
    ("anchor,near,far\na,b,c\n".encode("utf-16"), "UTF-8", 1, None),
]


class TestBadCsv:
    @pytest.mark.parametrize(("text", "shown", "line", "column"), BAD_CSV)
    def test_file_line_column_and_value_are_named(self, write, text, shown, line, column):
        path = write(text)
        with refused(shown, file=str(path)) as caught:
            Comparisons.read(path)
        assert (caught.value.place.line, caught.value.place.column) == (line, column)
        assert str(caught.value).startswith(str(path))

    def test_unknown_name(self, write):
        path = write("anchor,near,far\na,b,c\na,b,cow\n")
        with refused("'cow'", line=3, column="far", offers=["invalid"]):
            Comparisons.read(path, names=["a", "b", "c"])
        assert Comparisons.read(path, names=["a", "b", "c"], invalid="drop").n_dropped == 1

    def test_out_of_range(self, write):
        with refused("index 2", "2 objects", line=1, offers=["invalid"]):
            Comparisons.read(write("0,1,2\n"), n_objects=2)

    def test_drop(self, write):
        text = "i,j,k,weight\n0,1,2,1\n0,1\n0,x,2,1\n\n1,1,2,1\n,1,2,1\n0,1,2,-1\n9,1,2,1\n2,1,0,4\n"
        c = Comparisons.read(write(text), n_objects=3, invalid="drop")
        assert list(c) == [(0, 1, 2), (2, 1, 0)]
        assert c.weights.tolist() == [1, 4]
        assert c.n_dropped == 6

    def test_a_word_far_down(self, write, monkeypatch):
        monkeypatch.setattr(nearer.comparisons.files.csv, "_BLOCK_BYTES", 64)
        path = write("i,j,k\n" + "0,1,2\n" * 300 + "0,1,x\n" + "0,1,2\n" * 50)
        with refused("'x'", line=302, column="k"):
            Comparisons.read(path)

    def test_endings(self, tmp_path):
        with refused("'.xlsx'", ".csv", file=str(tmp_path / "a.xlsx")):
            Comparisons.read(tmp_path / "a.xlsx")
        with refused("gzipped", file=str(tmp_path / "a.npz.gz")):
            Comparisons([[0, 1, 2]]).write(tmp_path / "a.npz.gz")
        assert list(tmp_path.iterdir()) == []


def test_an_ending_in_capitals_is_the_same_format(tmp_path):
    c = Comparisons([[0, 1, 2], [1, 0, 2]])
    c.write(tmp_path / "A.NPZ")
    assert [path.name for path in tmp_path.iterdir()] == ["A.NPZ"]
    assert Comparisons.read(tmp_path / "A.NPZ") == c
