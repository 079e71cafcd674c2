"""Tables and figure of the comparison with cblearn by numbers of starts."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from benchmarks._figures import MARKERS, PALETTE, grid, log_scale, tidy_chart
from benchmarks._peers_report import (
    TOLERANCE,
    best_peer,
    by_data,
    equal_peer,
    error_table,
    mean_error,
    measured,
    title,
    values,
)
from benchmarks._tables import Table, digits

Results = list[dict[str, Any]]

ONE, TEN = "nearer", "nearer, 10 starts"
THEIR_ONE, THEIR_TEN = "SOE, 1 start", "SOE"


def times(found: Results, rival: str, ours: str) -> float | None:
    """Return the median over splits of a rival's processor time divided by ours; None if it was not measured."""
    if not measured(found, [rival, ours])[1:]:
        return None
    return float(
        np.median(np.divide(values(found, rival, "cpu_seconds"), values(found, ours, "cpu_seconds")))
    )


def quickest_equal(found: Results, settings: dict[str, Any]) -> str:
    """Return the quickest estimator of cblearn whose error is within `TOLERANCE` of its best."""
    best = best_peer(found, settings)
    assert best is not None
    return equal_peer(found, settings, best, "cpu_seconds")


def summarise(rows: Results, settings: dict[str, Any]) -> list[Table]:
    """Return the ratios of times, then errors and times on every data set."""
    data = by_data(rows, settings)
    tables = [
        error_table(name, found, settings, "cpu_seconds", _left_out(settings["left_out"].get(name)))
        for name, found in data.items()
    ]
    return [_ratios(data, settings), *tables]


def _left_out(rivals: list[str] | None) -> str:
    return f"Left out, as slow and far behind in `peers_ordinal`: {', '.join(rivals)}." if rivals else ""


def _ratios(data: dict[str, Results], settings: dict[str, Any]) -> Table:
    heads = ["one start each", "ten starts each", "their ten, our one", "quickest of equal accuracy"]
    table = Table(
        "Time of cblearn divided by that of nearer", ["data", *heads, "its error minus our default's"]
    )
    for name, found in data.items():
        pairs = ((THEIR_ONE, ONE), (THEIR_TEN, TEN), (THEIR_TEN, ONE))
        shown = [digits(times(found, theirs, ours)) for theirs, ours in pairs]
        quick = quickest_equal(found, settings)
        behind = mean_error(found, quick) - mean_error(found, ONE)
        table.add(name, *shown, f"{digits(times(found, quick, ONE))} ({quick})", f"{behind:+.4f}")
    table.note = (
        "Medians over the splits of processor time, cblearn's SOE against nearer's default, which has the "
        "same loss with another margin and an L2 term; our ten starts share one choice of its strength. "
        "Equal numbers of starts do not mean equal errors: the tables below have them. *Quickest of equal "
        f"accuracy*: cblearn's quickest estimator with a mean error within {TOLERANCE} of its best, "
        "against our default."
    )
    return table


def draw(rows: Results, settings: dict[str, Any]) -> dict[str, Figure]:
    """Draw held-out error against processor time, a panel per data set; lines join one start and ten."""
    data = by_data(rows, settings)
    if not data:
        return {}
    figure, axes = grid(len(data), columns=3, size=(4.4, 3.6))
    for ax, (name, found) in zip(axes, data.items(), strict=True):
        for side, pair in enumerate(((ONE, TEN), (THEIR_ONE, THEIR_TEN))):
            _draw_line(
                ax, found, list(pair), side, ("nearer, 1 and 10 starts", "cblearn SOE, 1 and 10 starts")[side]
            )
        others = [rival for rival in settings["cblearn"] if rival not in (THEIR_ONE, THEIR_TEN)]
        for rival in measured(found, others):
            _draw_line(ax, found, [rival], 1, "")
            x, y = (float(np.median(values(found, rival, what))) for what in ("cpu_seconds", "error"))
            ax.annotate(
                rival, (x, y), xytext=(4, 3), textcoords="offset points", fontsize=7, color=PALETTE[1]
            )
        log_scale(ax, "x")
        tidy_chart(ax, "processor seconds of a fit", "held-out error", title(name, settings).split(", p")[0])
    axes[0].legend(fontsize=7, frameon=False)
    return {"error-time": figure}


def _draw_line(ax: Any, found: Results, rivals: list[str], side: int, label: str) -> None:
    """Draw the medians of rivals, joined by a line."""
    there = measured(found, rivals)
    x, y = (
        [float(np.median(values(found, name, what))) for name in there] for what in ("cpu_seconds", "error")
    )
    style = {"color": PALETTE[side], "marker": MARKERS[side], "markersize": 5, "linewidth": 1}
    ax.plot(x, y, label=label or None, **style)
