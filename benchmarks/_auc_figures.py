"""AUC against steps and CPU time: the figures of `adadsg_vs_dsgd` and `auc_peers`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks._auc_peers_report import WATCHED, sets_of
from benchmarks._auc_report import LR, NEAR, SHOWN, measured, trials
from benchmarks._figures import MUTED, band, grid, legend_below, log_scale, looks, tidy_chart


def on_grid(curve: dict[str, Any], key: str, at: np.ndarray) -> np.ndarray:
    """AUC at steps or seconds: between points along the logarithm, before the first NaN, after the last its AUC.

    >>> on_grid({"steps": [1, 4], "auc": [0.5, 0.7]}, "steps", np.array([0.5, 2, 8])).round(2).tolist()
    [nan, 0.6, 0.7]
    """
    x = np.maximum.accumulate(np.array(curve[key], dtype=float))  # clocks of separate runs may cross
    return np.interp(np.log(at), np.log(x), curve["auc"], left=np.nan)


def curves(
    ax: Axes, found: list[tuple[dict[str, dict[str, Any]], float]], key: str, names: Sequence[str], style: Any
) -> None:
    """AUC minus that of logistic regression against steps or seconds; `found` has curves and its AUC, by trial."""
    lowest = []
    for name in names:
        mine = [(of[name], base) for of, base in found if name in of]
        if not mine:
            continue
        points = np.concatenate([one[key] for one, _ in mine])
        at = np.geomspace(points.min(), points.max(), 80)
        stacked = np.array([on_grid(one, key, at) - base for one, base in mine])
        band(ax, at, stacked, name, style[name])
        if name == "AdaDSG":
            lowest.append(np.median(stacked[:, np.isfinite(stacked).all(axis=0)][:, 0]))
    ax.axhline(0, color=MUTED, linewidth=1)
    ax.axhline(-NEAR, color=MUTED, linewidth=0.8, linestyle=":")
    highest = ax.get_ylim()[1]
    bottom = min(-0.03, *(1.15 * value for value in lowest)) if lowest else -0.03
    ax.set_ylim(bottom, max(0.005, min(highest, -bottom)))
    log_scale(ax, "x")


def adadsg_figures(rows: list[dict[str, Any]], settings: dict[str, Any]) -> dict[str, Figure]:
    """AUC against steps (Fig. 1) and against CPU time."""
    sets = {name: trials(rows, name) for name in measured(rows, settings)}
    return {key: _figure(sets, key, SHOWN) for key in ("steps", "seconds")} if sets else {}


def peers_figures(rows: list[dict[str, Any]], settings: dict[str, Any]) -> dict[str, Figure]:
    """AUC of our solvers against CPU time (Fig. 2)."""
    sets = {
        name: [{rival: one.get("curve", one) for rival, one in results.items()} for results in found]
        for name, found in sets_of(rows, settings).items()
    }
    return {"seconds": _figure(sets, "seconds", [name for name in WATCHED if name != "DSGD"])} if sets else {}


def _figure(sets: dict[str, list[dict[str, Any]]], key: str, rivals: Sequence[str]) -> Figure:
    figure, axes = grid(len(sets), columns=3, size=(3.6, 2.9))
    style = looks(rivals)
    for number, (ax, (name, found)) in enumerate(zip(axes, sets.items(), strict=True)):
        curves(ax, [(one, one[LR]["auc"]) for one in found], key, rivals, style)
        if key == "seconds":
            ax.axvline(np.median([one[LR]["seconds"] for one in found]), color=MUTED, linewidth=1)
        title = f"{name} (LR {np.mean([one[LR]['auc'] for one in found]):.3f})"
        y_name = "AUC minus LR's" if number % 3 == 0 else ""
        tidy_chart(ax, "steps" if key == "steps" else "CPU seconds", y_name, title)
    most = max(axes, key=lambda ax: len(ax.get_legend_handles_labels()[1]))
    legend_below(figure, most, columns=4)
    return figure
