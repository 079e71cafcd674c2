"""Links and other pairs as terms of an objective, and how well distances tell one from the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nearer.coembedding.terms import folds
from nearer.losses.links import LinkLoss
from nearer.objectives import LinkObjective

#: what a distance is compared with, by the squared distances of both objects from their thresholds
RULES: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "both": np.minimum,
    "mean": lambda first, second: (first + second) / 2,
    "either": np.maximum,
}


@dataclass(frozen=True)
class LinkTerms:
    """Pairs of objects, linked or not.

    Attributes
    ----------
    left : array or CSR matrix (n, k)
        Features of the left objects; the identity gives each a point of its own.
    right : array or CSR matrix (n', k'), optional
        Features of the right objects; None if both sides are one set.
    pairs : int array (q, 2)
    links : bool array (q,)
    weights : array (q,)
    rule : str
        One of `RULES`.
    offset : float
        What is added to all margins.
    """

    left: Any
    right: Any
    pairs: np.ndarray
    links: np.ndarray
    weights: np.ndarray
    rule: str = "both"
    offset: float = 0.0

    def __len__(self) -> int:
        return len(self.pairs)

    def objective(self, loss: LinkLoss, beta: float) -> LinkObjective:
        """Return the mean loss; `beta` is the strength of the trace for the sum over pairs, times their weights."""
        return LinkObjective(
            self.pairs,
            self.links,
            self.left,
            self.right,
            loss=loss,
            offset=self.offset,
            weights=self.weights,
            trace_penalty=beta / max(float(self.weights.sum()), 1e-300),
        )

    def decisions(self, Q: np.ndarray) -> np.ndarray:
        """Return by how much each pair is nearer than its thresholds, by the rule; links are predicted above 0."""
        return RULES[self.rule](*self.objective(LinkLoss(), 0.0).margins(Q))

    def error(self, Q: np.ndarray) -> float:
        """Return by how much the area under the ROC curve is below 1."""
        from sklearn.metrics import roc_auc_score

        return 1 - float(roc_auc_score(self.links, self.decisions(Q), sample_weight=self.weights))

    def score(self, Q: np.ndarray, loss: LinkLoss) -> float:
        """Return what strengths are chosen by: the error."""
        return self.error(Q)

    def splits(self, n_splits: int, rng: np.random.Generator) -> list[tuple[LinkTerms, LinkTerms]]:
        """Return folds of links and of other pairs; none if there are too few of either for all folds."""
        if min(self.links.sum(), (~self.links).sum()) < 2 * n_splits:
            return []
        fold = np.empty(len(self), np.int64)
        for kind in (self.links, ~self.links):
            fold[kind] = folds(np.arange(kind.sum()), n_splits, rng)
        return [(self._part(fold != at), self._part(fold == at)) for at in range(n_splits)]

    def _part(self, chosen: np.ndarray) -> LinkTerms:
        given = {name: getattr(self, name)[chosen] for name in ("pairs", "links", "weights")}
        return replace(self, **given)
