"""Conclusions of `active`."""

from __future__ import annotations

from typing import Any

from benchmarks import active
from benchmarks._tables import digits
from benchmarks.conclusions._words import Rows, listed, middle, share, span

CHOSEN = ("information-gain", "arr", "adaptive")


def early(rows: Rows, problem: str, settings: dict[str, Any]) -> dict[str, float]:
    """Return the median error of each strategy after the first quarter of the answers."""
    step = round(active.SHARES[0] * settings["checkpoints"]) - 1
    found = active.results_of(rows, problem)
    return {name: middle(one[name]["error"][step] for one in found) for name in settings["strategies"]}


def late(rows: Rows, problem: str, settings: dict[str, Any]) -> dict[str, float]:
    """Return the median error of each strategy in the end."""
    found = active.results_of(rows, problem)
    return {name: middle(one[name]["error"][-1] for one in found) for name in settings["strategies"]}


def needed(rows: Rows, problem: str, strategy: str) -> float:
    """Return the median share of random's answers that a strategy needs for random's last error."""
    return middle(active.shares_needed(rows, problem, 1.0)[strategy])


def costs(rows: Rows, strategies: tuple[str, ...]) -> list[float]:
    """Return milliseconds to choose a single question, for every number of objects."""
    return [found[name]["single"] for found in active.results_of(rows, "cost") for name in strategies]


def conclude(rows: Rows, settings: dict[str, Any]) -> list[str]:
    """People's answers first, where little is gained; then planted points."""
    human, clean = list(settings["human"]), list(active.MUST_HOLD)
    noisy = [name for name in settings["planted"] if name not in clean]
    behind = [name for name in human if _all_behind(early(rows, name, settings))]
    ahead = [name for name in human if _all_ahead(early(rows, name, settings))]
    lost = [name for name in human if needed(rows, name, "adaptive") > 1]
    gaps = [late(rows, name, settings)["adaptive"] - late(rows, name, settings)["random"] for name in human]
    return [
        "On answers that people gave, choosing questions gains little and may cost: after a quarter of "
        f"the answers all three of {listed(CHOSEN)} are behind random questions on {listed(behind)}, and "
        f"ahead on {listed(ahead)}.",
        f"In the end `adaptive` is within {span([abs(gap) for gap in gaps], '.3f')} of random questions "
        f"there; in the median seed of {share(len(lost), len(human))} sets it never stays as low as random "
        "questions end.",
        f"More noise leaves less to gain: {listed(CHOSEN)} need "
        f"{span([needed(rows, problem, name) for problem in noisy for name in CHOSEN], '.0%')} of random's "
        f"answers on {listed(noisy)}.",
        "On planted points whose close calls are often wrong they need "
        f"{span([needed(rows, problem, name) for problem in clean for name in CHOSEN], '.0%')}, `adaptive` "
        f"{span([needed(rows, problem, 'adaptive') for problem in clean], '.0%')}.",
        f"Choosing one question takes {span(costs(rows, ('uncertainty', *CHOSEN)))} ms; the most is "
        f"information gain at {settings['cost_objects'][-1]:,} objects, "
        f"{digits(max(costs(rows, ('information-gain',))))} ms.",
    ]


def _all_behind(errors: dict[str, float]) -> bool:
    return all(errors[name] > errors["random"] for name in CHOSEN)


def _all_ahead(errors: dict[str, float]) -> bool:
    return all(errors[name] < errors["random"] for name in CHOSEN)
