"""Write names next to points without overlaps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from nearer.plotting._style import INK, MUTED, figure_of, font_families, unknown_letters_ignored

# Sides of the point in order of preference: (right, up) in steps of one gap.
_SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1))
_GAPS_IN_POINTS = (4.0, 9.0, 16.0)
_SMALL_MAP = 100
_MOST_NAMES = 500  # more do not fit on a page, and measuring text takes time
_HORIZONTAL = {1: "left", 0: "center", -1: "right"}
_VERTICAL = {1: "bottom", 0: "center", -1: "top"}


def place_names(ax: Axes, points: np.ndarray, names: Sequence[str], *, fontsize: float = 8) -> int:
    """Write each name where it covers no point, name or edge, and return how many do not fit.

    A name without a free place is left out, because it would be unreadable.
    """
    figure = figure_of(ax)
    with unknown_letters_ignored():
        figure.draw_without_rendering()  # computes the layout, so that pixels are final
    anchors = ax.transData.transform(points)
    per_point = figure.dpi / 72
    taken = np.hstack([anchors - 3 * per_point, anchors + 3 * per_point])  # boxes of the markers
    limits = np.array(ax.bbox.extents)
    n_written = 0
    for index in _order_of_choice(anchors):
        size = _text_size(ax, names[index], fontsize)
        reach = size + 2 * max(_GAPS_IN_POINTS) * per_point
        near = (taken[:, 2:] > anchors[index] - reach) & (taken[:, :2] < anchors[index] + reach)
        place = _free_place(anchors[index], size, taken[near.all(axis=1)], limits, per_point)
        if place is not None:
            side, gap, box = place
            taken = np.vstack([taken, box])
            _write(ax, names[index], points[index], side, gap, fontsize)
            n_written += 1
    return len(names) - n_written


def names_in_space(ax: Any, points: np.ndarray, names: Sequence[str], *, fontsize: float) -> np.ndarray:
    """Return which names to write to the right of points in three dimensions.

    These are all names of a small map. On a large map they are those that cover no point or name in the initial view.
    """
    if len(names) <= _SMALL_MAP:
        return np.arange(len(names))
    from mpl_toolkits.mplot3d.proj3d import proj_transform

    figure = figure_of(ax)
    with unknown_letters_ignored():
        figure.draw_without_rendering()
    anchors = ax.transData.transform(np.column_stack(proj_transform(*points.T, ax.get_proj())[:2]))
    per_point = figure.dpi / 72
    taken = np.hstack([anchors - 2 * per_point, anchors + 2 * per_point])
    written = []
    for index in _order_of_choice(anchors):
        size = _text_size(ax, names[index], fontsize)
        box = _box_beside(anchors[index], size, (1, 0), 4 * per_point)
        if ((taken[:, :2] >= box[2:]) | (taken[:, 2:] <= box[:2])).any(axis=1).all():
            taken = np.vstack([taken, box])
            written.append(index)
    return np.array(written, dtype=int)


def note_left_out(ax: Axes, n_left_out: int, n_names: int) -> None:
    """Say in the corner that some names are missing, so that readers know."""
    if n_left_out:
        corner: dict[str, Any] = {"transform": ax.transAxes, "ha": "right", "va": "bottom"}
        write = getattr(ax, "text2D", ax.text)  # in three dimensions, `text` needs a third coordinate
        write(
            0.995, 0.008, f"{n_names - n_left_out} of {n_names} names fit", fontsize=7, color=MUTED, **corner
        )


def _text_size(ax: Axes, name: str, fontsize: float) -> np.ndarray:
    """Return width and height of a name in pixels."""
    write = getattr(ax, "text2D", ax.text)
    text = write(0, 0, name, fontsize=fontsize, fontfamily=font_families(), parse_math=False)
    with unknown_letters_ignored():
        extent = text.get_window_extent()
    text.remove()
    return np.array([1.08 * extent.width + 2, extent.height])  # browsers and printers use wider letters


def _order_of_choice(anchors: np.ndarray) -> np.ndarray:
    """Return crowded points first on a small map, where all names should fit, and isolated ones on a large map."""
    if len(anchors) < 2:
        return np.arange(len(anchors))
    from scipy.spatial import cKDTree

    nearest, _ = cKDTree(anchors).query(anchors, k=2)
    crowded_first = np.argsort(nearest[:, 1], kind="stable")
    return crowded_first if len(anchors) <= _SMALL_MAP else crowded_first[::-1][:_MOST_NAMES]


def _free_place(
    anchor: np.ndarray, size: np.ndarray, taken: np.ndarray, limits: np.ndarray, pixels_per_point: float
) -> tuple[tuple[int, int], float, np.ndarray] | None:
    """Return the first free (side, gap, box), smallest gap first, or None."""
    for gap in _GAPS_IN_POINTS:
        for side in _SIDES:
            box = _box_beside(anchor, size, side, gap * pixels_per_point)
            inside = (box[:2] >= limits[:2]).all() and (box[2:] <= limits[2:]).all()
            apart = (taken[:, :2] >= box[2:]) | (taken[:, 2:] <= box[:2])
            if inside and apart.any(axis=1).all():
                return side, gap, box
    return None


def _box_beside(anchor: np.ndarray, size: np.ndarray, side: tuple[int, int], gap: float) -> np.ndarray:
    direction = np.array(side)
    # a diagonal position is as far away as a straight one
    corner = anchor + direction * gap / np.linalg.norm(direction) + (direction - 1) * size / 2
    return np.concatenate([corner, corner + size])


def _write(
    ax: Axes, name: str, point: np.ndarray, side: tuple[int, int], gap: float, fontsize: float
) -> None:
    offset = np.array(side) * gap / np.hypot(*side)
    line = {"arrowstyle": "-", "color": MUTED, "linewidth": 0.5, "shrinkA": 0, "shrinkB": 3}
    text = ax.annotate(
        name,
        xy=tuple(point),
        xytext=tuple(offset),
        textcoords="offset points",
        ha=_HORIZONTAL[side[0]],
        va=_VERTICAL[side[1]],
        fontsize=fontsize,
        fontfamily=font_families(),
        color=INK,
        parse_math=False,
        arrowprops=line if gap > _GAPS_IN_POINTS[0] else None,
        annotation_clip=False,
    )
    text.set_in_layout(False)  # otherwise the layout would move after the places were chosen
