"""Charts: the history of a fit, the error of each dimension, simulated studies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from nearer.plotting._style import (
    MARKERS,
    MUTED,
    PALETTE,
    PAPER,
    add_legend,
    axes_or_new,
    figure_of,
    tidy_chart,
)

if TYPE_CHECKING:
    from nearer.active import Study
    from nearer.ordinal import OrdinalEmbedding
    from nearer.selection import DimensionChoice
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
        style: dict[str, Any] = {"color": PALETTE[rank % len(PALETTE)], "linewidth": 1.6, "markersize": 3.5}
        handles += ax.plot(horizontal[known], vertical[known], marker=marker, **style)
        drawn.append(vertical[known])
    if isinstance(result, Mapping):
        add_legend(ax, handles, list(named))
    if x == "epoch":
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    if _spans_a_decade(np.concatenate(drawn)):
        ax.set_yscale("log")


def _spans_a_decade(values: np.ndarray) -> bool:
    return bool(values.size and values.min() > 0 and values.max() > 10 * values.min())


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
    smallest = choice.smallest_within_one_se
    largest = " (the largest tried)" if choice.best_is_largest else ""
    # the two may be the same point: one frames the other
    for label, dimension, marker, colour, size in (
        (f"lowest error: {choice.best}{largest}", choice.best, "s", PALETTE[1], 130),
        (f"smallest within one standard error: {smallest}", smallest, "D", PALETTE[2], 75),
    ):
        height = means[dimensions == dimension]
        style: dict[str, Any] = {
            "s": size,
            "facecolor": "none",
            "edgecolor": colour,
            "marker": marker,
            "linewidths": 1.8,
        }
        handles.append(ax.scatter([dimension], height, **style))
        legend.append(label)
    tidy_chart(ax, "dimensions", "held-out error", title)
    ax.set_xticks(dimensions)
    ax.set_facecolor(PAPER)
    add_legend(ax, handles, legend)
    return figure_of(ax)


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
