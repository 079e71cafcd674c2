"""Plot the cross-validated error of each dimension."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from nearer.plotting._style import MUTED, PALETTE, PAPER, add_legend, axes_or_new, figure_of, tidy_chart

if TYPE_CHECKING:
    from nearer.selection import DimensionChoice


def plot_dimension_choice(
    choice: DimensionChoice, *, ax: Axes | None = None, title: str | None = None
) -> Figure:
    """Draw the held-out error of each dimension with its standard error, and mark the chosen ones.

    Parameters
    ----------
    choice : DimensionChoice
        The result of `nearer.choose_dimension`.
    ax : matplotlib Axes, optional
        Draw here instead of in a new figure.
    title : str, optional
        Title above the chart.

    Returns
    -------
    matplotlib.figure.Figure
        The figure with the chart.

    Examples
    --------
    >>> import nearer
    >>> answers, _ = nearer.datasets.planted(12, 1, 600, random_state=0)
    >>> choice = nearer.choose_dimension(answers, n_components=[1, 2], n_splits=3, random_state=0)
    >>> nearer.plotting.plot_dimension_choice(choice).axes[0].get_xlabel()
    'dimensions'
    """
    dimensions = np.asarray(choice.n_components)
    errors = np.asarray(choice.errors, dtype=float)
    means = errors.mean(axis=1)
    spreads = errors.std(axis=1, ddof=1) / np.sqrt(errors.shape[1]) if errors.shape[1] > 1 else 0 * means
    ax = axes_or_new(ax)
    folds = ax.scatter(
        np.repeat(dimensions, errors.shape[1]), errors.ravel(), s=9, color=MUTED, alpha=0.5, linewidths=0
    )
    curve = ax.errorbar(
        dimensions, means, yerr=spreads, color=PALETTE[0], linewidth=1.6, marker="o", capsize=3
    )
    handles, legend = [curve, folds], ["mean and standard error", "one fold"]
    chosen = {
        f"lowest error: {choice.best}{' (the largest tried)' if choice.best_is_largest else ''}": (
            choice.best,
            PALETTE[1],
            "s",
        ),
        f"smallest within one standard error: {choice.smallest_within_one_se}": (
            choice.smallest_within_one_se,
            PALETTE[2],
            "D",
        ),
    }
    for label, (dimension, colour, marker) in chosen.items():
        height = means[dimensions == dimension]
        size = 130 if marker == "s" else 75  # the two may be the same point: one frames the other
        handles.append(
            ax.scatter(
                [dimension], height, s=size, facecolor="none", edgecolor=colour, marker=marker, linewidths=1.8
            )
        )
        legend.append(label)
    tidy_chart(ax, "dimensions", "held-out error", title)
    ax.set_xticks(dimensions)
    ax.set_facecolor(PAPER)
    add_legend(ax, handles, legend)
    return figure_of(ax)
