"""The tool that proves a refactoring harmless: it must see what changed, and must not see what did not."""

from __future__ import annotations

import doctest
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(
    0, str(Path(__file__).parents[2])
)  # benchmarks is a folder of the repository, not of the package

from benchmarks import same_answers
from benchmarks._same import around, compare, embeddings, kernels, lines, pairs, record, tags, times, towers
from benchmarks._same.case import RTOL, Case, public
from nearer import active, losses, solvers

QUICK = "online skip"


@pytest.fixture
def before(tmp_path):
    """A record of a few quick cases."""
    path = tmp_path / "before.npz"
    assert same_answers.main(["record", "--out", str(path), "--only", QUICK]) == 0
    return path


def compared(path, capsys, *options) -> tuple[int, str]:
    capsys.readouterr()
    code = same_answers.main(["compare", str(path), "--only", QUICK, *options])
    return code, capsys.readouterr().out


def changed(path, change) -> None:
    """Change a record: `change` edits its arrays by case and name."""
    _, found = record.read(path)
    change(found)
    record.write(found, path)


def test_the_same_code_gives_equal_answers(before, capsys):
    code, shown = compared(before, capsys, "--all")
    assert code == 0
    assert f"{len(record.chosen(QUICK))} bitwise equal" in shown
    assert "online skip=local, paper" in shown


@pytest.mark.parametrize(
    ("factor", "status", "code"), [(1 + 1e-12, compare.WITHIN, 0), (1 + 1e-7, compare.DIFFERENT, 1)]
)
def test_a_perturbed_array_is_reported(before, capsys, factor, status, code):
    changed(before, lambda found: found["online skip=never, minimal"]["kernel_"].__imul__(factor))
    found, shown = compared(before, capsys)
    assert found == code
    (line,) = [line for line in shown.splitlines() if line.startswith("online skip=")]
    assert line.startswith("online skip=never, minimal")
    assert status in line


def test_a_loose_tolerance_accepts_more(before, capsys):
    changed(before, lambda found: found["online skip=never, minimal"]["kernel_"].__imul__(1 + 1e-7))
    assert compared(before, capsys, "--rtol", "1e-6")[0] == 0


def test_a_case_that_was_not_recorded_is_new_and_one_that_is_gone_is_missing(before, capsys):
    changed(before, lambda found: found.pop("online skip=never, paper"))
    code, shown = compared(before, capsys)
    assert (code, "1 new" in shown) == (0, True)
    changed(before, lambda found: found.update({"online skip=gone": {"kernel_": np.ones(2)}}))
    code, shown = compared(before, capsys)
    assert (code, "1 missing" in shown) == (1, True)


def test_an_array_that_is_gone_is_missing(before, capsys):
    changed(before, lambda found: found["online skip=never, paper"].update(gone=np.ones(2)))
    code, shown = compared(before, capsys)
    assert (code, "missing: gone" in shown) == (1, True)


def test_a_pattern_may_name_several_texts():
    both = record.chosen("online skip|relative ckl")
    assert set(both) == set(record.chosen("online skip")) | set(record.chosen("relative ckl"))
    assert record.chosen("online skip")
    assert record.chosen("relative ckl")


def test_comparing_nothing_is_no_success(before):
    assert same_answers.main(["compare", str(before), "--only", "no such case"]) == 1


def test_a_case_that_raises_fails_both_commands(monkeypatch, tmp_path, capsys):
    def broken():
        raise ValueError("no luck")

    monkeypatch.setitem(record.CASES, f"{QUICK} broken", Case(broken))
    path = tmp_path / "before.npz"
    assert same_answers.main(["record", "--out", str(path), "--only", QUICK]) == 1
    code, shown = compared(path, capsys)
    assert (code, "1 failed" in shown, "ValueError: no luck" in shown) == (1, True, True)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (np.array([1.0, np.nan]), np.array([1.0, np.nan]), 0.0),
        (np.array([1.0, np.nan]), np.array([1.0, 2.0]), np.inf),
        (np.array([1.0, np.inf]), np.array([1.0, -np.inf]), np.inf),
        (np.zeros(2), np.zeros(3), np.inf),
        (np.zeros(2), np.array([0.0, 1e-30]), np.inf),
        (np.ones(2), np.ones(2, np.float32), np.inf),
        (np.array(3), np.array(4), np.inf),
        (np.array("tolerance"), np.array("epochs"), np.inf),
        (np.array("tolerance"), np.array("tolerance"), 0.0),
        (np.array(1), np.array("1"), np.inf),
    ],
)
def test_differences(one, other, expected):
    assert compare.difference(one, other) == expected


def test_a_tolerance_of_its_own_needs_a_reason():
    with pytest.raises(ValueError, match="needs a reason"):
        Case(dict, rtol=1e-3)
    own = Case(dict, rtol=1e-3, reason="it is coarse")
    (outcome,) = compare.outcomes({"a": {"x": np.ones(1)}}, {"a": {"x": np.ones(1) + 1e-4}}, {"a": own}, RTOL)
    assert outcome.status == compare.WITHIN
    assert "it is coarse" in outcome.remark


def test_every_loss_solver_and_strategy_has_cases():
    assert set(embeddings.LOSSES) == set(losses.LOSSES)
    known = {*embeddings.SOLVERS, *kernels.KERNEL_SOLVERS, *pairs.PAIRWISE_SOLVERS, *tags.TAG_SOLVERS}
    known |= set(towers.TOWER_SOLVERS)
    assert known == {*solvers.SOLVERS, "auto"}
    assert set(pairs.MARGIN_LOSSES) == set(losses.MARGIN_LOSSES)
    assert set(around.STRATEGIES) == set(active.STRATEGIES)


def test_names_are_found_wherever_they_are_public():
    assert public("SVRG") is solvers.SVRG
    with pytest.raises(LookupError, match="NoSuchName"):
        public("NoSuchName")


def test_old_and_new_take_turns(monkeypatch):
    order = []

    def taken(work, source, script):
        order.append(source.name)
        return {"old": 2.0, "new": 1.0}[source.name]

    monkeypatch.setattr(times, "taken", taken)
    seconds = times.turns(times.IMPORT, Path("old"), Path("new"), Path("script"), 2)
    assert order == ["new", "old", "old", "new", "new", "old"]
    assert times.ratios(seconds) == (0.5, 0.5, 0.5)


def test_examples_in_docstrings():
    for module in (compare, lines, times):
        result = doctest.testmod(module)
        assert result.attempted > 0
        assert result.failed == 0


def test_lines_without_code_do_not_count():
    code = "def f():\n    return (\n        1\n    )\n"
    documented = '"""About."""\n\n# why\n' + code.replace(
        ":\n", ':\n    """Return one.\n\n    Always.\n    """\n'
    )
    assert lines.code_lines(code) == lines.code_lines(documented) == 4
