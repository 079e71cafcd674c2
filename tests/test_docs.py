"""The documentation is true: its code runs, its numbers are the code's, and every public name and command is in it."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import nearer

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
MODULES = ("active", "losses", "solvers", "metrics", "datasets", "plotting")
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]

_FENCE = re.compile(
    r"^```(?:python|\{ *\.python(?P<marks>[^}]*)\})\n(?P<code>.*?)^```$", re.DOTALL | re.MULTILINE
)
# the block form of a snippet: the formatter takes the one-line form for Python, and breaks it
_INCLUDE = re.compile(r"^--8<--\n(?P<paths>.*?)^--8<--$", re.DOTALL | re.MULTILINE)


def included(match: re.Match[str]) -> str:
    """The text that a snippet stands for."""
    return "\n".join(file_or_section(entry) for entry in match["paths"].split())


def file_or_section(entry: str) -> str:
    """A file, or the part of it between the marks of `file:section`."""
    path, _, section = entry.partition(":")
    text = (ROOT / path).read_text(encoding="utf-8")
    if section:
        start, end = (f"# --8<-- [{edge}:{section}]\n" for edge in ("start", "end"))
        text = text.split(start)[1].split(end)[0]
    return text


def blocks(page: Path) -> list[str]:
    """Code of a page, without blocks marked `.no-run` and those that show nothing but files of the library."""
    found = []
    for fence in _FENCE.finditer(page.read_text(encoding="utf-8")):
        paths = [path for include in _INCLUDE.finditer(fence["code"]) for path in include["paths"].split()]
        is_library = bool(paths) and all(path.startswith("src/") for path in paths)
        if not is_library and ".no-run" not in (fence["marks"] or ""):
            found.append(_INCLUDE.sub(included, fence["code"]))
    return found


def page_name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=page_name)
def test_code_runs_from_top_to_bottom(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # dataclasses look their module up by name
    namespace = {"__name__": "__main__"}
    for number, code in enumerate(blocks(page), start=1):
        exec(compile(code, f"{page_name(page)}, block {number}", "exec"), namespace)


def test_pages_have_code():
    with_code = {page_name(page) for page in PAGES if blocks(page)}
    assert {"README.md", "docs/index.md", "docs/guide/add-a-loss.md", "docs/guide/solvers.md"} <= with_code


def test_nothing_is_left_out_by_a_mark():
    marked = [page_name(page) for page in PAGES if ".no-run" in page.read_text(encoding="utf-8")]
    assert marked == []


def test_readme_shows_five_lines_and_a_picture_that_exist():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    first = blocks(ROOT / "README.md")[0].splitlines()
    assert len([line for line in first if line]) == 5
    pictures = re.findall(r"!\[.*?\]\((\S+?)\)", text)
    assert pictures
    assert all((ROOT / picture).is_file() for picture in pictures)
    assert "make demo" in text
    assert "make test" in text


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"], ids=page_name)
def test_links_lead_somewhere(page):
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    targets = [target.split("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", text)]
    local = [target for target in targets if target and not target.startswith("http")]
    assert [target for target in local if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("home", ["nearer", *(f"nearer.{module}" for module in MODULES)])
def test_every_public_name_is_in_the_api_pages(home):
    text = "\n".join(page.read_text(encoding="utf-8") for page in (DOCS / "api").glob("*.md"))
    documented = set(re.findall(r"^::: (\S+)$", text, re.MULTILINE)) | set(
        re.findall(r"`(nearer[\w.]*)`", text)
    )
    names = {f"{home}.{name}" for name in importlib.import_module(home).__all__}
    assert names - documented == set()


def test_every_name_in_the_api_pages_exists():
    text = "\n".join(page.read_text(encoding="utf-8") for page in (DOCS / "api").glob("*.md"))
    for path in re.findall(r"^::: (\S+)$", text, re.MULTILINE):
        module, name = path.rsplit(".", 1)
        assert hasattr(importlib.import_module(module), name), path


def test_every_command_is_in_the_page_of_the_command_line():
    from nearer.cli import app

    text = (DOCS / "guide" / "command-line.md").read_text(encoding="utf-8")
    commands = [command.callback.__name__ for command in app.registered_commands]
    assert commands
    assert [name for name in commands if f"nearer {name}" not in text] == []


def test_losses_and_solvers_are_explained_by_name():
    choosing = (DOCS / "guide" / "choosing.md").read_text(encoding="utf-8")
    solvers = (DOCS / "guide" / "solvers.md").read_text(encoding="utf-8")
    assert [name for name in nearer.losses.LOSSES if f'| `"{name}"` |' not in choosing] == []
    assert [name for name in nearer.solvers.SOLVERS if f'| `"{name}"` |' not in solvers] == []
    api = (DOCS / "api" / "solvers.md").read_text(encoding="utf-8")
    assert [name for name in nearer.solvers.SOLVERS if f'`"{name}"`' not in api] == []
    reasons = importlib.import_module("nearer.solvers.result").STOP_REASONS
    assert [reason for reason in reasons if f'`"{reason}"`' not in solvers] == []


def test_numbers_of_automatic_choices_are_the_codes():
    from nearer import calibration, ordinal

    text = " ".join((DOCS / "guide" / "choosing.md").read_text(encoding="utf-8").split())
    careful, quick = calibration.CAREFUL, calibration.QUICK
    quick_ones = [f"{strength:g}" for strength in quick.strengths]
    assert f"the strengths are {', '.join(quick_ones[:-1])} and {quick_ones[-1]}, on one split" in text
    assert quick.most_splits == 1
    assert f"with the strength {careful.strengths[0]:g} by L-BFGS, then with half of it" in text
    assert f"down to {careful.strengths[-1]:.1g}." in text
    assert "try {:g} and {:g} too".format(*careful.stronger) in text
    assert "t-STE at {:g}, {:g} and {:g}".format(*careful.further["tste"]) in text
    assert "robust SOE at {:g}, {:g} and {:g}".format(*careful.further["robust-soe"]) in text
    assert all(len(strengths) == 1 for strengths in quick.further.values())  # "at one strength"
    assert f"fewer than {calibration._ENOUGH_HELD_OUT:,} comparisons" in text
    assert f"at most {careful.most_splits}." in text
    assert f"below {calibration.LEAST_COMPARISONS} comparisons" in text
    assert f"nearer uses {calibration.DEFAULT_STRENGTH:g}." in text
    assert (
        f"With {calibration._FEW_OBJECTS:,} objects or {calibration._FEW_COMPARISONS:,} comparisons" in text
    )
    assert f"Strengths above {calibration._MOST_WEIGHT:g} divided by the comparisons per object" in text
    assert calibration._HELD_OUT == 0.1  # "a tenth"
    assert ordinal._LAST_TOL == 0.1  # "to a tenth of `tol`"
    assert len(calibration.HURRIED.strengths) == 3


def test_numbers_of_the_step_rule_are_the_codes():
    from nearer.solvers import SOLVERS, steps

    text = " ".join((DOCS / "guide" / "solvers.md").read_text(encoding="utf-8").split())
    assert "is a tenth of |G| / |X|" in text
    assert "at most twice the last one" in text
    assert "a hundredth of the points' length" in text
    assert "ten such steps" in text
    assert "three times the points' length" in text
    numbers = (steps.CAUTION, steps.MOST_GROWTH, steps.PROBE, steps.SECANTS, steps.MOST_TRAVEL)
    assert numbers == (0.1, 2.0, 0.01, 10.0, 3.0)
    assert "L-BFGS with five past steps" in text
    assert SOLVERS["lbfgs"].memory == 5
    assert f"modules of {SOLVERS['svrg-sbb-restarts'].module_epochs} epochs" in text


def edit(file: Path, *changes: tuple[str, str]) -> None:
    """Replace what must be there exactly once."""
    text = file.read_text(encoding="utf-8")
    for old, new in changes:
        assert text.count(old) == 1, f"{file.name}: {old!r}"
        text = text.replace(old, new)
    file.write_text(text, encoding="utf-8")


def follow_the_tutorial(package: Path) -> None:
    """Make the tutorial's loss part of a copy of nearer, as the page says."""
    _, loss, _, _, twin = (_INCLUDE.sub(included, code) for code in tutorial_blocks())
    own = loss.split("@dataclass")[1].replace("nearer.losses.Loss", "Loss").rstrip()
    own += "\n\n    def scalar_parameters(self):\n        return (self.lapse, 0.0)\n"
    edit(
        package / "losses" / "distances.py",
        ("LOSSES: dict", f"import numpy as np\n\n\n@dataclass{own}\n\nLOSSES: dict"),
        ("SOE, RobustSOE)}", "SOE, RobustSOE, LapseSTE)}"),
    )
    edit(
        package / "_compiled" / "scalar_losses.py",
        ("CODES: dict", "from nearer.losses.distances import LapseSTE\n\nCODES: dict"),
        ("RobustSOE: 5}", "RobustSOE: 5, LapseSTE: 6}"),
        (
            "@merged\ndef evaluate",
            f"@merged\n{twin.split('value, by_near')[0].split('import math')[1].strip()}"
            "\n\n\n@merged\ndef evaluate",
        ),
        (
            "    if code == 0:",
            "    if code == 6:\n        return _lapse(near, far, parameters[0])\n    if code == 0:",
        ),
    )
    edit(
        package / "_compiled" / "points.py",
        (
            "    if code == 0:",
            "    if code == 6:\n        _evaluate_all(near, far, values, count, 6, parameters)\n"
            "    elif code == 0:",
        ),
    )


def tutorial_blocks() -> list[str]:
    text = (DOCS / "guide" / "add-a-loss.md").read_text(encoding="utf-8")
    codes = [fence["code"] for fence in _FENCE.finditer(text)]
    return [code for code in codes if "scalar_losses" not in code]


def test_tutorial_makes_a_loss_compiled(tmp_path):
    package = tmp_path / "nearer"
    shutil.copytree(Path(nearer.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    follow_the_tutorial(package)
    check = """
import numpy as np, nearer
from nearer._compiled import StagedLoops
from nearer.objectives import PointObjective
answers, _ = nearer.datasets.planted(8, 2, 80, random_state=0)
f = PointObjective(answers, nearer.losses.find("lapse-ste"), 2)
assert f.compiled
X = np.random.default_rng(0).normal(size=(8, 2))
value, gradient = f.value_and_gradient(X)
f._loops = StagedLoops(f.loss)
np.testing.assert_allclose(value, f.value_and_gradient(X)[0])
np.testing.assert_allclose(gradient, f.value_and_gradient(X)[1])
"""
    # the loops as plain Python: what they compute is at stake here, not how fast
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_DISABLE_JIT": "1"}
    run = subprocess.run(
        [sys.executable, "-c", check], env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
