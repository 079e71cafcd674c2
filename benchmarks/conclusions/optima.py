"""Conclusions of `optima`."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks import _optima_report as report
from benchmarks.conclusions._words import Rows, share, span


def conclude(rows: Rows, settings: dict[str, Any]) -> list[str]:
    """Whether wide factors always reach the minimum, how spread narrow ones end, and from where on they are near."""
    judged = list(report.standings(rows))
    missed = [f"{what} ({measured})" for what, _, measured, holds in judged if not holds]
    names = report.names(rows)
    ranks = {data: report.minimum(rows, data)["rank"] for data in names}
    spreads = {data: _spread(rows, data) for data in names}
    ends = [100 * float(np.ptp(report.excess(rows, data, _widest(rows, data, 1)))) for data in names]
    short = {missing: [_near(rows, data, missing) for data in names] for missing in (1, 2)}
    return [
        "Local optima are not near the minimum before its rank on every set, as the paper found on its own: one column "
        f"below the rank they end {span(short[1], '.2f')}% above it in the median, and two columns below "
        f"{span(short[2], '.2f')}%, highest on {max(zip(short[1], names, strict=True))[1]}.",
        f"Missed: {'; '.join(missed)}."
        if missed
        else f"From the rank of the minimum on ({span(ranks.values())} columns), all {settings['starts']} starts end "
        f"at the certified minimum, on {share(len(names), len(names))} data sets; no end is below it.",
        "Ends differ most with few columns: highest minus lowest is at most "
        + "; ".join(f"{100 * wide:.2f}% at d = {d} on {data}" for data, (wide, d) in spreads.items())
        + f"; in the widest factors below the rank it is {span(ends, '.3f')}%.",
        "With one column, starts end "
        f"{span((100 * report.excess(rows, data, 1).min() for data in names), '.1f')}% above the minimum at best.",
    ]


def _spread(rows: Rows, data: str) -> tuple[float, int]:
    """Return the largest spread over all widths, and where it is."""
    found = {d: report.excess(rows, data, d) for d in report.widths(rows, data)}
    return max((float(ends.max() - ends.min()), d) for d, ends in found.items())


def _near(rows: Rows, data: str, missing: int) -> float:
    """Return the median end of the widest factor that lacks this many columns, in percent above the minimum."""
    return 100 * float(np.median(report.excess(rows, data, _widest(rows, data, missing))))


def _widest(rows: Rows, data: str, missing: int) -> int:
    """Return the largest width that lacks this many columns."""
    rank = report.minimum(rows, data)["rank"]
    return max(d for d in report.widths(rows, data) if d <= rank - missing)
