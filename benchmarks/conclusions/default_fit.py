"""Conclusions of `default_fit`."""

from __future__ import annotations

from typing import Any

from benchmarks.conclusions._words import Rows, span
from benchmarks.default_fit import BUSY, INSTALLED, LARGE, LEAST_GAIN, MEMORY, bound, gain, middle


def conclude(rows: Rows, settings: dict[str, Any]) -> list[str]:
    """What threads do not gain, what other work and hurry cost, and what the largest fit takes."""
    gains, bounds = ([each(row["results"]) for row in rows] for each in (gain, bound))
    busy = [middle(row["results"], BUSY) / middle(row["results"], INSTALLED) for row in rows]
    shortest, small = settings["max_seconds"][0], [row for row in rows if row["cell"]["answers"] < LARGE]
    in_time = f"within {shortest:g} s"
    lost = [100 * (row["results"][in_time]["error"] - row["results"][INSTALLED]["error"]) for row in small]
    most = max(row["cell"]["answers"] for row in small)
    found = [
        f"Two threads gain a factor of {span(gains, '.2f')}; {sum(each < LEAST_GAIN for each in gains)} of "
        f"{len(gains)} sizes stay below {LEAST_GAIN}. The parts that one thread must do allow a factor of "
        f"{span(bounds, '.2f')}.",
        f"Beside two busy loops a fit takes {span(busy, '.1f')} times as long; a fair share of two cores would be "
        "up to 2.",
        f"Within {shortest:g} s, fits to up to {most:,} answers end {span(lost, '+.2f')} percentage points of "
        "held-out error from the fit without a limit.",
    ]
    for row in rows:
        if row["cell"]["answers"] >= LARGE:
            used = row["results"][MEMORY]
            found.append(
                f"{row['cell']['answers']:,} answers about {row['cell']['n']:,} objects take "
                f"{middle(row['results'], INSTALLED):.0f} s as installed on two cores, and "
                f"{used['grown'] / 2**20:.0f} MB beyond the answers (these are {used['answers'] / 2**20:.0f} MB, "
                f"the points {used['points'] / 2**20:.0f} MB)."
            )
    return found
