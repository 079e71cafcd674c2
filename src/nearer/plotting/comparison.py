"""Draw several maps of the same objects side by side, aligned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from nearer.metrics import procrustes_align, procrustes_distance
from nearer.plotting._names import note_left_out, place_names
from nearer.plotting._style import MUTED, new_figure, set_title
from nearer.plotting.maps import bare_plane, checked_labels, checked_points, draw_points, names_or_indices

if TYPE_CHECKING:
    from nearer.ordinal import OrdinalEmbedding


def plot_comparison_of_maps(
    maps: Mapping[str, ArrayLike | OrdinalEmbedding],
    names: Sequence[str] | Literal[False] | None = None,
    labels: ArrayLike | None = None,
    *,
    reference: str | None = None,
    font_size: float = 7.5,
) -> Figure:
    """Draw maps of the same objects side by side, each rotated, reflected and scaled to match one of them.

    Parameters
    ----------
    maps : dict of title -> array of shape (n_objects, 2), or fitted estimator
        The maps, from left to right.
    names : sequence of str or False, optional
        One name per object. The default is the names of the first estimator that has some. If none has, it is the
        indices of the objects, unless `labels` colours them. False writes nothing.
    labels : array of shape (n_objects,), optional
        Classes, one colour each.
    reference : str, optional
        Title of the map that the others are aligned to; by default the first.
    font_size : float
        Size of the names.

    Returns
    -------
    matplotlib.figure.Figure
        One panel per map, with its Procrustes distance to the reference below it.

    Examples
    --------
    >>> import numpy as np, nearer
    >>> square = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]])
    >>> turned = square[:, ::-1] * 3
    >>> figure = nearer.plotting.plot_comparison_of_maps({"truth": square, "ours": turned})
    >>> [ax.get_xlabel() for ax in figure.axes]
    ['reference', 'Procrustes distance 0.0000']
    """
    points = {title: checked_points(one) for title, one in maps.items()}
    reference = _checked_reference(points, reference)
    groups = checked_labels(labels, len(points[reference]))
    texts = names_or_indices(names, maps.values(), len(points[reference]), coloured=groups is not None)
    aligned = {title: procrustes_align(one, onto=points[reference]) for title, one in points.items()}
    extent = np.ptp(np.concatenate(list(aligned.values())), axis=0) + np.finfo(float).tiny
    figure = new_figure(3.7 * len(points), 0.5 + 3.7 * float(np.clip(extent[1] / extent[0], 0.4, 2.0)))
    panels = figure.subplots(1, len(points), squeeze=False, sharex=True, sharey=True)[0]
    for ax, (title, one) in zip(panels, aligned.items(), strict=True):
        draw_points(ax, one, groups, size=22)
        bare_plane(ax)
        ax.set_aspect("equal", adjustable="box")
        set_title(ax, title)
        distance = procrustes_distance(one, points[reference])
        remark = "reference" if title == reference else f"Procrustes distance {distance:.4f}"
        ax.set_xlabel(remark, fontsize=8, color=MUTED, loc="left")
    for ax, one in zip(panels, aligned.values(), strict=True):
        if texts is not None:
            note_left_out(ax, place_names(ax, one, texts, fontsize=font_size), len(texts))
    return figure


def _checked_reference(points: Mapping[str, np.ndarray], reference: str | None) -> str:
    """Return the title to align to, after checking that every map has its shape and two dimensions."""
    if not points:
        raise ValueError("maps is empty: give a dictionary of title -> (n_objects, 2) array")
    reference = next(iter(points)) if reference is None else reference
    if reference not in points:
        raise ValueError(f"reference={reference!r} is not one of the maps: choose from {', '.join(points)}")
    for title, one in points.items():
        if one.shape != (len(points[reference]), 2):
            raise ValueError(
                f"the map {title!r} has shape {one.shape}, not ({len(points[reference])}, 2): give maps of the same "
                "objects in two dimensions"
            )
    return reference
