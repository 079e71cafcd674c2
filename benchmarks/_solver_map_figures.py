"""Maps of `solver_map`: the colour is the winner."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from benchmarks._figures import PALETTE
from benchmarks._solver_fits import RIVALS
from benchmarks._solver_map_report import LOSSES, Problems, split
from benchmarks._solver_standings import (
    Rows,
    Size,
    Standing,
    Win,
    closer_is_better,
    first_near,
    problems,
    quickest,
)
from nearer.plotting._style import INK, MUTED, new_figure, set_title, tidy_frame

Winner = Callable[[dict[str, Standing]], tuple[Win | None, bool]]

_COLOURS = dict(zip(RIVALS, (PALETTE[0], PALETTE[5], PALETTE[2], PALETTE[1], PALETTE[3]), strict=True))
_OTHER_COLUMNS = ((100, 20), (1000, 20), (100, 100), (1000, 100))


def winners(rows: Rows, settings: dict[str, Any], winner: Winner, title: str) -> Figure:
    """Return a map per dimension for SOE, and one of the other losses and dimensions."""
    found, _ = split(problems(rows), settings)
    figure = new_figure(12.5, 5.0)
    axes = figure.subplots(1, 3, width_ratios=(4, 3, 4))
    for ax, p in zip(axes, (2, 10), strict=False):
        _by_size(ax, found, p, winner)
    _others(axes[2], found, winner)
    handles = [Patch(color=_COLOURS[name], label=name) for name in RIVALS]
    figure.legend(handles=handles, loc="outside lower center", ncols=5, fontsize=9, frameon=False)
    figure.suptitle(title, fontsize=10, color=INK)
    return figure


def _by_size(ax: Axes, found: Problems, p: int, winner: Winner) -> None:
    here = {(size.n, size.per): one for size, one in found.items() if (size.loss, size.p) == ("soe", p)}
    if not here:  # not measured yet
        ax.set_axis_off()
        return
    objects, per_object = sorted({n for n, _ in here}), sorted({per for _, per in here})
    for (n, per), standings in here.items():
        _cell(ax, per_object.index(per), objects.index(n), *winner(standings))
    _frame(ax, [str(per) for per in per_object], [f"{n:,}" for n in objects])
    ax.invert_yaxis()  # more objects at the top
    ax.set_xlabel("answers per object", color=INK, fontsize=9)
    ax.set_ylabel("objects", color=INK, fontsize=9)
    set_title(ax, f"SOE, p = {p}")


def _others(ax: Axes, found: Problems, winner: Winner) -> None:
    def place(size: Size) -> tuple[str, int]:
        return size.loss, size.p

    lines = [("soe", 1), ("soe", 50), *((loss, p) for p in (2, 10) for loss in LOSSES if loss != "soe")]
    for size, standings in found.items():
        if place(size) in lines and (size.n, size.per) in _OTHER_COLUMNS:
            column = _OTHER_COLUMNS.index((size.n, size.per))
            _cell(ax, column, lines.index(place(size)), *winner(standings))
    names = [f"{LOSSES[loss]}, p = {p}" for loss, p in lines]
    _frame(ax, [f"{n:,} objects\n{per} each" for n, per in _OTHER_COLUMNS], names)
    set_title(ax, "Other dimensions and losses")


def by_time(standings: dict[str, Standing]) -> tuple[Win | None, bool]:
    """Return the quickest of the accurate solvers, and whether a smaller tolerance would make L-BFGS the winner."""
    return quickest(standings), closer_is_better(standings)


def by_objective(standings: dict[str, Standing]) -> tuple[Win | None, bool]:
    """Return who first comes close to the lowest objective."""
    return first_near(standings), False


def _cell(ax: Axes, column: int, line: int, win: Win | None, star: bool) -> None:
    colour = "#ffffff" if win is None else _COLOURS[win.name]
    ax.add_patch(Rectangle((column - 0.48, line - 0.46), 0.96, 0.92, facecolor=colour, edgecolor="none"))
    if win is None:
        text = "nobody"
    elif win.lead is None:
        text = "only"
    else:
        text = f"{'> ' if win.at_least else ''}{win.lead:.1f}×"
    text += "*" if star else ""
    dark = sum(to_rgb(colour)) < 1.6
    ax.text(column, line, text, ha="center", va="center", fontsize=9, color="white" if dark else INK)


def _frame(ax: Axes, columns: list[str], lines: list[str]) -> None:
    tidy_frame(ax)
    for spine in ax.spines.values():
        spine.set_visible(False)
    ax.set_xlim(-0.5, len(columns) - 0.5)
    ax.set_ylim(len(lines) - 0.5, -0.5)
    ax.set_xticks(range(len(columns)), columns, fontsize=8, color=MUTED)
    ax.set_yticks(range(len(lines)), lines, fontsize=8, color=MUTED)
    ax.tick_params(length=0)
