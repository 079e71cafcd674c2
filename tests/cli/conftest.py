"""Two ways to run the command: in this process, and as a process of its own."""

import csv
import json
import os
import re
import select
import shlex
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from typer.testing import CliRunner

import nearer
from nearer.cli import app
from nearer.solvers import Run


def _words(arguments):
    """Return the words of a command: of one text, as a shell would, or of one argument each."""
    return shlex.split(arguments[0]) if len(arguments) == 1 else [str(argument) for argument in arguments]


def assert_one_sentence(result, *parts):
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("nearer: ")
    assert result.stderr.count("\n") == 1
    assert [part for part in parts if str(part) not in result.stderr] == []


def facts_of(result):
    """Return what a command with --json printed."""
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run the command in process, in an empty folder; gives exit_code, stdout and stderr.

    `exits` is the code to expect; a refusal (2) is one sentence on stderr that `says` these parts, and nothing else.
    """
    monkeypatch.chdir(tmp_path)

    def run_in_process(*arguments, exits=None, says=()):
        result = CliRunner().invoke(app, _words(arguments), prog_name="nearer")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert exits in (None, result.exit_code), result.output
        if exits == 2:
            assert_one_sentence(result, *says)
        return result

    return run_in_process


@pytest.fixture
def process(tmp_path):
    """Run the command as a real process in an empty folder."""

    def run_process(*arguments, **options):
        command = [sys.executable, "-m", "nearer", *_words(arguments)]
        options = {"capture_output": True, "text": True, "cwd": tmp_path, "timeout": 120, **options}
        return subprocess.run(command, check=False, **options)

    return run_process


class Screen:
    """The near end of a pseudo-terminal."""

    def __init__(self):
        self.ours, self.theirs = os.openpty()
        self.text = ""

    def wait_for(self, pattern, seconds=90):
        """Read until the pattern appears; gives everything on the screen so far."""
        end = time.monotonic() + seconds
        while not re.search(pattern, self.text):
            ready, _, _ = select.select([self.ours], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"{pattern!r} did not appear on the screen: {self.text[-2000:]}"
            self.text += os.read(self.ours, 1 << 16).decode(errors="replace")
        return self.text

    def close(self):
        os.close(self.ours)
        os.close(self.theirs)


def _heed_ctrl_c():
    """Undo what shells do to jobs in the background: they, and all that they start, ignore ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def start(tmp_path):
    """Start the command with a terminal for its stderr, its `screen`; it is killed at the end."""
    started = []

    def start_process(*arguments):
        screen = Screen()
        command = [sys.executable, "-m", "nearer", *_words(arguments)]
        environment = {**os.environ, "TERM": "xterm", "COLUMNS": "160"}
        streams = {"stdout": subprocess.PIPE, "stderr": screen.theirs, "text": True}
        one = subprocess.Popen(command, cwd=tmp_path, env=environment, preexec_fn=_heed_ctrl_c, **streams)
        one.screen = screen
        started.append(one)
        return one

    yield start_process
    for one in started:
        one.kill()
        one.wait()
        one.stdout.close()
        one.screen.close()


@pytest.fixture
def interrupted(start, tmp_path):
    """Press ctrl-C during a fit that would not end; check that the best model so far is kept, and that it is said.

    It is pressed when the objective of the fit to all rows has changed: before, there is nothing to keep.
    """

    def interrupt(*arguments):
        fit = start(*arguments)
        fit.screen.wait_for(r"(?s)fitting.*objective ([\d.e+-]+).*fitting.*objective (?!\1\D)\d")
        fit.send_signal(signal.SIGINT)
        stdout = fit.stdout.read()
        assert fit.wait(timeout=60) == 130
        screen = fit.screen.wait_for("was written to model.nearer")
        assert "nearer: interrupted, the best model so far" in screen
        assert "Traceback" not in screen
        assert json.loads(stdout)["stop_reason"] == "interrupted"
        assert nearer.load(tmp_path / "model.nearer").callback is None

    return interrupt


