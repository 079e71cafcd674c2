"""The benchmark of a graphics card, without one: drawn pairs, what it counts, tables and conclusions."""

from __future__ import annotations

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from benchmarks import _report, _scale_costs, _scale_problem, _scale_report, extreme_scale  # noqa: E402
from benchmarks._store import RESULTS  # noqa: E402
from benchmarks._tables import digits  # noqa: E402
from benchmarks.conclusions.extreme_scale import conclude  # noqa: E402
from nearer.solvers import find  # noqa: E402

SETTINGS = {**extreme_scale.SETTINGS, "hidden": 8, "n_components": 4}


def drawn():
    return _scale_problem.drawn_pairs(120, 64, 900, seed=0, device="cpu")


def test_drawn_pairs_are_distinct_and_follow_power_laws():
    starts, columns = _scale_problem.drawn_pairs(400, 256, 6000, seed=1, device="cpu")
    rows = torch.repeat_interleave(torch.arange(400), starts.diff())
    assert len(torch.unique(rows * 256 + columns)) == 6000
    for counts in (starts.diff(), torch.bincount(columns, minlength=256)):
        largest = counts.sort(descending=True).values.double()
        assert largest[0] > 4 * counts.double().mean()
        assert largest[: len(largest) // 10].sum() < 0.7 * 6000


def test_the_problem_is_the_same_streamed_and_in_double_precision():
    f, x = _scale_problem.objective(drawn(), 64, SETTINGS)
    streamed, _ = _scale_problem.objective(drawn(), 64, SETTINGS, streamed=True)
    exact, y = _scale_problem.objective(drawn(), 64, SETTINGS, dtype=torch.float64)
    value, gradient = exact.value_and_gradient(y)
    assert streamed.value(x) == pytest.approx(value, rel=1e-6)
    found = _scale_costs.compared((f, x), (value, gradient, exact.curvature(y)(gradient)))
    assert 0 < max(found.values()) < 1e-5


def test_parts_count_what_they_do():
    f, x = _scale_problem.objective(drawn(), 64, SETTINGS)
    parts = dict(_scale_costs.gradient_parts(f, x))
    for part in parts.values():
        part.call()
    assert parts["scores"].gathered == 900 * 4 * 4
    assert parts["towers, forward"].operations == 2 * (120 + 64) * (8 * 8 + 8 * 4)
    for part in dict(_scale_costs.product_parts(f, x, torch.ones_like(x))).values():
        part.call()


def test_courses_record_the_lowest_objective():
    f, x = _scale_problem.objective(drawn(), 64, SETTINGS)
    found = extreme_scale.course(find("full-adam"), f, x, 0.5, 10)
    assert np.all(np.diff(found["objective"]) <= 0)
    assert found["seconds"][-1] < 5
    assert found["stop_reason"] == "seconds"


def test_conclusions_say_what_is_missed():
    content = json.loads((RESULTS / "extreme_scale.json").read_text())
    rows, settings = content["rows"], content["settings"]
    assert {row["cell"]["part"] for row in rows} == {cell["part"] for cell in extreme_scale.cells(settings)}
    for row in rows:
        if row["cell"]["part"] == "costs":
            for precision in _scale_report.PRECISIONS:
                row["results"][precision]["gradient"]["ms"] = 30.0 * row["cell"]["times"] ** 2
        if row["cell"]["part"] == "fits":
            for name, found in row["results"].items():
                found["objective"] = [2.0, 1.0] if name == "newton" else [2.0, 1.5]
                found["seconds"] = [0.0, 20.0]
    said = conclude(rows, settings)
    assert "of 25 ms is missed" in " ".join(said)
    assert "of 12 is missed by: gradient in float32 and gradient in TF32" in said[0]
    assert any("is met: newton gets there after 20 s" in sentence for sentence in said)
    assert len(_scale_report.tables(rows, settings)) == 8
    assert set(_scale_report.figures(rows, settings)) == {"parts", "fits"}


def test_the_guide_quotes_the_results():
    content = json.loads((RESULTS / "extreme_scale.json").read_text())
    once, ten = (_scale_report.part(content["rows"], "costs", times) for times in (1, 10))
    guide = (_report.DOCS.parent / "guide" / "towers.md").read_text()
    for kind, name in _scale_report.KINDS.items():
        times = (found[kind]["ms"] for found in (once["float32"], once["tf32"], ten["tf32"]))
        assert f"| {name} | " + " | ".join(f"{digits(ms)} ms" for ms in times) + " |" in guide
    streamed = once["streamed"]["gradient"]["ms"]
    assert f"streamed from main memory a gradient takes {streamed:.0f} ms" in guide
    first = _scale_report.quickest(content["rows"], _scale_report.GAP)
    assert f"after {first[1]:.0f} s" in " ".join(guide.split())
