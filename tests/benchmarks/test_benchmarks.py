"""The harness of the benchmarks: resuming, keys, files; not the experiments themselves."""

from __future__ import annotations

import doctest
import json
import math
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

sys.path.insert(
    0, str(Path(__file__).parents[2])
)  # benchmarks is a folder of the repository, not of the package

import benchmarks.__main__ as benchmarks_main
from benchmarks import _report, _runner, _store, _tables, _timing
from benchmarks.__main__ import chosen, main
from tests.refusals import refused

SETTINGS = {"seeds": 3}


def fake_experiment(
    calls: list, *, fail_at: tuple[int, str] | None = None, skip: str = ""
) -> SimpleNamespace:
    """An experiment with rivals "a" and "b" that notes what it was asked to do."""

    def measure(cell, job):
        if skip:
            raise _runner.Skip(skip)
        for rival in _runner.rotated(["a", "b"], cell["seed"]):
            if rival in job.done:
                continue
            if (cell["seed"], rival) == fail_at:
                raise KeyboardInterrupt
            calls.append((cell["seed"], rival))
            yield rival, {"value": cell["seed"]}

    def summarise(rows, settings):
        table = _tables.Table("Fake", ["seed", "a"])
        for row in rows:
            table.add(row["cell"]["seed"], row["results"]["a"]["value"])
        return [table]

    return SimpleNamespace(
        __doc__="A fake experiment.\n\nWith an introduction.",
        SETTINGS=SETTINGS,
        QUICK={"seeds": 1},
        cells=lambda settings: [{"seed": seed} for seed in range(settings["seeds"])],
        warm_up=lambda settings: calls.append("warm"),
        measure=measure,
        summarise=summarise,
        draw=lambda rows, settings: {},
    )


