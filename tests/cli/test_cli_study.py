"""`nearer simulate --strategy`: studies from the command line."""

import csv
import json
import re
import signal
from inspect import signature

import numpy as np
import pytest
from typer.testing import CliRunner

import nearer
from nearer.active import Study
from nearer.cli import app
from nearer.cli._study import StrategyName, _oracle, counted_by, found_in
from nearer.cli.simulate import simulate

NEEDED = "answers_for_the_error_of_random"

SMALL = "--objects 12 --answers 60 --noise ste"
FEW = ["--objects", 6, "--answers", 20, "--noise", "ste", "--strategy", "adaptive"]


def curves(path):
    with open(path) as stream:
        return list(csv.DictReader(stream))


def test_a_study_writes_curves_and_a_picture(run, tmp_path):
    result = run(f"simulate {SMALL} --strategy arr --strategy random --repeats 2 --plot s.png", exits=0)
    assert (tmp_path / "s.png").read_bytes().startswith(b"\x89PNG")
    rows = curves(tmp_path / "curves.csv")
    assert {row["strategy"] for row in rows} == {"arr", "random"}
    assert {row["repetition"] for row in rows} == {"0", "1"}
    assert max(int(row["answers"]) for row in rows) == 60
    assert re.search(r"^random +held-out error 0\.\d+ after 60 answers$", result.stdout, re.MULTILINE)
    assert re.search(r"^arr +held-out error 0\.\d+ after 60 answers", result.stdout, re.MULTILINE)
    assert result.stderr == ""


def test_the_bar_moves_with_every_batch():
    told = []
    oracle = counted_by(told.append, nearer.active.PlantedOracle(8))
    nearer.active.play(
        oracle, ["random", "arr"], n_answers=30, checkpoints=[30], repeats=2, batch=10, random_state=0
    )
    assert told == list(range(10, 121, 10))


def test_the_bar_shows_on_a_terminal(start):
    study = start(f"simulate {SMALL} --strategy random --json")
    facts = json.loads(study.stdout.read())
    assert study.wait(timeout=60) == 0
    assert facts["finished"]
    assert "60/60" in study.screen.wait_for("60/60")


def test_what_is_told_of_a_study():
    errors = np.full((3, 3, 2), np.nan)
    errors[0] = [[0.4, 0.2], [0.4, 0.25], [0.4, 0.3]]
    errors[1] = [[0.3, 0.1], [0.3, 0.2], [0.3, 0.2]]
    errors[2, :2, 0] = [0.3, 0.35]
    study = Study(("random", "arr", "adaptive"), np.array([10, 20]), errors, np.zeros((3, 3)))
    found = found_in(study)
    assert (found["random"]["answers"], found["random"]["error"]) == (20, 0.25)
    assert (found["arr"]["answers"], found["arr"]["error"]) == (20, 0.2)
    assert found["arr"][NEEDED] == 15.0  # of 15, 15 and 10
    assert (found["adaptive"]["answers"], found["adaptive"]["error"]) == (10, pytest.approx(0.325))
    assert found["adaptive"][NEEDED] is None


def test_the_command_plays_what_the_library_plays(run):
    facts = json.loads(run(f"simulate {SMALL} --strategy adaptive --seed 3 --json").stdout)
    study = nearer.active.play(
        nearer.active.PlantedOracle(12, 2, noise="ste"), "adaptive", n_answers=60, random_state=3
    )
    assert facts["strategies"]["adaptive"]["error"] == pytest.approx(study.errors[0, 0, -1])
    assert (facts["n_answers"], facts["n_objects"], facts["seed"]) == (60, 12, 3)


@pytest.fixture(scope="module")
def plain_curves(tmp_path_factory):
    path = tmp_path_factory.mktemp("study") / "curves.csv"
    result = CliRunner().invoke(app, [*map(str, ["simulate", *FEW, "--out", path])])
    assert result.exit_code == 0, result.output
    return path.read_text()


@pytest.mark.parametrize(
    "change",
    [
        ["--scale", 3],
        ["--noise", 0.2],
        ["--dim", 3],
        ["--batch", 1],
        ["--random-share", 0.7],
        ["--seed", 1],
        ["--answers", 21],
        ["--repeats", 2],
    ],
    ids=str,
)
def test_every_option_changes_the_study(run, tmp_path, plain_curves, change):
    assert run("simulate", *FEW, *change).exit_code == 0
    assert (tmp_path / "curves.csv").read_text() != plain_curves


def test_ten_answers_a_coordinate_by_default(run):
    facts = json.loads(run("simulate", "--objects", 5, "--dim", 1, "--strategy", "random", "--json").stdout)
    assert facts["n_answers"] == 50
    assert facts["strategies"]["random"]["answers"] < 30 + 1  # five objects allow 30 questions


def test_a_study_says_when_questions_ran_out(run):
    shown = run("simulate", "--objects", 4, "--answers", 24, "--strategy", "random").stdout
    assert "after 12 answers, then the questions ran out" in shown


