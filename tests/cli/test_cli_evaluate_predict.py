"""`nearer evaluate` and `nearer predict`: what a saved model says about files."""

import csv
import io
import json

import numpy as np
import pytest

import nearer


def test_evaluate_agrees_with_python(run, fitted):
    facts = json.loads(run("evaluate", fitted / "model.nearer", fitted / "answers.csv", "--json").stdout)
    model = nearer.load(fitted / "model.nearer")
    answers = nearer.Comparisons.read(fitted / "answers.csv")
    assert facts["accuracy"] == model.score(answers)
    assert facts["error"] == pytest.approx(1 - facts["accuracy"])
    assert facts["log_loss"] == pytest.approx(-np.log(model.predict_proba(answers)).mean())
    assert facts["n_comparisons"] == 1500


def test_evaluate_matches_objects_by_name(run, fitted, tmp_path):
    """Answers about few objects, in another order, get the model's own indices."""
    (tmp_path / "few.csv").write_text("anchor,near,far\nthing7,thing3,thing1\nthing3,thing7,thing1\n")
    facts = json.loads(run("evaluate", fitted / "model.nearer", "few.csv", "--json").stdout)
    model = nearer.load(fitted / "model.nearer")
    code = {name: index for index, name in enumerate(model.names_)}
    rows = [
        [code["thing7"], code["thing3"], code["thing1"]],
        [code["thing3"], code["thing7"], code["thing1"]],
    ]
    assert facts["accuracy"] == model.predict(np.array(rows)).mean()


def test_evaluate_for_people(run, fitted):
    result = run("evaluate", fitted / "model.nearer", fitted / "answers.csv", exits=0)
    assert "accuracy" in result.stdout
    assert "log loss" in result.stdout


def test_evaluate_without_probabilities(run, fitted):
    run("fit", fitted / "answers.csv", "--loss", "soe", "--max-epochs", 3)
    facts = json.loads(run("evaluate", "model.nearer", fitted / "answers.csv", "--json").stdout)
    assert facts["log_loss"] is None
    assert "log loss" not in run("evaluate", "model.nearer", fitted / "answers.csv").stdout


def test_evaluate_tells_what_it_left_out(run, fitted, tmp_path):
    (tmp_path / "some.csv").write_text("anchor,near,far\nthing7,thing3,thing1\nthing3,thing3,thing1\n")
    assert run("evaluate", fitted / "model.nearer", "some.csv").exit_code == 2
    shown = run("evaluate", fitted / "model.nearer", "some.csv", "--invalid", "drop").stdout
    assert "of 1 comparison, 1 row left out" in shown


@pytest.fixture
def numbered(run):
    """A model of numbers, and answers with numbers."""
    run("simulate", "--objects", 12, "--comparisons", 300, "--out", "numbers.csv")
    run("fit", "numbers.csv", "--out", "numbered.nearer", "--max-epochs", 3)


@pytest.mark.parametrize("command", ["evaluate", "predict"])
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_names_and_numbers_are_not_mixed_up(run, fitted, numbered, command, ending):
    run("convert", "numbers.csv", f"numbers.{ending}") if ending != "csv" else None
    refused = run(command, fitted / "model.nearer", f"numbers.{ending}", exits=2)
    assert refused.stderr == (
        f"nearer: numbers.{ending}: the objects have numbers, but the model knows them by name, such as 'thing0'; "
        "give their names\n"
    )
    run("convert", fitted / "answers.csv", f"names.{ending}")
    refused = run(command, "numbered.nearer", f"names.{ending}", exits=2)
    assert refused.stderr.startswith(
        f"nearer: names.{ending}: the objects have names, but the model knows them by number, from 0 to 11;"
    )


def test_names_that_look_like_numbers_are_names(run, tmp_path):
    (tmp_path / "years.csv").write_text("anchor,near,far\n1900,1910,now\nnow,1910,1900\n1910,now,1900\n")
    run("fit", "years.csv", "--test-size", 0)
    assert nearer.load("model.nearer").names_ == ("1900", "1910", "now")
    (tmp_path / "few.csv").write_text("anchor,near,far\nnow,1910,1900\n1910,1900,now\n")
    assert run("evaluate model.nearer few.csv").exit_code == 0


