"""Losses of a row against all labels: a row should be nearer to its own labels than to the others.

A margin says by how much one score is above another. Here there is a score for every label of a row, its *affinity*,
and the set of labels that are right. A loss of a margin is applied to affinities, or to their differences.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from nearer._utils.schema import Fields, Part
from nearer.losses.margins import LogisticLoss, MarginLoss, SmoothHingeLoss


@dataclass(frozen=True)
class LabelSetLoss(ABC):
    """How badly the affinities of a row fit its set of labels: convex in the affinities, never negative."""

    name: ClassVar[str]
    #: whether affinities are only compared with each other: adding a number to all of them changes nothing
    relative: ClassVar[bool]
    margin: MarginLoss
    _schema = Fields(margin=Part(MarginLoss))

    @property
    def smooth(self) -> bool:
        """Return whether the loss has a continuous derivative."""
        return bool(np.isfinite(self.margin.curvature))

    @abstractmethod
    def of_row(self, affinities: np.ndarray, own: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the loss of one row and its derivatives by the affinities; `own` marks the labels of the row."""

    def least(self, n_own: np.ndarray, n_other: np.ndarray) -> np.ndarray:
        """Return a number per row that its loss is never below, from its numbers of labels and of other labels."""
        return np.zeros(len(n_own))


@dataclass(frozen=True)
class SoftMaxLoss(LabelSetLoss):
    """The worst label counts most: eq. 13 of the co-embedding paper.

    `ln sum exp h(s)` over the affinities s of the labels of the row, plus `ln sum exp h(-s)` over the others. A sum
    without terms is left out.

    Parameters
    ----------
    margin : MarginLoss
        h. The affinity of a label of the row should be 1 or more, that of others -1 or less.

    Examples
    --------
    >>> value, slopes = SoftMaxLoss().of_row(np.array([3.0, -3.0, 0.0]), np.array([True, False, False]))
    >>> round(float(value), 4), slopes.round(4)
    (1.3133, array([-0.    ,  0.    ,  0.7311]))
    """

    margin: MarginLoss = field(default_factory=SmoothHingeLoss)
    name = "soft-max"
    relative = False

    def of_row(self, affinities: np.ndarray, own: np.ndarray) -> tuple[float, np.ndarray]:
        signs = np.where(own, 1.0, -1.0)
        values = np.asarray(self.margin.value(signs * affinities))
        slopes = signs * self.margin.slope(signs * affinities)
        total = 0.0
        for side in (own, ~own):
            if side.any():
                most = values[side].max()
                each = np.exp(values[side] - most)
                total += most + np.log(each.sum())
                slopes[side] *= each / each.sum()
        return total, slopes

    def least(self, n_own: np.ndarray, n_other: np.ndarray) -> np.ndarray:
        """Return the soft maxima of zeros: no loss of a margin is negative."""
        return np.log(np.maximum(n_own, 1)) + np.log(np.maximum(n_other, 1))


@dataclass(frozen=True)
class RankingLoss(LabelSetLoss):
    """Every label of the row against every other label: eq. 14 of the co-embedding paper.

    The sum of `h(s - t)` over the affinities s of the labels of the row and t of the others.

    Parameters
    ----------
    margin : MarginLoss
        h.

    Examples
    --------
    >>> value, slopes = RankingLoss().of_row(np.array([1.0, -3.0, 1.0]), np.array([True, False, False]))
    >>> round(float(value), 4), slopes.round(4)
    (0.7113, array([-0.518,  0.018,  0.5  ]))
    """

    margin: MarginLoss = field(default_factory=LogisticLoss)
    name = "ranking"
    relative = True

    def of_row(self, affinities: np.ndarray, own: np.ndarray) -> tuple[float, np.ndarray]:
        margins = affinities[own][:, None] - affinities[~own][None, :]
        by_margin = np.asarray(self.margin.slope(margins))
        slopes = np.empty(len(affinities))
        slopes[own], slopes[~own] = by_margin.sum(axis=1), -by_margin.sum(axis=0)
        return float(np.asarray(self.margin.value(margins)).sum()), slopes
