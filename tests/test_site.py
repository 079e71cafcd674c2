"""The built documentation: its API pages have no blank entries, and it works without a server."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
API = "\n".join(page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs" / "api").glob("*.md")))


def documented() -> Iterator[tuple[str, object]]:
    """What the API pages show: the names they list, and the public methods of their classes."""
    for path in re.findall(r"^::: (\S+)$", API, re.MULTILINE):
        module, name = path.rsplit(".", 1)
        thing = getattr(importlib.import_module(module), name)
        yield path, thing
        for method, value in vars(thing).items() if inspect.isclass(thing) else ():
            if not method.startswith("_") and inspect.getdoc(getattr(thing, method)) and callable(value):
                yield f"{path}.{method}", getattr(thing, method)


def blank_entries(docstring: str) -> list[str]:
    """Entries of a docstring's tables that nothing is said about.

    >>> blank_entries("Do.\\n\\nParameters\\n----------\\nx : int\\ny : int\\n    The other.")
    ['x : int']
    """
    found = []
    for section in re.split(r"\n(?=\w+\n-+\n)", docstring):
        title, _, body = section.partition("\n")
        if title in ("Parameters", "Attributes", "Raises"):
            pairs = pairwise([*body.splitlines()[1:], ""])
            found += [line for line, below in pairs if re.match(r"\S", line) and not below.startswith(" ")]
    return found


@pytest.mark.parametrize("thing", [pytest.param(thing, id=name) for name, thing in documented()])
def test_every_entry_of_the_api_pages_says_something(thing):
    assert blank_entries(inspect.getdoc(thing) or "") == []


def test_the_search_works_from_disk_and_asks_no_other_server():
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert "\n  - offline" in settings
    scripts = re.search(r"polyfills:\n((?: +- .*\n)+)", settings)[1]
    paths = re.findall(r"- (\S+)", scripts)
    assert any("iframe-worker" in path for path in paths)  # or the plugin adds one from another server
    assert all((ROOT / "docs" / path).is_file() for path in paths)
