"""Make comparisons of known points."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np

from nearer._utils.arrays import compared_distances
from nearer._utils.validation import RandomState, positive, separate, whole
from nearer.comparisons import Comparisons
from nearer.datasets._sampling import WIDTHS, answered, checked_noise, draw_questions, n_questions
from nearer.errors import InputError, Suggestion
from nearer.losses import Loss


class Planted(NamedTuple):
    """Hold the `comparisons` of `planted` and the true `embedding` behind them.

    >>> from nearer.datasets import planted
    >>> planted(10, 2, 50, random_state=0).embedding.shape
    (10, 2)
    """

    comparisons: Comparisons
    embedding: np.ndarray


def planted(
    n_objects: int,
    n_components: int,
    n_comparisons: int,
    noise: float | str | Loss = 0.0,
    *,
    kind: Literal["triplets", "quadruplets"] = "triplets",
    scale: float | None = None,
    repeat: bool = True,
    random_state: RandomState = None,
) -> Planted:
    """Draw points from a normal distribution, and compare them.

    Parameters
    ----------
    n_objects, n_components : int
        Number of points, and number of their coordinates.
    n_comparisons : int
        Number of comparisons. The questions are drawn uniformly from all those about distinct objects.
    noise : float, str or loss, default=0.0
        A number between 0 and 0.5 is the fraction of answers to flip (exactly this fraction, at random).
        `"ste"` draws each answer by the STE model: the first pair is called nearer with probability
        `1 / (1 + exp(d_near - d_far))`, where d are squared distances. Close calls are noisy and clear ones
        are not. How noisy depends on `scale`. Any other loss with a probability works likewise, by name or as
        an object such as `nearer.losses.TSTE(alpha=9)`.
    kind : {"triplets", "quadruplets"}, default="triplets"
        `(i, j, k)`: i is nearer to j than to k; `(i, j, l, k)`: i and j are nearer to each other
        than l and k, all four different.
    scale : float, default=sqrt(1/20)
        Standard deviation of every coordinate.
    repeat : bool, default=True
        Whether a question may occur more than once. With False all questions differ, in either order.
    random_state : int, Generator, RandomState or None
        Source of points, questions and noise. The points do not depend on the number of comparisons.

    Returns
    -------
    Planted
        Named tuple of `comparisons` and `embedding` (n_objects, n_components).

    Examples
    --------
    >>> from nearer import metrics
    >>> from nearer.datasets import planted
    >>> answers, points = planted(50, 2, 1000, noise=0.1, random_state=0)
    >>> metrics.triplet_error(points, answers)
    0.1
    >>> planted(50, 2, 1000, noise="ste", scale=1.0, kind="quadruplets", random_state=0).comparisons.shape
    (1000, 4)
    """
    if kind not in WIDTHS:
        raise InputError(f"must be 'triplets' or 'quadruplets', not {kind!r}", parameter="kind")
    width = WIDTHS[kind]
    whole("n_objects", n_objects, at_least=width)
    whole("n_components", n_components)
    whole("n_comparisons", n_comparisons)
    scale = math.sqrt(1 / 20) if scale is None else scale
    positive("scale", scale)
    noise = checked_noise(noise)
    if isinstance(noise, Loss):
        noise = noise.resolved(n_components)
    available = n_questions(n_objects, width)
    if not repeat and n_comparisons > available:
        raise InputError(
            f"{n_objects} objects have only {available} different {kind}, not {n_comparisons}",
            remedy=["ask for fewer", Suggestion("repeat", True)],
        )
    rng = separate(random_state)
    points = rng.normal(scale=scale, size=(n_objects, n_components))
    questions = draw_questions(n_objects, n_comparisons, width, rng, available=None if repeat else available)
    comparisons = answered(questions, n_objects, lambda rows: compared_distances(points, rows), noise, rng)
    return Planted(comparisons, points)
