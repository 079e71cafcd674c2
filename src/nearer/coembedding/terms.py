"""What a metric is fitted to: terms over rows, which can be split, made into an objective, and judged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from nearer._utils.arrays import relative
from nearer.losses.margins import MarginLoss, SquareLoss
from nearer.objectives import MetricDistances, SimilarityObjective
from nearer.objectives.base import WithFactors


class Terms(Protocol):
    """Terms of an objective over the factor of a metric."""

    def __len__(self) -> int:
        """Return the number of terms."""

    def objective(self, loss: Any, beta: float) -> WithFactors:
        """Return the mean loss of the terms plus a trace penalty that is proportional to `beta`."""

    def error(self, Q: np.ndarray) -> float:
        """Return how badly the metric Q Qᵀ does on the terms: 0 is perfect."""

    def score(self, Q: np.ndarray, loss: Any) -> float:
        """Return what to choose the strength of the penalty by, on held-out terms; lower is better."""

    def splits(self, n_splits: int, rng: np.random.Generator) -> list[tuple[Any, Any]]:
        """Return pairs of training and held-out terms; terms that say nearly the same stay together."""


@dataclass(frozen=True)
class Margins:
    """Margins `offset + distance of far - distance of near`, which should be 1 or more.

    Attributes
    ----------
    rows : array or CSR matrix (n, p)
    near, far : int array (k, 2)
        A pair of -1 is missing.
    offset : array (k,)
    weights : array (k,), optional
    groups : int array (k,), optional
        Margins of one group are held out together.
    """

    rows: Any
    near: np.ndarray
    far: np.ndarray
    offset: np.ndarray
    weights: np.ndarray | None = None
    groups: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.offset)

    def objective(self, loss: MarginLoss, beta: float) -> MetricDistances:
        """Return the weighted mean loss of the margins plus the trace term."""
        return MetricDistances(
            self.rows,
            self.near,
            self.far,
            loss=loss,
            offset=self.offset,
            weights=self.weights,
            trace_penalty=beta,
        )

    def error(self, Q: np.ndarray) -> float:
        """Return the weighted share of margins below 0; a tie counts half."""
        margins = self._all(Q)
        weights = None if self.weights is None else relative(self.weights)
        return float(np.average((margins < 0) + 0.5 * (margins == 0), weights=weights))

    def score(self, Q: np.ndarray, loss: MarginLoss) -> float:
        """Return the mean loss."""
        return self.objective(loss, 0.0).value(Q)

    def splits(self, n_splits: int, rng: np.random.Generator) -> list[tuple[Margins, Margins]]:
        """Return folds of groups."""
        groups = np.arange(len(self)) if self.groups is None else self.groups
        fold = folds(groups, n_splits, rng)
        return [(self._part(fold != at), self._part(fold == at)) for at in range(n_splits)]

    def _all(self, Q: np.ndarray) -> np.ndarray:
        return self.objective(SquareLoss(), 0.0).margins(Q)

    def _part(self, chosen: np.ndarray) -> Margins:
        names = ("near", "far", "offset", "weights", "groups")
        given = {name: getattr(self, name) for name in names}
        return replace(self, **{name: part[chosen] for name, part in given.items() if part is not None})


@dataclass(frozen=True)
class Similarities:
    """Target similarities of every two rows.

    Attributes
    ----------
    rows : array or CSR matrix (n, p)
    target : array (n, n)
    """

    rows: Any
    target: np.ndarray

    def __len__(self) -> int:
        return self.target.size

    def objective(self, loss: MarginLoss, beta: float) -> SimilarityObjective:
        """Return the mean squared error plus the trace term."""
        return SimilarityObjective(self.rows, self.target, trace_penalty=beta)

    def error(self, Q: np.ndarray) -> float:
        """Return the squared error, as a share of the squares of the target."""
        total = float(np.mean(self.target**2))
        return SimilarityObjective(self.rows, self.target).value(Q) / total if total > 0 else 0.0

    def score(self, Q: np.ndarray, loss: MarginLoss) -> float:
        """Return the mean squared error."""
        return self.objective(loss, 0.0).value(Q)

    def splits(self, n_splits: int, rng: np.random.Generator) -> list[tuple[Similarities, Similarities]]:
        """Return folds of rows: pairs of a training row and a held-out row are in neither part."""
        fold = folds(np.arange(len(self.target)), n_splits, rng)
        return [(self._part(fold != at), self._part(fold == at)) for at in range(n_splits)]

    def _part(self, chosen: np.ndarray) -> Similarities:
        return Similarities(self.rows[chosen], self.target[np.ix_(chosen, chosen)])


def folds(groups: np.ndarray, n_splits: int, rng: np.random.Generator) -> np.ndarray:
    """Return a fold per entry; groups are dealt at random.

    >>> found = folds(np.array([5, 5, 7, 7]), 2, np.random.default_rng(0)).tolist()
    >>> found[0] == found[1] != found[2] == found[3]
    True
    """
    kinds, codes = np.unique(groups, return_inverse=True)
    return (rng.permutation(len(kinds)) % n_splits)[codes]