def test_an_unknown_object_is_told_with_its_line_or_left_out(run, fitted, tmp_path):
    (tmp_path / "new.csv").write_text("anchor,near,far\nthing1,thing2,thing3\nthing1,thing2,moon\n")
    run("evaluate", fitted / "model.nearer", "new.csv", exits=2, says=["new.csv, line 3", "moon"])
    facts = json.loads(
        run("evaluate", fitted / "model.nearer", "new.csv", "--invalid", "drop", "--json").stdout
    )
    assert (facts["n_comparisons"], facts["n_dropped"]) == (1, 1)


def test_npz_files_are_matched_by_their_own_names(run, fitted, tmp_path):
    answers = nearer.Comparisons.read(fitted / "answers.csv")
    turned = nearer.Comparisons(11 - answers.indices, names=answers.names[::-1])
    turned.write(tmp_path / "turned.npz")
    facts = json.loads(run("evaluate", fitted / "model.nearer", "turned.npz", "--json").stdout)
    assert facts["accuracy"] == nearer.load(fitted / "model.nearer").score(answers)


def test_questions_may_count_from_1(run, numbered, tmp_path):
    (tmp_path / "from0.csv").write_text("anchor,a,b\n0,1,2\n11,3,4\n")
    (tmp_path / "from1.csv").write_text("anchor,a,b\n1,2,3\n12,4,5\n")
    (tmp_path / "from1.jsonl").write_text('{"anchor": 1, "a": 2, "b": 3}\n{"anchor": 12, "a": 4, "b": 5}\n')
    assert run("predict numbered.nearer from1.csv").exit_code == 2
    expected = [
        int(row["predicted_near"]) + 1 for row in rows_of(run("predict numbered.nearer from0.csv").stdout)
    ]
    for name in ("from1.csv", "from1.jsonl"):
        rows = rows_of(run("predict", "numbered.nearer", name, "--first-index", 1).stdout)
        assert [int(row["predicted_near"]) for row in rows] == expected


def test_predict_refuses_odd_one_out_trials(run, fitted, tmp_path):
    (tmp_path / "odd.csv").write_text("a,b,c,odd\nthing1,thing2,thing3,thing3\n")
    run(f"predict {fitted}/model.nearer odd.csv", exits=2, says=["ask questions with columns anchor, a, b"])


@pytest.fixture
def questions(tmp_path):
    path = tmp_path / "questions.csv"
    path.write_text(
        "id,anchor,a,b\nq1,thing1,thing2,thing3\nq2,thing1,thing3,thing2\nq3,thing5,thing0,thing9\n"
    )
    return path


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_predict_adds_columns_and_keeps_the_others(run, fitted, questions, tmp_path):
    run("predict", fitted / "model.nearer", questions, "--out", "predictions.csv", exits=0)
    rows = rows_of((tmp_path / "predictions.csv").read_text())
    assert [row["id"] for row in rows] == ["q1", "q2", "q3"]
    assert rows[0]["predicted_near"] == rows[1]["predicted_near"]  # the order of the two does not matter
    assert float(rows[0]["probability"]) == pytest.approx(float(rows[1]["probability"]))
    model = nearer.load(fitted / "model.nearer")
    names = list(model.names_)
    codes = np.array([[names.index(row[column]) for column in ("anchor", "a", "b")] for row in rows])
    first = model.predict(codes)
    assert [row["predicted_near"] for row in rows] == [
        row["a" if f else "b"] for row, f in zip(rows, first, strict=True)
    ]
    expected = np.maximum(model.predict_proba(codes), 1 - model.predict_proba(codes))
    np.testing.assert_allclose([float(row["probability"]) for row in rows], expected, rtol=1e-6)


def test_predict_to_stdout(run, fitted, questions):
    result = run("predict", fitted / "model.nearer", questions, exits=0)
    assert len(rows_of(result.stdout)) == 3


def test_predict_as_json(run, fitted, questions):
    facts = json.loads(run("predict", fitted / "model.nearer", questions, "--json").stdout)
    assert len(facts["predictions"]) == 3
    assert facts["predictions"][0]["predicted_near"] in ("thing2", "thing3")
    facts = json.loads(run("predict", fitted / "model.nearer", questions, "--json", "--out", "p.csv").stdout)
    assert facts == {"out": "p.csv", "n_questions": 3}


def test_predict_ignores_answers_that_are_there(run, fitted, tmp_path):
    (tmp_path / "both.csv").write_text(
        "anchor,a,b,response\nthing1,thing2,thing3,1\nthing1,thing2,thing3,-1\nthing1,thing2,thing3,0\n"
    )
    rows = rows_of(run("predict", fitted / "model.nearer", "both.csv").stdout)
    assert len({row["predicted_near"] for row in rows}) == 1
    assert [row["response"] for row in rows] == ["1", "-1", "0"]


