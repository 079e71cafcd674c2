"""A figure as a piece of HTML that follows the page's colours."""

from __future__ import annotations

import io
import re
from html import escape

import matplotlib
from matplotlib.figure import Figure

from nearer.plotting._style import GRID, INK, MUTED, PAPER, unknown_letters_ignored

_VARIABLES = {INK: "var(--ink)", MUTED: "var(--muted)", GRID: "var(--line)", PAPER: "var(--paper)"}


def inline_svg(figure: Figure, description: str) -> str:
    """The figure as an `<svg>` element with selectable text; the same figure gives the same bytes.

    >>> from nearer.plotting import plot_map
    >>> inline_svg(plot_map([[0, 0], [1, 1]]), "two points")[:45]
    '<svg role="img" aria-label="two points" xmlns'
    """
    buffer = io.StringIO()
    # text stays text: a browser has a font for every alphabet, and people can search the page for a name
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "nearer"}), unknown_letters_ignored():
        figure.savefig(buffer, format="svg", metadata={"Date": None}, facecolor=PAPER)
    text = buffer.getvalue()
    text = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    for colour, variable in _VARIABLES.items():
        text = text.replace(colour, variable)
    return text.replace("<svg", f'<svg role="img" aria-label="{escape(description)}"', 1)
