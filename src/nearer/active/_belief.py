"""The current map and its uncertainty, by which strategies judge questions.

Answers follow the logistic model of STE. Points have a Gaussian prior. Its variance is learned with the points, and so
is the noise level: on a map that is wide on the model's scale, answers are clear. Each object has its own Gaussian
around its most probable point (a block-wise Laplace approximation). Its precision is that of the prior plus
p (1 - p) g gᵀ per question about the object, where g is the gradient of the log odds. This does not depend on the
answer, so pending questions are included.
"""

from __future__ import annotations

import numpy as np

from nearer._utils.arrays import relative
from nearer.active._entropy import information_of_normal_odds
from nearer.comparisons import Comparisons
from nearer.losses import STE
from nearer.losses.formulas import sigmoid
from nearer.objectives import PointObjective
from nearer.solvers import LBFGS, Budget, minimise
from nearer.starts import random_points, spectral_points

_GROWTH = 1.05  # refit when the number of answers has grown by this factor
_NEW_STARTS = 1.2  # likewise, from new starts: the map may be stuck in a local minimum
_BUDGET = Budget(max_epochs=100, tol=1e-6)
_LONG_BUDGET = Budget(max_epochs=200, tol=1e-6)
VARIANCES = (0.05, 20.0)  # of the prior, on the scale of the logistic model


class Belief:
    """Hold the points, the covariance of each, and the variance of their common prior.

    Attributes
    ----------
    points : array of shape (n_objects, n_components)
    covariances : array of shape (n_objects, n_components, n_components)
    variance : float
    next_fit, next_starts : float
        Number of answers at which the next fit is due, and the next one from new starts.
    """

    def __init__(self, n_components: int):
        self.n_components = n_components
        self.points = np.empty((0, n_components))
        self.covariances: np.ndarray = np.empty((0, n_components, n_components))
        self.variance = 1.0
        self.next_fit = self.next_starts = 0.0

    # -- questions ----------------------------------------------------------------------------------------------

    def log_odds(self, questions: np.ndarray) -> np.ndarray:
        """Return the log odds of the answer "nearer to a" at the current points."""
        head, a, b = (self.points[column] for column in questions.T)
        to_a, to_b = head - a, head - b
        return np.einsum("ij,ij->i", to_b, to_b) - np.einsum("ij,ij->i", to_a, to_a)

    def gain(self, questions: np.ndarray) -> np.ndarray:
        """Return the expected information, in nats, of an answer about the positions of its three objects."""
        variance = np.zeros(len(questions))
        for column, slope in zip(questions.T, self._slopes(questions), strict=True):
            variance += np.einsum("ij,ijk,ik->i", slope, self.covariances[column], slope)
        return information_of_normal_odds(self.log_odds(questions), variance)

    def expect(self, questions: np.ndarray) -> None:
        """Narrow the covariances as the answers to these questions will, whatever the answers are."""
        sharpness = self._sharpness(questions)
        slopes = np.stack(self._slopes(questions), axis=1)
        for objects, gradients, weight in zip(questions, slopes, sharpness, strict=True):
            for at, slope in zip(objects, gradients, strict=True):
                along = self.covariances[at] @ slope
                self.covariances[at] -= np.outer(along, along) * (weight / (1 + weight * slope @ along))

    def _slopes(self, questions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the gradients of the log odds in the positions of head, a and b."""
        head, a, b = (self.points[column] for column in questions.T)
        return 2 * (a - b), 2 * (head - a), 2 * (b - head)

    def _sharpness(self, questions: np.ndarray) -> np.ndarray:
        against = sigmoid(-self.log_odds(questions))
        return against * (1 - against)

    # -- fitting ------------------------------------------------------------------------------------------------

    def is_due(self, n_answers: int) -> bool:
        """Return whether there are enough new answers for a new fit."""
        return n_answers >= self.next_fit

    def fit(self, answers: Comparisons, pending: np.ndarray, rng: np.random.Generator) -> None:
        """Fit the points to the answers, warm-started from the current ones, and update the covariances."""
        n, q, p = answers.n_objects, len(answers), self.n_components
        self.grow(n, rng)
        objective = PointObjective(answers, STE(), p, l2=n / (2 * self.variance * q))
        starts = [self.points]
        budget = _BUDGET
        if q >= self.next_starts:
            self.next_starts = _NEW_STARTS * q
            unit = 2 * p * self.variance
            starts += [spectral_points(answers, p, unit, rng), random_points(n, p, unit, rng)]
            budget = _LONG_BUDGET
        fits = [minimise(LBFGS(), objective, start, budget=budget, rng=rng) for start in starts]
        if any(result.stop_reason == "interrupted" for _, result in fits):
            raise KeyboardInterrupt  # the map is unchanged
        points = min(fits, key=lambda fit: fit[1].objective)[0]
        self.points = points - points.mean(axis=0)
        self._renew(answers, pending)
        self.next_fit = max(_GROWTH * q, q + 1)

    def grow(self, n_objects: int, rng: np.random.Generator) -> None:
        """Place new objects near the centre, with the uncertainty of the prior."""
        new, p = n_objects - len(self.points), self.n_components
        places = 0.1 * random_points(new, p, 2 * p * self.variance, rng)
        self.points = np.concatenate([self.points, places])
        prior = np.broadcast_to(self.variance * np.eye(p), (new, p, p))
        self.covariances = np.concatenate([self.covariances, prior])

    def _renew(self, answers: Comparisons, pending: np.ndarray) -> None:
        n, p = self.points.shape
        rows = np.concatenate([answers.indices, pending])
        weight = self._sharpness(rows)
        if answers.weights is not None:
            shares = relative(answers.weights)
            weight[: len(answers)] *= shares / shares.mean()
        precisions = np.zeros((n, p, p))
        for column, slope in zip(rows.T, self._slopes(rows), strict=True):
            np.add.at(precisions, column, weight[:, None, None] * slope[:, :, None] * slope[:, None, :])
        precisions += np.eye(p) / self.variance
        self.covariances = np.linalg.inv(precisions)
        # one step of expectation maximisation
        length = np.vdot(self.points, self.points) + np.trace(self.covariances, axis1=1, axis2=2).sum()
        self.variance = float(np.clip(length / (n * p), *VARIANCES))
