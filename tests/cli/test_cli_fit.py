"""`nearer fit`: files, scores, settings that matter, ctrl-C."""

import json
import signal
import sys

import numpy as np
import pytest

import nearer
import nearer.report


@pytest.fixture
def answers(tmp_path, named_answers):
    path = tmp_path / "answers.csv"
    path.write_text(named_answers, encoding="utf-8")
    return path


def test_fit_writes_a_model_and_a_report(run, answers, tmp_path):
    result = run(f"fit {answers} --dim 2 --loss tste --out model.nearer --report report.html", exits=0)
    assert result.stderr == ""
    assert "held-out accuracy" in result.stdout
    model = nearer.load(tmp_path / "model.nearer")
    assert model.embedding_.shape == (12, 2)
    assert model.names_[:2] == ("thing0", "thing1")
    assert model.loss_.name == "tste"
    assert "<h1>answers.csv</h1>" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_fit_json_says_what_the_model_says(run, answers, tmp_path):
    facts = json.loads(run("fit", answers, "--json").stdout)
    assert facts["n_train"] + facts["n_test"] == 1500
    assert facts["n_test"] == 300
    assert facts["test_accuracy"] > 0.9
    model = nearer.load(tmp_path / facts["model"])
    train, test = nearer.Comparisons.read(answers).split(test_size=0.2, random_state=0)
    assert facts["test_accuracy"] == model.score(test)
    assert facts["train_accuracy"] == model.score(train)
    assert facts["objective"] == model.result_.objective


def test_fit_without_a_test_part_uses_every_answer(run, answers):
    facts = json.loads(run("fit", answers, "--test-size", 0, "--json").stdout)
    assert facts["n_train"] == 1500
    assert facts["test_accuracy"] is None


def embedding(run, answers, *options):
    assert run("fit", answers, "--force", "--max-epochs", 5, *options).exit_code == 0
    return nearer.load("model.nearer").embedding_


def test_fit_repeats_with_the_same_seed_and_differs_with_another(run, answers):
    first = embedding(run, answers, "--seed", 1)
    np.testing.assert_array_equal(first, embedding(run, answers, "--seed", 1))
    assert not np.array_equal(first, embedding(run, answers, "--seed", 2))


@pytest.mark.parametrize(
    "options",
    [
        ("--dim", 3),
        ("--loss", "tste"),
        ("--solver", "sgd"),
        ("--l2", 0.5),
        ("--test-size", 0.5),
        ("--max-epochs", 1),
    ],
)
def test_every_setting_changes_the_map(run, answers, options):
    assert not np.array_equal(embedding(run, answers), embedding(run, answers, *options))


def test_restarts_and_jobs_reach_the_estimator(run, answers):
    embedding(run, answers, "--restarts", 3, "--jobs", 2)
    model = nearer.load("model.nearer")
    assert (model.n_init, model.n_jobs) == (3, 2)


def test_defaults_are_those_of_the_estimator():
    from inspect import signature

    from nearer.cli.fit import fit

    command = {name: parameter.default for name, parameter in signature(fit).parameters.items()}
    renamed = {"dim": "n_components", "restarts": "n_init", "jobs": "n_jobs"}
    shared = ("dim", "solver", "l2", "effort", "restarts", "max_epochs", "max_seconds", "tol", "jobs")
    estimator = nearer.OrdinalEmbedding().get_params()
    assert {name: command[name] for name in shared} == {
        name: estimator[renamed.get(name, name)] for name in shared
    }


def test_fit_stops_at_its_budget_of_seconds(run, answers):
    facts = json.loads(run("fit", answers, "--max-seconds", 1e-9, "--json").stdout)
    assert facts["stop_reason"] == "seconds"


def test_fit_stops_at_its_tolerance(run, answers):
    options = ("--solver", "batch", "--max-epochs", 50, "--json")
    coarse = json.loads(run("fit", answers, *options, "--tol", 0.9).stdout)
    fine = json.loads(run("fit", answers, *options, "--tol", 0, "--force").stdout)
    assert coarse["stop_reason"] == "tolerance"
    assert coarse["n_epochs"] < fine["n_epochs"] == 50


def test_two_threads_give_the_same_map(run, answers):
    np.testing.assert_array_equal(embedding(run, answers), embedding(run, answers, "--jobs", 2))


