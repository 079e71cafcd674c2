"""Plot the history of a fit: the objective and the step sizes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from nearer.plotting._style import MARKERS, PALETTE, add_legend, axes_or_new, figure_of, tidy_chart

if TYPE_CHECKING:
    from nearer.ordinal import OrdinalEmbedding
    from nearer.solvers import Result

    Fit = Result | OrdinalEmbedding

_SCALES = {"seconds": "seconds", "evaluations": "gradient evaluations", "epoch": "epochs"}


def plot_learning_curve(
    result: Fit | Mapping[str, Fit],
    against: Literal["seconds", "evaluations", "epoch"] = "seconds",
    *,
    ax: Axes | None = None,
    title: str | None = None,
) -> Figure:
    """Draw the objective during a fit.

    Parameters
    ----------
    result : Result, fitted estimator, or dict of name -> either
        `estimator.result_`, or several to compare.
    against : {"seconds", "evaluations", "epoch"}
        The horizontal axis. Evaluations compare solvers independently of the machine.
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
    >>> answers, _ = nearer.datasets.planted(10, 2, 500, random_state=0)
    >>> fitted = nearer.OrdinalEmbedding(random_state=0, max_epochs=3).fit(answers)
    >>> nearer.plotting.plot_learning_curve(fitted.result_, against="epoch").axes[0].get_xlabel()
    'epochs'
    """
    if against not in _SCALES:
        raise ValueError(f"against={against!r} is unknown: choose one of {', '.join(map(repr, _SCALES))}")
    ax = axes_or_new(ax)
    _draw_histories(ax, result, against, "objective")
    tidy_chart(ax, _SCALES[against], "objective", title)
    return figure_of(ax)


def plot_step_sizes(
    result: Fit | Mapping[str, Fit], *, ax: Axes | None = None, title: str | None = None
) -> Figure:
    """Draw the step size of each epoch, on a logarithmic scale if it spans more than a factor of ten.

    Parameters
    ----------
    result : Result, fitted estimator, or dict of name -> either
        `estimator.result_`, or several to compare.
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
    >>> answers, _ = nearer.datasets.planted(10, 2, 500, random_state=0)
    >>> fitted = nearer.OrdinalEmbedding(solver="svrg-sbb", random_state=0, max_epochs=3).fit(answers)
    >>> nearer.plotting.plot_step_sizes(fitted.result_).axes[0].get_ylabel()
    'step size'
    """
    ax = axes_or_new(ax)
    _draw_histories(ax, result, "epoch", "step")
    tidy_chart(ax, "epochs", "step size", title)
    return figure_of(ax)


def _draw_histories(ax: Axes, result: Fit | Mapping[str, Fit], x: str, y: str) -> None:
    named = dict(result) if isinstance(result, Mapping) else {"": result}
    drawn = []
    handles = []
    for rank, one in enumerate(named.values()):
        history = getattr(one, "result_", one).history
        horizontal, vertical = np.asarray(history[x], float), np.asarray(history[y], float)
        known = np.isfinite(horizontal) & np.isfinite(vertical)
        # markers distinguish epochs if there are few of them
        marker = MARKERS[rank % len(MARKERS)] if known.sum() <= 40 else ""
        colour = PALETTE[rank % len(PALETTE)]
        style: dict[str, Any] = {"color": colour, "linewidth": 1.6, "marker": marker, "markersize": 3.5}
        handles += ax.plot(horizontal[known], vertical[known], **style)
        drawn.append(vertical[known])
    if isinstance(result, Mapping):
        add_legend(ax, handles, list(named))
    if x == "epoch":
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    if _spans_a_decade(np.concatenate(drawn)):
        ax.set_yscale("log")


def _spans_a_decade(values: np.ndarray) -> bool:
    return bool(values.size and values.min() > 0 and values.max() > 10 * values.min())
