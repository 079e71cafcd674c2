"""The pages of benchmarks say what was measured: they are what the results give, and open with conclusions."""

from __future__ import annotations

import doctest
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

sys.path.insert(
    0, str(Path(__file__).parents[2])
)  # benchmarks is a folder of the repository, not of the package

from benchmarks import _gram, _report, _runner
from benchmarks._store import RESULTS
from benchmarks.conclusions import _words

MEASURED = [name for name in _runner.NAMES if (RESULTS / f"{name}.json").exists()]


def test_every_experiment_was_measured():
    assert list(_runner.NAMES) == MEASURED


@pytest.mark.parametrize("name", MEASURED)
def test_a_page_is_what_its_results_give(name):
    written = (_report.DOCS / f"{name}.md").read_text(encoding="utf-8")
    assert written == _report.page(name), f"run `python -m benchmarks report {name}`"


@pytest.mark.parametrize("name", MEASURED)
def test_a_page_opens_with_three_to_five_sentences_of_conclusion(name):
    _, title, opening, *_ = (_report.DOCS / f"{name}.md").read_text(encoding="utf-8").split("\n\n")
    assert title.startswith("# ")
    lines = opening.splitlines()
    assert 3 <= len(lines) <= 5
    assert all(line.startswith("- ") and line.endswith(".") for line in lines)
    assert any(character.isdigit() for character in opening)


@pytest.mark.parametrize("name", MEASURED)
def test_no_number_of_a_conclusion_is_missing_or_infinite(name):
    content = _report.load_finished(name, quick=False)
    text = " ".join(_report.conclude(name, content["rows"], content["settings"]))
    assert not [word for word in ("inf ", "nan", "None", " - ", "none (") if word in text]


@pytest.fixture
def half_a_run(monkeypatch):
    """An experiment of two cells, one of them measured."""
    module = SimpleNamespace(
        __doc__="Fake.\n\nIntroduction.", cells=lambda settings: [1, 2], summarise=lambda rows, settings: []
    )
    row = {"cell": 1, "results": {}, "date": "2026-01-01", "source": "x"}
    content = {"rows": [row], "skipped": [], "settings": {}, "versions": {}, "warm_up_seconds": 0}
    content["machine"] = {"cpu": "c", "cores": 1, "system": "s"}
    monkeypatch.setattr(_report, "experiment", lambda name: module)
    monkeypatch.setattr(_report, "load_finished", lambda name, quick: content)
    monkeypatch.setattr(_report, "conclude", lambda name, rows, settings: ["All is well."])
    return content


def test_a_page_of_an_unfinished_run_concludes_nothing(half_a_run):
    text = _report.page("fake")
    assert "1 of 2 cells" in text
    assert "All is well." not in text
    half_a_run["rows"] *= 2
    assert "- All is well." in _report.page("fake")
    assert "All is well." not in _report.page("fake", quick=True)


def test_the_gram_table_says_why_batch_has_two_times():
    rows = [
        {
            "cell": {"part": part, "loss": "ste", "seed": seed},
            "results": {"batch": {"error": [0.3, 0.1 + error]}},
        }
        for part, error in (("race", 0.0), (_gram.PART, 0.0))
        for seed in (0, 1)
    ]
    assert "2 of 2 cells" in _gram._note(rows)
    rows[-1]["results"]["batch"]["error"] = [0.3, 0.2]
    assert "1 of 2 cells" in _gram._note(rows)


def test_examples_in_docstrings():
    result = doctest.testmod(_words)
    assert result.attempted > 0
    assert result.failed == 0
