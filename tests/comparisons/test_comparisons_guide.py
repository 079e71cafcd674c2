"""The guide page on comparisons: its code runs from top to bottom and prints what the page says."""

from __future__ import annotations

import re
from pathlib import Path

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "comparisons.md"


EXAMPLES = ("reference_image", "option1", "option2", "image_left", "image_right")


def test_code_runs_in_order(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert len(blocks) > 10
    exec(compile("\n".join(blocks), str(GUIDE), "exec"), {})
    printed = capsys.readouterr().out
    assert "Comparisons(3 triplets, 4 objects)" in printed
    assert "('bus', 'car', 'cat', 'dog')" in printed
    assert "Comparisons(2 triplets, 4 objects, names, weights, annotators, groups)" in printed
    assert "[('cat', 'dog', 'car'), ('car', 'bus', 'dog')]" in printed
    assert "[(0, 1, 2), (0, 3, 1), (1, 3, 2), (2, 0, 3)]" in printed
    assert "Comparisons(4 triplets, 5 objects, names, groups, ignored columns: rt)" in printed
    assert "Comparisons(2 triplets, 3 objects)" in printed
    assert (
        "bad.csv, line 3: (cat, cat, bus) compares an object or a pair with itself, the first of 2" in printed
    )


def test_every_public_name_is_mentioned():
    from nearer.comparisons import Comparisons

    text = GUIDE.read_text()
    missing = [name for name in dir(Comparisons) if not name.startswith("_") and name not in text]
    assert missing == []


def test_tables_of_column_names_are_true():
    from nearer.comparisons.files.column_names import ALIASES, CHOICES, MORE_ANCHORS, PRESSES, STEMS

    text = GUIDE.read_text()
    parts = {
        "triplet": ("anchor", "near", "far"),
        "quadruplet": ("near_a", "near_b", "far_a", "far_b"),
        "options": ("a", "b"),
        "weight": ("weight",),
        "annotator": ("annotator",),
        "group": ("group",),
    }
    for row, roles in parts.items():
        known = {alias for role in roles for alias in ALIASES[role]}
        assert shown_in(text, row) - ({*MORE_ANCHORS, *STEMS, *EXAMPLES} - known) == known - {"centre"}
    assert {*MORE_ANCHORS} <= shown_in(text, "triplet")
    assert {*STEMS} <= shown_in(text, "options")
    assert {*ALIASES["response"], *CHOICES, *PRESSES} <= shown_in(text, "response")
    assert {*ALIASES["odd"]} <= shown_in(text, "odd one")


def shown_in(text, row):
    """The names in one row of the table of names."""
    line = next(line for line in text.splitlines() if line.startswith(f"| {row} |"))
    return {name.strip() for cell in re.findall(r"`([^`]+)`", line) for name in cell.split(",")}


def test_missing_cells_are_named():
    from nearer.comparisons.validation import MISSING

    text = GUIDE.read_text()
    line = text[text.index("**Missing cells.**") :].split("\n\n")[0]
    assert set(re.findall(r"`([^`=]+)`", line)) >= MISSING - {"", "n/a", "#N/A"}
