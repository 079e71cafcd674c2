"""Conclusions of `erkle_human`."""

from __future__ import annotations

from typing import Any

from benchmarks import _conflicts, erkle_human
from benchmarks._tables import digits, median
from benchmarks.conclusions._words import Rows, listed, middle, span


def gains(rows: Rows, settings: dict[str, Any], form: str, how: str = "each") -> list[float]:
    """Return by how many points a step lowers the error of a plain one in one pass, by data set (medians)."""
    return [
        -100
        * middle(
            one[f"{form} / {how} / 1"]["error"] - one["PA / each / 1"]["error"]
            for one in _conflicts.of(rows, data)
        )
        for data in settings["conflicts"]
    ]


def music(rows: Rows, rival: str, what: str) -> float:
    """Return the median of a number of a method on all answers about music."""
    found = [row["results"] for row in rows if row["cell"]["part"] == erkle_human.MUSIC]
    return middle(one[rival][what][-1] for one in found if rival in one)


def batch_errors(rows: Rows, settings: dict[str, Any]) -> dict[str, tuple[float, float]]:
    """Return the median errors of batch STE and of the best online step, by data set with conflicts."""
    found = {}
    for data in settings["conflicts"]:
        results = _conflicts.of(rows, data)
        online = [
            median(_conflicts.errors(results, name))
            for name in _conflicts.rivals(settings)
            if name in results[0]
        ]
        batch = middle(_conflicts.errors(results, _conflicts.BATCH))
        found[data] = (batch, min(error for error in online if error is not None))
    return found


def conclude(rows: Rows, settings: dict[str, Any]) -> list[str]:
    """Online behind batch, in error and in time; then what careful steps gain."""
    names = {name: what for name, what in erkle_human.rivals(settings).items() if "loss" in what}
    best = min(names, key=lambda name: music(rows, name, "error"))
    passes = settings["music_passes"]
    online = [f"{name}-ERKLE, {count}" for name in ("PA", "STE") for count in passes]
    low = sorted(
        (name for name in erkle_human.rivals(settings) if "rank" in name),
        key=lambda name: music(rows, name, "error"),
    )
    both = batch_errors(rows, settings)
    return [
        "The paper's Figure 3 does not hold on music: whole online kernels have a held-out error of "
        f"{span(music(rows, name, 'error') for name in online)}, the best batch kernel ({best}) "
        f"{digits(music(rows, best, 'error'))}. The paper's raw answers were not available.",
        f"Batch is quicker, too: {digits(music(rows, best, 'seconds'))} s with the choice of its penalty, "
        f"against {span(music(rows, name, 'seconds') for name in online)} s online. Only online kernels of "
        f"low rank are quicker ({low[0]}: {digits(music(rows, low[0], 'seconds'))} s, error "
        f"{digits(music(rows, low[0], 'error'))}).",
        "Batch STE is ahead of every online step on "
        f"{listed([name for name, (a, b) in both.items() if a < b])} as well ("
        + ", ".join(f"{name}: {digits(a)} against {digits(b)}" for name, (a, b) in both.items())
        + ").",
        "Bounded steps help where people contradict each other: PA-I lowers the error of a plain pass by "
        f"{span(gains(rows, settings, 'PA-I'), '.1f')} points, PA-II by "
        f"{span(gains(rows, settings, 'PA-II'), '.1f')}. Bounds were chosen on another split.",
        "Merging equal answers with their count as weight does not help a plain step "
        f"({span((-gain for gain in gains(rows, settings, 'PA', 'counts')), '+.1f')} points of error).",
    ]
