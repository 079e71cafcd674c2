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
    """SGD steps first: they are the slowest compared with C++."""
    small = [row for row in rows if row["cell"]["n"] <= 10_000]
    large = [row for row in rows if row["cell"]["n"] > 10_000]
    most = max(ratios(rows, "sgd"))
    worst = next(row["cell"] for row in rows if row["results"]["sgd"]["ratio"] == most)
    above = sum(ratio > 2 for loop in ("sgd", "svrg") for ratio in ratios(small, loop))
    ahead = {loop: sum(ratio < 1 for ratio in ratios(rows, loop)) for loop in ("full", "svrg")}
    found = [
        f"Our stochastic gradient steps take {span(ratios(small, 'sgd'))} times the time of the C++ loop with up "
        f"to 10,000 objects, and the worst of all sizes is {worst['p']} dimensions, {worst['n']:,} objects and "
        f"{worst['dtype']}. C++ knows the dimension when it is compiled and does not sum the losses.",
        f"SVRG steps take {span(ratios(small, 'svrg'))} times the time of the C++ loop with up to 10,000 objects. "
        f"They take less time than C++ in {ahead['svrg']} of {len(rows)} cases: the dense term is two numbers "
        "for all rows, which C++ applies row by row.",
        f"{above or 'None'} of these {2 * len(small)} ratios of stochastic steps is above the target of 2."
        if above < 2
        else f"{above} of these {2 * len(small)} ratios of stochastic steps are above the target of 2.",
        f"Full gradients take {span(ratios(rows, 'full'))} times, below 1 in {ahead['full']} of {len(rows)} cases.",
    ]
    if large:
        found.insert(
            3,
            f"With a million objects the memory is the limit: {span(ratios(large, 'sgd'))} times for SGD, "
            f"{span(ratios(large, 'svrg'))} times for SVRG.",
        )
    return found
