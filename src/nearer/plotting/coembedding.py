"""Draw what shares a space: rows and labels with circles of decision, users, items and tags, objects and links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import Circle
from numpy.typing import ArrayLike

from nearer.plotting._names import note_left_out, place_names
from nearer.plotting._style import INK, MUTED, PALETTE, PAPER, add_legend, axes_or_new, figure_of, set_title
from nearer.plotting.maps import bare_plane, checked_labels, draw_points, explain_colours, principal_axes

if TYPE_CHECKING:
    from nearer.coembedding.classifier import CoEmbeddingClassifier
    from nearer.coembedding.links import LinkPredictor
    from nearer.coembedding.tags import TagRecommender

#: rows that get a circle unless the user says which
_CIRCLES = 3
#: pairs of a row and a label that the share of right decisions is found from, at most
_MOST_PAIRS = 10**7
#: links that are drawn at most
_MOST_LINKS = 2000


@dataclass(frozen=True)
class PointLayer:
    """Points of one kind.

    Attributes
    ----------
    kind : str
        What they are, for the legend.
    points : array (n, rank)
    names : sequence of str, optional
        What to write beside them.
    """

    kind: str
    points: np.ndarray
    names: Sequence[str] | None = None


@dataclass(frozen=True)
class Space:
    """Layers in one space, and how rows of the first are decided on.

    Attributes
    ----------
    layers : list of PointLayer
        With decisions: rows, if there are any, then labels.
    threshold : array (rank,), optional
        The threshold point.
    cuts : array (m,)
        By how much a row must be nearer to each label than to the threshold.
    nearest : bool
        Whether each row has the nearest label.
    other_threshold : array (rank,), optional
        That of the last layer, if pairs must be nearer than two thresholds.
    links : array (k, 2), optional
        Pairs of a point of the first layer and one of the last that belong together.
    one_set : bool
        Whether points of the same number in both layers are the same object.
    """

    layers: list[PointLayer]
    threshold: np.ndarray | None = None
    cuts: np.ndarray | None = None
    nearest: bool = False
    other_threshold: np.ndarray | None = None
    links: np.ndarray | None = None
    one_set: bool = False


def plot_coembedding(
    model: CoEmbeddingClassifier | TagRecommender | LinkPredictor,
    X: Any = None,
    *,
    circles: int | ArrayLike = _CIRCLES,
    groups: ArrayLike | None = None,
    names: bool = True,
    ax: Axes | None = None,
    title: str | None = None,
    font_size: float = 8,
) -> Figure:
    """Draw rows and labels, users, items and tags, or objects and links, where they lie in their common space.

    The plane is that of the first two principal axes. In it, a row has the labels that are nearer than the threshold
    point: those within a circle around the row, drawn for some rows. A validated cut makes circles smaller or larger.
    Lines lead from these rows to the labels that the model predicts. A note says how much of the space, or of the
    model's decisions, the plane keeps; it keeps all of a model that was fitted with `max_rank=2`.

    Linked objects are joined by lines. Two objects are predicted to be linked if each lies within the other's circle,
    which goes through the threshold of its side.

    Parameters
    ----------
    model : fitted CoEmbeddingClassifier, TagRecommender or LinkPredictor
        The model.
    X : array or CSR matrix (n, n_features), optional
        Rows to draw beside the labels of a classifier.
    circles : int or array of row numbers
        Rows of X, or left objects of links, that get a circle: as many, spread over all, or these.
    groups : array (n,), optional
        Classes or numbers that colour the rows of X.
    names : bool
        Whether to write the names of labels, tags or linked objects.
    ax : matplotlib Axes, optional
        Draw here instead of in a new figure.
    title : str, optional
        Title above the map.
    font_size : float
        Of the names.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import nearer
    >>> from sklearn.datasets import make_multilabel_classification
    >>> X, Y = make_multilabel_classification(100, n_classes=4, random_state=0)
    >>> model = nearer.CoEmbeddingClassifier(beta=0.1, random_state=0).fit(X, Y)
    >>> figure = nearer.plotting.plot_coembedding(model, X)
    >>> len(figure.axes)
    1
    """
    space = _space_of(model, X)
    plane = _plane_of(space)
    ax = axes_or_new(ax, 6.4, 5.4)
    rows = plane[0] if X is not None or space.links is not None else None
    colours = None if rows is None else checked_labels(groups, len(rows))
    if groups is not None and X is None:
        raise ValueError("groups colour the rows of X: give X as well")
    handles = _draw_layers(ax, space, plane, colours)
    if rows is not None and space.threshold is not None:
        chosen, n = _chosen(circles, len(rows)), len(space.layers)
        _draw_circles(ax, rows[chosen], plane[n][0], space)
        predicted = _decided(
            space.layers[0].points[chosen], space.layers[-1].points, _thresholds(space), space
        )
        for at, label in zip(*np.nonzero(predicted), strict=True):
            if space.one_set and chosen[at] == label:
                continue
            ends = np.array([rows[chosen[at]], plane[n - 1][label]])
            ax.plot(*ends.T, color=MUTED, linewidth=0.7, linestyle=":", zorder=3)
    bare_plane(ax)
    ax.set_aspect("equal", adjustable="datalim")
    ax.autoscale_view()
    if colours is None:
        add_legend(ax, list(handles.values()), list(handles), loc="upper left", bbox_to_anchor=(1.01, 1.0))
    set_title(ax, title)
    _note(ax, _what_is_kept(space, plane, rows))
    named = [
        (points, layer.names)
        for points, layer in zip(plane, space.layers, strict=False)
        if layer.names is not None
    ]
    if names and named:
        texts = [str(name) for _, names_ in named for name in names_]
        note_left_out(
            ax, place_names(ax, np.vstack([p for p, _ in named]), texts, fontsize=font_size), len(texts)
        )
    return figure_of(ax)


def _space_of(model: Any, X: Any) -> Space:
    """Return what a model places in one space."""
    if X is not None and not hasattr(model, "transform"):
        raise ValueError(f"X is for rows of a classifier, but this is a {type(model).__name__}: leave X out")
    if hasattr(model, "left_threshold_"):
        return _space_of_links(model)
    if hasattr(model, "tag_embedding_"):
        used = model.tag_counts_ > 0 if model.tag_factor_ is None else np.ones(len(model.tag_counts_), bool)
        names = model.tag_names_ or range(len(used))
        return Space(
            [
                PointLayer("users", model.user_embedding_[_placed(model, "user")]),
                PointLayer("items", model.item_embedding_[_placed(model, "item")]),
                PointLayer(
                    "tags",
                    model.tag_embedding_[used],
                    [str(n) for n, u in zip(names, used, strict=True) if u],
                ),
            ]
        )
    if not hasattr(model, "label_embedding_"):
        raise ValueError(
            "this draws a fitted CoEmbeddingClassifier, TagRecommender or LinkPredictor, not a "
            f"{type(model).__name__}: draw maps of other models with plot_map"
        )
    labels = PointLayer("labels", model.label_embedding_, [str(name) for name in model.classes_])
    layers = (
        [labels] if X is None else [PointLayer("rows", np.asarray(model.transform(X), dtype=float)), labels]
    )
    if model.single_:
        return Space(layers, nearest=True)
    cuts = np.broadcast_to(model.decisions_.cuts(True), len(labels.points))
    return Space(layers, model.threshold_embedding_, np.asarray(cuts, dtype=float))


def _space_of_links(model: Any) -> Space:
    """Return objects with their links: both sides, or one set."""
    kinds = {"bipartite": ("left", "right"), "directed": ("sources", "targets"), "undirected": ("objects",)}
    sides = ("left", "right") if len(kinds[model.graph_]) == 2 else ("left",)
    layers = [
        PointLayer(kind, getattr(model, f"{side}_embedding_"), getattr(model, f"{side}_names_"))
        for kind, side in zip(kinds[model.graph_], sides, strict=True)
    ]
    links = np.stack(model._seen_matrix().nonzero(), axis=1)
    if model.graph_ == "undirected":
        links = links[links[:, 0] < links[:, 1]]
    other = None if model.graph_ == "undirected" else model.right_threshold_
    cuts = np.zeros(len(layers[-1].points))
    return Space(
        layers,
        model.left_threshold_,
        cuts,
        other_threshold=other,
        links=links,
        one_set=model.graph_ != "bipartite",
    )


def _placed(model: Any, side: str) -> np.ndarray:
    """Return which users or items have a point with a meaning."""
    counts = getattr(model, f"{side}_counts_")
    return counts > 0 if getattr(model, f"{side}_factor_") is None else np.ones(len(counts), bool)


def _plane_of(space: Space) -> list[np.ndarray]:
    """Return the points of each layer, and of the threshold, along the first two principal axes of all."""
    parts = [layer.points for layer in space.layers]
    parts += [point[None] for point in (space.threshold, space.other_threshold) if point is not None]
    everything = np.vstack(parts)
    if len(everything) > 1:
        everything = principal_axes(everything)[0]
    flat = np.zeros((len(everything), 2))
    flat[:, : min(2, everything.shape[1])] = everything[:, :2]
    return np.split(flat, np.cumsum([len(part) for part in parts])[:-1])


def _draw_layers(
    ax: Axes, space: Space, plane: list[np.ndarray], colours: np.ndarray | None
) -> dict[str, Any]:
    """Draw the points of all layers and return the entries of the legend."""
    handles: dict[str, Any] = {}
    for at, layer in enumerate(space.layers):
        last = at == len(space.layers) - 1
        if colours is not None and not last:
            explain_colours(ax, draw_points(ax, plane[at], colours, 14))
            continue
        look: dict[str, Any] = {"edgecolors": PAPER, "linewidths": 0.5, "rasterized": len(plane[at]) > 3000}
        if last and space.links is None:  # labels and tags lie on top of what has them
            look |= {"color": PALETTE[1], "marker": "s", "s": 34, "zorder": 4}
        else:
            look |= {"color": PALETTE[(0, 2)[at]], "marker": "o^"[at], "s": 14, "zorder": 2, "alpha": 0.6}
        handles[layer.kind] = ax.scatter(*plane[at].T, **look)
    kinds = [f" of {layer.kind}" for layer in space.layers] if space.other_threshold is not None else [""]
    for kind, point, marker in zip(kinds, plane[len(space.layers) :], "x+", strict=False):
        handles[f"threshold{kind}"] = ax.scatter(
            point[:, 0], point[:, 1], color=INK, marker=marker, s=46, zorder=5
        )
    if space.links is not None:
        shown = space.links[
            np.linspace(0, len(space.links) - 1, min(len(space.links), _MOST_LINKS)).astype(int)
        ]
        ends = np.stack([plane[0][shown[:, 0]], plane[len(space.layers) - 1][shown[:, 1]]], axis=1)
        lines = LineCollection(list(ends), colors=MUTED, linewidths=0.5, alpha=0.35, zorder=1)
        name = "links" if len(shown) == len(space.links) else f"{len(shown):,} of {len(space.links):,} links"
        handles[name] = ax.add_collection(lines)
    return handles


def _draw_circles(ax: Axes, centres: np.ndarray, threshold: np.ndarray, space: Space) -> None:
    """Draw the circle in which the labels of each row lie; with a cut per label, that of the middle one."""
    cut = 0.0 if space.cuts is None else float(np.median(space.cuts))
    for centre in centres:
        square = float(((centre - threshold) ** 2).sum()) - cut
        style: dict[str, Any] = {"edgecolor": MUTED, "linewidth": 0.9, "zorder": 3}
        if square > 0:
            ax.add_patch(Circle(tuple(centre), square**0.5, facecolor="none", **style))
        ax.scatter(centre[0], centre[1], s=30, facecolor="none", edgecolors=INK, linewidths=1.0, zorder=5)


def _chosen(circles: int | ArrayLike, n_rows: int) -> np.ndarray:
    if np.ndim(circles) == 0:
        count = min(int(np.asarray(circles)), n_rows)
        if count < 0:
            raise ValueError(f"circles is {count}: give a number of rows from 0, or row numbers")
        return np.linspace(0, n_rows - 1, count).astype(int)
    rows = np.asarray(circles)
    if rows.dtype.kind not in "iu" or ((rows < 0) | (rows >= n_rows)).any():
        raise ValueError(f"circles must hold row numbers from 0 to {n_rows - 1}, not {rows.tolist()}")
    return rows


def _what_is_kept(space: Space, plane: list[np.ndarray], rows: np.ndarray | None) -> str:
    """Return what a reader must know about the plane."""
    everything = np.vstack([layer.points for layer in space.layers])
    if rows is not None:
        labels, flat = space.layers[-1].points, plane[len(space.layers) - 1]
        most = max(_MOST_PAIRS // max(len(labels), 1), 1)
        real = _decided(space.layers[0].points[:most], labels, _thresholds(space), space)
        drawn = _decided(rows[:most], flat, [point[0] for point in plane[len(space.layers) :]], space)
        return f"{np.mean(real == drawn):.0%} of the decisions are as in this plane"
    spread = principal_axes(everything)[1] if len(everything) > 1 else np.ones(1)
    return f"{spread[:2].sum():.0%} of the spread is in this plane"


def _thresholds(space: Space) -> list[np.ndarray]:
    return [point for point in (space.threshold, space.other_threshold) if point is not None]


def _decided(rows: np.ndarray, labels: np.ndarray, thresholds: list[np.ndarray], space: Space) -> np.ndarray:
    squares = ((rows[:, None] - labels[None]) ** 2).sum(axis=2)
    if not thresholds or space.cuts is None:
        return squares.argmin(axis=1)
    limits = ((rows - thresholds[0]) ** 2).sum(axis=1)[:, None]
    if space.links is not None:
        limits = np.minimum(limits, ((labels - thresholds[-1]) ** 2).sum(axis=1))
    return limits - squares > space.cuts


def _note(ax: Axes, text: str) -> None:
    ax.text(0.005, 0.008, text, fontsize=7, color=MUTED, transform=ax.transAxes, ha="left", va="bottom")
