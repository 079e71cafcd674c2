"""The command as a real process: exit codes, streams, pipes, signals, start-up."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time

import pytest

import nearer


def test_version_and_help(process):
    version = process("--version")
    assert (version.returncode, version.stdout) == (0, f"nearer {nearer.__version__}\n")
    shown = process("--help")
    assert shown.returncode == 0
    for command in ("fit", "evaluate", "predict", "plot", "simulate", "convert", "demo"):
        assert command in shown.stdout


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from nearer.cli import app\n"
        "try: app(['fit', '--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'numba', 'sklearn', 'scipy', 'matplotlib', 'pyarrow', 'pandas'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def test_from_nothing_to_a_picture(process, tmp_path):
    simulated = process(
        "simulate", "--objects", 20, "--comparisons", 3000, "--noise", 0.1, "--out", "answers.csv"
    )
    assert (simulated.returncode, simulated.stderr) == (0, "")
    fitted = process(
        "fit", "answers.csv", "--dim", 2, "--out", "model.nearer", "--report", "r.html", "--json"
    )
    assert (fitted.returncode, fitted.stderr) == (0, "")
    assert json.loads(fitted.stdout)["test_accuracy"] > 0.8
    evaluated = process("evaluate model.nearer answers.csv --json")
    assert (evaluated.returncode, evaluated.stderr) == (0, "")
    assert json.loads(evaluated.stdout)["accuracy"] > 0.8
    plotted = process("plot model.nearer --out map.png")
    assert (plotted.returncode, plotted.stderr) == (0, "")
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]


def test_bad_input_exits_with_2_and_one_sentence(process):
    failed = process("fit nowhere.csv")
    assert failed.returncode == 2
    assert failed.stdout == ""
    assert failed.stderr.startswith("nearer: nowhere.csv")
    assert failed.stderr.count("\n") == 1


def test_a_reader_that_goes_away_is_no_error(process, fitted):
    questions = "anchor,near,far\n" + "thing1,thing2,thing3\n" * 50_000
    (fitted / "many.csv").write_text(questions)
    command = f"{sys.executable} -m nearer predict model.nearer many.csv | head -n 2"
    piped = subprocess.run(
        ["bash", "-c", command + "; exit ${PIPESTATUS[0]}"],
        cwd=fitted,
        capture_output=True,
        text=True,
        check=False,
    )
    assert piped.stdout.count("\n") == 2
    assert piped.stderr == ""
    assert piped.returncode == 141


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs to see which files a process has open")
def test_ctrl_c_before_the_fit_writes_nothing(start, tmp_path, named_answers):
    header, _, rows = named_answers.partition("\n")
    (tmp_path / "slow.csv").write_text(f"{header}\n{rows * 3000}")
    fit = start("fit slow.csv")
    while not reads(fit.pid, tmp_path / "slow.csv"):
        assert fit.poll() is None
        time.sleep(0.001)
    fit.send_signal(signal.SIGINT)
    assert fit.wait(timeout=30) == 130
    assert "nearer: interrupted, nothing was written" in fit.screen.wait_for("written")
    assert os.listdir(tmp_path) == ["slow.csv"]


def reads(pid, path):
    """Whether a process has a file open."""
    opened = []
    for descriptor in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            opened.append(os.readlink(f"/proc/{pid}/fd/{descriptor}"))
    return str(path) in opened


def test_the_bar_shows_on_a_terminal_and_stdout_stays_clean(start, fitted, tmp_path):
    fit = start("fit", fitted / "answers.csv", "--json")
    stdout = fit.stdout.read()
    assert fit.wait(timeout=60) == 0
    json.loads(stdout)
    assert "answers.csv: fitting" in fit.screen.wait_for("answers.csv: fitting")
    assert nearer.load(tmp_path / "model.nearer").callback is None
