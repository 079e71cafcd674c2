"""`nearer demo`, and help that tells the truth."""

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
from typer.main import get_command

from nearer.cli import app
from nearer.cli._help import EXAMPLES
from nearer.losses import LOSSES
from nearer.objectives import PointObjective
from nearer.solvers import fitting

ROOT = Path(__file__).parents[2]


def test_demo_draws_europe(run, tmp_path):
    result = run("demo", exits=0)
    assert str(tmp_path / "nearer-demo.html") in result.stdout
    assert "held-out accuracy" in result.stdout
    page = (tmp_path / "nearer-demo.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 4  # three maps side by side, the map, the objective, the steps
    assert "Metric MDS" in page


def test_demo_numbers(run):
    facts = json.loads(run("demo --out demo.html --json").stdout)
    assert facts["n_train"] == 2000
    assert 0.9 < facts["test_accuracy"] <= 1
    assert facts["procrustes_distance_mds"] < facts["procrustes_distance"] < 0.05
    again = json.loads(run("demo --out demo.html --json").stdout)
    times = {"seconds": 0, "compile_seconds": 0}
    assert {**again, **times} == {**facts, **times}
    other = json.loads(run("demo", "--out", "demo.html", "--json", "--seed", 1).stdout)
    assert other["procrustes_distance"] != facts["procrustes_distance"]


def test_ctrl_c_in_a_demo_writes_nothing(run, monkeypatch, tmp_path):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("nearer.objectives.PointObjective.value_and_gradient", interrupt)
    result = run("demo")
    assert (result.exit_code, result.stderr) == (130, "nearer: interrupted, nothing was written\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", [name for name in EXAMPLES if name != "nearer"])
def test_help_shows_the_examples(run, command):
    result = run(command, "--help", exits=0)
    shown = "".join(result.stdout.split())
    for example in EXAMPLES[command]:
        assert "".join(example.split()) in shown


@pytest.mark.parametrize("example", [line for lines in EXAMPLES.values() for line in lines])
def test_every_example_runs(run, tmp_path, named_answers, request, example):
    (tmp_path / "answers.csv").write_text(named_answers)
    if "towers" in example:
        for name in ("clicks.csv", "clicks-later.csv", "ratings.csv", "towers.nearer"):
            shutil.copy(request.getfixturevalue("clicked") / name, tmp_path)
    if "songs.csv" in example:
        shutil.copy(request.getfixturevalue("songs") / "songs.csv", tmp_path)
    if "cups.csv" in example:
        cups = request.getfixturevalue("cups")
        shutil.copy(cups / "cups.csv", tmp_path)
        shutil.copy(cups / "answers.csv", tmp_path / "tastings.csv")
    if "posts.csv" in example or "tags.nearer" in example:
        posts = request.getfixturevalue("posts")
        for name in ("posts.csv", "tags.nearer"):
            shutil.copy(posts / name, tmp_path)
        shutil.copy(posts / "asked.csv", tmp_path / "pairs.csv")
    if "friends.csv" in example or "links.nearer" in example:
        for name in ("friends.csv", "later.csv", "links.nearer"):
            shutil.copy(request.getfixturevalue("friends") / name, tmp_path)
    (tmp_path / "names.txt").write_text("u3\nu5\n")
    (tmp_path / "questions.csv").write_text("anchor,a,b\nthing1,thing2,thing3\n")
    labels = "\n".join(f"thing{number},{number % 3}" for number in range(12))
    (tmp_path / "labels.csv").write_text(f"object,label\n{labels}\n")
    if not example.startswith("nearer fit"):
        run("fit", "answers.csv", "--out", "model.nearer", "--max-epochs", 3)
    if "moods.nearer" in example and not example.startswith("nearer fit"):
        run(*shlex.split(next(line for line in EXAMPLES["fit"] if "moods.nearer" in line))[1:], exits=0)
    run("convert answers.csv answers.jsonl")
    if "--start" in example:
        (tmp_path / "more-answers.csv").write_text("anchor,near,far\nthing1,thing2,thing3\n")
        run("fit", "answers.csv", "--model", "online", "--out", "online.nearer", "--test-size", 0.9)
    arguments = shlex.split(example.partition(">")[0])
    assert arguments[0] == "nearer"
    run(*arguments[1:], exits=0)


def documented_commands():
    """Every command in a block of the shell, comments left out."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return sorted(
        {line for page in pages for line in re.findall(r"^\$ (nearer [a-z].*)$", page.read_text(), re.M)}
    )


@pytest.mark.parametrize("line", documented_commands())
def test_commands_of_the_documentation_have_the_options_that_they_show(line):
    _, name, *arguments = shlex.split(line, comments=True)
    command = get_command(app).commands[name]
    context = command.make_context(name, [argument for argument in arguments if argument != ">"])
    assert context.params


def test_fit_help_names_every_loss_and_solver(run):
    from nearer.cli._fit_options import LossName, SolverName

    margins = ("logistic", "square", "smooth-hinge", "squared-hinge")

    assert {loss.value for loss in LossName} == {*LOSSES, "auto", *margins}
    assert {solver.value for solver in SolverName} >= {*fitting(PointObjective), "auto"}
    shown = "".join(run("fit --help").stdout.replace("│", "").split())
    for choices in (LossName, SolverName):
        assert ",".join(choices) in shown


@pytest.mark.parametrize("command", ["fit", "evaluate", "convert"])
def test_help_lists_the_layouts(run, command):
    shown = " ".join(run(command, "--help").stdout.replace("│", "").split())
    layouts = ("anchor, near, far", "near_a, near_b, far_a, far_b", "anchor, a, b, response", "a, b, c, odd")
    for layout in layouts:
        assert layout in shown


def test_no_arguments_show_the_help(run):
    result = run()
    assert "Usage" in result.output
    assert result.exit_code == 2
