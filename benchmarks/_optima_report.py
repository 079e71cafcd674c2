"""Tables and the figure of `optima`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from benchmarks._figures import MUTED, PALETTE, grid, legend_below, tidy_chart
from benchmarks._tables import Table, checks, digits

Rows = list[dict[str, Any]]
MINIMUM, STARTS = "minimum", "starts"
#: an end this near the minimum, relative to it, has reached it
NEAR = 1e-4
#: differences below this are not drawn
_LEAST = 1e-6


def names(rows: Rows) -> list[str]:
    """Return the data sets, in order of their first rows."""
    return list(dict.fromkeys(row["cell"]["data"] for row in rows))


def widths(rows: Rows, data: str) -> list[int]:
    """Return the widths that were measured."""
    return sorted(row["cell"]["d"] for row in rows if row["cell"]["data"] == data)


def minimum(rows: Rows, data: str) -> dict[str, Any]:
    """Return the certified minimum."""
    found: dict[str, Any] = next(row["results"][MINIMUM] for row in rows if row["cell"]["data"] == data)
    return found


def excess(rows: Rows, data: str, d: int) -> np.ndarray:
    """Return how far the ends are above the minimum, relative to it."""
    row = next(row for row in rows if row["cell"] == {"data": data, "d": d})
    return np.array(row["results"][STARTS]["objectives"]) / row["results"][MINIMUM]["objective"] - 1


def reached(rows: Rows, data: str, d: int) -> float:
    """Return the share of starts that end at the minimum."""
    return float(np.mean(excess(rows, data, d) <= NEAR))


def standings(rows: Rows) -> Iterator[tuple[str, str, str, bool | None]]:
    """Yield what should hold, what was measured, and whether it does."""
    for data in names(rows):
        best = minimum(rows, data)
        what = f"{data}: certified relative gap of the minimum"
        yield what, f"at most {NEAR:g}", f"{best['gap']:.1e}", bool(best["gap"] <= NEAR)
        wide = [d for d in widths(rows, data) if d >= best["rank"]]
        shares = [reached(rows, data, d) for d in wide]
        what = f"{data}: starts that end at the minimum, d from {wide[0]} (its rank) to {wide[-1]}"
        yield what, "all", f"{min(shares):.0%}", min(shares) == 1
        below = min(excess(rows, data, d).min() for d in widths(rows, data))
        what = f"{data}: lowest end of all, relative to the minimum"
        yield what, "not below its gap", f"{below:+.1e}", bool(below >= -best["gap"])


def tables(rows: Rows) -> list[Table]:
    """Return all tables of the page."""
    return [checks(standings(rows)), *(_spread(rows, data) for data in names(rows))]


def _spread(rows: Rows, data: str) -> Table:
    best = minimum(rows, data)
    note = (
        f"Objective {best['objective']:.6f} at the minimum, rank {best['rank']}. Ends above it, in percent of it; the "
        f"spread is highest minus lowest; reached means within {NEAR:g}."
    )
    heads = ["d", "lowest", "median", "highest", "spread", "reached", "iterations"]
    table = Table(f"{data}: ends of local descent", heads, note=note)
    for d in widths(rows, data):
        found = 100 * excess(rows, data, d)
        row = next(row for row in rows if row["cell"] == {"data": data, "d": d})
        numbers = (found.min(), float(np.median(found)), found.max())
        spread = f"{found.max() - found.min():.4f}"
        iterations = digits(float(np.median(row["results"][STARTS]["iterations"])))
        table.add(d, *(f"{one:.4f}" for one in numbers), spread, f"{reached(rows, data, d):.0%}", iterations)
    return table


def figure(rows: Rows) -> Figure:
    """Draw all ends against the width, and the rank of the minimum."""
    shown = names(rows)
    found, axes = grid(len(shown), columns=3, size=(3.6, 3.2))
    for ax, data in zip(axes, shown, strict=True):
        rng = np.random.default_rng(0)
        for d in widths(rows, data):
            ends = np.maximum(excess(rows, data, d), _LEAST)
            places = d + rng.uniform(-0.25, 0.25, size=len(ends))
            ax.plot(
                places,
                ends,
                ".",
                color=PALETTE[0],
                markersize=3,
                alpha=0.5,
                label="a start" if d == 1 else None,
            )
        ax.axvline(
            minimum(rows, data)["rank"], color=MUTED, linewidth=1, linestyle="--", label="rank of the minimum"
        )
        ax.axhline(NEAR, color=PALETTE[1], linewidth=1, label="within 1e-4 of the certified minimum")
        ax.set_yscale("log")
        tidy_chart(ax, "columns d", "objective / minimum - 1", data)
    legend_below(found, axes[0])
    return found
