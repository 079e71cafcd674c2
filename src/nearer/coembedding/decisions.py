"""From affinities to decisions and probabilities: thresholds for a criterion, and calibration.

Affinities above 0 say that a row is nearer to a label than to the threshold. Which cut is best depends on what errors
cost, so it is chosen for a criterion, on rows that were not learned from. The cut is one of probabilities: at the same
affinity, one label may be likely and another not (`sigmoids.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nearer._utils.schema import Array, Fields, Number, optional
from nearer.coembedding.sigmoids import label_sigmoids

#: what a threshold is chosen for; "accuracy" is for rows with exactly one label
CRITERIA = ("micro-f1", "macro-f1", "hamming")
#: temperatures that are tried, as multiples of one per unit of spread
_TEMPERATURES = np.geomspace(0.02, 50, 61)


@dataclass(frozen=True)
class Decisions:
    """Thresholds of affinities and the calibration of probabilities.

    Attributes
    ----------
    threshold : float
        Above this affinity, a row is predicted to have a label.
    thresholds : array (m,), optional
        One for each label instead; `threshold` is then for labels that were never seen.
    slopes, offsets : array (m + 1,)
        The probability of label y is `1 / (1 + exp(-(slopes[y] * affinity + offsets[y])))`; the last entry is for
        labels that were never seen.
    """

    threshold: float
    thresholds: np.ndarray | None
    slopes: np.ndarray
    offsets: np.ndarray
    _schema = Fields(
        threshold=Number(),
        thresholds=optional(Array("m", dtype="float64")),
        slopes=Array("calibrated", dtype="float64", filled=True),
        offsets=Array("calibrated", dtype="float64", filled=True),
    )

    def cuts(self, seen: bool) -> np.ndarray | float:
        """Return what affinities are compared with: of the labels of the fit, or of others."""
        return self.thresholds if seen and self.thresholds is not None else self.threshold

    def probabilities(self, affinities: np.ndarray, seen: bool) -> np.ndarray:
        """Return the probability of each label."""
        from scipy.special import expit

        slopes, offsets = (self.slopes, self.offsets)
        if seen:
            return expit(affinities * slopes[:-1] + offsets[:-1])
        return expit(affinities * slopes[-1] + offsets[-1])


def decide(affinities: np.ndarray, labels: Any, threshold: str | float) -> Decisions:
    """Choose thresholds for a criterion, or take a given one, and calibrate probabilities.

    A row is predicted to have a label if this is likely enough. For "micro-f1" that is one probability for all labels,
    the best for these rows; for "hamming" it is one half; for "macro-f1" every label has its own, half of the highest
    F1 that can be expected of it.

    Parameters
    ----------
    affinities : array (n, m)
        Of rows that were held out.
    labels : CSR matrix (n, m)
        Labels of these rows.
    threshold : {"micro-f1", "macro-f1", "hamming"} or float

    Examples
    --------
    >>> from scipy import sparse
    >>> affinities = np.array([[3.0, -1.0], [1.0, 4.0], [0.0, -2.0]])
    >>> labels = sparse.csr_matrix([[1, 0], [0, 1], [0, 0]])
    >>> found = decide(affinities, labels, "micro-f1")
    >>> (affinities > found.cuts(seen=True)).astype(int)
    array([[1, 0],
           [0, 1],
           [0, 0]])
    >>> decide(affinities, labels, 1.5).threshold
    1.5
    """
    own = labels.astype(bool).toarray()
    slopes, offsets = label_sigmoids(affinities, own)
    if not isinstance(threshold, str):
        return Decisions(float(threshold), None, slopes, offsets)
    odds = np.zeros(len(slopes))
    if threshold != "hamming":
        found = affinities * slopes[:-1] + offsets[:-1]
        odds[:] = best_cut(found.ravel(), own.ravel(), "micro-f1")[0]
        if threshold == "macro-f1":  # nothing can be expected of a label that no row has
            odds[:-1] = np.where(own.any(axis=0), _odds_for_f1(found), odds[:-1])
    cuts = (odds - offsets) / slopes
    return Decisions(float(cuts[-1]), cuts[:-1].copy(), slopes, offsets)


def best_value(affinities: np.ndarray, labels: Any, criterion: str) -> float:
    """Return the value of a criterion with the threshold that is best for the same rows.

    >>> from scipy import sparse
    >>> best_value(np.array([[3.0, -1.0], [1.0, 4.0]]), sparse.csr_matrix([[1, 0], [0, 1]]), "micro-f1")
    1.0
    """
    if criterion == "accuracy":
        return float(np.mean(affinities.argmax(axis=1) == labels.indices))
    own = labels.astype(bool).toarray()
    if criterion != "macro-f1":
        return best_cut(affinities.ravel(), own.ravel(), criterion)[1]
    columns = zip(affinities.T, own.T, strict=True)
    return float(np.mean([best_cut(*column, "micro-f1")[1] for column in columns if column[1].any()]))


def temperature(affinities: np.ndarray, labels: Any) -> float:
    """Return the factor of affinities whose soft maximum is the likeliest, for rows with exactly one label.

    >>> from scipy import sparse
    >>> affinities = np.array([[2.0, 0.0], [0.0, 2.0], [2.0, 0.0], [0.0, 2.0]])
    >>> temperature(affinities, sparse.csr_matrix([[1, 0], [0, 1], [1, 0], [1, 0]])) < 1
    True
    """
    from scipy.special import logsumexp

    spread = float(np.std(affinities - affinities.mean(axis=1, keepdims=True)))
    if spread == 0:
        return 1.0
    chosen = affinities[np.arange(len(affinities)), labels.indices]
    factors = _TEMPERATURES / spread
    losses = [np.mean(logsumexp(factor * affinities, axis=1) - factor * chosen) for factor in factors]
    return float(factors[int(np.argmin(losses))])


def best_cut(scores: np.ndarray, own: np.ndarray, criterion: str) -> tuple[float, float]:
    """Return the cut with the highest F1, or share of correct decisions, and this value."""
    order = np.argsort(-scores)
    ordered, hits = scores[order], np.append(0, np.cumsum(own[order]))
    called = np.arange(len(scores) + 1)
    if criterion == "hamming":
        values = 1 - (hits[-1] + called - 2 * hits) / max(len(scores), 1)
    else:
        values = 2 * hits / np.maximum(called + hits[-1], 1)
    # no cut separates equal scores
    possible = np.append(np.append(True, ordered[1:] < ordered[:-1]), True)
    best = int(np.where(possible, values, -np.inf).argmax())
    edges = np.concatenate([ordered[:1] + 1, ordered, ordered[-1:] - 1])
    return float(edges[best] / 2 + edges[best + 1] / 2), float(values[best])


def _odds_for_f1(odds: np.ndarray) -> np.ndarray:
    """Return the log-odds, per label, above which predictions have the highest expected F1.

    With probabilities p, that of the k likeliest rows is about 2 sum p / (k + the sum of all p). At the best k, rows
    above half of it are predicted. This has less variance than the best cut among the few rows of a label.
    """
    from scipy.special import expit, logit

    likely = -np.sort(-expit(odds), axis=0)
    called = np.arange(1, len(likely) + 1)[:, None]
    values = 2 * np.cumsum(likely, axis=0) / (called + likely.sum(axis=0))
    return np.asarray(logit(values.max(axis=0) / 2))