def test_fit_drops_invalid_rows_when_asked(run, answers):
    with answers.open("a", encoding="utf-8") as stream:
        stream.write("thing1,thing1,thing2\n")
    refused = run("fit", answers, exits=2, says=["answers.csv"])
    assert "1502" in refused.stderr  # the line of the file
    facts = json.loads(run("fit", answers, "--invalid", "drop", "--json").stdout)
    assert facts["n_dropped"] == 1


def test_fit_reads_columns_with_other_names(run, tmp_path, answers):
    text = answers.read_text(encoding="utf-8").replace("anchor,near,far", "city,closest,distant", 1)
    (tmp_path / "other.csv").write_text(text, encoding="utf-8")
    assert run("fit other.csv").exit_code == 2
    assert run("fit other.csv --columns anchor=city,near=closest,far=distant").exit_code == 0
    assert run("fit other.csv --columns anchor=0,near=1,far=2 --force").exit_code == 0
    run("fit other.csv --columns anchor:city --force", exits=2, says=["role=column"])


def interrupt(*_, **__):
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("module", "function", "options", "missing"),
    [
        ("nearer.cli.fit", "facts_about", [], ""),
        ("nearer.cli.fit", "facts_about", ["--report", "report.html"], ", the report report.html was not"),
        ("nearer.report", "render_report", ["--report", "report.html"], ", the report report.html was not"),
        (
            "nearer.cli.fit",
            "show",
            ["--report", "report.html"],
            "",
        ),  # it is there before the numbers are shown
    ],
)
def test_ctrl_c_after_the_fit_keeps_the_model(
    run, answers, tmp_path, monkeypatch, module, function, options, missing
):
    monkeypatch.setattr(sys.modules[module], function, interrupt)
    result = run("fit", answers, "--max-epochs", 3, "--tol", 0, *options, exits=130)
    assert nearer.load(tmp_path / "model.nearer").result_.stop_reason == "epochs"
    assert (tmp_path / "report.html").exists() == (bool(options) and not missing)
    assert result.stderr == f"nearer: interrupted, the map was written to model.nearer{missing}\n"


def test_one_is_not_many(run, tmp_path):
    (tmp_path / "two.csv").write_text("anchor,near,far\n0,1,2\n1,0,2\n")
    shown = run("fit", "two.csv", "--dim", 1, "--max-epochs", 1, "--report", "r.html").stdout
    for part in ("1 dimension,", "1 epoch:", "of 1 answer\n", "of 1 answer that"):
        assert part in shown
    page = (tmp_path / "r.html").read_text()
    for part in ("1 dimension;", "1 epoch<", "1 comparison<", "1 unseen comparison<"):
        assert part in page


def test_fit_reads_what_studies_write(run, tmp_path):
    (tmp_path / "odd.csv").write_text("a,b,c,odd\ncat,dog,car,car\ndog,cat,bus,bus\ncar,bus,cat,cat\n")
    facts = json.loads(run("fit", "odd.csv", "--test-size", 0, "--json").stdout)
    assert (facts["n_train"], facts["n_objects"]) == (6, 4)
    (tmp_path / "sides.csv").write_text("anchor,left,right,response\n0,1,2,left\n2,0,1,right\n1,0,2,left\n")
    assert json.loads(run("fit sides.csv --json --force").stdout)["n_dropped"] == 0
    (tmp_path / "places.csv").write_text("anchor,a,b,response\n0,1,2,1\n0,1,3,2\n")
    assert run("fit places.csv --force").exit_code == 2
    assert run("fit places.csv --coding position --force").exit_code == 0


def test_ctrl_c_keeps_the_best_map_so_far(start, process, tmp_path):
    process("simulate", "--objects", 300, "--comparisons", 100000, "--noise", 0.2, "--out", "answers.parquet")
    # a given l2 leaves out the trials of automatic choices: the interruption falls into the fit itself
    forever = ["--solver", "svrg", "--l2", 0, "--tol", 0, "--max-epochs", 10**9]
    fit = start("fit", "answers.parquet", *forever, "--json", "--report", "report.html")
    fit.screen.wait_for("objective")  # the bar has seen an epoch
    fit.send_signal(signal.SIGINT)
    stdout = fit.stdout.read()
    assert fit.wait(timeout=60) == 130
    screen = fit.screen.wait_for("was written to model.nearer")
    assert "nearer: interrupted, the best map so far" in screen
    assert "Traceback" not in screen
    facts = json.loads(stdout)
    assert facts["stop_reason"] == "interrupted"
    model = nearer.load(tmp_path / "model.nearer")
    assert model.result_.stop_reason == "interrupted"
    assert model.result_.objective == facts["objective"]
    assert (tmp_path / "report.html").exists()
