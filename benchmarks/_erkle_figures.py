"""Figures of the benchmark `erkle`."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from benchmarks._erkle import (
    BATCH,
    CONVERGED,
    FEW,
    FIXED,
    NAMES,
    ONE_SIDED,
    RULES,
    TUNED,
    UPDATES,
    Rows,
    batch_name,
    best_factor,
    online_name,
    passes_of,
)
from benchmarks._erkle_report import after_steps, last_errors, trials
from benchmarks._figures import Look, band, grid, legend_below, log_scale, looks, tidy_chart
from benchmarks._tables import quartiles

TITLES = {
    FIXED: "batch: 1,000 steps of fixed size",
    CONVERGED: "batch: to the minimum",
    ONE_SIDED: "batch: one-sided gradients",
}


def draw(rows: Rows, settings: dict[str, Any]) -> dict[str, Figure]:
    """The three parts of the figure."""
    found = trials(rows)
    if not found:
        return {}
    return {
        "a_steps": _draw_steps(rows, settings),
        "b_batch": _draw_batch(found, settings),
        "c_passes": _draw_passes(found, settings),
    }


def _curve(ax: Any, found: list[dict[str, Any]], rival: str, label: str, look: Look, every: int) -> None:
    curves = [results[rival]["errors"] for results in found]
    band(ax, every * np.arange(1, len(curves[0]) + 1), curves, label, look)


def _draw_steps(rows: Rows, settings: dict[str, Any]) -> Figure:
    figure, (ax,) = grid(1, size=(6.4, 4.2))
    found, shown = trials(rows), {name: name for name in RULES}
    for name, step in TUNED.items():
        shown[name] = f"{name}, c = {best_factor(rows, step, settings):g}"
    shown |= {online_name("STE", 1): "STE, constant 1", online_name("PA", 1): "passive-aggressive"}
    for (rival, label), look in zip(shown.items(), looks(list(shown)).values(), strict=True):
        _curve(ax, found, rival, label, look, settings["every"])
    tidy_chart(ax, "answers", "held-out error", "Fig. 1a: steps, one pass")
    ax.legend(frameon=False, fontsize=8)
    return figure


def _draw_batch(found: list[dict[str, Any]], settings: dict[str, Any]) -> Figure:
    figure, axes = grid(len(TITLES), columns=len(TITLES), size=(3.7, 3.8))
    rivals = [online_name(name, count) for count in settings["passes"] for name in UPDATES]
    labels = [f"{name}, batch" for name in NAMES.values()]
    looked = looks([*rivals, *labels])
    for ax, (way, title) in zip(axes, TITLES.items(), strict=True):
        for rival in rivals:
            _curve(ax, found, rival, rival, looked[rival], settings["every"])
        for loss in (one[1] for one in BATCH if one[0] == way):
            curves = [results[batch_name(way, loss)]["errors"] for results in found]
            label = f"{NAMES[loss]}, batch"
            band(ax, settings["batch_at"], curves, label, {**looked[label], "linestyle": "--"})
        tidy_chart(ax, "answers", "held-out error", title)
    low, high = zip(*(ax.get_ylim() for ax in axes), strict=True)
    for ax in axes:
        ax.set_ylim(min(low), max(high))
    legend_below(figure, axes[0], columns=4)
    return figure


def _draw_passes(found: list[dict[str, Any]], settings: dict[str, Any]) -> Figure:
    figure, (ax,) = grid(1, size=(6.4, 4.2))
    looked = looks([*UPDATES, *FEW])
    for name in UPDATES:
        errors = {n: last_errors(found, online_name(name, n)) for n in passes_of(settings)}
        points = [quartiles(some) for some in errors.values()]
        _with_whiskers(ax, list(errors), points, f"{name}-ERKLE", looked[name])
    for loss in FEW:
        counts = settings["gradient_steps"]
        points = [quartiles(after_steps(found, settings, loss, count)) for count in counts]
        _with_whiskers(ax, counts, points, f"{NAMES[loss]}, batch", {**looked[loss], "linestyle": "--"})
    log_scale(ax, "x")
    tidy_chart(ax, "passes over all answers", "held-out error", "Fig. 1c: few passes")
    ax.legend(frameon=False, fontsize=8)
    return figure


def _with_whiskers(ax: Any, x: list[int], points: list[Any], label: str, look: Look) -> None:
    low, middle, high = (np.array(part, dtype=float) for part in zip(*points, strict=True))
    ax.errorbar(x, middle, yerr=[middle - low, high - middle], label=label, markersize=4, capsize=2, **look)
