"""The figure of `peers_recommend`: how good the rivals are against the time of a fit."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks import _recommend_standings as standings
from benchmarks._figures import grid, log_scale, looks, tidy_chart
from benchmarks._recommend_report import HEADINGS
from benchmarks._recommend_standings import DECISIVE, TITLES, Rows

_NO_TIME = 0.1
_LINES = {
    "popularity": "--",
    "random": ":",
    "ridge": "-.",
    "ridge per user": "-.",
    "ridge, mean of users": "--",
}


def figures(rows: Rows, settings: dict[str, Any]) -> dict[str, Figure]:
    """One panel per protocol: its first decisive measure against CPU seconds, and lines for what takes no time."""
    shown = [name for name in settings["protocols"] if standings.rivals(rows, name)]
    if not shown:
        return {}
    names = list(dict.fromkeys(rival for name in shown for rival in standings.rivals(rows, name)))
    style = looks([name for name in names if name not in _LINES] + [name for name in names if name in _LINES])
    figure, axes = grid(len(shown))
    for ax, protocol in zip(axes, shown, strict=True):
        for rival in standings.rivals(rows, protocol):
            _point(ax, rows, protocol, rival, style[rival])
        _close_up(ax, rows, protocol)
        log_scale(ax, "x")
        heading = HEADINGS[protocol].partition(", ranked")[0].partition(" (")[0]
        tidy_chart(ax, "CPU seconds of a fit", TITLES[DECISIVE[protocol][0]], heading)
    _legend(figure, axes)
    return {"quality-time": figure}


def _point(ax: Axes, rows: Rows, protocol: str, rival: str, look: dict[str, object]) -> None:
    """A point with its standard error; a line for rivals that take next to no time."""
    reached = standings.mean(standings.values(rows, protocol, rival, DECISIVE[protocol][0]))
    seconds = float(np.median([one["cpu"] for one in standings.results(rows, protocol, rival)]))
    if seconds < _NO_TIME:
        ax.axhline(
            reached.mean, color=look["color"], linestyle=_LINES.get(rival, "-"), linewidth=1.2, label=rival
        )  # type: ignore[arg-type]
        return
    point = {**look, "linestyle": "none"}
    ax.errorbar([seconds], [reached.mean], yerr=[reached.error], label=rival, markersize=6, **point)  # type: ignore[arg-type]


def _close_up(ax: Axes, rows: Rows, protocol: str) -> None:
    """Show the range of the points; lines far below it are named at the foot."""
    measure = DECISIVE[protocol][0]
    reached = {
        rival: standings.mean(standings.values(rows, protocol, rival, measure))
        for rival in standings.rivals(rows, protocol)
    }
    points = [one for rival, one in reached.items() if rival not in _LINES] or list(reached.values())
    low, high = min(one.mean - one.error for one in points), max(one.mean + one.error for one in points)
    room = max(high - low, 0.02 * high)
    bottom = low - 0.5 * room
    ax.set_ylim(bottom, high + 0.3 * room)
    below = [f"{rival} {one.mean:.3f}" for rival, one in reached.items() if one.mean < bottom]
    if below:
        ax.text(0.02, 0.03, f"below: {', '.join(below)}", transform=ax.transAxes, fontsize=7)


def _legend(figure: Figure, axes: list[Axes]) -> None:
    """One legend for all panels, each rival once."""
    found: dict[str, Any] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    figure.legend(
        list(found.values()), list(found), loc="outside lower center", ncols=4, fontsize=8, frameon=False
    )
