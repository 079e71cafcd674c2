"""Every script in examples/ runs without a warning, says where its picture is, and puts it there."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


def written_files(printed: str) -> list[Path]:
    last = printed.strip().splitlines()[-1]
    assert last.startswith("wrote ")
    return [Path(name) for name in last.removeprefix("wrote ").split(" and ")]


def test_there_are_examples():
    assert len(EXAMPLES) >= 6


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.stem)
def test_runs_and_writes_its_picture(script, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(script), str(tmp_path / "pictures")])
    runpy.run_path(str(script), run_name="__main__")
    files = written_files(capsys.readouterr().out)
    assert any(file.suffix == ".png" for file in files)
    for file in files:
        assert file.parent == tmp_path / "pictures"
        assert file.stat().st_size > 1000


def test_runs_as_a_process_and_writes_to_out_by_default(tmp_path):
    script = next(script for script in EXAMPLES if script.stem == "europe")
    source = str(script.parents[1] / "src")
    run = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    assert (tmp_path / "out" / "europe.png").is_file()
