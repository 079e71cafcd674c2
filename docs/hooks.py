"""What mkdocs does besides mkdocs.yml: pages of benchmarks that have been run join the site by themselves."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

INDEX = "benchmarks/index.md"


def on_config(config: Any) -> Any:
    """Add every measured experiment to the navigation, in the order of the table on the index page."""
    folder = Path(config["docs_dir"]) / "benchmarks"
    order = re.findall(r"^\| `(\w+)`", (folder / "index.md").read_text(encoding="utf-8"), re.MULTILINE)
    pages = [f"benchmarks/{name}.md" for name in order if (folder / f"{name}.md").is_file()]
    section = next(entry["Benchmarks"] for entry in config["nav"] if "Benchmarks" in entry)
    section.extend(pages)
    return config


def on_page_markdown(markdown: str, *, page: Any, files: Any, **_: Any) -> str:
    """Link the names in that table to the pages that exist."""
    if page.file.src_uri != INDEX:
        return markdown

    def linked(match: re.Match[str]) -> str:
        known = files.get_file_from_path(f"benchmarks/{match[1]}.md")
        return f"| [`{match[1]}`]({match[1]}.md)" if known else match[0]

    return re.sub(r"^\| `(\w+)`", linked, markdown, flags=re.MULTILINE)
