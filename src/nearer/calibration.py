"""Choosing the loss and the strength of the L2 term on a part of the training comparisons.

The right strength depends on the noise, which nobody knows beforehand: from 0.001 for answers without error to 0.2 for
opinions. So a few are tried on comparisons held out of the training ones, each fit warm from its neighbour.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from nearer._course import Course
from nearer.losses import Loss
from nearer.metrics import triplet_error
from nearer.solvers import Adam
from nearer.starts import brought_back

if TYPE_CHECKING:
    from nearer.comparisons import Comparisons

#: strengths tried, from the middle outwards
STRENGTHS = (0.0008, 0.003, 0.0125, 0.05, 0.2, 0.4)
_FIRST = 3
#: where there is too little to hold out
DEFAULT_STRENGTH = STRENGTHS[_FIRST]
FROM_SCRATCH = Adam(epochs=20)
FROM_NEIGHBOUR = Adam(epochs=6, step=0.1)

_HELD_OUT = 0.1
_ENOUGH_HELD_OUT = 2000  # comparisons; fewer, and several splits are averaged
_MOST_SPLITS = 5
LEAST_COMPARISONS = 50
_WORTH_A_CHANGE = (
    0.025  # share by which the held-out error must fall to leave a strength or a loss for another
)


@dataclass(frozen=True)
class Choice:
    """What was chosen, points to go on from, and what it cost; `stopped` is why, where the user ended the trials."""

    loss: Loss
    l2: float
    points: np.ndarray
    errors: dict[str, dict[float, float]] = field(default_factory=dict)
    seconds: float = 0.0
    evaluations: int = 0
    stopped: str | None = None


class _Ended(Exception):  # noqa: N818 - a user's wish or a spent budget, not an error
    """A trial ended before its time."""


class Trials:
    """Fits on parts of the comparisons, scored on the rest, within half of the budget."""

    def __init__(self, course: Course, start: Callable[[Loss], np.ndarray]):
        self.course, self.start = course, start
        self.budget = replace(course.budget.part(0.5), max_epochs=None)
        self.paths: list[_Path] = []

    def choose(self, losses: list[Loss], strengths: tuple[float, ...]) -> Choice:
        """The loss and strength with the least held-out error; the first loss unless another is clearly better.

        Where the trials are ended early, by ctrl-C, a callback or a spent budget, it is the best so far.
        """
        l2 = strengths[0] if len(strengths) == 1 else DEFAULT_STRENGTH
        first = Choice(losses[0], l2, self.start(losses[0]))
        if not self._can_hold_out():
            return first
        ended = None
        try:
            splits = self._splits()
            for loss in losses:
                self.paths.append(_Path(self, splits, loss))
                self.paths[-1].climb(strengths)
        except _Ended as reason:
            ended = str(reason)
        except KeyboardInterrupt:
            ended = "interrupted"
        return self._best(first, ended if ended in ("interrupted", "callback") else None)

    def fit(self, part: Comparisons, loss: Loss, l2: float, points: np.ndarray, solver: Adam) -> np.ndarray:
        """One short fit within what is left of the budget."""
        objective = self.course.objective(loss, l2, part)
        points, result = self.course.run(solver, objective, brought_back(objective, points), self.budget)
        if result.stop_reason in ("interrupted", "callback", "seconds", "evaluations"):
            raise _Ended(result.stop_reason)
        return points

    def _best(self, first: Choice, stopped: str | None) -> Choice:
        best, least = first, math.inf
        for path in self.paths:
            if path.best is not None and path.error(path.best) < (1 - _WORTH_A_CHANGE) * least:
                least = path.error(path.best)
                best = Choice(path.loss, path.best, path.best_points())
        errors = {path.loss.name: path.errors for path in self.paths if path.errors}
        return replace(
            best,
            errors=errors,
            seconds=self.course.seconds,
            evaluations=self.course.evaluations,
            stopped=stopped,
        )

    def _can_hold_out(self) -> bool:
        comparisons = self.course.comparisons
        one_trial = comparisons.groups is not None and len(np.unique(comparisons.groups)) < 2
        return len(comparisons) >= LEAST_COMPARISONS and not one_trial

    def _splits(self) -> list[tuple[Comparisons, Comparisons]]:
        comparisons = self.course.comparisons
        n_splits = -(-_ENOUGH_HELD_OUT // int(_HELD_OUT * len(comparisons) + 1))
        return [
            comparisons.split(test_size=_HELD_OUT, random_state=self.course.rng)
            for _ in range(min(n_splits, _MOST_SPLITS))
        ]


class _Path:
    """Fits of one loss along the strengths, each from its neighbour's points, on every split."""

    def __init__(self, trials: Trials, splits: list[tuple[Comparisons, Comparisons]], loss: Loss):
        self.trials, self.splits, self.loss = trials, splits, loss
        self.fits: dict[float, list[np.ndarray]] = {}
        self.errors: dict[float, float] = {}
        self.best: float | None = None

    def climb(self, strengths: tuple[float, ...]) -> None:
        """Walk from the middle while the held-out error falls: downwards, else upwards."""
        first = min(_FIRST, len(strengths) - 1)
        self._from_scratch(strengths[first])
        self.error(strengths[first])
        self.best = strengths[first]
        for direction in (-1, 1):
            at = first
            while 0 <= at + direction < len(strengths):
                here, there = strengths[at], strengths[at + direction]
                self._from_neighbour(there, here)
                if self.error(there) >= (1 - _WORTH_A_CHANGE) * self.error(here):
                    break
                self.best = there
                at += direction
            if at != first:
                break

    def error(self, l2: float) -> float:
        """Mean held-out error over the splits."""
        if l2 not in self.errors:
            pairs = zip(self.fits[l2], self.splits, strict=True)
            self.errors[l2] = float(np.mean([triplet_error(x, held) for x, (_, held) in pairs]))
        return self.errors[l2]

    def best_points(self) -> np.ndarray:
        """Of the splits' fits, the one that suits all comparisons best: a split may end in a local minimum."""
        assert self.best is not None
        objective = self.trials.course.objective(self.loss, self.best)
        return min(self.fits[self.best], key=objective.value)

    def _from_scratch(self, l2: float) -> None:
        start = self.trials.start(self.loss)
        self.fits[l2] = [self.trials.fit(part, self.loss, l2, start, FROM_SCRATCH) for part, _ in self.splits]

    def _from_neighbour(self, l2: float, neighbour: float) -> None:
        self.fits[l2] = [
            self.trials.fit(part, self.loss, l2, points, FROM_NEIGHBOUR)
            for points, (part, _) in zip(self.fits[neighbour], self.splits, strict=True)
        ]
