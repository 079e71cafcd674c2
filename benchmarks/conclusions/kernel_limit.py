"""Conclusions of `kernel_limit`."""

from __future__ import annotations

from typing import Any

from benchmarks.conclusions._words import Rows, span


def ratios(rows: Rows, loop: str) -> list[float]:
    """Return our time divided by that of C++, for every size and precision."""
    return [row["results"][loop]["ratio"] for row in rows]


def ratio_at(rows: Rows, loop: str, p: int, n: int) -> float:
    """Return our time divided by that of C++ at one size, in double precision."""
    cell = {"p": p, "n": n, "dtype": "float64"}
    return next(
        row["results"][loop]["ratio"] for row in rows if all(row["cell"][k] == v for k, v in cell.items())
    )


def conclude(rows: Rows, settings: dict[str, Any]) -> list[str]:
    """Stochastic steps first: they are the slow ones."""
    few = [row for row in rows if row["cell"]["p"] == min(settings["n_components"])]
    most = max(ratios(rows, "sgd"))
    worst = next(row["cell"] for row in rows if row["results"]["sgd"]["ratio"] == most)
    ahead = sum(ratio < 1 for ratio in ratios(rows, "full"))
    return [
        f"Our stochastic gradient steps are slow: they take {span(ratios(rows, 'sgd'))} times the time of "
        f"the C++ loop, worst with {worst['p']} dimensions, {worst['n']:,} objects and {worst['dtype']}.",
        f"SVRG steps take {span(ratios(rows, 'svrg'))} times the time of the C++ loop.",
        f"Both are worst in few dimensions ({span(ratios(few, 'sgd'))} and {span(ratios(few, 'svrg'))} "
        f"times in {few[0]['cell']['p']}) and come near C++ where the memory is the limit (many "
        "dimensions, a million objects).",
        f"Full gradients keep up: {span(ratios(rows, 'full'))} times, below 1 in {ahead} of {len(rows)} "
        "cases. Only they have a target below.",
    ]
