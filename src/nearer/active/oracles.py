"""Answer the questions of simulated studies, from known points or from recorded answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from nearer._fitting import check_learnable, that_count
from nearer._utils.arrays import checked_points, compared_distances, relative
from nearer._utils.validation import positive, whole
from nearer.active._candidates import keys_of
from nearer.comparisons import Comparisons
from nearer.datasets._sampling import answered, checked_noise, draw_questions
from nearer.errors import InputError
from nearer.losses import Loss

Answer = Callable[[np.ndarray, np.random.Generator], np.ndarray]


@dataclass(frozen=True)
class Sitting:
    """One repetition of a study: who answers, and the held-out answers that judge the map.

    Attributes
    ----------
    n_objects : int
        Number of objects.
    held_out : Comparisons
        Answers that are never used for learning.
    answer : callable
        Takes questions (k, 3) and a numpy Generator, and returns answers (k, 3) with the nearer object first.
    questions : array of shape (m, 3) or None
        The questions that can be answered, or None for all.
    """

    n_objects: int
    held_out: Comparisons
    answer: Answer
    questions: np.ndarray | None = None


class Oracle(ABC):
    """Answer questions, in any number of independent repetitions."""

    @abstractmethod
    def begin(self, rng: np.random.Generator) -> Sitting:
        """Start a new repetition, with new points or with other answers held out."""


@dataclass(frozen=True, eq=False)
class PlantedOracle(Oracle):
    """Answer from known points, with a model of the noise.

    Held-out answers have no noise: they are the truth.

    Parameters
    ----------
    n_objects, n_components : int
        Number and dimension of the points. Each repetition draws new ones from a normal distribution.
    noise : float, str or Loss
        Probability that an answer is flipped (0 to 0.5), or the loss whose probabilities the answers follow: with
        "ste" close calls are noisy and clear ones are not.
    scale : float
        Standard deviation of every coordinate. With noise "ste" in two dimensions, a third of the answers to random
        questions are wrong at 0.5, 15 % at 1 and 5 % at 2.
    points : array of shape (n_objects, n_components), optional
        Use these points in every repetition.
    n_held_out : int
        Number of random questions, answered without noise, that judge the maps.

    Examples
    --------
    >>> import numpy as np
    >>> from nearer.active import PlantedOracle
    >>> line = PlantedOracle(3, 1, noise=0.0, points=[[0.0], [1.0], [5.0]])
    >>> line.begin(np.random.default_rng(0)).answer(np.array([[0, 2, 1], [1, 0, 2]]), np.random.default_rng(0))
    array([[0, 1, 2],
           [1, 0, 2]])
    """

    n_objects: int
    n_components: int = 2
    noise: float | str | Loss = "ste"
    scale: float = 1.0
    points: ArrayLike | None = None
    n_held_out: int = 10_000

    def __post_init__(self) -> None:
        whole("n_objects", self.n_objects, at_least=3)
        whole("n_components", self.n_components)
        whole("n_held_out", self.n_held_out)
        positive("scale", self.scale)
        checked_noise(self.noise)
        if self.points is not None:
            shape = checked_points(self.points, "points").shape
            if shape != (self.n_objects, self.n_components):
                raise InputError(
                    f"points has shape {shape} but {self.n_objects} objects in {self.n_components} dimensions "
                    f"need {(self.n_objects, self.n_components)}"
                )

    def begin(self, rng: np.random.Generator) -> Sitting:
        points = (
            rng.normal(scale=self.scale, size=(self.n_objects, self.n_components))
            if self.points is None
            else checked_points(self.points, "points")
        )
        noise = checked_noise(self.noise)
        if isinstance(noise, Loss):
            noise = noise.resolved(self.n_components)

        def first_is_nearer(questions: np.ndarray, rng: np.random.Generator) -> np.ndarray:
            near, far = compared_distances(points, questions)
            if isinstance(noise, Loss):
                return rng.random(len(questions)) < noise.probability(near, far)
            return (near < far) ^ (rng.random(len(questions)) < noise)

        def answer(questions: np.ndarray, rng: np.random.Generator) -> np.ndarray:
            first = first_is_nearer(questions, rng)
            return np.where(first[:, None], questions, questions[:, [0, 2, 1]])

        asked = draw_questions(self.n_objects, self.n_held_out, 3, rng)
        held_out = answered(asked, self.n_objects, lambda rows: compared_distances(points, rows), 0.0, rng)
        return Sitting(self.n_objects, held_out, answer)


@dataclass(frozen=True, eq=False)
class RecordedOracle(Oracle):
    """Answer from recorded answers. Only recorded questions can be asked.

    If a question was answered several times, one of the answers is drawn at random, by weight. Each repetition holds
    out a different part of the answers. All answers to one question, or all of one group if the answers have groups,
    stay together.

    Parameters
    ----------
    comparisons : Comparisons
        Triplets.
    test_size : float or int
        Fraction or number of answers to hold out.

    Examples
    --------
    >>> import nearer, numpy as np
    >>> answers, _ = nearer.datasets.planted(10, 2, 300, noise=0.1, random_state=0)
    >>> sitting = nearer.active.RecordedOracle(answers).begin(np.random.default_rng(0))
    >>> len(sitting.held_out), sitting.questions.shape[1]
    (60, 3)
    """

    comparisons: Comparisons
    test_size: float = 0.2

    def __post_init__(self) -> None:
        if self.comparisons.shape[1] != 3:
            raise InputError(
                "a selector asks about triplets: recorded answers must be triplets, not quadruplets"
            )
        check_learnable(self.comparisons)

    def begin(self, rng: np.random.Generator) -> Sitting:
        recorded = that_count(self.comparisons)
        if recorded.groups is None:
            questions = np.unique(keys_of(recorded.indices), return_inverse=True)[1]
            recorded = Comparisons(
                recorded.indices, recorded.n_objects, weights=recorded.weights, groups=questions
            )
        train, held_out = recorded.split(test_size=self.test_size, random_state=rng)
        rows = train.indices
        keys = keys_of(rows)
        order = np.argsort(keys, kind="stable")
        ends = np.cumsum(np.ones(len(rows)) if train.weights is None else relative(train.weights)[order])

        def answer(questions: np.ndarray, rng: np.random.Generator) -> np.ndarray:
            asked = keys_of(questions)
            first = np.searchsorted(keys, asked, sorter=order)
            last = np.searchsorted(keys, asked, side="right", sorter=order)
            if (first == last).any():
                strange = questions[np.argmax(first == last)].tolist()
                raise InputError(f"{strange} was never answered: ask only the questions of the sitting")
            below = np.where(first > 0, ends[first - 1], 0.0)
            drawn = below + rng.random(len(asked)) * (ends[last - 1] - below)
            return rows[order[np.clip(np.searchsorted(ends, drawn, side="right"), first, last - 1)]]

        return Sitting(recorded.n_objects, held_out, answer, rows)
