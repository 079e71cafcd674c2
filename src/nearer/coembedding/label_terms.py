"""Rows with sets of labels as terms of an objective."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nearer.coembedding.decisions import best_value
from nearer.coembedding.sigmoids import log_loss
from nearer.coembedding.terms import folds
from nearer.losses.label_sets import LabelSetLoss
from nearer.objectives import AffinityObjective


@dataclass(frozen=True)
class LabelledRows:
    """Rows, each with its set of labels.

    Attributes
    ----------
    rows : array or CSR matrix (n, p)
    labels : CSR matrix (n, m)
    label_features : array or CSR matrix (m, k), optional
    criterion : str
        What errors are counted by, see `decisions.py`.
    loss : LabelSetLoss
        Tells whether there is a threshold: a relative loss has none.
    """

    rows: Any
    labels: Any
    label_features: Any
    criterion: str
    loss: LabelSetLoss

    def __len__(self) -> int:
        return int(self.labels.shape[0])

    def objective(self, loss: LabelSetLoss, beta: float) -> AffinityObjective:
        """Return the mean loss; `beta` is the strength of the trace for the sum over rows."""
        return AffinityObjective(
            self.rows,
            self.labels,
            loss=loss,
            label_features=self.label_features,
            threshold=not self.loss.relative,
            trace_penalty=beta / max(len(self), 1),
        )

    def affinities(self, Q: np.ndarray, into: np.ndarray | None = None) -> np.ndarray:
        """Return the affinities of all rows with all labels; `into` is an array to write them to."""
        return self.objective(self.loss, 0.0).affinities(Q, into)

    def error(self, Q: np.ndarray) -> float:
        """Return by how much the criterion is below 1, with the best threshold for these rows."""
        return 1 - best_value(self.affinities(Q), self.labels, self.criterion)

    def score(self, Q: np.ndarray, loss: LabelSetLoss) -> float:
        """Return what strengths are chosen by: the log-loss of calibrated probabilities, which varies less than errors.

        With exactly one label per row, it is the error.
        """
        if self.loss.relative:
            return self.error(Q)
        return log_loss(self.affinities(Q), self.labels.astype(bool).toarray())

    def splits(self, n_splits: int, rng: np.random.Generator) -> list[tuple[LabelledRows, LabelledRows]]:
        """Return folds of rows."""
        fold = folds(np.arange(len(self)), n_splits, rng)
        return [(self._part(fold != at), self._part(fold == at)) for at in range(n_splits)]

    def first(self, count: int) -> LabelledRows:
        """Return no more than this many rows."""
        return self if len(self) <= count else self._part(slice(count))

    def _part(self, chosen: np.ndarray | slice) -> LabelledRows:
        return replace(self, rows=self.rows[chosen], labels=self.labels[chosen])
