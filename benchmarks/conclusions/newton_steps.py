"""Conclusions of `newton_steps`."""

from __future__ import annotations

from typing import Any

from benchmarks import newton_steps as experiment
from benchmarks._tables import digits
from benchmarks.conclusions._words import Rows, span


def conclude(rows: Rows, settings: dict[str, Any]) -> list[str]:
    """What one step gains beside Adam, and what limits it."""
    counts = settings["products"]["newton"]
    asked = [(name, count) for name, own in settings["products"].items() for count in own]
    found = {one: _steps(rows, k) for k, one in enumerate(asked)}
    short, usual, long = (found["newton", count] for count in (counts[0], counts[1], counts[-1]))
    plain = next(steps for (name, _), steps in found.items() if name == experiment.PLAIN)
    deeper, further = (span(_ratios(long, usual, name)) for name in ("predicted", "got"))
    first, second, third = (span(_beside_adam(steps)) for steps in (usual, short, plain))
    return [
        f"Solving Newton's equations better does not pay: {counts[-1]} products per step instead of {counts[1]} "
        f"predict {deeper} times the decrease, and bring {further} times.",
        f"The limit is the quadratic model. Even after {counts[-1]} products it predicts that one step lowers the "
        f"objective by {_range(long, 'predicted')}. In as many passes Adam, which follows the towers as they bend, "
        f"lowers it by {_range(long, 'adam')}.",
        f"A step of {counts[1]} products, as `newton` takes, brings {first} times what Adam does in as many passes. A "
        f"step of {counts[0]} products brings {second} times.",
        f"The preconditioner helps: {counts[1]} products with it predict {span(_ratios(usual, plain, 'predicted'))} "
        f"times the decrease of {plain[0]['products']} without. A plain step brings {third} times what Adam does.",
    ]


def _steps(rows: Rows, which: int) -> list[dict[str, Any]]:
    """Return one of the kinds of steps, from all points of all data sets."""
    return [point["steps"][which] for row in rows for point in row["results"].values()]


def _ratios(ones: list[dict[str, Any]], others: list[dict[str, Any]], name: str) -> list[float]:
    return [one[name] / other[name] for one, other in zip(ones, others, strict=True)]


def _beside_adam(found: list[dict[str, Any]]) -> list[float]:
    return [step["got"] / step["adam"] for step in found]


def _range(found: list[dict[str, Any]], name: str) -> str:
    shares = sorted(100 * step[name] for step in found)
    return f"{digits(shares[0])} to {digits(shares[-1])}%"
