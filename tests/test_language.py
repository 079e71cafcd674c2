"""Keep the language of docstrings, messages, comments, examples and written pages plain."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "nearer"
#: pages written by hand; those of the benchmarks are generated
PAGES = ["README.md", "CONTRIBUTING.md", "docs/*.md", "docs/guide/*.md", "docs/api/*.md", "examples/*.py"]

#: phrases that are hard to read, and what to write instead
HARD = {
    r"\banew\b": "again, or new",
    r"\bso many\b": "the number itself: this many epochs, `count` answers",
    r"(?<!here )\bis no (?!longer|better|worse|more|less)\w": "is not a",
    r"\bbends?\b": "curvature",
    r"\b(one|two) \w+s? an? (row|answer|object|comparison|column|component|map|epoch|step|second|core)\b": "per",
    r"\bgo(es)? on (to|from|with)\b": "continue",
    r"\bwhichever way round\b": "in either order",
    r"\bbeside the (largest|longest|best)\b": "compared with",
    r"\b(is|are|was|were) told\b": "say, report",
    r"\bof one's own\b": "custom, the user's",
    r"\b(needed|left out|a warning) where\b": "if",
    r"\bto the same bits\b": "bit for bit",
    r"\bleaves? a doubt\b": "is ambiguous",
}

#: phrases that are names
NAMES = {"losses/margins.py": r"\bbends?\b"}


def texts(path: Path) -> list[tuple[int, str]]:
    """Return the strings and comments of a file, or the paragraphs of a page, with their line numbers."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        starts = [0, *(found.end() for found in re.finditer("\n\n", source))]
        ends = [*starts[1:], len(source)]
        return [(source.count("\n", 0, at) + 1, source[at:end]) for at, end in zip(starts, ends, strict=True)]
    strings = [
        (node.lineno, node.value)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return strings + [(token.start[0], token.string) for token in tokens if token.type == tokenize.COMMENT]


def hard_phrases(path: Path) -> list[str]:
    """Return each hard phrase of a file with its line, and what to write instead."""
    return [
        f"line {line}: {found.group()!r}; write: {instead}"
        for line, text in texts(path)
        for phrase, instead in HARD.items()
        for found in re.finditer(phrase, " ".join(text.split()))
    ]


def test_hard_phrases_are_found(tmp_path):
    (tmp_path / "hard.py").write_text('"""One row an answer is no\nfile."""\nx = "plain"  # drawn anew\n')
    assert len(hard_phrases(tmp_path / "hard.py")) == 2
    (tmp_path / "hard.md").write_text("# Title\n\nNone is left\nout. It is left\nout where empty.\n")
    assert [phrase.partition(":")[0] for phrase in hard_phrases(tmp_path / "hard.md")] == ["line 3"]


def test_docstrings_messages_and_comments_are_plain():
    found = {path.relative_to(SOURCE).as_posix(): hard_phrases(path) for path in SOURCE.rglob("*.py")}
    hard = {name: phrases for name, phrases in found.items() if phrases and name not in NAMES}
    assert hard == {}
    assert all(len(found[name]) == 1 and re.search(NAMES[name], found[name][0]) for name in NAMES)


def test_pages_and_examples_are_plain():
    paths = [path for pattern in PAGES for path in ROOT.glob(pattern)]
    assert len(paths) > 30
    assert {path.name: hard_phrases(path) for path in paths if hard_phrases(path)} == {}