@pytest.fixture
def bench(monkeypatch, tmp_path):
    """Runs a fake experiment under the name "fake", with results in a temporary folder."""
    monkeypatch.setattr(_runner, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(_runner, "SCRATCH", tmp_path / "scratch")
    monkeypatch.setattr(_report, "DOCS", tmp_path / "docs")
    monkeypatch.setattr(_report, "conclude", lambda name, rows, settings: ["It is a fake."])

    def use(module: SimpleNamespace) -> None:
        for place in (_runner, _report):
            monkeypatch.setattr(place, "experiment", lambda name: module)

    return use


def test_a_run_measures_every_cell_and_records_its_circumstances(bench, tmp_path):
    calls: list = []
    bench(fake_experiment(calls))
    _runner.run("fake")
    assert calls == ["warm", (0, "a"), (0, "b"), (1, "b"), (1, "a"), (2, "a"), (2, "b")]
    content = json.loads((tmp_path / "results" / "fake.json").read_text())
    assert content["settings"] == SETTINGS
    assert content["machine"]["cores"] >= 1
    assert content["versions"]["numpy"] == np.__version__
    assert content["warm_up_seconds"] >= 0
    assert [row["results"]["a"]["value"] for row in content["rows"]] == [0, 1, 2]
    assert all(len(row["source"]) == 10 for row in content["rows"])


def test_an_interrupted_run_goes_on_with_the_next_rival(bench):
    calls: list = []
    bench(fake_experiment(calls, fail_at=(1, "a")))
    with pytest.raises(KeyboardInterrupt):
        _runner.run("fake")
    assert calls == ["warm", (0, "a"), (0, "b"), (1, "b")]
    calls.clear()
    bench(fake_experiment(calls))
    store = _runner.run("fake")
    assert calls == ["warm", (1, "a"), (2, "a"), (2, "b")]
    assert [set(row["results"]) for row in store.rows] == [{"a", "b"}] * 3
    calls.clear()
    _runner.run("fake")
    assert calls == []  # nothing is left, so not even a warm-up


def test_fresh_starts_over(bench):
    calls: list = []
    bench(fake_experiment(calls))
    _runner.run("fake")
    calls.clear()
    _runner.run("fake", fresh=True)
    assert len(calls) == 7


def test_quick_runs_are_small_and_kept_apart(bench, tmp_path):
    bench(fake_experiment([]))
    store = _runner.run("fake", quick=True)
    assert store.path == tmp_path / "scratch" / "quick" / "fake.json"
    assert len(store.rows) == 1
    assert not (tmp_path / "results").exists()


def test_only_measures_the_cells_named(bench):
    calls: list = []
    bench(fake_experiment(calls))
    store = _runner.run("fake", only="seed=2")
    assert [row["cell"] for row in store.rows] == [{"seed": 2}]


def test_rows_of_other_settings_are_not_mixed(bench):
    bench(fake_experiment([]))
    _runner.run("fake")
    other = fake_experiment([])
    other.SETTINGS = {"seeds": 4}
    bench(other)
    with refused("settings", "--fresh", error=_store.ChangedRunError):
        _runner.run("fake")


@pytest.mark.parametrize("part", ["machine", "versions"])
def test_rows_of_another_machine_or_version_are_not_mixed(bench, monkeypatch, part):
    bench(fake_experiment([]))
    _runner.run("fake")
    monkeypatch.setattr(_store, part, lambda: {"other": 1})
    with pytest.raises(_store.ChangedRunError, match=f"other {part} than now"):
        _runner.run("fake")


def test_a_rival_can_be_measured_again_on_another_machine(bench, monkeypatch):
    calls: list = []
    bench(fake_experiment(calls))
    _runner.run("fake")
    calls.clear()
    elsewhere = {"cpu": "other", "cores": 3, "system": "here"}
    monkeypatch.setattr(_store, "machine", lambda: elsewhere)
    bench(fake_experiment(calls, fail_at=(2, "b")))
    with pytest.raises(KeyboardInterrupt):
        _runner.run("fake", again="b")
    assert calls == ["warm", (0, "b"), (1, "b")]
    bench(fake_experiment(calls))
    store = _runner.run("fake", again="b")  # goes on where it ended
    assert calls == ["warm", (0, "b"), (1, "b"), "warm", (2, "b")]
    for row in store.rows:
        assert row["results"]["b"]["again"]["machine"] == elsewhere
        assert "again" not in row["results"]["a"]
    page = _report.page("fake")
    assert "Measured again" in page
    assert "on other, 3 cores, here" in page
    assert "b in 3 cells." in page


def test_only_what_was_measured_can_be_measured_again(bench):
    calls: list = []
    bench(fake_experiment(calls))
    _runner.run("fake", again="b")
    assert calls == []


def test_a_skipped_cell_says_why_and_is_tried_again(bench):
    calls: list = []
    bench(fake_experiment(calls, skip="no data here"))
    store = _runner.run("fake")
    assert store.rows == []
    assert {row["skipped"] for row in store.content["rows"]} == {"no data here"}
    bench(fake_experiment(calls))
    store = _runner.run("fake")
    assert len(store.rows) == 3
    assert not any("skipped" in row for row in store.rows)


def test_a_failed_save_leaves_the_last_state(tmp_path):
    store = _store.Store(tmp_path / "x.json", {})
    store.row({"seed": 0})["results"]["a"] = {"value": 1.0}
    store.save()
    before = store.path.read_bytes()
    store.row({"seed": 0})["results"]["a"] = {"value": math.nan}
    with pytest.raises(ValueError, match="JSON"):
        store.save()
    assert store.path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [store.path]


def test_the_key_of_a_cell_does_not_depend_on_the_order_of_its_entries(tmp_path):
    store = _store.Store(tmp_path / "x.json", {})
    row = store.row({"loss": "ste", "seed": 1})
    assert store.row({"seed": 1, "loss": "ste"}) is row
    assert store.row({"seed": 2, "loss": "ste"}) is not row
    assert not store.is_done({"seed": 3, "loss": "ste"})


def test_the_page_of_an_experiment_shows_its_tables_and_circumstances(bench, tmp_path):
    bench(fake_experiment([]))
    _runner.run("fake")
    text = _report.report("fake").read_text()
    assert text.startswith(
        "<!-- Generated by `python -m benchmarks report fake`: do not edit. -->\n\n# A fake experiment"
    )
    assert text.index("- It is a fake.") < text.index("With an introduction.")
    assert "| 2 | 2 |" in text
    assert f"numpy {np.__version__}" in text


def test_a_page_without_results_names_the_remedy(bench):
    bench(fake_experiment([]))
    with refused("python -m benchmarks fake", error=FileNotFoundError):
        _report.report("fake")


@pytest.mark.parametrize(
    "module", [_store, _runner, _tables, benchmarks_main], ids=lambda module: module.__name__
)
def test_examples_in_docstrings(module):
    result = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.attempted > 0
    assert result.failed == 0


def test_quartiles_count_never_as_the_worst():
    assert _tables.quartiles([1.0, 2.0, 3.0, 4.0, 5.0]) == (2.0, 3.0, 4.0)
    assert _tables.quartiles([1.0, None, None]) == (None, None, None)
    assert _tables.spread([1.0, 2.0, 3.0, None, None]) == "3 (2--)"
    assert _tables.median([]) is None


def test_markdown_escapes_what_would_end_a_cell():
    table = _tables.Table("T", ["a", "b"])
    table.add("x|y", 1)
    assert table.markdown().splitlines()[-1] == "| x\\|y | 1 |"


def test_random_comparisons_never_repeat_an_object_in_a_row():
    rows = _timing.random_comparisons(4, 2000, seed=0).indices
    assert all(len(set(row)) == 3 for row in rows.tolist())
    assert len({tuple(row) for row in rows.tolist()}) == 4 * 3 * 2  # all of them occur


def test_rivals_take_turns():
    order: list[str] = []
    rivals = {"a": lambda: order.append("a"), "b": lambda: order.append("b")}
    seconds = _timing.interleaved(rivals, repeats=3, max_seconds=10)
    assert order == ["a", "b"] * 4  # the first turn warms up
    assert [len(taken) for taken in seconds.values()] == [3, 3]


def test_the_command_line_knows_actions_names_and_all():
    assert chosen(["report"]) == ("report", list(_runner.NAMES))
    with pytest.raises(SystemExit, match="there is no experiment 'tabel1'"):
        chosen(["tabel1"])


def test_list_shows_every_cell_of_every_experiment(capsys):
    assert main(["all", "--list", "--quick"]) == 0
    shown = capsys.readouterr().out
    assert all(f"{name}: " in shown for name in _runner.NAMES)
