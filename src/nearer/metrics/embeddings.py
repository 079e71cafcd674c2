"""Measure an embedding: on comparisons, against the truth, and in retrieval."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from nearer._utils.arrays import checked_points, first_pair_nearer, relative
from nearer._utils.neighbours import Search
from nearer.comparisons import Comparisons
from nearer.errors import InputError
from nearer.losses.formulas import sigmoid

__all__ = [
    "calibrated_loss",
    "mean_average_precision",
    "neighbour_agreement",
    "precision_at_k",
    "procrustes_align",
    "procrustes_distance",
    "recall_at_k",
    "triplet_error",
]

#: bounds of the psychometric function, for margins of mean size 1, and the change at which its fit ends
_LEAST_SLOPE, _MOST_SLOPE, _MOST_LAPSE, _CLOSE, _MOST_STEPS = 1e-3, 100.0, 0.9, 2e-3, 30
_TINY = 1e-12
#: comparisons from which slope and lapse rate are estimated
_ENOUGH = 4000


def triplet_error(embedding: ArrayLike, comparisons: Comparisons | ArrayLike) -> float:
    """Return the fraction of comparisons that do not hold in the embedding. A tie does not hold.

    Parameters
    ----------
    embedding : array of shape (n, p)
        Points of the objects.
    comparisons : Comparisons or int array of shape (q, 3) or (q, 4)
        Weights, if present, make it a weighted fraction.

    Examples
    --------
    >>> import numpy as np
    >>> points = np.array([[0.0], [1.0], [3.0], [1.0]])
    >>> triplet_error(points, [(0, 1, 2), (0, 2, 1), (0, 1, 3), (2, 1, 0)])
    0.5
    """
    points, comparisons, weights = _to_judge(embedding, comparisons)
    return _share(~first_pair_nearer(points, comparisons.indices), weights)


def calibrated_loss(embedding: ArrayLike, comparisons: Comparisons | ArrayLike) -> float:
    """Return the mean log loss of a psychometric function of the differences of plain distances.

    The function: an answer is right with probability `lapse / 2 + (1 - lapse) / (1 + exp(-slope * difference))`. Slope
    and lapse rate are those that make the loss smallest. So every comparison counts by how clearly it holds or
    fails, fewer of them tell embeddings apart than by the error, and the scale of the embedding does not matter.
    Guessing scores log 2 = 0.693; lower is better.

    Parameters
    ----------
    embedding : array of shape (n, p)
        Points of the objects.
    comparisons : Comparisons or int array of shape (q, 3) or (q, 4)
        Weights, if present, make it a weighted mean.

    Examples
    --------
    >>> import numpy as np
    >>> points = np.array([[0.0], [1.0], [3.0]])
    >>> answers = [(0, 1, 2), (1, 0, 2), (0, 2, 1)]
    >>> round(calibrated_loss(points, answers), 3), round(calibrated_loss(9 * points, answers), 3)
    (0.637, 0.637)
    """
    return error_and_loss(embedding, comparisons)[1]


def error_and_loss(embedding: ArrayLike, comparisons: Comparisons | ArrayLike) -> tuple[float, float]:
    """Return the share of comparisons that do not hold, and `calibrated_loss`, from one look at the distances.

    Unlike in `triplet_error`, squares that vanish are ties.

    >>> error_and_loss(np.array([[0.0], [1.0], [3.0]]), [(0, 1, 2), (0, 2, 1)])[0]
    0.5
    """
    from nearer._compiled.points import distances

    points, comparisons, weights = _to_judge(embedding, comparisons)
    near, far = np.empty((2, len(comparisons)), points.dtype)
    distances(np.ascontiguousarray(points), comparisons.indices, near, far)
    return _share(~(near < far), weights), _calibrated_loss(np.sqrt(far) - np.sqrt(near), weights)


def _share(which: np.ndarray, weights: np.ndarray | None) -> float:
    """Return the weighted share of those that are true."""
    if weights is None:
        return float(which.sum()) / len(which)
    return float(weights[which].sum() / weights.sum())


def _calibrated_loss(margins: np.ndarray, weights: np.ndarray | None) -> float:
    """Return the mean log loss of differences of distances."""
    size = float(np.abs(margins).mean())
    if size == 0:
        return float(np.log(2.0))
    margins = margins / size
    weights = np.full(len(margins), 1 / len(margins)) if weights is None else weights / weights.sum()
    # two numbers need no more than some comparisons; copied, since numba compiles again for another order
    some = slice(None, None, max(len(margins) // _ENOUGH, 1))
    few, their = np.ascontiguousarray(margins[some]), np.ascontiguousarray(weights[some])
    slope, lapse = _psychometric(few, their / max(their.sum(), _TINY))
    loss = -float(np.log(lapse / 2 + (1 - lapse) * sigmoid(slope * margins)) @ weights)
    return min(loss, float(np.log(2.0)))  # that of slope 0


def _psychometric(margins: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """Return slope and lapse rate of the most likely psychometric function, by Fisher scoring."""
    from nearer._compiled.psychometric import sums

    slope, lapse = 1.0, 0.05
    for _ in range(_MOST_STEPS):
        by_slope, by_lapse, a, b, c = sums(margins, weights, slope, lapse, _TINY)
        a, c = a + _TINY, c + _TINY
        step = (
            (c * by_slope - b * by_lapse) / (a * c - b * b),
            (a * by_lapse - b * by_slope) / (a * c - b * b),
        )
        if lapse == 0 and step[1] < 0:  # at the bound, the slope moves alone
            step = by_slope / a, 0.0
        before = slope, lapse
        slope = min(max(slope + step[0], slope / 4, _LEAST_SLOPE), 4 * slope, _MOST_SLOPE)
        lapse = min(max(lapse + step[1], 0.0), _MOST_LAPSE)
        if abs(slope - before[0]) < _CLOSE * slope and abs(lapse - before[1]) < _CLOSE:
            break
    return slope, lapse


def _to_judge(
    embedding: ArrayLike, comparisons: Comparisons | ArrayLike
) -> tuple[np.ndarray, Comparisons, np.ndarray | None]:
    """Return checked points, the comparisons about them, and weights of a size that can be summed."""
    points = checked_points(embedding, "embedding")
    if not isinstance(comparisons, Comparisons):
        comparisons = Comparisons(comparisons, len(points))
    if comparisons.n_objects > len(points):
        raise InputError(
            f"the comparisons are about {comparisons.n_objects} objects but the embedding has "
            f"{len(points)} points: use the embedding of these objects"
        )
    weights = None if comparisons.weights is None else relative(comparisons.weights)
    if len(comparisons) == 0 or (weights is not None and not weights.any()):
        raise InputError("the error of no comparisons is undefined: give at least one with a weight above 0")
    return points, comparisons, weights


def procrustes_distance(X: ArrayLike, Y: ArrayLike) -> float:
    """Return how different two configurations are, regardless of position, orientation and scale: 0 (same) to 1.

    It is the sum of squared differences that remains after the best translation, rotation or reflection, and
    scaling, divided by the sum of squares about the mean. `scipy.spatial.procrustes` calls it disparity. It is
    symmetric. If one configuration has fewer columns, columns of zeros are added.

    Examples
    --------
    >>> import numpy as np
    >>> square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    >>> round(procrustes_distance(square, 7 - 3 * square[:, ::-1]), 9)
    0.0
    """
    from scipy.spatial import procrustes

    disparity = procrustes(*(_standardised(points)[0] for points in _same_shape(X, Y)))[2]
    return float(np.clip(disparity, 0.0, 1.0))  # rounding can leave -1e-16


def procrustes_align(X: ArrayLike, onto: ArrayLike) -> np.ndarray:
    """Return a copy of `X`, moved, rotated or reflected, and scaled to lie as close to `onto` as possible.

    Examples
    --------
    >>> import numpy as np
    >>> square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    >>> bool(np.allclose(procrustes_align(7 - 3 * square[:, ::-1], onto=square), square))
    True
    """
    from scipy.linalg import orthogonal_procrustes

    points, target = _same_shape(X, onto)
    (shape, _, _), (wanted, centre, size) = _standardised(points), _standardised(target)
    rotation, similarity = orthogonal_procrustes(shape, wanted)
    return 2 * (shape @ rotation * (similarity / np.sum(shape**2)) * size + centre)


def precision_at_k(
    queries: ArrayLike,
    database: ArrayLike | None,
    query_labels: ArrayLike,
    database_labels: ArrayLike | None = None,
    k: int = 10,
) -> float:
    """Return the fraction of a query's k nearest points that carry its label, averaged over the queries.

    Parameters
    ----------
    queries : array of shape (n_queries, p)
        Points to search with.
    database : array of shape (n_points, p) or None
        Points to search in, ranked by Euclidean distance. Of equally distant points the one with the lower
        index comes first. With None each query searches all other queries.
    query_labels, database_labels : arrays of shape (n_queries,) and (n_points,)
        A point is relevant to a query with the same label. Leave `database_labels` out if `database` is None.
    k : int, default=10
        Number of points to retrieve.

    Examples
    --------
    >>> points, labels = [[0.0], [1.0], [1.5], [5.0]], ["a", "a", "b", "b"]
    >>> precision_at_k(points, None, labels, k=1)
    0.5
    >>> precision_at_k([[4.0]], points, ["b"], labels, k=3)
    0.6666666666666666
    """
    search = Search(queries, database, query_labels, database_labels, k)
    return float(np.concatenate([relevant.mean(axis=1) for relevant, _ in search.ranked_relevance()]).mean())


def recall_at_k(
    queries: ArrayLike,
    database: ArrayLike | None,
    query_labels: ArrayLike,
    database_labels: ArrayLike | None = None,
    k: int = 10,
) -> float:
    """Return the fraction of the points with a query's label found among its k nearest, averaged over the queries.

    Queries whose label does not occur in the database are left out. Parameters are those of `precision_at_k`.

    Examples
    --------
    >>> points, labels = [[0.0], [1.0], [1.5], [5.0]], ["a", "a", "b", "b"]
    >>> recall_at_k([[4.0]], points, ["b"], labels, k=1)
    0.5
    """
    search = Search(queries, database, query_labels, database_labels, k)
    return _mean_where_defined(
        [relevant.sum(axis=1) / total for relevant, total in search.ranked_relevance(only_answerable=True)]
    )


def mean_average_precision(
    queries: ArrayLike,
    database: ArrayLike | None,
    query_labels: ArrayLike,
    database_labels: ArrayLike | None = None,
    k: int | None = None,
) -> float:
    """Return the mean over the queries of the average precision at the ranks of the points with their label.

    Queries whose label does not occur in the database are left out. Parameters are those of `precision_at_k`,
    but `k` defaults to None, the whole ranking. With a `k` only the first k ranks count. The sum of precisions
    is then divided by k or the number of relevant points, whichever is smaller, so that a perfect ranking
    scores 1.

    Examples
    --------
    >>> points, labels = [[0.0], [1.0], [1.5], [5.0]], ["a", "a", "b", "b"]
    >>> mean_average_precision([[1.6]], points, ["a"], labels)
    0.5833333333333333
    """
    search = Search(queries, database, query_labels, database_labels, k)
    return _mean_where_defined(
        [_average_precision(*block) for block in search.ranked_relevance(only_answerable=True)]
    )


def neighbour_agreement(embedding: ArrayLike, labels: ArrayLike, k: int = 5) -> float:
    """Return the fraction of objects whose label is the most frequent one among their k nearest other objects.

    This is the leave-one-out accuracy of a k-nearest-neighbour classifier. If labels get equally many votes, the
    one with the nearest voter wins. (`precision_at_k(embedding, None, labels, k=k)` is the mean fraction of
    neighbours with the same label.)

    Examples
    --------
    >>> neighbour_agreement([[0.0], [1.0], [1.5], [2.0], [9.0]], ["a", "a", "a", "b", "b"], k=3)
    0.6
    """
    search = Search(embedding, None, labels, None, k)
    classes, hits = search.database_classes, []
    n_classes = int(classes.max()) + 1
    for block, neighbours in search.ranked():
        voted = classes[neighbours]
        row = np.arange(len(voted))[:, None] * n_classes
        votes = np.bincount((row + voted).ravel(), minlength=len(voted) * n_classes)[row + voted]
        winner = np.take_along_axis(voted, votes.argmax(axis=1)[:, None], axis=1)[:, 0]
        hits.append(winner == classes[block])
    return float(np.concatenate(hits).mean())


def _average_precision(relevant: np.ndarray, total: np.ndarray) -> np.ndarray:
    ranks = np.arange(1, relevant.shape[1] + 1)
    precision = np.cumsum(relevant, axis=1) / ranks
    return (precision * relevant).sum(axis=1) / np.minimum(total, relevant.shape[1])


def _mean_where_defined(blocks: list[np.ndarray]) -> float:
    values = np.concatenate(blocks)
    if not len(values):
        raise InputError("no query shares its label with a point: check that the labels match")
    return float(values.mean())


def _same_shape(X: ArrayLike, Y: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return both as float64 with the same number of columns, padded with zeros."""
    first, second = (checked_points(points, "configuration").astype(np.float64) for points in (X, Y))
    if len(first) != len(second):
        raise InputError(
            f"the configurations have {len(first)} and {len(second)} points: give the same objects"
        )
    for points in (first, second):
        if (points == points[0]).all():
            raise InputError("all points of a configuration coincide: its shape is undefined")
    width = max(first.shape[1], second.shape[1])
    return tuple(np.pad(points, ((0, 0), (0, width - points.shape[1]))) for points in (first, second))  # type: ignore[return-value]


def _standardised(points: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the points about their centre, scaled so that squares neither overflow nor vanish; centre; size.

    `points` is `2 * (size * standardised + centre)`.
    """
    halves = 0.5 * points  # differences of the largest numbers would overflow
    moved = halves - halves[0]  # equal columns become exactly 0: rounding must not look like a shape
    size = float(np.abs(moved).max())
    moved /= size
    middle = moved.mean(axis=0)
    return moved - middle, halves[0] + size * middle, size
