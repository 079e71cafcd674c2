"""A newcomer finds the way: the modules that `nearer fit` passes are few, and CONTRIBUTING lists them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import nearer

ROOT = Path(__file__).parent.parent
MOST = 40


def listed() -> tuple[list[str], int]:
    """Return the modules in the table of CONTRIBUTING, and the sum of its numbers."""
    section = (
        (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## What `nearer fit` passes")[2]
    )
    modules, total = [], 0
    for number, cells in re.findall(
        r"^\| [^|]* \| (\d+) \| (.*) \|$", section.partition("\n## ")[0], re.MULTILINE
    ):
        total += int(number)
        for name in re.findall(r"`([^`]*)`", cells):
            if name.endswith("/"):
                folder = name.removeprefix("nearer/")
            else:
                modules.append(f"{folder}{name}.py")
    return sorted(modules), total


def passed(arguments: list[str]) -> list[str]:
    command = [sys.executable, "-m", "tests.passes", *arguments]
    run = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return re.findall(r"^\S+\.py$", run.stdout, re.MULTILINE)


def test_fit_passes_the_modules_that_contributing_lists(tmp_path):
    answers, _ = nearer.datasets.planted(40, 2, 2000, noise=0.1, random_state=0)
    answers.write(tmp_path / "answers.csv")
    modules, total = listed()
    fit = ["fit", str(tmp_path / "answers.csv"), "--out", str(tmp_path / "model.nearer")]
    assert passed(fit) == modules or passed(fit) == modules  # the first run may compile
    assert total == len(modules) <= MOST
