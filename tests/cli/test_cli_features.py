"""Tables of features for `nearer fit --model towers`."""

import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import nearer
from nearer.cli._row_features import read_features

pytest.importorskip("torch")
SMALL = ("--model", "towers", "--hidden", "none", "--dim", 4, "--max-epochs", 3, "--test-size", 0)


def users_table(folder, text="user,age,job\n{rows}\n"):
    rows = "\n".join(
        f"u{number},{number % 7},{('cook', 'nurse', 'poet')[number % 3]}" for number in range(60)
    )
    (folder / "users.csv").write_text(text.format(rows=rows))


def test_features_reach_the_fit(run, clicked, tmp_path):
    users_table(tmp_path)
    items = pa.table({"item": [f"i{number}" for number in range(40)], "year": list(range(40))})
    parquet.write_table(items, tmp_path / "items.parquet")
    tables = ("--left-features", "users.csv", "--right-features", "items.parquet")
    facts = json.loads(run("fit", clicked / "clicks.csv", *SMALL, *tables, "--json", exits=0).stdout)
    assert facts["details"]["inputs"] == ["features+history", "ids+features"]
    model = nearer.load("model.nearer")
    assert len(model.left_scaling_.size) == 1 + 3  # the age, and one column per job
    assert model.right_scaling_.offset == pytest.approx([19.5])


def test_rows_follow_the_names_of_the_pairs(tmp_path):
    (tmp_path / "users.csv").write_text("id,age,job\n007,7,cook\nbob,5,poet\nann,3,cook\n")
    X = read_features(tmp_path / "users.csv", ("ann", "007"), 2).values
    np.testing.assert_array_equal(X, [[3, 1], [7, 1]])
    X = read_features(tmp_path / "users.csv", ("bob", "ann"), 2).values
    np.testing.assert_array_equal(X, [[5, 0, 1], [3, 1, 0]])


def test_rows_without_names_are_found_by_index(tmp_path):
    (tmp_path / "users.tsv").write_text("id\tage\n1\t5\n0\t3\n")
    np.testing.assert_array_equal(read_features(tmp_path / "users.tsv", None, 2).values, [[3], [5]])


@pytest.mark.parametrize(
    ("text", "options", "says"),
    [
        ("user,age\nu0,3\n", [], ["users.csv", "'u1' and 58 others"]),
        ("user\nu0\n", [], ["users.csv", "no features"]),
        ("user,age,age\n{rows}\n", [], ["users.csv", "two columns are called 'age'"]),
        ("user,age,job\n{rows}\nu3,4,cook\n", [], ["users.csv", "'u3' has two rows"]),
        ("user,age,job\n{rows}\n", ["--inputs", "history,ids"], ["--inputs", "features"]),
        ("user,age,job\n{rows}\nu3\n", [], ["users.csv"]),
    ],
)
def test_tables_that_cannot_be_used_are_refused(run, clicked, tmp_path, text, options, says):
    users_table(tmp_path, text)
    run("fit", clicked / "clicks.csv", *SMALL, "--left-features", "users.csv", *options, exits=2, says=says)
    assert not (tmp_path / "model.nearer").exists()


@pytest.mark.parametrize(("cell", "says"), [("", "empty"), ("inf", "inf is not a finite number")])
def test_cells_that_cannot_be_used_are_refused(run, clicked, tmp_path, cell, says):
    users_table(tmp_path)
    text = (tmp_path / "users.csv").read_text().replace("u4,4,", f"u4,{cell},")
    (tmp_path / "users.csv").write_text(text)
    tables = ("--left-features", "users.csv")
    run("fit", clicked / "clicks.csv", *SMALL, *tables, exits=2, says=["users.csv, row 4", "'age'", says])


def test_files_and_models_of_another_kind_are_refused(run, clicked, fitted, tmp_path):
    users_table(tmp_path)
    tables = ("--left-features", "users.xls")
    run("fit", clicked / "clicks.csv", *SMALL, *tables, exits=2, says=["users.xls", ".parquet"])
    tables = ("--left-features", "none.csv")
    run("fit", clicked / "clicks.csv", *SMALL, *tables, exits=2, says=["none.csv"])
    tables = ("--left-features", "users.csv")
    run("fit", fitted / "answers.csv", *tables, exits=2, says=["--left-features", "towers"])
    run("fit", clicked / "clicks.csv", *SMALL, *tables, "--out", "users.csv", exits=2, says=["input"])
    inputs = ("--inputs", "features+ids,ids")
    run("fit", clicked / "clicks.csv", *SMALL, *inputs, exits=2, says=["--inputs", "--left-features"])
