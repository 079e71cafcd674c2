"""The benchmark of two processes: bytes as counted by hand, and conclusions from its rows."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from benchmarks import _rank_cost, extreme_ranks
from benchmarks.conclusions.extreme_ranks import conclude

SETTINGS = {**extreme_ranks.SETTINGS, **extreme_ranks.QUICK}
CELL = {"towers": "networks", "left": 400, "right": 100}


def row_of(left, seconds, apart=0.0):
    of_one = {kind: {"bytes": 0.0, "wire": 0.0, "seconds": seconds} for kind in extreme_ranks.KINDS}
    of_two = {kind: {"bytes": 1e6, "wire": 1.1e6, "seconds": seconds / 1.6} for kind in extreme_ranks.KINDS}
    results = {"one": {"objective": 2.0, **of_one}, "two": {"objective": 2.0 + apart, **of_two}}
    return {"cell": {**CELL, "left": left}, "results": results, "done": True}


def test_two_processes_send_what_is_counted_by_hand():
    settings = {name: value for name, value in SETTINGS.items() if name not in ("sizes", "towers")}
    settings |= {**CELL, "hidden": SETTINGS["towers"][CELL["towers"]], "processes": 2}
    found = _rank_cost.in_children(settings)
    one_number = (
        8 / settings["turns"]
    )  # the one with which processes wait for each other before the clock stops
    for kind in ("value", "gradient", "product"):
        by_hand = extreme_ranks.expected({"cell": CELL}, SETTINGS, kind)
        assert found[kind]["bytes"] == by_hand + one_number
        assert found[kind]["wire"] > 0.9 * by_hand


def test_conclusions_name_cells_in_which_two_are_slower():
    rows = [row_of(400, 1.0), row_of(1600, 4.0)]
    assert extreme_ranks.growth(rows, "gradient") == pytest.approx(1)
    assert extreme_ranks.speed_up(rows[0], "product") == pytest.approx(1.6)
    assert "take longer" not in conclude(rows, SETTINGS)[0]
    slow = row_of(400, 1.0)
    slow["results"]["two"]["sogram"]["seconds"] = 2.0
    assert "step of SOGram" in conclude([slow, rows[1]], SETTINGS)[0]
    assert "more than the target" in conclude([row_of(400, 1.0, apart=1e-3)], SETTINGS)[-1]
    assert len(extreme_ranks.summarise(rows, SETTINGS)) == 3
    assert set(extreme_ranks.draw(rows, SETTINGS)) == {"ranks"}


def test_a_run_that_failed_leaves_no_numbers():
    failed = {"cell": CELL, "results": {"one": {"failed": "killed"}, "two": {}}}
    assert extreme_ranks.complete([failed]) == []
