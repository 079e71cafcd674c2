"""Posts as terms of an objective: a user and an item with a set of tags, and how well lists of tags agree with it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nearer._utils.arrays import relative
from nearer.coembedding.terms import folds
from nearer.interactions.lists import best_of
from nearer.losses.label_sets import LabelSetLoss
from nearer.objectives import AffinityObjective

#: length of the lists that strengths are judged by, as in the paper
LIST = 5


@dataclass(frozen=True)
class PostTerms:
    """Posts, each a row that describes its user and its item, with its set of tags.

    Attributes
    ----------
    rows : array or CSR matrix (n, p)
        Features of the user, then of the item.
    tags : CSR matrix (n, m)
    tag_features : array or CSR matrix (m, k), optional
    weights : array (n,), optional
    """

    rows: Any
    tags: Any
    tag_features: Any = None
    weights: np.ndarray | None = None

    def __len__(self) -> int:
        return int(self.tags.shape[0])

    def objective(self, loss: LabelSetLoss, beta: float) -> AffinityObjective:
        """Return the mean loss; `beta` is the strength of the trace for the sum over posts, times their weights."""
        total = len(self) if self.weights is None else float(self.weights.sum())
        return AffinityObjective(
            self.rows,
            self.tags,
            loss=loss,
            label_features=self.tag_features,
            parts=2,
            threshold=False,
            weights=self.weights,
            trace_penalty=beta / max(total, 1e-300),
        )

    def error(self, Q: np.ndarray) -> float:
        """Return by how much the F1 of lists of five tags is below 1."""
        n = self.rows.shape[1]
        V = Q[n:] if self.tag_features is None else np.asarray(self.tag_features @ Q[n:])
        affinities = np.asarray(self.rows @ Q[:n]) @ (2 * V.T) - 2 * np.einsum("ij,ij->i", V, V)
        return 1 - list_f1(best_of(affinities, LIST).items, self.tags, self.weights)

    def score(self, Q: np.ndarray, loss: LabelSetLoss) -> float:
        """Return what strengths are chosen by: the error."""
        return self.error(Q)

    def splits(self, n_splits: int, rng: np.random.Generator) -> list[tuple[PostTerms, PostTerms]]:
        """Return folds of posts."""
        fold = folds(np.arange(len(self)), n_splits, rng)
        return [(self._part(fold != at), self._part(fold == at)) for at in range(n_splits)]

    def _part(self, chosen: np.ndarray) -> PostTerms:
        weights = None if self.weights is None else self.weights[chosen]
        return replace(self, rows=self.rows[chosen], tags=self.tags[chosen], weights=weights)


def list_f1(items: np.ndarray, tags: Any, weights: np.ndarray | None = None, lost: Any = 0) -> float:
    """Return the F1 of mean precision and mean recall of lists, as in the challenge of the paper.

    `lost` counts tags per post that no list can hold.

    >>> from scipy import sparse
    >>> round(list_f1(np.array([[0, 1], [2, 0]]), sparse.csr_matrix([[1, 0, 0], [0, 1, 1]])), 3)
    0.6
    """
    rows = np.repeat(np.arange(len(items)), items.shape[1])
    there = items.ravel() >= 0
    hits = np.zeros(len(items))
    found = np.asarray(tags[rows[there], items.ravel()[there]]).ravel() > 0
    np.add.at(hits, rows[there], found)
    shares = None if weights is None else relative(weights)
    precision = np.average(hits / items.shape[1], weights=shares)
    recall = np.average(hits / np.maximum(np.diff(tags.indptr) + lost, 1), weights=shares)
    return float(2 * precision * recall / (precision + recall)) if recall > 0 else 0.0
