"""Tables of results: built once, shown on the screen and written to the documentation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from rich.table import Table as RichTable

Number = float | None


@dataclass
class Table:
    """A titled table of ready-made texts, with a note on how to read it."""

    title: str
    columns: list[str]
    rows: list[list[str]] = field(default_factory=list)
    note: str = ""

    def add(self, *cells: object) -> None:
        """Add a row."""
        self.rows.append([str(cell) for cell in cells])

    def markdown(self) -> str:
        """The table in Markdown, below its title and note."""
        align = ["---", *["---:"] * (len(self.columns) - 1)]
        lines = [_line(self.columns), _line(align), *(_line(row) for row in self.rows)]
        note = [self.note, ""] if self.note else []
        return "\n".join([f"### {self.title}", "", *note, *lines, ""])

    def rich(self) -> RichTable:
        """The table for a terminal."""
        table = RichTable(title=self.title, caption=self.note or None, title_justify="left")
        for number, column in enumerate(self.columns):
            table.add_column(column, justify="right" if number else "left")
        for row in self.rows:
            table.add_row(*(cell.replace("**", "") for cell in row))
        return table


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def checks(rows: Iterable[tuple[str, str, str, bool | None]]) -> Table:
    """What should hold, what was measured, and whether it does (None: not measured)."""
    table = Table("Checks", ["what", "target", "measured", "holds"])
    for what, target, measured, holds in rows:
        table.add(what, target, measured, {True: "yes", False: "**no**", None: "-"}[holds])
    return table


def quartiles(values: Iterable[Number]) -> tuple[Number, Number, Number]:
    """Lower quartile, median and upper quartile; None stands for "never", the worst of all values.

    >>> quartiles([1.0, 2.0, 3.0, None, None])
    (2.0, 3.0, None)
    """
    numbers = sorted(np.inf if value is None else float(value) for value in values)
    low, middle, high = (_quantile(numbers, share) for share in (0.25, 0.5, 0.75))
    return low, middle, high


def _quantile(numbers: Sequence[float], share: float) -> Number:
    """Linear between neighbours, None where the upper one is infinite (between two numpy gives NaN)."""
    if not numbers:
        return None
    place = share * (len(numbers) - 1)
    below, above = numbers[int(np.floor(place))], numbers[int(np.ceil(place))]
    return below + (above - below) * (place % 1) if np.isfinite(above) else None


def median(values: Iterable[Number]) -> Number:
    """The middle value, None where it is "never"."""
    return quartiles(values)[1]


def spread(values: Iterable[Number], scale: float = 1.0) -> str:
    """Median with quartiles, three digits each; "-" stands for never.

    >>> spread([0.01, 0.02, 0.03], scale=1000)
    '20 (15-25)'
    """
    low, middle, high = quartiles(values)
    if middle is None:
        return "-"
    return f"{digits(middle * scale)} ({_scaled(low, scale)}-{_scaled(high, scale)})"


def _scaled(value: Number, scale: float) -> str:
    return "-" if value is None else digits(value * scale)


def digits(value: Number, count: int = 3) -> str:
    """A number with `count` significant digits and no exponent; "-" for None.

    >>> digits(1234.5), digits(0.012345), digits(20.0), digits(None)
    ('1,234', '0.0123', '20', '-')
    """
    if value is None:
        return "-"
    if not np.isfinite(value):
        return str(value)
    if value == 0:
        return "0"
    places = max(0, count - 1 - int(np.floor(np.log10(abs(value)))))
    text = f"{value:,.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def bounded(value: Number, is_bound: bool) -> str:
    """A number that may be only a lower bound.

    >>> bounded(12.34, False), bounded(12.34, True)
    ('12.3', '≥ 12.3')
    """
    return f"{'≥ ' if is_bound else ''}{digits(value)}"


def best_in_bold(texts: Sequence[str], values: Sequence[Number]) -> list[str]:
    """The texts with the one of the smallest value set bold."""
    finite = [value for value in values if value is not None]
    smallest = min(finite, default=None)
    return [
        f"**{text}**" if value is not None and value == smallest else text
        for text, value in zip(texts, values, strict=True)
    ]
