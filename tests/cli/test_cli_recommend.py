"""`nearer recommend` and `nearer export`, and other commands that are given towers."""

import csv
import json

import numpy as np
import pytest
from pyarrow import parquet

import nearer

pytest.importorskip("torch")


@pytest.fixture(scope="module")
def model(clicked):
    return nearer.load(clicked / "towers.nearer")


def rows_of(path):
    with open(path, newline="") as stream:
        return list(csv.DictReader(stream))


def test_all_users_get_a_list(run, clicked, model, tmp_path):
    shown = run("recommend", clicked / "towers.nearer", "--k", 3, "--out", "top.csv", exits=0).stdout
    assert "top.csv (180 rows for 60 left objects)" in shown
    rows = rows_of(tmp_path / "top.csv")
    assert list(rows[0]) == ["left", "rank", "right", "score"]
    expected = model.recommend(k=3, names=True)
    assert [row["right"] for row in rows] == expected.items.ravel().tolist()
    np.testing.assert_allclose([float(row["score"]) for row in rows], expected.scores.ravel())
    assert [row["left"] for row in rows[::3]] == list(model.left_names_)
    assert [row["rank"] for row in rows[:4]] == ["1", "2", "3", "1"]


def test_parquet_holds_the_same(run, clicked, tmp_path):
    for name in ("top.csv", "top.parquet"):
        run("recommend", clicked / "towers.nearer", "--out", name, exits=0)
    table = parquet.read_table(tmp_path / "top.parquet").to_pylist()
    assert [(row["left"], row["right"]) for row in table] == [
        (row["left"], row["right"]) for row in rows_of(tmp_path / "top.csv")
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("names.txt", "u5\n\nu3\n"),
        ("names.csv", "age,user_id\n31,u5\n18,u3\n"),
        ("names.csv", "u5\nu3\n"),
        ("names.tsv", "user\tage\nu5\t31\nu3\t18\n"),
    ],
)
def test_users_may_be_listed_in_a_file(run, clicked, tmp_path, name, text):
    (tmp_path / name).write_text(text)
    arguments = ("recommend", clicked / "towers.nearer", "--rows", name, "--k", 2)
    shown = run(*arguments, exits=0).stdout.splitlines()
    assert shown[0].split() == ["left", "rank", "right", "score"]
    assert [line.split()[:2] for line in shown[1:]] == [["u5", "1"], ["u5", "2"], ["u3", "1"], ["u3", "2"]]
    facts = json.loads(run(*arguments, "--json").stdout)
    assert [row["left"] for row in facts["recommendations"]] == ["u5", "u5", "u3", "u3"]


def test_without_a_file_a_few_are_shown(run, clicked):
    result = run("recommend", clicked / "towers.nearer", "--k", 2, exits=0)
    assert len(result.stdout.splitlines()) == 1 + 3 * 2
    assert "3 of 60" in result.stderr
    assert "--out" in result.stderr


def test_seen_pairs_are_left_out_unless_asked_for(run, clicked, model, tmp_path):
    (tmp_path / "one.txt").write_text("u5\n")
    arguments = ("recommend", clicked / "towers.nearer", "--rows", "one.txt", "--k", 40, "--json")
    place = model.left_names_.index("u5")
    seen = model.seen_columns_[model.seen_starts_[place] : model.seen_starts_[place + 1]]
    seen = {model.right_names_[k] for k in seen}
    assert seen
    found = {row["right"] for row in json.loads(run(*arguments).stdout)["recommendations"]}
    assert found == set(model.right_names_) - seen
    every = json.loads(run(*arguments, "--include-seen").stdout)["recommendations"]
    assert {row["right"] for row in every} == set(model.right_names_)


def test_a_model_without_names_takes_indices(run, tmp_path):
    planted, _, _ = nearer.datasets.planted_interactions(20, 10, 2, 60, random_state=0)
    nearer.save(
        nearer.TwoTower(2, hidden=(), max_epochs=2, random_state=0).fit(planted), tmp_path / "m.nearer"
    )
    (tmp_path / "rows.txt").write_text("7\n0\n")
    facts = json.loads(run("recommend m.nearer --rows rows.txt --k 1 --json").stdout)
    assert [row["left"] for row in facts["recommendations"]] == [7, 0]
    (tmp_path / "rows.txt").write_text("20\n")
    run("recommend m.nearer --rows rows.txt", exits=2, says=["rows.txt, line 1", "from 0 to 19"])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("user\nu5\nzed\n", ["names.csv, line 3", "'zed'"]),
        ("user\n", ["names.csv", "at least one"]),
        ("", ["names.csv", "at least one"]),
        ("item\ni3\n", ["names.csv", "0 columns"]),
        ("user,customer\nu5,u5\n", ["names.csv", "2 columns"]),
        ("age,user\n3,u5\n3\n", ["names.csv, line 3"]),
    ],
)
def test_lists_that_cannot_be_used_are_refused(run, clicked, tmp_path, text, says):
    (tmp_path / "names.csv").write_text(text)
    arguments = ("recommend", clicked / "towers.nearer", "--rows", "names.csv", "--out", "top.csv")
    run(*arguments, exits=2, says=says)
    assert not (tmp_path / "top.csv").exists()


def test_outputs_are_checked_first(run, clicked, fitted):
    run("recommend", clicked / "towers.nearer", "--out", "top.xls", exits=2, says=["top.xls", ".parquet"])
    run("recommend", clicked / "towers.nearer", "--out", "no/top.csv", exits=2, says=["no/top.csv"])
    run("recommend", clicked / "towers.nearer", "--out", clicked / "towers.nearer", exits=2, says=["input"])
    run("recommend", fitted / "model.nearer", exits=2, says=["OrdinalEmbedding", "--model towers"])
    run("export", fitted / "model.nearer", "e.npz", exits=2, says=["OrdinalEmbedding"])
    run("export", clicked / "towers.nearer", "e.txt", exits=2, says=["e.txt", ".parquet"])


@pytest.mark.parametrize("name", ["e.npz", "e.parquet"])
def test_export_writes_both_embeddings(run, clicked, model, tmp_path, name):
    facts = json.loads(run("export", clicked / "towers.nearer", name, "--json").stdout)
    assert (facts["n_left"], facts["n_right"]) == (60, 40)
    if name.endswith("npz"):
        left = np.load(tmp_path / name)["left"]
    else:
        rows = [row for row in parquet.read_table(tmp_path / name).to_pylist() if row["side"] == "left"]
        left = np.array([row["embedding"] for row in rows])
    np.testing.assert_array_equal(left, model.left_embedding_)


@pytest.mark.parametrize(
    "command", ["plot {model}", "predict {model} {pairs}", "fit {pairs} --start {model}"]
)
def test_other_commands_refuse_towers(run, clicked, tmp_path, command):
    line = command.format(model=clicked / "towers.nearer", pairs=clicked / "clicks.csv")
    run(line, exits=2, says=["towers.nearer", "TwoTower"])
    assert list(tmp_path.iterdir()) == []
