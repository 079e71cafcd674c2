"""From scores to decisions and probabilities: thresholds and calibration."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from nearer._utils.schema import COUNT, Array, Fields, Flag, Number, need
from nearer.errors import InputError

CRITERIA = ("balanced", "f1", "accuracy", "prior")
CALIBRATIONS = ("sigmoid", "isotonic")
_MOST_STEPS = 100
#: recent scores of either class that a stream keeps
_RECENT = 1000
#: the least slope of a sigmoid, for scores of unit spread: higher scores are never less likely
_LEAST_SLOPE = 1e-6
#: keeps a Newton step finite if all probabilities are near 0 or 1
_RIDGE = 1e-9 * np.eye(2)


@dataclass(frozen=True)
class Scored:
    """Scores of rows whose class is known.

    Attributes
    ----------
    scores : array (n,)
    positive : bool array (n,)
    weights : array (n,)
        How many rows each stands for.
    """

    scores: np.ndarray
    positive: np.ndarray
    weights: np.ndarray

    @property
    def share(self) -> float:
        """Return the share of positive rows."""
        return float(self.weights[self.positive].sum() / self.weights.sum())


@dataclass(frozen=True)
class Recent:
    """Scores from which threshold and calibration are found.

    Attributes
    ----------
    negative, positive : arrays
        Scores of rows of either class.
    n_negative, n_positive : int
        Number of rows of each class that were scored; only the latest scores are kept.
    honest : bool
        Whether the model had not learned from these rows when it scored them.
    """

    negative: np.ndarray
    positive: np.ndarray
    n_negative: int
    n_positive: int
    honest: bool
    _schema = Fields(
        negative=Array("negative"),
        positive=Array("positive"),
        n_negative=COUNT,
        n_positive=COUNT,
        honest=Flag(),
    )

    def _check_loaded(self) -> None:
        sizes = ((len(self.negative), self.n_negative), (len(self.positive), self.n_positive))
        for kept, rows in sizes:
            need(kept <= rows, f"{kept} scores stand for {rows} rows")

    @classmethod
    def of(cls, scores: np.ndarray, positive: np.ndarray, honest: bool) -> Recent:
        """Return scores by the class of each row."""
        negative, positive = scores[~positive], scores[positive]
        return cls(negative, positive, len(negative), len(positive), honest)

    def then(self, later: Recent) -> Recent:
        """Add the scores of later rows; keep the latest of each class."""
        sides = ((self.negative, later.negative), (self.positive, later.positive))
        if later.honest and not self.honest:  # keep the old scores of a class that the later rows lack
            negative, positive = (new if len(new) else old for old, new in sides)
        else:
            negative, positive = (np.concatenate(scores)[-_RECENT:] for scores in sides)
        counts = (self.n_negative + later.n_negative, self.n_positive + later.n_positive)
        return Recent(negative, positive, *counts, honest=later.honest)

    def scored(self) -> Scored:
        """Return all scores, each with the number of rows it stands for."""
        sizes = (len(self.negative), len(self.positive))
        each = [
            count / max(size, 1)
            for count, size in zip((self.n_negative, self.n_positive), sizes, strict=True)
        ]
        return Scored(
            np.concatenate([self.negative, self.positive]),
            np.repeat([False, True], sizes),
            np.repeat(each, sizes),
        )


def choose_threshold(rows: Scored, criterion: str, calibration: Any) -> float:
    """Return the threshold above which rows are called positive, chosen to maximise a criterion.

    For "balanced" the calibrated probability at the threshold is the share of positive rows; for "accuracy" it is one
    half. These have less variance than the best threshold among the given scores, which "f1" and "prior" use.

    Parameters
    ----------
    rows : Scored
    criterion : {"balanced", "f1", "accuracy", "prior"}
        Mean recall of the two classes; F1 of the positive class; share of correct predictions; as many positive
        predictions as positive rows.
    calibration : Sigmoid or Staircase
        Of the same rows.

    Examples
    --------
    >>> rows = Scored(np.array([1.0, 2.0, 4.0, 5.0]), np.array([False, False, True, True]), np.ones(4))
    >>> [round(choose_threshold(rows, name, calibrate(rows, "sigmoid")), 6) for name in CRITERIA]
    [3.0, 3.0, 3.0, 3.0]
    """
    if criterion == "accuracy" or rows.share in (
        0.0,
        1.0,
    ):  # with one class there is nothing else to choose by
        return calibration.score_at(0.5)
    if criterion == "balanced":
        return calibration.score_at(calibration.share(rows))
    order = np.argsort(rows.scores, kind="stable")
    ascending, weights = rows.scores[order], rows.weights[order]
    # rows, and positive ones, from each place on
    called, above = (
        np.append(np.cumsum(part[::-1])[::-1], 0.0) for part in (weights, weights * rows.positive[order])
    )
    worth = 2 * above / (called + above[0]) if criterion == "f1" else -np.abs(called - above[0])
    # no threshold separates equal scores
    cuts = np.append(True, np.append(ascending[1:] > ascending[:-1], True))
    place = int(np.where(cuts, worth, -np.inf).argmax())
    edges = np.concatenate([[ascending[0] - 1], ascending, [ascending[-1] + 1]])
    return float(edges[place] + (edges[place + 1] - edges[place]) / 2)


@dataclass(frozen=True)
class Sigmoid:
    """Platt's calibration: probability `1 / (1 + exp(-(slope * score + offset)))`."""

    slope: float
    offset: float
    _schema = Fields(slope=Number(above=0), offset=Number())

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        return expit(self.slope * scores + self.offset)

    def share(self, rows: Scored) -> float:
        """Return the mean probability of the rows it was fitted to; close to the share of positives."""
        return float(rows.weights @ _platt_targets(rows) / rows.weights.sum())

    def score_at(self, probability: float) -> float:
        """Return the score with this probability."""
        return (math.log(probability / (1 - probability)) - self.offset) / self.slope


