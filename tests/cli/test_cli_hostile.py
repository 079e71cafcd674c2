"""Commands that read damaged or hostile files: one sentence that names the file, exit code 2."""

import gzip
import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import assert_one_sentence

QUESTIONS = b"anchor,a,b\nthing1,thing2,thing3\n"
RECORD = b'{"anchor": "thing1", "a": "thing2", "b": "thing3"}\n'
BOMB = gzip.compress(b"\n" * (70 << 20), 1)
FILES = {
    "long.csv": b"x" * 140_000 + b"\n" + QUESTIONS,
    "latin.csv": QUESTIONS + "thing1,thing2,thé\n".encode("latin-1"),
    "deep.jsonl": RECORD + b"[" * 100_000,
    "latin.jsonl": RECORD + '{"anchor": "thé", "a": "thing2", "b": "thing3"}\n'.encode("latin-1"),
    "half.jsonl": RECORD + b'{"anchor": "\\ud800", "a": "thing2", "b": "thing3"}\n',
    "empty.jsonl": b"\n\n",
    "words.parquet": b"not a table",
    "thrift.parquet": b"PAR1" + b"\0" * 100 + b"PAR1",
    "words.csv.gz": b"not packed",
    "bomb.csv.gz": BOMB,
    "bomb.jsonl.gz": BOMB,
}


@pytest.mark.parametrize("command", ["predict", "evaluate", "fit", "convert"])
@pytest.mark.parametrize("name", FILES)
def test_hostile_tables(run, fitted, tmp_path, command, name):
    (tmp_path / name).write_bytes(FILES[name])
    arguments = {"fit": [name], "convert": [name, "out.csv"]}.get(command, [fitted / "model.nearer", name])
    assert_one_sentence(run(command, *arguments), f"nearer: {name}")
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("command", ["labels", "metric", "tags", "links", "recommend", "predict"])
@pytest.mark.parametrize("name", FILES)
def test_hostile_rows_posts_and_pairs(run, posts, friends, tmp_path, command, name):
    (tmp_path / name).write_bytes(FILES[name])
    arguments = {
        "labels": ["fit", name, "--model", "multilabel", "--labels", "b"],
        "metric": ["fit", name, "--model", "metric", "--labels", "b"],
        "tags": ["fit", name, "--model", "tags", "--user", "anchor", "--item", "a", "--tag", "b"],
        "links": ["fit", name, "--model", "links", "--left", "anchor", "--right", "a"],
        "recommend": ["recommend", posts / "tags.nearer", "--rows", name, "--user", "anchor", "--item", "a"],
        "predict": ["predict", friends / "links.nearer", name, "--left", "anchor", "--right", "a"],
    }
    assert_one_sentence(run(*arguments[command]), f"nearer: {name}")
    assert os.listdir(tmp_path) == [name]


def test_questions_in_a_damaged_parquet_file(run, fitted, tmp_path):
    table = pa.table({"anchor": ["thing1"] * 50, "a": ["thing2"] * 50, "b": ["thing3"] * 50})
    pq.write_table(table, tmp_path / "q.parquet")
    content = (tmp_path / "q.parquet").read_bytes()
    n_refused = 0
    for at in range(0, len(content), len(content) // 60):
        (tmp_path / "q.parquet").write_bytes(content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :])
        result = run("predict", fitted / "model.nearer", "q.parquet")
        assert result.exit_code in (0, 2)
        if result.exit_code:
            assert_one_sentence(result, "nearer: q.parquet")
            n_refused += 1
    assert n_refused > 10


@pytest.mark.parametrize(
    "content",
    ["object,label\nthé,1\n".encode("latin-1"), b"object,label\n" + b"x" * 140_000, b'object,label\n"x\0'],
)
def test_hostile_labels(run, fitted, tmp_path, content):
    (tmp_path / "labels.csv").write_bytes(content)
    result = run("plot", fitted / "model.nearer", "--labels", "labels.csv", "--out", "map.png")
    assert_one_sentence(result, "nearer: labels.csv")


def test_pipes_are_refused_as_input(run, fitted, tmp_path):
    os.mkfifo(tmp_path / "q.csv")
    assert_one_sentence(run("fit q.csv"), "nearer: q.csv")
    assert_one_sentence(run("predict", fitted / "model.nearer", "q.csv"), "nearer: q.csv")
