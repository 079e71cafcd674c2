"""Bad input: one sentence on stderr, exit code 2, nothing written, never a traceback."""

import os
import re
import sys

import pytest

from nearer.cli import Commands, app, sentence
from tests.cli.conftest import assert_one_sentence

FILES = {
    "empty.csv": b"",
    "words.csv": b"what is this\n",
    "header.csv": b"anchor,near,far\n",
    "same.csv": b"anchor,near,far\n1,2,3\n4,4,5\n",
    "gap.csv": b"anchor,near,far\na,b,c\na,,c\n",
    "ragged.csv": b"anchor,near,far\na,b,c\na,b\n",
    "binary.csv": bytes(range(256)) * 4,
    "broken.parquet": b"PAR1 no more",
    "broken.npz": b"PK no more",
    "broken.jsonl": b'{"anchor": 1,\n',
    "unknown.xyz": b"a,b,c\n",
}


@pytest.mark.parametrize("name", FILES)
def test_bad_files_are_named(run, tmp_path, name):
    (tmp_path / name).write_bytes(FILES[name])
    assert_one_sentence(run("fit", name, "--out", "model.nearer"), name)
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize(("name", "row"), [("same.csv", 3), ("gap.csv", 3)])
def test_bad_rows_are_counted_as_an_editor_does(run, tmp_path, name, row):
    (tmp_path / name).write_bytes(FILES[name])
    assert re.search(rf"\b{row}\b", run("fit", name).stderr)


def test_missing_files_and_folders(run, tmp_path):
    assert_one_sentence(run("fit nowhere.csv"), "nowhere.csv")
    (tmp_path / "folder").mkdir()
    assert_one_sentence(run("fit folder"), "folder")
    assert_one_sentence(run("evaluate nowhere.nearer a.csv"), "nowhere.nearer: no such file")
    assert_one_sentence(run("convert nowhere.csv out.csv"), "nowhere.csv")


def test_outputs_are_checked_before_any_work(run, fitted, tmp_path):
    answers = fitted / "answers.csv"
    assert_one_sentence(run("fit", answers, "--out", "no/model.nearer"), "no/model.nearer", "does not exist")
    assert_one_sentence(run("fit", answers, "--out", tmp_path), "folder")
    assert_one_sentence(run("fit", answers, "--out", "a.nearer", "--report", "./a.nearer"), "two outputs")
    assert_one_sentence(run("convert", answers, answers), "this is the input")
    assert_one_sentence(run("fit", answers, "--report", "r.pdf"), "r.pdf: a report is an HTML page")
    assert_one_sentence(run("demo --out demo.pdf"), "demo.pdf: a report is an HTML page")
    assert_one_sentence(run("demo --out no/demo.html"), "does not exist")
    assert os.listdir(tmp_path) == []


