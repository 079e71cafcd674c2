"""Files that are damaged, made up or larger than they look: one sentence that names the file, or the right answer."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nearer import Comparisons
from nearer.comparisons.files import jsonl, opening
from nearer.comparisons.files.column_names import series_of
from nearer.comparisons.files.opening import Lines, expands_too_far, reading
from nearer.errors import InputError
from tests.refusals import refused

HEADER, ROW = b"anchor,near,far\n", b"0,1,2\n"
RECORD = b'{"anchor": "a", "near": "b", "far": "c"}\n'
ENDINGS = [".csv", ".tsv", ".csv.gz", ".jsonl", ".jsonl.gz", ".parquet", ".npz"]


def refusal(path, *parts, **options):
    """The one sentence about a file."""
    with refused(*parts) as caught:
        Comparisons.read(path, **options)
    assert str(caught.value).startswith(str(path))
    return str(caught.value)


def is_refused(path):
    """Whether a file is refused by a sentence that names it; any other error is raised."""
    try:
        Comparisons.read(path)
    except InputError as error:
        return str(path) in str(error)
    return False


@pytest.fixture
def put(write):
    """Write bytes to a file and return its path."""
    return lambda name, content: write(gzip.compress(content, 1) if name.endswith(".gz") else content, name)


def savez(path, **arrays):
    np.savez(path, **({"triplets": [[0, 1, 2]]} | arrays))
    return path


class TestText:
    @pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
    def test_latin_1_below_the_first_line(self, put, name):
        path = put(name, RECORD + '{"anchor": "é", "near": "b", "far": "c"}\n'.encode("latin-1"))
        refusal(path, "line 2", "save the file as UTF-8")

    @pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
    def test_utf_16(self, put, name):
        text = (HEADER + ROW if name == "a.csv" else RECORD).decode()
        refusal(put(name, text.encode("utf-16")), "UTF-8")

    def test_half_a_character(self, put):
        path = put("a.jsonl", RECORD + b'{"anchor": "\\ud800x", "near": "b", "far": "c"}\n')
        refusal(path, "line 2", "half a character")
        assert len(Comparisons.read(path, invalid="drop")) == 1
        refusal(put("b.jsonl", RECORD.replace(b"anchor", b"\\udfff")), "line 1", "half a character")

    @pytest.mark.parametrize(
        "line", [b"[" * 10**5, b'{"anchor": ' + b'{"x": ' * 10**5 + b"1" + b"}" * 10**5 + b"}"]
    )
    def test_deep_nesting(self, put, line):
        refusal(put("a.jsonl", RECORD + line + b"\n"), "line 2")
        refusal(put("b.jsonl", line + b"\n" + RECORD), "line 1")

    def test_a_longest_line(self, put, monkeypatch):
        monkeypatch.setattr(jsonl, "_LONGEST_LINE", 1 << 10)
        path = put("a.jsonl", RECORD + b'{"anchor": [' + b"[]," * 1000 + b'[]], "near": "b", "far": "c"}\n')
        refusal(path, "line 2", "longer than")

    @pytest.mark.parametrize(
        ("content", "line"),
        [(b"x" * 140_000 + b"\n" + ROW, 1), (b"x" * 140_000, 1), (HEADER + b"a" * 140_000 + b",b,c\n", 2)],
    )
    def test_cells_that_are_too_long(self, put, content, line):
        refusal(put("a.csv", content), f"line {line}")

    def test_too_many_columns(self, put):
        refusal(put("a.csv", b"," * 100_001 + b"\n" + b"," * 100_001), "100,000 cells")

    def test_a_quote_that_nothing_closes(self, put):
        refusal(put("a.csv", HEADER + ROW * 10 + b'"' + ROW * 100_000), "line 12")

    def test_series_of_names_that_repeat(self):
        names = ["id", "image1", "image2", "image1", "image3", "odd"]
        assert series_of(names, 5, "") == (1, 2, 4)

    @pytest.mark.parametrize("digits", [400, 5000])
    def test_huge_labels(self, put, digits):
        huge = b"9" * digits
        c = Comparisons.read(put("a.csv", b"anchor,near,far,annotator\n0,1,2,%s\n" % huge))
        assert c.annotators.tolist() == [huge.decode()]
        records = b'{"anchor": 0, "near": 1, "far": 2, "annotator": %s}\n'
        refusal(put("a.jsonl", records % b"1" + records % huge), "line 2")
        assert len(Comparisons.read(put("b.jsonl", records % b"1" + records % huge), invalid="drop")) == 1

    def test_a_long_cell_is_not_shown_whole(self, put):
        assert len(refusal(put("a.csv", HEADER + b"0,1," + b"9" * 5000 + b"\n"), "line 2")) < 500

    def test_pipes_are_refused(self, tmp_path):
        os.mkfifo(tmp_path / "a.csv")
        refusal(tmp_path / "a.csv", "pipe", "write its content to a file")

    def test_errors_of_the_system_stay(self, tmp_path):
        for ending in (".csv", ".jsonl", ".parquet", ".npz", ".csv.gz"):
            with pytest.raises(FileNotFoundError) as caught:
                Comparisons.read(tmp_path / f"nowhere{ending}")
            assert caught.value.filename is not None
            (tmp_path / f"folder{ending}").mkdir()
            with pytest.raises(IsADirectoryError):
                Comparisons.read(tmp_path / f"folder{ending}")


class TestNames:
    @pytest.mark.parametrize("name", ["tea\0", "\0", "t\0a"])
    def test_nul_in_a_file(self, put, tmp_path, name):
        written = name.encode()
        paths = [
            put("a.csv", HEADER + b"x,y,z\n" + written + b",b,c\n"),
            put("a.jsonl", RECORD + json.dumps({"anchor": name, "near": "b", "far": "c"}).encode()),
            tmp_path / "a.parquet",
        ]
        pq.write_table(pa.table({"anchor": ["x", name], "near": ["y", "b"], "far": ["z", "c"]}), paths[2])
        for path in paths:
            refusal(path, "NUL", "anchor")
            assert len(Comparisons.read(path, invalid="drop")) == 1

    def test_nul_in_a_label(self, put, tmp_path):
        path = put("a.csv", b"anchor,near,far,annotator\n0,1,2,ann\n0,1,2,ann\0\n")
        refusal(path, "line 3", "NUL", "annotator")
        assert Comparisons.read(path, invalid="drop").annotators.tolist() == ["ann"]
        refusal(savez(tmp_path / "a.npz", annotators=np.array(["a\0b"])), "annotators", "NUL")

    @pytest.mark.parametrize("bad", ["a\0", "a\0b", "a\ud800"])
    def test_texts_that_files_cannot_keep_are_refused_at_once(self, bad):
        with pytest.raises(InputError):
            Comparisons([["x", "y", "z"], [bad, "b", "c"]])
        with pytest.raises(InputError):
            Comparisons([[0, 1, 2]], names=[bad, "b", "c"])
        for labels in ([bad], np.array([bad], dtype=object)):
            with refused("annotators", row=0):
                Comparisons([[0, 1, 2]], annotators=labels)
        records = [{"anchor": bad, "near": "b", "far": "c"}]
        with refused(row=0):
            Comparisons.from_records(records)
        with refused(row=0):
            Comparisons.from_frame(pd.DataFrame(records, dtype=object))

    def test_labels_that_no_int64_holds(self):
        for labels in (np.array([2**64 - 1], dtype=np.uint64), [1e300], [2.0**53]):
            with refused(parameter="annotators"):
                Comparisons([[0, 1, 2]], annotators=labels)
        assert Comparisons([[0, 1, 2]], annotators=[2**62]).annotators.tolist() == [2**62]

    @pytest.mark.parametrize("ending", ENDINGS)
    def test_every_other_name_comes_back(self, tmp_path, ending):
        rng = np.random.default_rng(0)
        signs = (
            [chr(code) for code in range(1, 256)] + list("\u2028\u2029\ufeff\u200b\u3000😀é") + ["\r\n", '""']
        )
        for trial in range(60):
            names = sorted({f"n{''.join(rng.choice(signs, 3))}n" for _ in range(5)})
            people = [f"p{''.join(rng.choice(signs, 2))}p" for _ in range(2)]
            c = Comparisons([[0, 1, 2], [2, 1, 0]], names=names[:3], annotators=people)
            c.write(tmp_path / f"{trial}{ending}")
            back = Comparisons.read(tmp_path / f"{trial}{ending}")
            assert back == c

    @pytest.mark.parametrize("ending", ENDINGS)
    @pytest.mark.parametrize("name", [" tea", "tea\n", "\u3000tea"])
    def test_blanks_at_the_ends_come_back_or_are_refused(self, tmp_path, ending, name):
        c = Comparisons([[0, 1, 2]], names=sorted([name, "b", "c"]))
        path = tmp_path / f"a{ending}"
        if ending.startswith((".csv", ".tsv")):
            with refused(repr(name), "parquet", file=str(path)):
                c.write(path)
            assert os.listdir(tmp_path) == []
        else:
            c.write(path)
            assert Comparisons.read(path) == c


class TestBlanks:
    """Blocks of blank lines are passed over; line numbers count them."""

    @pytest.fixture(autouse=True)
    def small_blocks(self, monkeypatch):
        monkeypatch.setattr(opening, "_BLOCK", 64)

    @pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r", b" \n"])
    @pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
    def test_csv(self, put, name, end):
        blanks, header, row = end * 301, HEADER.replace(b"\n", end), ROW.replace(b"\n", end)
        path = put(name, blanks + header + blanks + row + blanks + row + blanks)
        assert list(Comparisons.read(path)) == [(0, 1, 2)] * 2
        bad = put(f"b{name}", blanks + header + blanks + row + blanks + b"0,1,x" + end)
        refusal(bad, f"line {3 * 301 + 3}, column")

    @pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
    def test_jsonl(self, put, name):
        blanks = b"\n" * 301
        assert len(Comparisons.read(put(name, blanks + RECORD + blanks + RECORD + blanks))) == 2
        refusal(put(f"b{name}", blanks + RECORD + blanks + b"nonsense\n"), "line 604:")

    @pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.jsonl"])
    def test_nothing_else(self, put, name):
        refusal(put(name, b"\n" * 10_000), "empty")

    def test_lines(self):
        text = "a\r\n\n" + "\n" * 200 + "b\rc\n" + " \n" * 100 + 'd"\n\n"'
        expected = [line for line in io.StringIO(text, newline="") if line.strip()]
        lines = Lines(io.StringIO(text, newline=""))
        found = list(lines)
        assert [line for line in found if line.strip()] == expected
        assert len(found) + lines.n_left_out == len(list(io.StringIO(text, newline="")))
        assert lines.n_left_out > 100


class TestBombs:
    @pytest.mark.parametrize("name", ["a.csv.gz", "a.jsonl.gz"])
    def test_gz(self, put, name):
        path = put(name, b"\n" * (opening.MOST_EXPANDED + (1 << 20)))
        assert path.stat().st_size < 1 << 20
        refusal(path, "gunzip")

    def test_the_remedy_for_gz_is_right(self, put, monkeypatch):
        monkeypatch.setattr(opening, "MOST_EXPANDED", 1 << 10)
        refusal(put("a.csv.gz", HEADER + ROW * 10_000), "gunzip")
        assert len(Comparisons.read(put("a.csv", HEADER + ROW * 10_000))) == 10_000

    def test_real_tables_are_far_from_the_limit(self, tmp_path):
        rng = np.random.default_rng(0)
        rows = np.argsort(rng.random((20_000, 5)), axis=1)[:, :3]
        people = np.repeat([f"participant-{person:04d}@example.org" for person in range(20)], 1000)
        Comparisons(rows, annotators=people, weights=np.ones(len(rows))).write(tmp_path / "a.csv")
        content = (tmp_path / "a.csv").read_bytes()
        assert len(content) / len(gzip.compress(content)) < opening.MOST_TIMES / 4
        assert expands_too_far(10**9, 10**6)
        assert not expands_too_far(10**9, 10**8)

    def test_npz(self, tmp_path):
        rows = np.tile(np.array([[0, 1, 2]]), (3_000_000, 1))
        np.savez_compressed(tmp_path / "a.npz", triplets=rows)
        refusal(tmp_path / "a.npz", "numpy.savez")
        np.savez(tmp_path / "b.npz", triplets=rows)
        assert len(Comparisons.read(tmp_path / "b.npz")) == len(rows)

    def test_parquet(self, tmp_path):
        n = 17_000_000  # a few bytes for each million
        part = pa.table({role: pa.array(np.full(n, at, np.int8)) for at, role in enumerate(("i", "j", "k"))})
        pq.write_table(part, tmp_path / "a.parquet")
        refusal(tmp_path / "a.parquet", "csv")
        pq.write_table(
            pa.table({"i": ["a" * (70 << 20)], "j": ["b"], "k": ["c"]}),
            tmp_path / "b.parquet",
            compression="zstd",
        )
        refusal(tmp_path / "b.parquet", "csv")

    @pytest.mark.parametrize("shape", ["(10**9, 3)", "(99999999999, 3)", "(-1, 3)", "(1, 3(", "(2, 3)"])
    def test_npz_that_declares_another_size(self, tmp_path, shape):
        content = io.BytesIO()
        np.lib.format.write_array(content, np.array([[0, 1, 2]]))
        changed = content.getvalue().replace(b"(1, 3), }" + b" " * 11, f"{shape}, }}".ljust(20).encode())
        assert len(changed) == len(content.getvalue())
        # texts of no letters take no bytes, however many there are
        for member in (changed, changed[:128].replace(b"<i8", b"<U0")):
            with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
                archive.writestr("triplets.npy", member)
            refusal(tmp_path / "a.npz", "npz file of plain arrays")


class TestNpz:
    @pytest.mark.parametrize("n_objects", [2.5, -3, np.nan, np.inf, 1e300, True, "7", 2**40, [7]])
    def test_a_number_of_objects_that_is_none(self, tmp_path, n_objects):
        refusal(savez(tmp_path / "a.npz", n_objects=n_objects), "n_objects")

    def test_a_whole_number_of_objects(self, tmp_path):
        for n_objects in (7, 7.0, np.uint8(7)):
            assert Comparisons.read(savez(tmp_path / "a.npz", n_objects=n_objects)).n_objects == 7

    @pytest.mark.parametrize(
        ("key", "array"),
        [
            ("weights", np.array([1j])),
            ("weights", np.array(["2020-01-01"], dtype="M8[D]")),
            ("weights", np.array(["1"])),
            ("annotators", np.array([b"ann"])),
            ("annotators", np.array([2**64 - 1], dtype=np.uint64)),
            ("annotators", np.array([1e300])),
            ("groups", np.array([(1, 2)], dtype="i4,i4")),
            ("names", np.array([1, 2, 3])),
            ("names", np.array(["a", "a", "b"])),
            ("names", np.array(["a\0b", "c", "d"])),
            ("triplets", np.array([[True, False, True]])),
        ],
    )
    def test_arrays_of_another_kind(self, tmp_path, key, array):
        refusal(savez(tmp_path / "a.npz", **{key: array}), key.removesuffix("s") if key == "names" else key)

    def test_texts_of_no_characters(self, tmp_path):
        signs = np.array(["ab"]).view(np.uint32)
        for sign in (0x110000, 0xD800):
            signs[1] = sign
            refusal(savez(tmp_path / "a.npz", annotators=signs.view("U2")), "annotators")

    def test_positions_out_of_the_file(self, tmp_path):
        content = bytearray(savez(tmp_path / "a.npz").read_bytes())
        end = content.rindex(b"PK\5\6")
        for at, flip in ((end + 19, 0x80), (end + 16, 0x80), (content.rindex(b"PK\1\2") + 45, 0xFF)):
            damaged = bytearray(content)
            damaged[at] ^= flip
            (tmp_path / "b.npz").write_bytes(damaged)
            refusal(tmp_path / "b.npz")

    def test_a_checksum_that_does_not_fit(self, tmp_path):
        content = savez(tmp_path / "a.npz", triplets=np.array([[0, 1, 2]])).read_bytes()
        where = content.index(np.array([0, 1, 2]).tobytes())
        (tmp_path / "a.npz").write_bytes(content[:where] + b"\3" + content[where + 1 :])
        refusal(tmp_path / "a.npz")


class TestParquet:
    @pytest.mark.parametrize(
        "notes",
        [
            "",
            "{",
            "[]",
            "null",
            "[" * 10**5,
            '{"version": 1}',
            '{"version": "1", "names": null, "n_objects": 3}',
            '{"version": 1, "names": "abc", "n_objects": 3}',
            '{"version": 1, "names": 3, "n_objects": 3}',
            '{"version": 1, "names": [1, 2, 3], "n_objects": 3}',
            '{"version": 1, "names": ["a", "a", "b"], "n_objects": 3}',
            '{"version": 1, "names": ["a\\u0000", "b", "c"], "n_objects": 3}',
            '{"version": 1, "names": ["a", "b", "c"], "n_objects": 5}',
            '{"version": 1, "names": null, "n_objects": 2.5}',
            '{"version": 1, "names": null, "n_objects": -1}',
            '{"version": 1, "names": null, "n_objects": 1e400}',
        ],
    )
    def test_notes_of_our_own_that_are_damaged(self, tmp_path, notes):
        table = pa.table({"anchor": [0], "near": [1], "far": [2]}).replace_schema_metadata({"nearer": notes})
        pq.write_table(table, tmp_path / "a.parquet")
        refusal(tmp_path / "a.parquet", "damaged")

    def test_no_other_error_comes_out_of_damaged_files(self, tmp_path):
        rng = np.random.default_rng(0)
        c = Comparisons(
            np.argsort(rng.random((50, 6)), axis=1)[:, :3],
            names=list("abcdef"),
            annotators=["ann", "bob"] * 25,
        )
        n_refused = 0
        for ending in ENDINGS:
            c.write(tmp_path / f"whole{ending}")
            content = (tmp_path / f"whole{ending}").read_bytes()
            for trial in range(150):
                damaged = bytearray(content[: rng.integers(1, len(content))] if trial % 5 == 0 else content)
                for at in rng.integers(len(damaged), size=trial % 4 + 1):
                    damaged[at] = rng.integers(256)
                path = tmp_path / f"{trial}{ending}"
                path.write_bytes(damaged)
                n_refused += is_refused(path)
        assert n_refused > 300


class TestBoundary:
    def test_what_a_decoder_raises_becomes_a_sentence(self, put):
        path = put("a.csv", ROW)
        for error in (
            KeyError("x"),
            pa.ArrowCapacityError("too much"),
            pa.ArrowKeyError("x"),
            OSError("Couldn't deserialize thrift: TProtocolException\nmore"),
            OSError(22, "Invalid argument"),
            MemoryError(),
            RecursionError("maximum recursion depth exceeded"),
            SystemError("error return without exception set"),
            UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
        ):
            with pytest.raises(InputError) as caught, reading(path):
                raise error
            assert str(caught.value).startswith(f"{path}: ")
            assert "\n" not in str(caught.value)
            assert caught.value.__cause__ is error

    def test_what_is_no_fault_of_the_file_stays(self, put):
        path = put("a.csv", ROW)
        with pytest.raises(OSError, match="Input/output error") as caught, reading(path):
            raise OSError(5, "Input/output error")
        assert caught.value.filename == str(path)
        with pytest.raises(KeyboardInterrupt), reading(path):
            raise KeyboardInterrupt
        with pytest.raises(AttributeError), reading(path):
            raise AttributeError("a fault of ours")

    def test_a_sentence_without_the_file_gets_it(self, put):
        path = put("a.csv", ROW)
        with pytest.raises(InputError, match=f"^{re.escape(str(path))}: too few$"), reading(path):
            raise InputError("too few")
