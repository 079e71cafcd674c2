"""What each benchmark page says first: a few sentences whose numbers are all computed from the results.

One module per experiment, with `conclude(rows, settings)`: three to five sentences, failures first.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def conclude(name: str, rows: list[dict[str, Any]], settings: dict[str, Any]) -> list[str]:
    """Return the sentences that open the page of an experiment, all cells of which were measured."""
    module = import_module(f"benchmarks.conclusions.{name}")
    return module.conclude(rows, settings)