@pytest.fixture
def press_in(monkeypatch):
    """Press ctrl-C once in a fit of this process: when a solver first shows where it stands in a stage."""

    def arrange(stage):
        look, pressed = Run.look, []

        def press_and_look(self, *given, **columns):
            if self.stage == stage and not pressed:
                pressed.append(os.kill(os.getpid(), signal.SIGINT))
            look(self, *given, **columns)

        monkeypatch.setattr(Run, "look", press_and_look)

    return arrange


@pytest.fixture(scope="session")
def named_answers():
    """The text of a csv with 1,500 answers about thing0 ... thing11, which have known places."""
    from nearer.datasets import planted

    answers, _ = planted(12, 2, 1500, random_state=0)
    rows = (",".join(f"thing{index}" for index in row) for row in answers.indices)
    return "anchor,near,far\n" + "\n".join(rows) + "\n"


@pytest.fixture(scope="session")
def fitted(tmp_path_factory, named_answers):
    """A folder with answers about named things and a model fitted to them."""
    folder = tmp_path_factory.mktemp("fitted")
    answers = folder / "answers.csv"
    answers.write_text(named_answers, encoding="utf-8")
    arguments = f"fit {answers} --out {folder / 'model.nearer'} --max-epochs 30 --loss ste"
    result = CliRunner().invoke(app, arguments.split())
    assert result.exit_code == 0, result.output
    return folder


@pytest.fixture(scope="session")
def clicked(tmp_path_factory):
    """A folder with clicks of named users on items, later clicks, ratings with ids, and towers fitted to the clicks."""
    pytest.importorskip("torch")
    from nearer import Interactions
    from nearer.datasets import planted_interactions

    folder = tmp_path_factory.mktemp("clicked")
    planted, _, _ = planted_interactions(60, 40, 3, 900, random_state=0)
    named = Interactions([f"u{i}" for i in planted.left], [f"i{i}" for i in planted.right])
    clicks, later = named.split(0.2, random_state=0)
    clicks.write(folder / "clicks.csv")
    later.write(folder / "clicks-later.csv")
    rated = (f"{i + 1},{j + 1},{1 + (i + j) % 5}" for i, j in zip(planted.left, planted.right, strict=True))
    (folder / "ratings.csv").write_text("userId,movieId,rating\n" + "\n".join(rated) + "\n")
    arguments = f"fit {folder}/clicks.csv --model towers --hidden none --dim 8 --max-epochs 60 --test-size 0"
    result = CliRunner().invoke(app, [*arguments.split(), "--out", str(folder / "towers.nearer")])
    assert result.exit_code == 0, result.output
    return folder


