"""Colours, fonts and empty figures for all plots."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Everything but data has one of four colours; the report replaces them by CSS variables for dark screens.
INK = "#1f2328"
MUTED = "#6e7782"
GRID = "#d8dee5"
PAPER = "#fefefe"

# The palette of Okabe and Ito, safe for all kinds of colour vision, without its yellow and black.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c8c8c")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")

# matplotlib's font has no Chinese, Japanese, Korean or Indic letters; operating systems ship these.
_WORLD_FONTS = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Noto Sans",
    "Noto Sans Arabic",
    "Noto Sans Devanagari",
    "PingFang SC",
    "Hiragino Sans",
    "Apple SD Gothic Neo",
    "Microsoft YaHei",
    "Yu Gothic",
    "Malgun Gothic",
    "Nirmala UI",
    "WenQuanYi Zen Hei",
    "Arial Unicode MS",
)


@cache
def font_families() -> list[str]:
    """Return matplotlib's font, then the installed ones with more alphabets."""
    installed = {font.name for font in font_manager.fontManager.ttflist}
    return ["DejaVu Sans", *(family for family in _WORLD_FONTS if family in installed)]


@contextmanager
def unknown_letters_ignored() -> Iterator[None]:
    """Silence warnings about letters without a font, when they are only measured or a browser will draw them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        yield


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure outside pyplot, without global state."""
    return Figure(figsize=(width, height), layout="constrained", facecolor=PAPER)


def axes_or_new(ax: Axes | None, width: float = 6.4, height: float = 4.0) -> Axes:
    """Return the caller's axes, or the only axes of a new figure."""
    return new_figure(width, height).add_subplot() if ax is None else ax


def figure_of(ax: Axes) -> Figure:
    """Return the outermost figure that contains `ax` (the parent of a sub-figure)."""
    figure = ax.figure
    while not isinstance(figure, Figure):
        figure = figure.figure
    return figure


def tidy_frame(ax: Axes) -> None:
    """Style spines, ticks and background in the same muted way on every plot."""
    ax.set_facecolor(PAPER)
    ax.tick_params(colors=MUTED, labelsize=8, labelcolor=MUTED)
    for spine in ax.spines.values():
        spine.set_color(GRID)


def tidy_chart(ax: Axes, x: str, y: str, title: str | None) -> None:
    """Style a chart with two named axes and a grid in the background."""
    tidy_frame(ax)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(True, color=GRID, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.set_xlabel(x, color=INK, fontsize=9)
    ax.set_ylabel(y, color=INK, fontsize=9)
    set_title(ax, title)


def set_title(ax: Axes, title: str | None) -> None:
    """Set a title on the left, without interpreting dollar signs as mathematics."""
    if title is not None:
        text = ax.set_title(title, loc="left", fontsize=10, color=INK, fontfamily=font_families())
        text.set_parse_math(False)


def add_legend(ax: Axes, handles: list, labels: list[str], **where: Any) -> None:
    """Add a legend that shows labels unchanged, even with `$` or a leading underscore."""
    legend = ax.legend(
        handles, [str(number) for number in range(len(handles))], fontsize=8, frameon=False, **where
    )
    for text, label in zip(legend.get_texts(), labels, strict=True):
        text.set_parse_math(False)
        text.set_text(label)
        text.set_color(INK)
        text.set_fontfamily(font_families())
