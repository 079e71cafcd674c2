"""The four kinds of supervision that a metric is learned from, each with its terms and its score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from nearer._utils.arrays import relative
from nearer.coembedding.terms import Margins, Similarities, Terms
from nearer.errors import InputError
from nearer.pairwise.scoring import nearness_auc, share_in_order

#: rows of other labels from which a row is kept away: the nearest ones
IMPOSTORS = 10
#: squared distance below which rows that belong together should be, and above which others should be
THRESHOLD = 2.0


@dataclass(frozen=True)
class TargetTask:
    """A similarity for every two rows."""

    target: np.ndarray
    kind: ClassVar[str] = "similarities"
    usual_loss: ClassVar[str] = "square"

    def terms(self, rows: Any, n_neighbors: int) -> Terms:
        """Return the squared errors of inner products."""
        return Similarities(rows, self.target)

    def score(self, points: np.ndarray) -> float:
        """Return the coefficient of determination of the inner products."""
        errors = np.sum((self.target - points @ points.T) ** 2)
        spread = np.sum((self.target - self.target.mean()) ** 2)
        return float(1 - errors / spread) if spread > 0 else float(errors == 0)


@dataclass(frozen=True)
class ComparisonTask:
    """Comparisons of rows, as quadruplets: the first two are nearer than the last two."""

    quadruplets: np.ndarray
    weights: np.ndarray | None = None
    groups: np.ndarray | None = None
    kind: ClassVar[str] = "comparisons"
    usual_loss: ClassVar[str] = "smooth-hinge"

    def terms(self, rows: Any, n_neighbors: int) -> Terms:
        """Return one margin per comparison, by how much the farther pair is farther."""
        near, far = self.quadruplets[:, :2], self.quadruplets[:, 2:]
        return Margins(rows, near, far, np.zeros(len(near)), self.weights, self.groups)

    def score(self, points: np.ndarray) -> float:
        """Return the share of comparisons that hold; a tie does not."""
        first, second, third, fourth = (points[column] for column in self.quadruplets.T)
        holds = _squares(first - second) < _squares(third - fourth)
        weights = None if self.weights is None else relative(self.weights)
        return float(np.average(holds, weights=weights))


@dataclass(frozen=True)
class LabelTask:
    """A label for every row: neighbours of one label should be nearer than rows of others."""

    labels: np.ndarray
    kind: ClassVar[str] = "labels"
    usual_loss: ClassVar[str] = "smooth-hinge"

    def terms(self, rows: Any, n_neighbors: int) -> Terms:
        """Return a margin for every row, each of its nearest of its label, and each of the nearest of others."""
        codes = np.unique(self.labels, return_inverse=True)[1]
        near, far = neighbour_triplets(rows, codes, n_neighbors)
        return Margins(rows, near, far, np.zeros(len(near)), groups=near[:, 0])

    def score(self, points: np.ndarray) -> float:
        """Return the area under the ROC curve by which nearness tells pairs of one label from pairs of two."""
        return nearness_auc(points, self.labels)


@dataclass(frozen=True)
class PairTask:
    """Pairs of rows that belong together, or do not."""

    pairs: np.ndarray
    same: np.ndarray
    kind: ClassVar[str] = "pairs"
    usual_loss: ClassVar[str] = "smooth-hinge"

    def terms(self, rows: Any, n_neighbors: int) -> Terms:
        """Return one margin per pair, by how far it is on its side of the threshold; both sides weigh the same."""
        near = np.where(self.same[:, None], self.pairs, -1)
        far = np.where(self.same[:, None], -1, self.pairs)
        offset = np.where(self.same, THRESHOLD, -THRESHOLD)
        counts = np.bincount(self.same.astype(int), minlength=2)
        return Margins(rows, near, far, offset, 1.0 / counts[self.same.astype(int)])

    def score(self, points: np.ndarray) -> float:
        """Return the area under the ROC curve by which nearness tells the two kinds of pairs apart."""
        first, second = (points[column] for column in self.pairs.T)
        return share_in_order(-_squares(first - second), self.same)


Task = TargetTask | ComparisonTask | LabelTask | PairTask


def neighbour_triplets(rows: Any, codes: np.ndarray, n_neighbors: int) -> tuple[np.ndarray, np.ndarray]:
    """Return pairs of every row with its nearest of one label, and with the nearest of others, in all combinations.

    >>> near, far = neighbour_triplets(np.array([[0.0], [1.0], [5.0], [7.0]]), np.array([0, 0, 1, 1]), 1)
    >>> near[:2].tolist(), far[:2].tolist()
    ([[0, 1], [0, 1]], [[0, 2], [0, 3]])
    """
    from sklearn.neighbors import NearestNeighbors

    anchors, targets, impostors = [], [], []
    for code in np.unique(codes):
        own, other = np.flatnonzero(codes == code), np.flatnonzero(codes != code)
        if len(own) < 2 or not len(other):
            continue
        k, m = min(n_neighbors, len(own) - 1), min(IMPOSTORS, len(other))
        alike = own[NearestNeighbors(n_neighbors=k).fit(rows[own]).kneighbors(return_distance=False)]
        search = NearestNeighbors(n_neighbors=m).fit(rows[other])
        apart = other[search.kneighbors(rows[own], return_distance=False)]
        anchors.append(np.repeat(own, k * m))
        targets.append(np.repeat(alike.ravel(), m))
        impostors.append(np.repeat(apart[:, None, :], k, axis=1).ravel())
    if not anchors:
        raise InputError(
            "has no two rows of one label, or one label only: there are no neighbours to learn from",
            "give labels of which at least two occur, one of them twice",
            parameter="y",
        )
    whole = np.concatenate(anchors)
    return np.stack([whole, np.concatenate(targets)], 1), np.stack([whole, np.concatenate(impostors)], 1)


def _squares(differences: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", differences, differences)
