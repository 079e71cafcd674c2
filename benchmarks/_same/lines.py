"""Count lines of code, without blank lines, comments and docstrings, of an old and a new checkout."""

from __future__ import annotations

import ast
import io
import subprocess
import tokenize
from collections import Counter
from pathlib import Path

PARTS = ("src", "tests", "benchmarks")
_SILENT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def code_lines(source: str) -> int:
    r"""Return the number of lines with code.

    >>> code_lines('\"\"\"About.\"\"\"\n\n# why\nx = (\n    1\n)\n')
    3
    """
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    found = {
        line
        for token in tokens
        if token.type not in _SILENT
        for line in range(token.start[0], token.end[0] + 1)
    }
    return len(found - _docstring_lines(ast.parse(source)))


def _docstring_lines(tree: ast.Module) -> set[int]:
    """Return the lines of expressions that are only a text: docstrings."""
    texts = (
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
    return {line for text in texts for line in range(text.lineno, (text.end_lineno or text.lineno) + 1)}


def counts(checkout: Path) -> dict[str, int]:
    """Return the code lines of every Python file of a checkout, by its path."""
    files = (path for part in PARTS for path in sorted((checkout / part).rglob("*.py")))
    return {
        path.relative_to(checkout).as_posix(): code_lines(path.read_text(encoding="utf-8")) for path in files
    }


def new_files(old: Path, new: Path) -> set[str]:
    """Return the files that are neither in the old checkout nor moved or split off from a file there."""
    commit = _git(old, "rev-parse", "HEAD").strip()
    shown = _git(
        new, "diff", "--name-status", "--find-renames=30%", "--find-copies=40%", "-l0", commit, "--", *PARTS
    )
    return {
        line.split("\t")[1] for line in shown.splitlines() if line.startswith("A\t") and line.endswith(".py")
    }


def _git(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(folder), *arguments], check=True, capture_output=True, text=True
    ).stdout


def by_folder(found: dict[str, int]) -> Counter[str]:
    """Return the sums of the folders, and of each part, which has no slash.

    >>> sorted(by_folder({"src/nearer/a.py": 2, "src/nearer/losses/b.py": 3}).items())
    [('src', 5), ('src/nearer', 2), ('src/nearer/losses', 3)]
    """
    sums: Counter[str] = Counter()
    for path, count in found.items():
        sums[path.split("/")[0]] += count
        folder = "/".join(path.split("/")[:-1][:3])
        if "/" in folder:
            sums[folder] += count
    return sums


def table(old: Path, new: Path) -> str:
    """Return the lines per folder before and after, with new files counted apart and listed."""
    before, after, fresh = counts(old), counts(new), new_files(old, new)
    were = by_folder(before)
    existed = by_folder({path: count for path, count in after.items() if path not in fresh})
    added = by_folder({path: count for path, count in after.items() if path in fresh})
    rows = [f"{'folder':34} {'before':>8} {'after':>8} {'change':>8} {'new files':>10}"]
    for name in sorted({*were, *existed, *added}):
        change = existed[name] - were[name]
        rows.append(f"{name:34} {were[name]:8,} {existed[name]:8,} {change:+8,} {added[name]:10,}")
    rows += ["", "new files:", *(f"{after[path]:8,}  {path}" for path in sorted(fresh & after.keys()))]
    return "\n".join(rows)
