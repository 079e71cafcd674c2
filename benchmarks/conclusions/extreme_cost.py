"""Conclusions of `extreme_cost`."""

from __future__ import annotations

from typing import Any

from benchmarks import extreme_cost as cost
from benchmarks._tables import digits
from benchmarks.conclusions._words import Rows, listed, span


def conclude(rows: Rows, settings: dict[str, Any]) -> list[str]:
    """What misses its target, then how costs grow."""
    kinds = ("gradient", "product")
    slopes = {kind: cost.slope(rows, kind) for kind in kinds}
    ratios = {kind: cost.memory(rows[-1], kind) for kind in kinds}
    steep = [cost.KINDS[kind] for kind, value in slopes.items() if value is None or value > cost.MOST_SLOPE]
    large = [cost.KINDS[kind] for kind, value in ratios.items() if value > cost.MOST_MEMORY]
    n, naive = cost.values(rows, "naive", "seconds")
    ours = dict(zip(*cost.values(rows, "gradient", "seconds"), strict=True))[n[-1]]
    last = rows[-1]["cell"]["entities"]
    seconds = [rows[-1]["results"][kind]["seconds"] for kind in kinds]
    copied = cost.slope(rows, "gather")
    missed = f"is missed by: {listed(steep)}" if steep else "is met"
    heavy = f"is missed by: {listed(large)}" if large else "is met"
    return [
        f"The target for growth, a slope of at most {cost.MOST_SLOPE} over the last two decades, {missed}. Measured: "
        f"{span([value for value in slopes.values() if value is not None], '.2f')}. What exceeds 1 is access to "
        f"embeddings that no longer fit the caches: copying the rows of all pairs, without arithmetic, has the slope "
        f"{digits(copied)}.",
        f"The target for memory, {cost.MOST_MEMORY:g} times pairs, embeddings and vectors, {heavy}. Measured at "
        f"{last:,} entities: {span(ratios.values(), '.2f')} times, with chunk_rows = {settings['chunk_rows']:,}.",
        f"At {last:,} entities a gradient over all pairs takes {digits(seconds[0])} s of one core, a Gauss-Newton "
        f"product {digits(seconds[1])} s.",
        f"The naive double sum takes {digits(naive[-1] / ours)} times as long at {n[-1]:,} entities. It was not run at "
        f"ten times as many, where one matrix of all scores takes {4e-9 * (5 * n[-1]) ** 2:.0f} GB.",
    ]