def test_recorded_answers_are_replayed(run, fitted, tmp_path):
    answers = fitted / "answers.csv"
    asked = ["--replay", answers, "--strategy", "random", "--strategy", "arr", "--answers", 48]
    facts = json.loads(run("simulate", *asked, "--json").stdout)
    assert (facts["n_objects"], facts["n_answers"]) == (12, 48)
    recorded = nearer.Comparisons.read(answers)
    study = nearer.active.play(
        nearer.active.RecordedOracle(recorded), ["random", "arr"], n_answers=48, random_state=0
    )
    found = [facts["strategies"][name]["error"] for name in ("random", "arr")]
    np.testing.assert_allclose(found, study.errors[:, 0, -1])


@pytest.mark.parametrize(("rows", "expected"), [(40, 24), (10, 6), (1500, 240)])
def test_a_part_of_few_recorded_answers_is_asked_by_default(fitted, tmp_path, rows, expected):
    path = tmp_path / "some.csv"
    nearer.Comparisons.read(fitted / "answers.csv")[:rows].write(path)
    assert _oracle(path, {}, 2)[2] == expected


def test_names_and_defaults_are_the_librarys():
    assert [name.value for name in StrategyName] == list(nearer.active.STRATEGIES)
    command, library = (signature(one).parameters for one in (simulate, nearer.active.play))
    for name in ("repeats", "batch", "random_share"):
        assert command[name].default == library[name].default
    # what the help says of --scale
    assert nearer.active.PlantedOracle(3).scale == 1
    points = nearer.datasets.planted(20_000, 1, 1, random_state=0).embedding
    assert np.std(points) == pytest.approx(0.22, abs=0.01)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("near_a,near_b,far_a,far_b\n0,1,2,3\n", "old.csv: a selector asks about triplets"),
        ("anchor,near,far\n", "old.csv"),
        ("anchor,near,far\n0,1,2\n", "cannot be"),
        ("anchor,near,far\n0,0,2\n", "old.csv"),
    ],
)
def test_recorded_answers_that_cannot_be_replayed(run, tmp_path, text, part):
    (tmp_path / "old.csv").write_text(text)
    run("simulate --strategy random --replay old.csv", exits=2, says=[part])
    assert [path.name for path in tmp_path.iterdir()] == ["old.csv"]


@pytest.mark.parametrize(
    ("options", "facts"),
    [
        (["--plot", "a.png"], ["--plot", "--strategy"]),
        (["--repeats", 2], ["--repeats", "--strategy"]),
        (["--strategy", "arr", "--comparisons", 5], ["--comparisons", "--strategy"]),
        (["--strategy", "arr", "--truth", "t.csv"], ["--truth", "--strategy"]),
        (["--strategy", "arr", "--replay", "a.csv", "--noise", 0.1], ["--noise", "--replay"]),
        (["--strategy", "arr", "--replay", "a.csv"], ["a.csv", "no such file"]),
        (["--strategy", "best"], ["'best'", "'random'"]),
        (["--strategy", "arr", "--strategy", "arr"], ["strategy", "'arr'", "twice"]),
        (["--strategy", "arr", "--out", "curves.parquet"], ["curves.parquet", ".csv"]),
        (["--strategy", "arr", "--plot", "s.xyz"], ["s.xyz", "png"]),
        (["--strategy", "arr", "--noise", 0.9], ["--noise", "0 to 0.5", "0.9"]),
        (["--strategy", "arr", "--random-share", 2], ["--random-share"]),
        (["--strategy", "arr", "--scale", 0], ["--scale", "above 0", "not 0"]),
    ],
)
def test_bad_input_is_refused(run, tmp_path, options, facts):
    result = run("simulate", *options, exits=2)
    assert [fact for fact in facts if fact not in result.stderr] == []
    assert result.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_keeps_what_was_measured(run, tmp_path, monkeypatch):
    def play(*given, **settings):
        def interrupt(name, repetition, answers, error):
            if answers >= 30:
                raise KeyboardInterrupt

        return plain(*given, callback=interrupt, **settings)

    plain = nearer.active.play
    monkeypatch.setattr(nearer.active, "play", play)
    result = run(f"simulate {SMALL} --strategy random --strategy arr --plot s.png", exits=130)
    assert "interrupted" in result.stderr
    assert "curves.csv" in result.stderr
    assert re.search("random +held-out error 0.[0-9]+ after 30 answers\n", result.stdout)
    assert re.search("arr +nothing was measured", result.stdout)
    rows = curves(tmp_path / "curves.csv")
    assert {row["strategy"] for row in rows} == {"random"}
    assert max(int(row["answers"]) for row in rows) == 30
    assert (tmp_path / "s.png").exists()


def test_ctrl_c_on_a_terminal(start, tmp_path):
    study = start("simulate", "--strategy", "random", "--objects", 6, "--answers", 20, "--repeats", 10**5)
    study.screen.wait_for(r" [1-9]\d+/")  # ten answers or more: some errors were measured
    study.send_signal(signal.SIGINT)
    assert study.wait(timeout=60) == 130
    assert "Traceback" not in study.screen.wait_for(r"interrupted.* curves\.csv")
    assert 0 < len(curves(tmp_path / "curves.csv")) < 10**6


def test_ctrl_c_before_anything_was_measured_writes_nothing(run, tmp_path, monkeypatch):
    def interrupt(*given):
        raise KeyboardInterrupt

    monkeypatch.setattr(nearer.active.Selector, "next", interrupt)
    result = run(f"simulate {SMALL} --strategy random", exits=130)
    assert "interrupted, nothing was written" in result.stderr
    assert list(tmp_path.iterdir()) == []
