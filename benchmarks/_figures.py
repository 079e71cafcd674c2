"""What the figures of the benchmarks share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from nearer.plotting._style import INK, MARKERS, MUTED, PALETTE, new_figure, tidy_chart

__all__ = [
    "MARKERS",
    "MUTED",
    "PALETTE",
    "Look",
    "band",
    "bars",
    "grid",
    "legend_below",
    "log_scale",
    "looks",
    "mark_ended",
    "tidy_chart",
]

Look = dict[str, object]

_DASHES = ("-", "--", "-.", ":")


def looks(names: Sequence[str]) -> dict[str, Look]:
    """A colour, marker and dash for each name; where colours run out, they come again with another dash."""
    return {
        name: {
            "color": PALETTE[i % len(PALETTE)],
            "marker": MARKERS[i % len(MARKERS)],
            "linestyle": _DASHES[i // len(PALETTE) % len(_DASHES)],
        }
        for i, name in enumerate(names)
    }


def grid(
    n_panels: int, columns: int = 2, size: tuple[float, float] = (4.6, 3.4)
) -> tuple[Figure, list[Axes]]:
    """A figure with a number of panels, filled row by row."""
    rows = -(-n_panels // columns)
    columns = min(columns, n_panels)
    figure = new_figure(size[0] * columns, size[1] * rows)
    axes = [figure.add_subplot(rows, columns, i + 1) for i in range(n_panels)]
    return figure, axes


def band(
    ax: Axes,
    x: Sequence[float] | np.ndarray,
    curves: Sequence[Any],
    label: str,
    look: Look,
    *,
    markers: int = 8,
) -> None:
    """Median of the curves with a band from the lower to the upper quartile; NaN where a curve has ended."""
    stacked = np.array(curves, dtype=float)
    enough = np.isfinite(stacked).sum(axis=0) * 2 >= len(
        stacked
    )  # a median of the few that are left misleads
    if not enough.any():
        return
    x, stacked = np.asarray(x)[enough], stacked[:, enough]
    low, middle, high = np.nanquantile(stacked, [0.25, 0.5, 0.75], axis=0)
    every = max(1, len(x) // markers)
    ax.plot(x, middle, label=label, linewidth=1.6, markersize=4, markevery=every, **look)  # type: ignore[arg-type]
    ax.fill_between(x, low, high, color=look["color"], alpha=0.15, linewidth=0)  # type: ignore[arg-type]


def bars(
    ax: Axes,
    labels: Sequence[str],
    middles: Sequence[float | None],
    lows: Sequence[float | None],
    highs: Sequence[float | None],
    colours: Sequence[str],
) -> None:
    """Horizontal medians with whiskers between the quartiles, the first on top; None is not reached."""
    for place, (middle, low, high, colour) in enumerate(zip(middles, lows, highs, colours, strict=True)):
        if middle is None:
            ax.text(
                0.02,
                place,
                "not reached",
                transform=ax.get_yaxis_transform(),
                va="center",
                color=MUTED,
                size=8,
            )
            continue
        ax.plot(
            [middle if low is None else low, middle if high is None else high], [place, place], color=colour
        )
        ax.plot(middle, place, "o", color=colour, markersize=6)
    ax.set_yticks(range(len(labels)), labels, color=INK, fontsize=8)
    ax.set_ylim(len(labels) - 0.5, -0.5)


def log_scale(ax: Axes, *axes: str) -> None:
    """Logarithmic axes ("x", "y") with plain numbers at 1, 2 and 5 times the powers of ten."""
    for name in axes:
        getattr(ax, f"set_{name}scale")("log")
        axis = getattr(ax, f"{name}axis")
        low, high = sorted(axis.get_data_interval())
        narrow = low > 0 and high < 100 * low
        axis.set_major_locator(LogLocator(subs=(1, 2, 5) if narrow else (1,)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
        axis.set_minor_formatter(NullFormatter())


def mark_ended(ax: Axes, x: Sequence[float], y: Sequence[float | None], complete: Sequence[bool]) -> None:
    """Write "ended" at the points of runs that were ended before their goal."""
    for place, height, whole in zip(x, y, complete, strict=True):
        if not whole and height is not None:
            ax.annotate("ended", (place, height), fontsize=7, ha="right", va="bottom", color=MUTED)


def legend_below(figure: Figure, ax: Axes, columns: int = 4) -> None:
    """One legend for all panels, below them."""
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=columns, fontsize=8, frameon=False, handlelength=3
    )
