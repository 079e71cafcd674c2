"""Interactions with known answers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nearer._utils.validation import RandomState, separate, whole
from nearer.interactions import Interactions


class PlantedInteractions(NamedTuple):
    """Interactions with the points that made them, and features that tell of the points.

    Attributes
    ----------
    interactions : Interactions
        Who was seen with what.
    left, right : arrays of shape (n, n_components)
        The planted points.
    """

    interactions: Interactions
    left: np.ndarray
    right: np.ndarray


def planted_interactions(
    n_left: int = 200,
    n_right: int = 100,
    n_components: int = 3,
    n_pairs: int = 3000,
    *,
    sharpness: float = 4.0,
    random_state: RandomState = None,
) -> PlantedInteractions:
    """Draw pairs of points on two spheres; the chance of a pair grows with the inner product of its points.

    Parameters
    ----------
    n_left, n_right, n_components, n_pairs : int
        Numbers of points of either side, their dimensions, and pairs. Every pair is drawn at most once.
    sharpness : float
        How fast the chance grows; 0 makes all pairs equally likely.
    random_state : int, Generator, RandomState or None
        Source of random draws.

    Examples
    --------
    >>> planted_interactions(20, 10, 2, 50, random_state=0).interactions
    Interactions(50 pairs, 20 left, 10 right, density 25%)
    """
    for name, value in (("n_left", n_left), ("n_right", n_right), ("n_components", n_components)):
        whole(name, value)
    whole("n_pairs", n_pairs)
    rng = separate(random_state)
    points = [rng.normal(size=(count, n_components)) for count in (n_left, n_right)]
    left, right = (X / np.linalg.norm(X, axis=1, keepdims=True) for X in points)
    # the largest of (score + Gumbel noise) are draws without replacement in proportion to exp(score)
    keys = sharpness * (left @ right.T) + rng.gumbel(size=(n_left, n_right))
    chosen = np.argpartition(-keys, min(n_pairs, keys.size) - 1, axis=None)[:n_pairs]
    rows, columns = np.unravel_index(chosen, keys.shape)
    return PlantedInteractions(Interactions(rows, columns, n_left=n_left, n_right=n_right), left, right)