@dataclass(frozen=True)
class Staircase:
    """Isotonic calibration: probabilities at some scores, straight lines between them."""

    scores: np.ndarray
    probabilities: np.ndarray
    _schema = Fields(
        scores=Array("steps", filled=True, ascending=True),
        probabilities=Array("steps", ascending=True, at_least=0, at_most=1),
    )

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        return np.interp(scores, self.scores, self.probabilities)

    def share(self, rows: Scored) -> float:
        """Return the mean probability of the rows it was fitted to."""
        return rows.share

    def score_at(self, probability: float) -> float:
        """Return the score at which this probability is reached; the middle of a step with exactly this probability."""
        low = int(np.searchsorted(self.probabilities, probability, side="left"))
        high = int(np.searchsorted(self.probabilities, probability, side="right"))
        if low < high:
            return float(self.scores[low] + self.scores[high - 1]) / 2
        width = float(self.scores[-1] - self.scores[0]) + 1.0
        edges = np.concatenate([[self.scores[0] - width], self.scores, [self.scores[-1] + width]])
        heights = np.concatenate([[-1.0], self.probabilities, [2.0]])  # never passed, never reached
        return float(np.interp(probability, heights[low : low + 2], edges[low : low + 2]))


def calibrate(rows: Scored, kind: str) -> Any:
    """Return a function from scores to probabilities.

    Parameters
    ----------
    rows : Scored
    kind : {"sigmoid", "isotonic"}
        A sigmoid has two parameters: a hundred rows are enough. An isotonic function assumes only monotonicity: use a
        thousand rows.

    Examples
    --------
    >>> scores = np.linspace(-3, 3, 1000)
    >>> positive = np.random.default_rng(0).uniform(size=1000) < 1 / (1 + np.exp(-scores))
    >>> found = calibrate(Scored(scores, positive, np.ones(1000)), "sigmoid")
    >>> bool(abs(found(np.array([0.0]))[0] - 0.5) < 0.1)
    True
    """
    if kind == "isotonic":
        from sklearn.isotonic import IsotonicRegression

        steps = IsotonicRegression(y_min=0, y_max=1).fit(
            rows.scores, rows.positive, sample_weight=rows.weights
        )
        return Staircase(steps.X_thresholds_, steps.y_thresholds_)
    if kind != "sigmoid":
        raise InputError(f"must be one of {', '.join(CALIBRATIONS)}, not {kind!r}", parameter="calibration")
    return _sigmoid(rows)


def _sigmoid(rows: Scored) -> Sigmoid:
    """Logistic regression on one number by Newton's method, with Platt's targets: never quite 0 or 1."""
    targets = _platt_targets(rows)
    centre, spread = float(rows.scores.mean()), float(rows.scores.std())
    spread = spread if spread > 0 else 1.0
    z = np.stack([(rows.scores - centre) / spread, np.ones_like(rows.scores)])
    weights = rows.weights / rows.weights.mean()
    guess = float(weights @ targets) / len(targets)
    found = np.array([_LEAST_SLOPE, math.log(guess / (1 - guess))])
    scores = found @ z
    value = _log_loss(scores, targets, weights)
    for _ in range(_MOST_STEPS):
        guesses = expit(scores)
        curvature = (z * (weights * guesses * (1 - guesses))) @ z.T + _RIDGE
        step = np.linalg.solve(curvature, z @ (weights * (guesses - targets)))
        size = 1.0
        while (
            new := _log_loss(tried := (found - size * step) @ z, targets, weights)
        ) > value and size > 1e-6:
            size /= 2
        if value - new < 1e-12 * len(targets):
            break
        found, scores, value = found - size * step, tried, new
    slope = max(float(found[0]), _LEAST_SLOPE) / spread
    return Sigmoid(slope, float(found[1]) - slope * centre)


def _platt_targets(rows: Scored) -> np.ndarray:
    positives, negatives = int(rows.positive.sum()), int((~rows.positive).sum())
    return np.where(rows.positive, (positives + 1) / (positives + 2), 1 / (negatives + 2))


def _log_loss(z: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> float:
    return float(weights @ (np.logaddexp(0, z) - targets * z))