@pytest.fixture(scope="session")
def songs(tmp_path_factory):
    """A folder with songs: three features, a text, two labels as columns and as texts of one column."""
    folder, rng = tmp_path_factory.mktemp("songs"), np.random.default_rng(0)
    X = rng.normal(size=(160, 3)).round(3)
    happy, sad = (X[:, 0] > 0).astype(int), (X[:, 1] + X[:, 2] > 0.5).astype(int)
    moods = ["|".join(["happy"] * h + ["sad"] * s) for h, s in zip(happy, sad, strict=True)]
    kind = np.array(["rock", "pop"])[(X[:, 0] > 0.1).astype(int)]
    columns = {"song": [f"song {n}" for n in range(160)], "loud": X[:, 0], "fast": X[:, 1], "high": X[:, 2]}
    table = pa.table({**columns, "kind": kind, "happy": happy, "sad": sad, "moods": moods})
    for name, part in (("songs", table.slice(0, 120)), ("more", table.slice(120))):
        with (folder / f"{name}.csv").open("w", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(part.column_names)
            writer.writerows(zip(*part.to_pydict().values(), strict=True))
    parquet.write_table(table.select(["song", "loud", "fast", "high", "kind"]), folder / "features.parquet")
    parquet.write_table(table.slice(0, 120).select(["song", "happy", "sad"]), folder / "labels.parquet")
    return folder


@pytest.fixture(scope="session")
def cups(tmp_path_factory):
    """A folder with 120 cups of tea: features, two of which count, a kind that depends on them; answers about 40."""
    folder, rng = tmp_path_factory.mktemp("cups"), np.random.default_rng(0)
    answers, points = nearer.datasets.planted(40, 2, 1500, random_state=0)
    names = [f"cup{number}" for number in range(40)]
    named = nearer.Comparisons(answers.indices, 40, names=names)
    known, others = named.split(0.2, random_state=0)
    known.write(folder / "answers.csv")
    others.write(folder / "more.csv")
    points = np.vstack([points, rng.permuted(np.tile(points, (2, 1)), axis=0)])
    names = [f"cup{number}" for number in range(120)]
    noise = rng.normal(size=(120, 2))
    kinds = np.array(["green", "black"])[(points[:, 0] > 0).astype(int)]
    shops = rng.choice(["east", "west"], 120)
    order = rng.permutation(120)  # not that of the answers
    with (folder / "cups.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["cup", "sweet", "sour", "noise", "dust", "shop", "kind"])
        for at in order:
            numbers = [round(float(number), 4) for number in (*points[at], *noise[at])]
            writer.writerow([names[at], *numbers, shops[at], kinds[at]])
    lines = (folder / "cups.csv").read_text().splitlines()
    (folder / "features.csv").write_text("\n".join(line.rpartition(",")[0] for line in lines) + "\n")
    return folder


@pytest.fixture(scope="session")
def posts(tmp_path_factory):
    """A folder with posts of named users, items and tags, later posts, pairs to ask about, and a model of the posts."""
    folder, rng = tmp_path_factory.mktemp("posts"), np.random.default_rng(0)
    users, items, tags = (rng.normal(size=(count, 2)) for count in (30, 20, 12))
    rows = [
        (f"u{user}", f"i{item}", f"t{tag}")
        for user in range(30)
        for item in rng.choice(20, 6, replace=False)
        for tag in np.argsort(((users[user] - tags) ** 2).sum(1) + ((items[item] - tags) ** 2).sum(1))[:3]
    ]
    known, later = nearer.Posts.from_array(rows).split(random_state=1)
    known.write(folder / "posts.csv")
    later.write(folder / "later.csv")
    (folder / "asked.csv").write_text("user,item\nu0,i0\nu1,i3\n")
    arguments = f"fit {folder}/posts.csv --model tags --beta 0.3 --test-size 0 --out {folder}/tags.nearer"
    result = CliRunner().invoke(app, arguments.split())
    assert result.exit_code == 0, result.output
    return folder


@pytest.fixture(scope="session")
def friends(tmp_path_factory):
    """A folder with friends who live near each other, in both directions, later friends, and a model of the friends."""
    folder, rng = tmp_path_factory.mktemp("friends"), np.random.default_rng(0)
    places = rng.normal(size=(50, 2))
    near = ((places[:, None] - places) ** 2).sum(axis=2) < 0.8
    pairs = np.argwhere(np.triu(near, 1))
    hidden = rng.random(len(pairs)) < 0.15
    known, later = pairs[~hidden], pairs[hidden]
    for name, rows in (("friends", [*known, *known[:, ::-1]]), ("later", later)):
        text = "\n".join(f"p{i},p{j}" for i, j in rows)
        (folder / f"{name}.csv").write_text(f"left,right\n{text}\n")
    arguments = f"fit {folder}/friends.csv --model links --graph undirected --beta 2 --test-size 0"
    result = CliRunner().invoke(app, [*arguments.split(), "--out", f"{folder}/links.nearer"])
    assert result.exit_code == 0, result.output
    return folder