def test_predict_without_a_header(run, fitted, tmp_path):
    (tmp_path / "bare.csv").write_text("thing1,thing2,thing3\nthing1,thing3,thing2\nthing2,thing1,thing3\n")
    rows = rows_of(run("predict", fitted / "model.nearer", "bare.csv").stdout)
    assert len(rows) == 3
    assert rows[0]["anchor"] == "thing1"


def test_predict_reads_as_it_is_told(run, fitted, tmp_path):
    (tmp_path / "bare.csv").write_text("thing1,thing2,thing3,why\n")
    assert run("predict", fitted / "model.nearer", "bare.csv").exit_code == 2
    told = ["--no-header", "--columns", "anchor=0,near=1,far=2"]
    rows = rows_of(run("predict", fitted / "model.nearer", "bare.csv", *told).stdout)
    assert rows[0]["column 3"] == "why"
    assert rows[0]["predicted_near"] in ("thing2", "thing3")
    (tmp_path / "questions.jsonl").write_text('{"anchor": "thing1", "a": "thing2", "b": "thing3"}\n')
    assert run("predict", fitted / "model.nearer", "questions.jsonl").exit_code == 0
    assert run("predict", fitted / "model.nearer", "questions.jsonl", "--no-header").exit_code == 2


@pytest.mark.parametrize("ending", ["parquet", "jsonl", "tsv"])
def test_predict_reads_and_writes_other_formats(run, fitted, tmp_path, ending):
    nearer.Comparisons.read(fitted / "answers.csv")[:20].write(tmp_path / f"questions.{ending}")
    run("predict", fitted / "model.nearer", f"questions.{ending}", "--out", f"predictions.{ending}", exits=0)
    assert (
        run("predict", fitted / "model.nearer", f"predictions.{ending}", "--out", "again.csv").exit_code == 0
    )
    assert len(rows_of((tmp_path / "again.csv").read_text())) == 20


def test_predict_for_a_model_without_names(run, tmp_path):
    run("simulate", "--objects", 15, "--comparisons", 1000)
    run("fit", "answers.csv", "--max-epochs", 5)
    (tmp_path / "questions.csv").write_text("anchor,near,far\n0,1,2\n14,3,0\n")
    rows = rows_of(run("predict model.nearer questions.csv").stdout)
    assert rows[0]["predicted_near"] in ("1", "2")
    (tmp_path / "wrong.csv").write_text("anchor,near,far\n0,1,15\n")
    run("predict model.nearer wrong.csv", exits=2, says=["wrong.csv", "15"])


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        ("q.parquet", b"PAR1 no more", "not a parquet file"),
        ("q.jsonl", b'{"anchor": 1,', "q.jsonl"),
        ("q.jsonl", b'{"anchor": "thing1", "a": "thing2", "b": "unheard"}', "unheard"),
        ("q.npz", b"PK", "convert the file"),
        ("q.xyz", b"", "xyz"),
    ],
)
def test_predict_refuses_bad_files_of_other_formats(run, fitted, tmp_path, name, content, part):
    (tmp_path / name).write_bytes(content)
    run("predict", fitted / "model.nearer", name, exits=2, says=[name, part])


def test_predict_refuses_outputs_it_cannot_write(run, fitted, questions):
    run("predict", fitted / "model.nearer", questions, "--out", "predictions.npz", exits=2, says=[".parquet"])


def test_predict_quadruplets(run, tmp_path):
    run("simulate", "--objects", 15, "--comparisons", 2000, "--kind", "quadruplets")
    run("fit", "answers.csv", "--max-epochs", 5, "--loss", "soe")
    rows = rows_of(run("predict model.nearer answers.csv").stdout)
    assert {row["predicted_near"] for row in rows} == {"first", "second"}
    assert "probability" not in rows[0]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "empty"),
        ("anchor,a,b\n", "no "),
        ("anchor,a,b\nthing1,thing2,unheard\n", "unheard"),
        ("anchor,a,b\nthing1,thing1,thing2\n", "thing1"),
        ("anchor,a,b\nthing1,thing2\n", "2"),
        ("who,what,when,why,how\n1,2,3,4,5\n", "columns"),
    ],
)
def test_predict_refuses_bad_questions(run, fitted, tmp_path, text, part):
    (tmp_path / "bad.csv").write_text(text)
    run(f"predict {fitted}/model.nearer bad.csv --out predictions.csv", exits=2, says=["bad.csv", part])
    assert not (tmp_path / "predictions.csv").exists()
