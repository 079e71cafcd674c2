"""`nearer demo`, and help that tells the truth."""

import json
import shlex

import pytest

from nearer.cli._help import EXAMPLES
from nearer.losses import LOSSES
from nearer.solvers import SOLVERS


def test_demo_draws_europe(run, tmp_path):
    result = run("demo")
    assert result.exit_code == 0, result.stderr
    assert str(tmp_path / "nearer-demo.html") in result.stdout
    assert "held-out accuracy" in result.stdout
    page = (tmp_path / "nearer-demo.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 4  # three maps side by side, the map, the objective, the steps
    assert "Metric MDS" in page


def test_demo_numbers(run):
    facts = json.loads(run("demo", "--out", "demo.html", "--json").stdout)
    assert facts["n_train"] == 2000
    assert 0.9 < facts["test_accuracy"] <= 1
    assert facts["procrustes_distance_mds"] < facts["procrustes_distance"] < 0.05
    again = json.loads(run("demo", "--out", "demo.html", "--json").stdout)
    assert {**again, "seconds": 0} == {**facts, "seconds": 0}
    other = json.loads(run("demo", "--out", "demo.html", "--json", "--seed", 1).stdout)
    assert other["procrustes_distance"] != facts["procrustes_distance"]


@pytest.mark.parametrize("command", [name for name in EXAMPLES if name != "nearer"])
def test_help_shows_the_examples(run, command):
    result = run(command, "--help")
    assert result.exit_code == 0
    shown = "".join(result.stdout.split())
    for example in EXAMPLES[command]:
        assert "".join(example.split()) in shown


@pytest.mark.parametrize("example", [line for lines in EXAMPLES.values() for line in lines])
def test_every_example_runs(run, tmp_path, named_answers, example):
    (tmp_path / "answers.csv").write_text(named_answers)
    (tmp_path / "questions.csv").write_text("anchor,a,b\nthing1,thing2,thing3\n")
    labels = "\n".join(f"thing{number},{number % 3}" for number in range(12))
    (tmp_path / "labels.csv").write_text(f"object,label\n{labels}\n")
    run("fit", "answers.csv", "--out", "model.nearer", "--max-epochs", 3)
    run("convert", "answers.csv", "answers.jsonl")
    arguments = shlex.split(example.partition(">")[0])
    assert arguments[0] == "nearer"
    result = run(*arguments[1:])
    assert result.exit_code == 0, result.stderr


def test_fit_help_names_every_loss_and_solver(run):
    from nearer.cli.fit import _LOSSES, _SOLVERS

    assert set(LOSSES) <= set(_LOSSES.replace(",", " ").split())
    named = set(_SOLVERS.replace(",", " ").replace(".", " ").split())
    assert set(SOLVERS) | {"auto"} == named - {"or"}


def test_no_arguments_show_the_help(run):
    result = run()
    assert "Usage" in result.output
    assert result.exit_code == 2
