"""Make comparisons from a matrix of distances, or from labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from nearer._utils.arrays import row_blocks
from nearer._utils.neighbours import label_codes
from nearer._utils.validation import RandomState, separate, whole
from nearer.comparisons import Comparisons
from nearer.datasets._sampling import (
    answered,
    checked_noise,
    checked_share,
    draw_questions,
    every_question,
)
from nearer.errors import InputError, Suggestion
from nearer.losses import Loss


def triplets_from_distances(
    distances: ArrayLike,
    n_comparisons: int | Literal["all"] = "all",
    noise: float | str | Loss = 0.0,
    *,
    names: Sequence[str] | None = None,
    repeat: bool = True,
    random_state: RandomState = None,
) -> Comparisons:
    """Return triplets `(i, j, k)` with `distances[i, j] < distances[i, k]`.

    Parameters
    ----------
    distances : array of shape (n, n)
        Row i contains the distances of object i to the others. The diagonal is ignored. The matrix need not be
        symmetric. Questions with two equal distances have no answer and are left out.
    n_comparisons : int or "all", default="all"
        Number of triplets to draw uniformly. "all" returns every triplet with an answer once, about n³/2.
    noise : float, str or loss, default=0.0
        Fraction of flipped answers or a model of answers, as in `nearer.datasets.planted`. A model such as
        `"ste"` uses the squared distances in their units: scale them to the order of 1 first.
    names : sequence of str, optional
        Names of the objects.
    repeat : bool, default=True
        Whether a drawn triplet may occur more than once.
    random_state : int, Generator, RandomState or None
        Source of questions and noise.

    Examples
    --------
    >>> import numpy as np
    >>> from nearer.datasets import triplets_from_distances
    >>> places = np.array([0.0, 1.0, 3.0])
    >>> triplets_from_distances(abs(places[:, None] - places)).indices
    array([[0, 1, 2],
           [1, 0, 2],
           [2, 1, 0]], dtype=int32)
    """
    distances = _checked_distances(distances)
    noise = checked_noise(noise)
    rng = separate(random_state)
    questions = _questions(distances, n_comparisons, repeat, rng)

    def near_far(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        anchor, left, right = rows.T
        return distances[anchor, left] ** 2, distances[anchor, right] ** 2

    return answered(questions, len(distances), near_far, noise, rng, names)


def triplets_from_labels(
    labels: ArrayLike, n_comparisons: int, flip: float = 0.0, random_state: RandomState = None
) -> Comparisons:
    """Return triplets `(i, j, k)` where i and j have the same label and k a different one.

    Parameters
    ----------
    labels : array of shape (n,)
        Label of every object.
    n_comparisons : int
        Number of triplets to draw, with repetition: i uniformly among the objects that share their label with
        another one, j uniformly among those others, k uniformly among the objects with a different label.
    flip : float, default=0.0
        Fraction of triplets, between 0 and 1, in which j and k are exchanged (exactly this fraction, at random).
    random_state : int, Generator, RandomState or None
        Source of the draws.

    Examples
    --------
    >>> from nearer.datasets import triplets_from_labels
    >>> triplets_from_labels(["cat", "cat", "dog"], 4, random_state=0).indices.tolist()
    [[1, 0, 2], [1, 0, 2], [0, 1, 2], [0, 1, 2]]
    """
    (classes,) = label_codes(labels)
    whole("n_comparisons", n_comparisons)
    flip = checked_share("flip", flip, 1.0)
    counts = np.bincount(classes)
    anchors = np.flatnonzero(counts[classes] > 1)
    if len(counts) < 2 or not len(anchors):
        raise InputError(
            "must contain at least two different labels, one of them at least twice", parameter="labels"
        )
    rng = separate(random_state)
    indices = np.empty((n_comparisons, 3), dtype=np.int32)
    for block in row_blocks(n_comparisons):
        chosen = anchors[rng.integers(len(anchors), size=block.stop - block.start)]
        indices[block] = _with_like_and_unlike(chosen, classes, counts, rng)
    return Comparisons(indices, len(classes)).with_noise(flip, rng)


def _with_like_and_unlike(
    anchors: np.ndarray, classes: np.ndarray, counts: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Return for every anchor another object of its class and one of another class."""
    by_class = np.argsort(classes, kind="stable")
    place = np.empty_like(by_class)
    place[by_class] = np.arange(len(by_class))
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    size, start = counts[classes[anchors]], starts[classes[anchors]]
    like = start + rng.integers(size - 1)
    like += like >= place[anchors]  # skip the anchor itself
    unlike = rng.integers(len(classes) - size)
    unlike[unlike >= start] += size[unlike >= start]  # skip the anchor's whole class
    return np.stack([anchors, by_class[like], by_class[unlike]], axis=1)


def _checked_distances(distances: ArrayLike) -> np.ndarray:
    distances = np.array(distances, dtype=np.float64)
    if distances.ndim != 2 or distances.shape[0] != distances.shape[1] or len(distances) < 3:
        raise InputError(
            f"must be a square matrix of at least 3 objects, not an array of shape {distances.shape}",
            parameter="distances",
        )
    np.fill_diagonal(distances, 0.0)
    bad = np.argwhere(~(np.isfinite(distances) & (distances >= 0)))
    if len(bad):
        i, j = bad[0]
        raise InputError(f"distances[{i}, {j}] is {distances[i, j]}: give finite numbers of at least 0")
    return distances


def _questions(
    distances: np.ndarray, n_comparisons: int | str, repeat: bool, rng: np.random.Generator
) -> np.ndarray:
    """Return all questions that the distances answer, or the number of them asked for."""
    available = _n_untied(distances)
    if not available:
        raise InputError("answer no question because all of each object are equal", parameter="distances")
    if n_comparisons == "all":
        return _all_questions(distances)
    whole("n_comparisons", n_comparisons)
    n_rows = int(n_comparisons)
    if n_rows > available and not repeat:
        raise InputError(
            f"the distances settle only {available} different triplets, not {n_rows}",
            remedy=["ask for fewer", Suggestion("repeat", True)],
        )
    return draw_questions(
        len(distances),
        n_rows,
        3,
        rng,
        available=None if repeat else available,
        keep=lambda rows: _untied(distances, rows),
    )


def _untied(distances: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return distances[rows[:, 0], rows[:, 1]] != distances[rows[:, 0], rows[:, 2]]


def _all_questions(distances: np.ndarray) -> np.ndarray:
    """Return every triplet whose two distances differ, anchor by anchor."""
    return np.concatenate([rows[_untied(distances, rows)] for rows in every_question(len(distances), 3)])


def _n_untied(distances: np.ndarray) -> int:
    """Return the number of triplets with two different distances."""
    n = len(distances)
    tied = 0
    for anchor, row in enumerate(distances):
        counts = np.unique(np.delete(row, anchor), return_counts=True)[1]
        tied += int((counts * (counts - 1) // 2).sum())
    return n * (n - 1) * (n - 2) // 2 - tied
