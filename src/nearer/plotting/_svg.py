"""Turn a figure into HTML that follows the page's colours."""

from __future__ import annotations

import io
import re
from html import escape

import matplotlib
from matplotlib.figure import Figure

from nearer.plotting._style import GRID, INK, MUTED, PAPER, unknown_letters_ignored

_VARIABLES = {INK: "var(--ink)", MUTED: "var(--muted)", GRID: "var(--line)", PAPER: "var(--paper)"}


def inline_svg(figure: Figure, description: str) -> str:
    """Return the figure as an `<svg>` element with selectable text. The same figure produces the same bytes.

    >>> from nearer.plotting import plot_map
    >>> inline_svg(plot_map([[0, 0], [1, 1]]), "two points")[:45]
    '<svg role="img" aria-label="two points" xmlns'
    """
    buffer = io.StringIO()
    # keep text as text: browsers have fonts for every alphabet, and people can search the page for a name
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "nearer"}), unknown_letters_ignored():
        figure.savefig(buffer, format="svg", metadata={"Date": None}, facecolor=PAPER)
    text = buffer.getvalue()
    text = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    for colour, variable in _VARIABLES.items():
        text = text.replace(colour, variable)
    return text.replace("<svg", f'<svg role="img" aria-label="{escape(description)}"', 1)
