"""Small interactions with known answers."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

import nearer

#: a fit that takes a fraction of a second
QUICK = {"n_components": 6, "hidden": (), "max_epochs": 150, "random_state": 0}


@lru_cache
def planted(seed: int = 0, n_pairs: int = 2000):
    return nearer.datasets.planted_interactions(120, 60, 3, n_pairs, sharpness=6.0, random_state=seed)


@lru_cache
def split(seed: int = 0):
    return planted(seed).interactions.split(test_size=0.2, random_state=seed)


def popularity(train, test) -> float:
    """MAP@5 of the most popular entities that were not seen."""
    scores = np.broadcast_to(np.asarray(train.csr().sum(axis=0)).ravel(), train.shape).copy()
    scores[train.left, train.right] = -np.inf
    ranked = np.argsort(-scores, axis=1)[:, :5]
    return nearer.metrics.mean_precision(ranked, test.csr(), k=5)
