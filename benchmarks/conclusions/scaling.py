"""Conclusions of `scaling`."""

from __future__ import annotations

from typing import Any

from benchmarks.conclusions._words import Rows, span


def conclude(rows: Rows, settings: dict[str, Any]) -> list[str]:
    """What grows and where threads do not help."""
    smallest, largest = settings["n_objects"][0], settings["n_objects"][-1]

    def ns(kind: str, n: int) -> list[float]:
        return [
            row["results"][kind]["ns"] for row in rows if row["cell"]["n"] == n and kind in row["results"]
        ]

    def speed_up(kind: str, most: int, least: int = 0) -> list[float]:
        there = [row for row in rows if least <= row["cell"]["n"] <= most and kind in row["results"]]
        return [row["results"][kind]["speed_up"][1] for row in there]

    steps, gradients = (
        [b / a for a, b in zip(ns(kind, smallest), ns(kind, largest), strict=True)]
        for kind in ("svrg-step", "gradient-1")
    )
    return [
        f"At {largest:,} objects a second thread gains nothing (a factor of "
        f"{span(speed_up('gradient-2', largest, largest), '.2f')}), although two unrelated gradients at "
        f"once would gain {span(speed_up('gradient-twice', largest, largest), '.2f')}. Threads never speed "
        "up stochastic steps.",
        f"Costs per comparison do grow with the number of objects, because of the caches: from {smallest} "
        f"to {largest:,} objects {span(steps)} times for an SVRG step and {span(gradients)} times for a "
        "full gradient.",
        "Up to 10,000 objects two threads speed up full gradients "
        f"{span(speed_up('gradient-2', 10_000), '.2f')} times; the upper bound, two unrelated gradients at "
        f"once, is {span(speed_up('gradient-twice', 10_000), '.2f')}.",
    ]
