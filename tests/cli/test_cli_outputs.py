"""Which files commands write: none that exists unless named, and never in place of a link, a pipe or a device."""

import os
import stat
import subprocess
import sys

import pytest

import nearer

QUICK = ("--max-epochs", 2)
DEFAULTS = {
    "fit": (["fit", "answers.csv", *QUICK], "model.nearer"),
    "kernel": (["fit", "answers.csv", "--model", "online"], "model.nearer"),
    "plot": (["plot", "saved.nearer"], "map.png"),
    "simulate": (["simulate", "--comparisons", 20], "answers.csv"),
    "study": (["simulate", "--strategy", "random", "--objects", 4, "--answers", 10], "curves.csv"),
    "demo": (["demo"], "nearer-demo.html"),
}


@pytest.fixture
def folder(fitted, tmp_path):
    """An empty folder with answers and a model."""
    (tmp_path / "answers.csv").write_bytes((fitted / "answers.csv").read_bytes())
    (tmp_path / "saved.nearer").write_bytes((fitted / "model.nearer").read_bytes())
    return tmp_path


@pytest.mark.parametrize("command", DEFAULTS)
def test_a_default_name_replaces_no_file_unless_forced(run, folder, command):
    arguments, name = DEFAULTS[command]
    (folder / name).write_text("precious")
    files = sorted(os.listdir(folder))
    if name == "answers.csv":
        arguments = [*arguments, "--truth", "truth.csv"]
    refused = run(*arguments, exits=2)
    assert all(part in refused.stderr for part in (name, "--out", "--force"))
    assert (folder / name).read_text() == "precious"
    assert sorted(os.listdir(folder)) == files


@pytest.mark.parametrize("command", ["fit", "plot", "study", "simulate"])
def test_both_remedies_work(run, folder, command):
    arguments, name = DEFAULTS[command]
    for remedy in (["--out", name], ["--force"]):
        (folder / name).write_text("old")
        assert run(*arguments, *remedy).exit_code == 0
        assert (folder / name).read_bytes() != b"old"


def test_a_link_to_nothing_counts_as_an_existing_file(run, folder):
    (folder / "map.png").symlink_to("nowhere.png")
    assert "--force" in run("plot saved.nearer").stderr
    assert not (folder / "nowhere.png").exists()


def test_the_model_to_go_on_with_is_named_and_may_be_replaced(run, folder):
    run("fit answers.csv --model online --out online.nearer")
    before = (folder / "online.nearer").read_bytes()
    assert run("fit answers.csv --start online.nearer").exit_code == 0
    assert (folder / "online.nearer").read_bytes() != before


def test_outputs_go_through_links_and_into_devices(run, folder):
    (folder / "real").mkdir()
    for name in ("model.nearer", "map.png", "copy.csv", "report.html"):
        (folder / name).symlink_to(f"real/{name}")
    (folder / "null.png").symlink_to(os.devnull)
    assert (
        run("fit", "answers.csv", *QUICK, "--out", "model.nearer", "--report", "report.html").exit_code == 0
    )
    assert run("plot model.nearer --out map.png").exit_code == 0
    assert run("plot model.nearer --out null.png").exit_code == 0
    assert run("convert answers.csv copy.csv").exit_code == 0
    assert run("fit", "answers.csv", *QUICK, "--out", os.devnull).exit_code == 0
    assert sorted(os.listdir(folder / "real")) == ["copy.csv", "map.png", "model.nearer", "report.html"]
    assert all((folder / name).is_symlink() for name in ("model.nearer", "map.png", "copy.csv", "null.png"))
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


def test_a_model_can_be_written_to_stdout(folder, process):
    result = process("fit", "answers.csv", *QUICK, "--out", "/dev/stdout", text=False)
    assert result.returncode == 0
    (folder / "piped.nearer").write_bytes(result.stdout)
    assert nearer.load(folder / "piped.nearer").names_ is not None
    assert b"held-out accuracy" in result.stderr
    assert result.stdout.endswith(b"\0\0")  # the end of a zip: nothing else was printed there


def test_stdout_into_a_file_is_not_replaced(folder):
    command = [sys.executable, "-m", "nearer", "fit", "answers.csv", *map(str, QUICK), "--out", "/dev/stdout"]
    with (folder / "redirected.nearer").open("wb") as stream:
        subprocess.run(command, cwd=folder, stdout=stream, stderr=subprocess.DEVNULL, check=True)
    assert nearer.load(folder / "redirected.nearer").names_ is not None


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device that is always full")
def test_a_full_disk_is_one_sentence_that_names_the_file(run, folder):
    for name in ("full.csv", "full.parquet", "full.npz", "full.png", "full.html", "full.nearer"):
        (folder / name).symlink_to("/dev/full")
    for arguments in (
        ["convert", "answers.csv", "full.csv"],
        ["convert", "answers.csv", "full.parquet"],
        ["convert", "answers.csv", "full.npz"],
        ["plot", "saved.nearer", "--out", "full.png"],
        ["fit", "answers.csv", *QUICK, "--out", "full.nearer"],
        ["fit", "answers.csv", *QUICK, "--out", "m.nearer", "--report", "full.html"],
        ["predict", "saved.nearer", "answers.csv", "--out", "full.csv"],
        ["simulate", "--out", "x.csv", "--truth", "full.csv"],
    ):
        result = run(*arguments)
        assert result.exit_code == 2, arguments
        assert result.stderr.strip().endswith("no space left on device"), result.stderr
        assert "full." in result.stderr


@pytest.mark.parametrize(
    ("shell", "word"), [("bash", "complete -o"), ("zsh", "compdef"), ("fish", "complete --command")]
)
def test_shells_complete_commands_and_options(process, shell, word):
    named = {
        **os.environ,
        "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1",
    }  # tests may run without a shell
    script = process("--show-completion", shell, env=named)
    assert script.returncode == 0
    assert "_NEARER_COMPLETE" in script.stdout
    assert word in script.stdout


def test_completion_offers_commands_and_options(process):
    def offered(words):
        completing = {
            "_NEARER_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(words.count(" ")),
        }
        return process(env={**os.environ, **completing}).stdout.split()

    assert offered("nearer si") == ["simulate"]
    assert "--force" in offered("nearer simulate --f")
