"""Draw a labelled map in one, two or three dimensions, or pairs of principal axes of more."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from nearer.comparisons import Comparisons
from nearer.kernels.base import KernelModel
from nearer.plotting._lines import draw_line
from nearer.plotting._names import names_in_space, note_left_out, place_names
from nearer.plotting._style import (
    GRID,
    INK,
    MARKERS,
    MUTED,
    PALETTE,
    PAPER,
    add_legend,
    axes_or_new,
    figure_of,
    font_families,
    new_figure,
    set_title,
    tidy_frame,
)

if TYPE_CHECKING:
    from nearer.kernels import OnlineKernel, RelativeKernel
    from nearer.ordinal import OrdinalEmbedding

_PAIRED_AXES = 4  # six panels; more would be too small to read


def plot_map(
    embedding: ArrayLike | OrdinalEmbedding | RelativeKernel | OnlineKernel,
    names: Sequence[str] | Literal[False] | None = None,
    labels: ArrayLike | None = None,
    *,
    ax: Axes | None = None,
    title: str | None = None,
    marker_size: float = 26,
    font_size: float = 8,
) -> Figure:
    """Draw objects at their points.

    One dimension is drawn as a line, two as a plane, three in perspective, and more as a grid of planes over the first
    four principal axes. An embedding is determined up to rotation, reflection and scale, so its axes have no numbers.

    Parameters
    ----------
    embedding : array of shape (n_objects, n_components), or fitted estimator
        The points. The names of an estimator are used too. A kernel is drawn in its first two dimensions.
    names : sequence of str or False, optional
        One name per object. Names without a free place are left out, and a note says how many. The default is the
        names of the estimator. If it has none, it is the indices of the objects, unless `labels` colours them. False
        writes nothing.
    labels : array of shape (n_objects,), optional
        Classes (one colour and marker each, with a legend), or floats (a colour scale).
    ax : matplotlib Axes, optional
        Draw here instead of in a new figure. Three dimensions need `projection="3d"`.
    title : str, optional
        Title above the map.
    marker_size, font_size : float
        Size of the points (as in `scatter`) and of the names.

    Returns
    -------
    matplotlib.figure.Figure
        The figure with the map.

    Examples
    --------
    >>> import nearer
    >>> figure = nearer.plotting.plot_map([[0, 0], [1, 0], [0, 1]], names=["tea", "coffee", "milk"])
    >>> len(figure.axes)
    1
    """
    points = checked_points(embedding)
    groups = checked_labels(labels, len(points))
    texts = names_or_indices(names, [embedding], len(points), coloured=groups is not None)
    n_components = points.shape[1]
    if n_components > 3:
        if ax is not None:
            raise ValueError(
                f"an embedding with {n_components} dimensions needs a grid of panels: leave `ax` out"
            )
        return _draw_pairs(points, texts, groups, title, marker_size, font_size)
    if n_components == 3:
        ax = _axes_in_space(ax)
        _draw_space(ax, points, texts, groups, marker_size, font_size)
    elif n_components == 2:
        growth = float(np.clip((len(points) / 50) ** 0.35, 1.0, 1.9))  # more names need more space
        ax = axes_or_new(ax, 6.4 * growth, 5.4 * growth)
        _draw_plane(ax, points, texts, groups, marker_size, font_size)
    else:
        ax = axes_or_new(ax, 4.2, float(np.clip(0.17 * len(points), 3.0, 14.0)))
        colours = draw_points(ax, np.column_stack([np.zeros(len(points)), points[:, 0]]), groups, marker_size)
        draw_line(ax, points[:, 0], texts, font_size)
        explain_colours(ax, colours)
    set_title(ax, title)
    return figure_of(ax)


def checked_points(embedding: Any) -> np.ndarray:
    """Return the embedding, or that of an estimator, as a finite (n, p) float array."""
    if isinstance(embedding, KernelModel):
        embedding = embedding.embedding(2)
    try:
        if isinstance(embedding, Comparisons):  # its array contains indices, not coordinates
            raise TypeError
        points = np.asarray(getattr(embedding, "embedding_", embedding), dtype=float)
    except (TypeError, ValueError):
        raise ValueError(
            f"a map needs an array of points or a fitted estimator, not a {type(embedding).__name__}: "
            "give for example estimator.embedding_"
        ) from None
    if points.ndim != 2 or 0 in points.shape:
        raise ValueError(
            f"the embedding has shape {points.shape}: a map needs one row per object, one column per dimension"
        )
    if not np.isfinite(points).all():
        row = int(np.flatnonzero(~np.isfinite(points).all(axis=1))[0])
        raise ValueError(f"the embedding has NaN or infinity in row {row}: a map needs finite numbers")
    return points


def names_or_indices(
    names: Sequence[str] | Literal[False] | None, maps: Iterable[Any], n_objects: int, *, coloured: bool
) -> list[str] | None:
    """Return the texts next to the points: the given names, those of the first estimator with names, or indices.

    Points `coloured` by their classes get no indices.
    """
    if names is None:
        names = next((found for one in maps if (found := getattr(one, "names_", None)) is not None), None)
    if names is None and not coloured:
        names = [str(index) for index in range(n_objects)]
    if names is None or names is False:
        return None
    if len(names) != n_objects:
        raise ValueError(f"there are {len(names)} names for {n_objects} objects: give one name per object")
    return [str(name) for name in names]


def checked_labels(labels: ArrayLike | None, n_objects: int) -> np.ndarray | None:
    """Return one label per object, or None."""
    if labels is None:
        return None
    array = np.asarray(labels)
    if array.shape != (n_objects,):
        raise ValueError(f"labels has shape {array.shape} for {n_objects} objects: give one label per object")
    return array


def draw_points(ax: Any, points: np.ndarray, labels: np.ndarray | None, size: float) -> dict:
    """Draw points in 2-D or 3-D, and return the legend's label -> handle, or None -> colour scale."""
    look: dict[str, Any] = {"s": size, "edgecolors": PAPER, "linewidths": 0.6, "zorder": 3}
    look["rasterized"] = len(points) > 3000  # a vector file with one shape per point would be huge
    if labels is None:
        ax.scatter(*points.T, color=PALETTE[0], **look)
        return {}
    if labels.dtype.kind == "f":
        return {None: ax.scatter(*points.T, c=labels, cmap="viridis", **look)}
    handles = {}
    for rank, label in enumerate(np.unique(labels)):
        # colours cycle first, then markers: 49 classes are distinct
        colour, marker = PALETTE[rank % len(PALETTE)], MARKERS[rank // len(PALETTE) % len(MARKERS)]
        handles[str(label)] = ax.scatter(*points[labels == label].T, color=colour, marker=marker, **look)
    return handles


def explain_colours(ax: Axes, handles: dict, beside: float = 1.01) -> None:
    """Add a legend for classes, or a colour bar for numbers, at the fraction `beside` of the axes' width."""
    if None in handles:
        bar = figure_of(ax).colorbar(handles[None], ax=ax, shrink=0.7)
        bar.ax.tick_params(labelsize=8, colors=MUTED)
        bar.outline.set_visible(False)
    elif handles:
        columns = 1 + (len(handles) - 1) // 20
        where: dict[str, Any] = {
            "loc": "upper left",
            "bbox_to_anchor": (beside, 1.0),
            "borderaxespad": 0.0,
            "ncols": columns,
        }
        add_legend(ax, list(handles.values()), list(handles), **where)


def _draw_plane(
    ax: Axes,
    points: np.ndarray,
    names: list[str] | None,
    labels: np.ndarray | None,
    marker_size: float,
    font_size: float,
) -> None:
    explain_colours(ax, draw_points(ax, points, labels, marker_size))
    bare_plane(ax)
    ax.set_aspect("equal", adjustable="datalim")
    if names is not None:
        note_left_out(ax, place_names(ax, points, names, fontsize=font_size), len(names))


def bare_plane(ax: Axes) -> None:
    """Style a framed plane with space for names at the edge and without numbers."""
    tidy_frame(ax)
    ax.margins(0.1)
    ax.set_xticks([])
    ax.set_yticks([])


def _axes_in_space(ax: Axes | None) -> Axes:
    if ax is None:
        return new_figure(6.4, 5.6).add_subplot(projection="3d")
    if ax.name != "3d":
        raise ValueError('a map in three dimensions needs an `ax` made with projection="3d"')
    return ax


def _draw_space(
    ax: Any,
    points: np.ndarray,
    names: list[str] | None,
    labels: np.ndarray | None,
    marker_size: float,
    font_size: float,
) -> None:
    explain_colours(ax, draw_points(ax, points, labels, marker_size))
    ax.set_facecolor(PAPER)
    ax.set_aspect("equal")
    for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
        axis.set_ticklabels([])
        axis.line.set_color(GRID)
        axis.set_pane_color((0.5, 0.5, 0.5, 0.06))  # light on white paper, dark on black
    ax.tick_params(colors=GRID)
    if names is None:
        return
    style: dict[str, Any] = {
        "fontsize": font_size - 1,
        "color": INK,
        "fontfamily": font_families(),
        "parse_math": False,
    }
    written = names_in_space(ax, points, names, fontsize=font_size - 1)
    for index in written:
        ax.text(*points[index], f"  {names[index]}", **style)
    note_left_out(ax, len(names) - len(written), len(names))


def _draw_pairs(
    points: np.ndarray,
    names: list[str] | None,
    labels: np.ndarray | None,
    title: str | None,
    marker_size: float,
    font_size: float,
) -> Figure:
    """Draw the lower triangle of planes over the first principal axes, which have the largest variance."""
    scores, shares = principal_axes(points)
    last = min(_PAIRED_AXES, points.shape[1]) - 1
    figure = new_figure(9.0, 8.6)
    grid = figure.subplots(last, last)
    planes = {}
    for row, column in np.ndindex(last, last):
        if column > row:
            grid[row, column].axis("off")
            continue
        ax, plane = grid[row, column], scores[:, [column, row + 1]]
        handles = draw_points(ax, plane, labels, 0.6 * marker_size)
        planes[ax] = plane
        bare_plane(ax)
        ax.set_aspect("equal", adjustable="datalim")
        if column == 0:
            ax.set_ylabel(_axis_name(row + 1, shares), fontsize=8, color=INK)
        if row == last - 1:
            ax.set_xlabel(_axis_name(column, shares), fontsize=8, color=INK)
    set_title(grid[0, 0], title)
    explain_colours(grid[0, -1], handles, beside=0.0)
    if names is not None:
        for ax, plane in planes.items():
            note_left_out(ax, place_names(ax, plane, names, fontsize=font_size - 2), len(names))
    return figure


def principal_axes(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return coordinates along the principal axes, and each axis's fraction of the variance."""
    centred = points - points.mean(axis=0)
    left, scale, _ = np.linalg.svd(centred, full_matrices=False)
    shares = (scale / max(float(scale[0]), np.finfo(float).tiny)) ** 2  # squares of the scales may overflow
    return left * scale, shares / max(float(shares.sum()), 1.0)


def _axis_name(axis: int, shares: np.ndarray) -> str:
    return f"axis {axis + 1} ({shares[axis]:.0%} of variance)"