def test_a_failed_report_leaves_the_model(run, fitted, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise OSError(28, "No space left on device", "report.html")

    monkeypatch.setattr("nearer.report.write_report", fail)
    result = run("fit", fitted / "answers.csv", "--max-epochs", 1, "--report", "report.html")
    assert_one_sentence(result, "report.html: no space left on device")
    assert os.listdir(tmp_path) == ["model.nearer"]


def test_a_failed_output_leaves_no_other_behind(run, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise OSError(28, "No space left on device", "truth.csv")

    monkeypatch.setattr(sys.modules["nearer.cli.simulate"], "write_points", fail)
    result = run("simulate", "--comparisons", 10, "--truth", "truth.csv")
    assert_one_sentence(result, "truth.csv: no space left on device")
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission(run, tmp_path):
    (tmp_path / "secret.csv").write_text("anchor,near,far\n0,1,2\n")
    (tmp_path / "secret.csv").chmod(0)
    assert_one_sentence(run("fit secret.csv"), "secret.csv: permission denied")


def test_bad_models(run, fitted, tmp_path):
    (tmp_path / "bad.nearer").write_text("no model")
    assert_one_sentence(run("evaluate", "bad.nearer", fitted / "answers.csv"), "bad.nearer")
    assert_one_sentence(run("plot bad.nearer"), "bad.nearer")
    assert_one_sentence(run("predict", "bad.nearer", fitted / "answers.csv"), "bad.nearer")


def test_a_model_of_another_kind_is_refused(run):
    import nearer

    nearer.save(nearer.FeatureMap(gamma=1.0).fit([[0.0], [1.0]], [[0.0], [1.0]]), "place.nearer")
    assert_one_sentence(run("plot place.nearer"), "place.nearer", "FeatureMap")


def test_answers_about_unknown_objects(run, fitted, tmp_path):
    (tmp_path / "other.csv").write_text("anchor,near,far\nthing1,thing2,unheard\n")
    assert_one_sentence(run("evaluate", fitted / "model.nearer", "other.csv"), "other.csv", "unheard")


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["fot"], "Did you mean 'fit'"),
        (["fit"], "ANSWERS"),
        (["fit", "a.csv", "--dim", "two"], "--dim"),
        (["fit", "a.csv", "--dim", "0"], "--dim"),
        (["fit", "a.csv", "--nothing"], "--nothing"),
        (["fit", "a.csv", "--invalid", "keep"], "--invalid"),
        (["simulate", "--noise", "0.9"], "noise"),
        (["simulate", "--noise", "loud"], "loud"),
    ],
)
def test_usage_errors(run, arguments, part):
    assert_one_sentence(run(*arguments), part)


def test_unknown_losses_and_solvers(run, fitted):
    loss = run("fit", fitted / "answers.csv", "--loss", "love")
    assert_one_sentence(loss, "love", "--loss", "'soe', 'robust-soe', 'auto'")
    solver = run("fit", fitted / "answers.csv", "--solver", "magic")
    assert_one_sentence(solver, "magic", "--solver", "'auto', 'svrg-sbb'")
    for result in (loss, solver):
        assert "nearer.losses" not in result.stderr
        assert "nearer.solvers" not in result.stderr


TABLES = {
    "tea.csv": "tea,coffee,cars\ncoffee,tea,milk\n",
    "zeros.csv": "anchor,a,b,response\n0,1,2,1\n0,1,3,0\n",
    "places.csv": "anchor,a,b,response\n0,1,2,1\n0,1,3,2\n",
    "same.csv": "anchor,near,far\nthing1,thing2,thing3\nthing4,thing4,thing5\n",
    "mixed.csv": "anchor,near,far\nthing1,thing2,0\nthing2,thing1,0\n",
    "one.csv": "anchor,near,far\n0,1,2\n",
}


@pytest.mark.parametrize("command", ["fit", "convert", "evaluate", "predict"])
@pytest.mark.parametrize("name", TABLES)
def test_advice_names_options_that_the_command_has(run, fitted, tmp_path, command, name):
    (tmp_path / name).write_text(TABLES[name])
    arguments = {"fit": [name], "convert": [name, "out.csv"]}.get(command, [fitted / "model.nearer", name])
    message = run(command, *arguments).stderr
    shown = run(command, "--help").stdout
    for option in re.findall(r"--[a-z-]+", message):
        assert option in shown
    assert not re.search(r"\b(invalid|zero|coding|header|names|columns|first_index|test_size)=", message)
    assert not re.search(r"[a-z']--|\bpass$", message)


def test_the_hint_at_a_missing_header_is_a_part_of_the_sentence(run, tmp_path):
    (tmp_path / "tea.csv").write_text(TABLES["tea.csv"])
    assert_one_sentence(
        run("fit tea.csv --columns anchor=city"),
        "--columns names 'city'",
        "'tea', 'coffee', 'cars'",
        "pass --no-header if",
    )


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["--max-seconds", 0], "--max-seconds must be a number above 0, not 0.0"),
        (["--l2", "strong"], "--l2 must be "),
        (["--columns", "city=0"], "--columns has the key 'city'"),
    ],
)
def test_settings_are_called_as_they_are_typed(run, fitted, options, part):
    assert_one_sentence(run("fit", fitted / "answers.csv", *options), part)


