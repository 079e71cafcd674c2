"""Plot simulated studies: the held-out error against the number of answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from nearer.plotting._style import MARKERS, MUTED, PALETTE, add_legend, axes_or_new, figure_of, tidy_chart

if TYPE_CHECKING:
    from nearer.active import Study


def plot_study(
    study: Study, *, target: float | None = None, ax: Axes | None = None, title: str | None = None
) -> Figure:
    """Draw the held-out error of each strategy against the number of answers.

    Lines are medians over the repetitions. Bands reach from the lower to the upper quartile.

    Parameters
    ----------
    study : Study
        The result of `nearer.active.play`.
    target : float, optional
        An error to mark.
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
    >>> study = nearer.active.play(nearer.active.PlantedOracle(10), "random", n_answers=60, random_state=0)
    >>> nearer.plotting.plot_study(study).axes[0].get_xlabel()
    'answers'
    """
    ax = axes_or_new(ax)
    handles = {}
    for rank, (name, errors) in enumerate(zip(study.strategies, study.errors, strict=True)):
        known = np.isfinite(errors).any(axis=0)  # repetitions may run out of questions at different times
        if not known.any():  # the study was interrupted before this strategy started
            continue
        low, middle, high = np.nanquantile(errors[:, known], [0.25, 0.5, 0.75], axis=0)
        colour, marker = PALETTE[rank % len(PALETTE)], MARKERS[rank % len(MARKERS)]
        at = np.asarray(study.n_answers)[known]
        (handles[name],) = ax.plot(at, middle, color=colour, marker=marker, markersize=3.5, linewidth=1.6)
        if errors.shape[0] > 1:
            ax.fill_between(at, low, high, color=colour, alpha=0.15, linewidth=0)
    if target is not None:
        ax.axhline(target, color=MUTED, linewidth=0.8, linestyle=":")
    tidy_chart(ax, "answers", "held-out error", title)
    ax.set_ylim(bottom=0)
    add_legend(ax, list(handles.values()), list(handles))
    return figure_of(ax)
