"""Conclusions of `online_scale`."""

from __future__ import annotations

from typing import Any

from benchmarks import online_scale
from benchmarks._tables import digits
from benchmarks.conclusions._words import Rows, middle, span


def conclude(rows: Rows, settings: dict[str, Any]) -> list[str]:
    """What whole kernels cost and how far low rank stays behind, then its speed."""
    n = settings["whole"][-1]
    large = online_scale.rows_where(rows, kind="whole", n=n)
    first, second = (
        middle(row["results"]["passive-aggressive"][half] for row in large)
        for half in ("first_half", "second_half")
    )
    small, big = (online_scale.rows_where(rows, kind="accuracy", **size) for size in settings["accuracy"])
    speed = middle(
        row["results"]["passive-aggressive"]["answers_a_second"]
        for row in online_scale.rows_where(rows, kind="low rank", n=settings["low_rank"][-1], rank=10)
    )
    passes = settings["passes"]
    ways = ("low rank", "low rank, 1/sqrt(j)")
    return [
        f"Whole kernels are slow once steps need eigenproblems: at {n:,} objects {digits(first)} answers "
        f"per second in the first half of the stream and {digits(second)} in the second.",
        "A whole kernel is also far less accurate here than the batch embedding, which knows the "
        f"dimension: error {_error(small, 'whole')} after {passes} passes in {_seconds(small, 'whole')} s, "
        f"against {_error(small, 'batch')} in {_seconds(small, 'batch')} s ({small[0]['cell']['n']} "
        "objects).",
        f"Low rank stays behind the batch embedding, too: after {passes} passes by "
        f"{span([_behind(small, way) for way in ways])} with {small[0]['cell']['n']} objects and by "
        f"{span([_behind(big, way) for way in ways])} with {big[0]['cell']['n']:,}.",
        f"Low rank is quick: {digits(speed / 1e6, 2)} million answers per second at "
        f"{settings['low_rank'][-1]:,} objects and rank 10, and {_seconds(big, 'low rank')} s for {passes} "
        f"passes where the batch embedding takes {_seconds(big, 'batch')} s.",
    ]


def _error(rows: Rows, rival: str) -> str:
    return digits(middle(row["results"][rival]["errors"][-1] for row in rows))


def _seconds(rows: Rows, rival: str) -> str:
    return digits(middle(row["results"][rival]["seconds"] for row in rows))


def _behind(rows: Rows, rival: str) -> float:
    """Return the median over trials of a rival's last error minus the batch embedding's."""
    return middle(row["results"][rival]["errors"][-1] - row["results"]["batch"]["errors"][-1] for row in rows)