def test_what_is_for_tables_is_called_as_it_is_typed(run, tmp_path):
    run("simulate", "--comparisons", 10, "--out", "a.npz")
    refused = run("convert a.npz b.csv --zero second")
    assert_one_sentence(refused, "a.npz: --zero ")
    assert_one_sentence(run("convert a.npz b.csv --no-header"), "a.npz: --header ")


def test_too_few_answers_to_hold_some_out(run, tmp_path):
    (tmp_path / "one.csv").write_text(TABLES["one.csv"])
    assert_one_sentence(run("fit one.csv"), "one.csv: ", "--test-size 0")
    assert run("fit", "one.csv", "--test-size", 0).exit_code == 0


def test_a_table_is_no_model(run, fitted):
    answers = fitted / "answers.csv"
    for arguments in (["plot", answers], ["predict", answers, answers], ["evaluate", answers, answers]):
        assert_one_sentence(run(*arguments), "answers.csv is a table of data, not a model")


def test_a_warning_is_a_sentence_about_an_option(run, tmp_path):
    (tmp_path / "from1.csv").write_text("anchor,near,far\n1,2,3\n2,1,3\n3,2,1\n")
    warned = run("convert from1.csv out.csv", exits=0)
    assert warned.stderr.startswith("nearer: from1.csv: the smallest index is 1")
    assert "--first-index 1" in warned.stderr
    assert warned.stderr.count("\n") == 1
    told = run("convert", "from1.csv", "out.csv", "--first-index", 1)
    assert (told.exit_code, told.stderr) == (0, "")
    assert (tmp_path / "out.csv").read_text() == "anchor,near,far\n0,1,2\n1,0,2\n2,1,0\n"


def test_a_bug_is_not_hidden(run, fitted, monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("nearer.saving.load", broken)
    with pytest.raises(ZeroDivisionError):
        run("plot", fitted / "model.nearer")


def test_tracebacks_can_be_asked_for(run, monkeypatch):
    monkeypatch.setenv("NEARER_TRACEBACK", "1")
    with pytest.raises(FileNotFoundError):
        run("evaluate nowhere.nearer a.csv")


def test_sentences():
    assert sentence(MemoryError()) == "out of memory"
    assert sentence(PermissionError(13, "Permission denied", b"a.csv")) == "a.csv: permission denied"
    assert sentence(KeyError("a")) is None
    assert sentence(OSError("odd")) == "odd"


def test_callers_in_python_get_the_exception():
    with pytest.raises(FileNotFoundError):
        app(["evaluate", "nowhere.nearer", "a.csv"], standalone_mode=False)
    assert issubclass(Commands, object)


@pytest.mark.parametrize("model", ["embedding", "kernel", "online"])
def test_numbers_of_a_database_are_explained_and_a_letter_before_each_helps(run, tmp_path, model):
    rows = [(0, 1, 2), (1, 2, 0), (2, 0, 1), (0, 2, 3), (3, 1, 2)]
    numbers = [",".join(str(2_000_000_000 + at) for at in row) for row in rows]
    (tmp_path / "answers.csv").write_text("\n".join(["anchor,near,far", *numbers]) + "\n")
    settings = ("--model", model, "--test-size", "0", "--out", "model.nearer")
    assert_one_sentence(run("fit", "answers.csv", *settings), "answers.csv: 2,000,000,004 objects", "letter")
    assert not (tmp_path / "model.nearer").exists()
    letters = [",".join(f"n{cell}" for cell in row.split(",")) for row in numbers]
    (tmp_path / "answers.csv").write_text("\n".join(["anchor,near,far", *letters]) + "\n")
    assert run("fit", "answers.csv", *settings).exit_code == 0


def test_an_online_model_refuses_numbers_of_a_database_too(run, tmp_path):
    (tmp_path / "answers.csv").write_text("anchor,near,far\n0,1,2\n1,2,0\n")
    run("fit answers.csv --model online --rank 2 --test-size 0 --out model.nearer")
    (tmp_path / "more.csv").write_text("anchor,near,far\n0,1,2000000000\n")
    assert_one_sentence(run("fit more.csv --start model.nearer"), "more.csv: 2,000,000,001 objects")
