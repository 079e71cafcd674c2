"""Conclusions of `peers_starts`."""

from __future__ import annotations

from typing import Any

from benchmarks._peers_report import TOLERANCE, by_data, mean_error
from benchmarks._starts_report import (
    ONE,
    TEN,
    THEIR_ONE,
    THEIR_TEN,
    best_peer,
    measured,
    quickest_equal,
    times,
)
from benchmarks.conclusions._words import Rows, listed, share, span

Results = list[dict[str, Any]]


def as_good(found: Results, settings: dict[str, Any]) -> bool:
    """Whether our default is within `TOLERANCE` of cblearn's best."""
    return mean_error(found, ONE) <= mean_error(found, best_peer(found, settings)) + TOLERANCE


def quickest(rows: Rows, settings: dict[str, Any]) -> dict[str, float]:
    """Return by data set the time of cblearn's quickest of equal accuracy divided by ours, if ours is as good."""
    return {
        name: times(found, quickest_equal(found, settings), ONE) or 0.0
        for name, found in by_data(rows, settings).items()
        if as_good(found, settings)
    }


def equal_starts(rows: Rows, settings: dict[str, Any], theirs: str, ours: str) -> dict[str, float]:
    """Return by data set the time of cblearn's SOE divided by that of nearer, where both were measured."""
    found = {name: times(one, theirs, ours) for name, one in by_data(rows, settings).items()}
    return {name: ratio for name, ratio in found.items() if ratio is not None}


def needs_starts(rows: Rows, settings: dict[str, Any]) -> list[str]:
    """Return the data sets on which one start of cblearn's SOE is more than 0.01 behind ten."""
    data = by_data(rows, settings)
    both = {name: found for name, found in data.items() if len(measured(found, [THEIR_ONE, THEIR_TEN])) == 2}
    return [
        name
        for name, found in both.items()
        if mean_error(found, THEIR_ONE) - mean_error(found, THEIR_TEN) > 0.01
    ]


def conclude(rows: Rows, settings: dict[str, Any]) -> list[str]:
    """Where cblearn is quicker or better, then equal numbers of starts."""
    data, ratios = by_data(rows, settings), quickest(rows, settings)
    slower = {name: ratio for name, ratio in ratios.items() if ratio < 1}
    faster = {name: ratio for name, ratio in ratios.items() if ratio >= 1}
    behind = [name for name in data if name not in ratios]
    one, ten, mixed = (
        equal_starts(rows, settings, *pair) for pair in ((THEIR_ONE, ONE), (THEIR_TEN, TEN), (THEIR_TEN, ONE))
    )
    worse = needs_starts(rows, settings)
    gains = [mean_error(found, ONE) - mean_error(found, TEN) for found in data.values()]
    return [
        f"On {listed(list(slower))} cblearn's quickest estimator of equal accuracy is quicker than our "
        f"default: it takes {span(slower.values(), '.1f')} times our time "
        f"({_errors(data, settings, slower)}). On {listed(behind)} our default is less accurate than "
        "cblearn's best.",
        f"With one start each, cblearn's SOE takes {span(one.values(), '.1f')} times our time, with ten "
        f"each {span(ten.values(), '.1f')} times. The defaults compare its ten with our one, which "
        f"multiplies the first factor by {span([mixed[name] / one[name] for name in mixed], '.0f')}.",
        f"One start is too few for cblearn's SOE on {share(len(worse), len(ten))} data sets "
        f"({listed(worse)}): it ends more than 0.01 behind ten there. For nearer ten starts change the "
        f"error by {span([-gain for gain in gains], '+.4f')}.",
        f"On {listed(list(faster))}, where our default is as good as cblearn's best or better, the "
        f"quickest estimator of equal accuracy takes {span(faster.values(), '.1f')} times our time.",
        f"{min(map(len, data.values()))} to {max(map(len, data.values()))} splits per data set: read the "
        "factors as orders of magnitude.",
    ]


def _errors(data: dict[str, Results], settings: dict[str, Any], names: Any) -> str:
    """Return how far the quickest of equal accuracy is from our default, by data set."""
    apart = {
        name: mean_error(data[name], quickest_equal(data[name], settings)) - mean_error(data[name], ONE)
        for name in names
    }
    return ", ".join(f"{name}: error {value:+.4f} from ours" for name, value in apart.items())
