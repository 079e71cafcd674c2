"""The guide page on comparisons: its code runs from top to bottom and prints what the page says."""

from __future__ import annotations

import re
from pathlib import Path

GUIDE = Path(__file__).parents[1] / "docs" / "guide" / "comparisons.md"


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
    assert (
        "bad.csv, line 3: (cat, cat, bus) compares an object or a pair with itself, the first of 2" in printed
    )


def test_every_public_name_is_mentioned():
    from nearer.comparisons import Comparisons

    text = GUIDE.read_text()
    missing = [name for name in dir(Comparisons) if not name.startswith("_") and name not in text]
    assert missing == []


def test_tables_of_column_names_are_true():
    from nearer._tables.columns import _ALIASES

    text = GUIDE.read_text()
    known = {alias for aliases in _ALIASES.values() for alias in aliases}
    for row in ("triplet", "quadruplet", "weight", "annotator", "group"):
        line = next(line for line in text.splitlines() if line.startswith(f"| {row} |"))
        shown = {name.strip() for cell in re.findall(r"`([^`]+)`", line) for name in cell.split(",")}
        assert shown <= known
