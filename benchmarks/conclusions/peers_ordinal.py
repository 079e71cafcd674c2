"""Conclusions of `peers_ordinal`."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks._peers_report import (
    AUTO,
    DEFAULT,
    TOLERANCE,
    best_peer,
    by_data,
    equal_peer,
    mean_error,
    values,
)
from benchmarks.conclusions._words import Rows, listed, span

Results = list[dict[str, Any]]
LARGE = "planted-3000"


def times_faster(found: Results, peer: str) -> float:
    """Return the median over splits of a peer's time divided by that of our default."""
    return float(np.median(np.divide(values(found, peer, "seconds"), values(found, DEFAULT, "seconds"))))


def quickest_equals(rows: Rows, settings: dict[str, Any]) -> dict[str, float]:
    """Return by data set the time of cblearn's quickest of equal accuracy divided by ours, if ours is as good."""
    ratios = {}
    for name, found in by_data(rows, settings).items():
        best = best_peer(found, settings)
        if best is not None and mean_error(found, DEFAULT) <= mean_error(found, best) + TOLERANCE:
            ratios[name] = times_faster(found, equal_peer(found, settings, best))
    return ratios


def behind(rows: Rows, settings: dict[str, Any], ours: str) -> dict[str, float]:
    """Return by data set the mean error of ours minus that of cblearn's best."""
    data = by_data(rows, settings)
    return {
        name: mean_error(found, ours) - mean_error(found, str(best_peer(found, settings)))
        for name, found in data.items()
    }


def conclude(rows: Rows, settings: dict[str, Any]) -> list[str]:
    """Where cblearn is better or quicker, then where nearer is."""
    data = by_data(rows, settings)
    auto, default = (behind(rows, settings, ours) for ours in (AUTO, DEFAULT))
    lost = [name for name in data if _lost(data[name], settings)]
    ratios = quickest_equals(rows, settings)
    slower = [name for name, ratio in ratios.items() if ratio < 1]
    faster = {name: ratio for name, ratio in ratios.items() if ratio >= 1 and name != LARGE}
    best = str(best_peer(data[LARGE], settings))
    return [
        f"On {listed(lost)} cblearn is better: its {best_peer(data[lost[0]], settings)} has "
        f"{auto[lost[0]]:.3f} less held-out "
        f'error than our `loss="auto"` and {default[lost[0]]:.3f} less than our default.'
        if lost
        else 'No estimator of cblearn is better than our `loss="auto"` by more than one standard error.',
        f"On {listed(slower)} cblearn's quickest estimator of equal accuracy is quicker than our default "
        f"({span([1 / ratios[name] for name in slower], '.1f')} times).",
        f"The factor of {times_faster(data[LARGE], best):.0f} on {LARGE} is against {best}, which makes "
        f"ten starts where our default makes one; {equal_peer(data[LARGE], settings, best)}, as good and "
        f"quicker, takes {times_faster(data[LARGE], equal_peer(data[LARGE], settings, best)):.1f} times "
        "our time. [`peers_starts`](peers_starts.md) compares equal numbers of starts.",
        "On the other data sets where our default is as good, cblearn's quickest estimator of equal "
        f"accuracy takes {span(faster.values(), '.1f')} times our time.",
        '`loss="auto"` is within one standard error of cblearn\'s best, or better, on '
        f"{len(data) - len(lost)} of {len(data)} data sets.",
    ]


def _lost(found: Results, settings: dict[str, Any]) -> bool:
    """Whether our `loss="auto"` is behind cblearn's best by more than one standard error of the difference."""
    differences = np.subtract(
        values(found, AUTO, "error"), values(found, str(best_peer(found, settings)), "error")
    )
    return bool(differences.mean() > differences.std(ddof=1) / np.sqrt(len(differences)))
