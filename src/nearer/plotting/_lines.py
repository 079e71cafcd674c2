"""Draw a map with one dimension: points on a vertical line, with names next to it."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from nearer.plotting._names import note_left_out
from nearer.plotting._style import GRID, INK, figure_of, font_families, tidy_frame, unknown_letters_ignored


def draw_line(ax: Axes, values: np.ndarray, names: list[str] | None, font_size: float) -> None:
    """Draw the line under points at (0, value). Names keep the points' order, and a thin line leads to each."""
    tidy_frame(ax)
    ax.spines[:].set_visible(False)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.axvline(0, color=GRID, linewidth=1.2, zorder=1)
    ax.set_xlim(-0.15, 1.0)
    ax.margins(y=0.04)
    if names is None:
        return
    order = np.argsort(values, kind="stable")
    gap = _line_height(ax, font_size)
    low, high = ax.get_ylim()
    capacity = max(1, int((high - low) / gap))
    shown = order[:: -(-len(order) // capacity)]
    for index, height in zip(shown, spread(values[shown], gap), strict=True):
        ax.plot([0, 0.1, 0.16], [values[index], height, height], color=GRID, linewidth=0.7, zorder=2)
        ax.text(
            0.18,
            height,
            names[index],
            va="center",
            fontsize=font_size,
            color=INK,
            fontfamily=font_families(),
            parse_math=False,
        )
    note_left_out(ax, len(order) - len(shown), len(order))


def spread(heights: np.ndarray, gap: float) -> np.ndarray:
    """Move ascending heights as little as possible (least squares), so that neighbours are `gap` apart.

    >>> spread(np.array([0.0, 0.0, 5.0]), gap=1.0).tolist()
    [-0.5, 0.5, 5.0]
    """
    from sklearn.isotonic import isotonic_regression

    # after subtracting the required gaps, the heights only have to ascend: isotonic regression is exact
    steps = gap * np.arange(len(heights))
    return isotonic_regression(heights - steps) + steps


def _line_height(ax: Axes, font_size: float) -> float:
    """Return the height of a line of text in data units, after the layout is computed."""
    figure = figure_of(ax)
    with unknown_letters_ignored():
        figure.draw_without_rendering()
    pixels = 1.35 * font_size * figure.dpi / 72
    low, high = ax.transData.inverted().transform([(0, 0), (0, pixels)])[:, 1]
    return float(high - low)
