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

from nearer._fitting.fit import Fit
from nearer.losses import Loss
from nearer.metrics import triplet_error
from nearer.solvers import LBFGS, Adam, Solver
from nearer.starts import brought_back

if TYPE_CHECKING:
    from nearer.comparisons import Comparisons

#: strengths tried, from the middle outwards
STRENGTHS = (0.0002, 0.0008, 0.003, 0.0125, 0.05, 0.1, 0.2, 0.4)
_FIRST = 4
#: where there is too little to hold out
DEFAULT_STRENGTH = STRENGTHS[_FIRST]
FROM_SCRATCH = Adam(epochs=20)
FROM_NEIGHBOUR = Adam(epochs=6, step=0.1)
#: for the losses that short fits leave in doubt: some gain more than others from going on
LONGER = LBFGS()
_LONGER_EPOCHS = 100
#: share of the tolerance to which these fits go on, and the last one after a choice among losses
CLOSER = 0.01

_HELD_OUT = 0.1
_ENOUGH_HELD_OUT = 4000  # comparisons; fewer, and several splits are averaged
_MOST_SPLITS = 5
LEAST_COMPARISONS = 50
#: share by which the held-out error must fall to leave a strength or a loss for another
_WORTH_A_CHANGE = 0.01
#: share by which it may rise on the way to another strength: what is held out is small
_PATIENCE = 0.02
#: losses within this share of the best one's error are fitted for longer
_IN_DOUBT = 0.2


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
    n_held_out: int = 0  # rows judged, all splits together


class _Ended(Exception):  # noqa: N818 - a user's wish or a spent budget, not an error
    """A trial ended before its time."""


class Trials:
    """Fits on parts of the comparisons, scored on the rest, within half of the budget."""

    def __init__(self, course: Fit, start: Callable[[Loss], np.ndarray]):
        self.course, self.start = course, start
        self.budget = replace(course.run.budget.part(0.5), max_epochs=None)
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
            short = len(losses) * len(splits) * len(strengths)
            self.course.run.enter(_stage(losses, strengths), 2 * short)
            for loss in losses:
                self.paths.append(_Path(self, splits, loss))
                self.paths[-1].climb(strengths)
            self._settle_doubts(strengths)
        except _Ended as reason:
            ended = str(reason)
        except KeyboardInterrupt:
            ended = "interrupted"
        return self._best(first, ended if ended in ("interrupted", "callback") else None)

    def _settle_doubts(self, strengths: tuple[float, ...]) -> None:
        """Go on with the losses among which short fits cannot tell."""
        errors = [path.least_error() for path in self.paths]
        for path, error in zip(self.paths, errors, strict=True):
            if error <= (1 + _IN_DOUBT) * min(errors):
                path.go_on(strengths)

    def fit(
        self,
        part: Comparisons,
        loss: Loss,
        l2: float,
        points: np.ndarray,
        solver: Solver,
        epochs: int | None = None,
    ) -> np.ndarray:
        """One short fit within what is left of the budget."""
        objective = self.course.objective(loss, l2, part)
        budget = self.budget
        if epochs is not None:
            budget = replace(budget, max_epochs=epochs, tol=CLOSER * budget.tol)
        points, result = self.course.minimise(solver, objective, brought_back(objective, points), budget)
        if result.stop_reason in ("interrupted", "callback", "seconds", "evaluations"):
            raise _Ended(result.stop_reason)
        return points

    def _best(self, first: Choice, stopped: str | None) -> Choice:
        best, least = first, math.inf
        for path in self.paths:
            if path.best is not None and path.least_error() < (1 - _WORTH_A_CHANGE) * least:
                least = path.least_error()
                best = Choice(path.loss, path.best, path.best_points())
        errors: dict[str, dict[float, float]] = {}
        for path in self.paths:
            if path.errors:  # a second loss of a name goes by its parameters
                errors[path.loss.name if path.loss.name not in errors else str(path.loss)] = path.errors
        return replace(
            best,
            errors=errors,
            seconds=self.course.run.seconds,
            evaluations=self.course.run.evaluations,
            stopped=stopped,
            n_held_out=sum(len(held) for _, held in self.paths[0].splits) if self.paths else 0,
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


def _stage(losses: list[Loss], strengths: tuple[float, ...]) -> str:
    choices = [name for name, several in (("loss", len(losses) > 1), ("l2", len(strengths) > 1)) if several]
    return f"choosing {' and '.join(choices)}"


class _Path:
    """Fits of one loss along the strengths, each from its neighbour's points, on every split."""

    def __init__(self, trials: Trials, splits: list[tuple[Comparisons, Comparisons]], loss: Loss):
        self.trials, self.splits, self.loss = trials, splits, loss
        self.fits: dict[float, list[np.ndarray]] = {}
        self.errors: dict[float, float] = {}
        self.best: float | None = None

    def climb(self, strengths: tuple[float, ...]) -> None:
        """Short fits from the middle while the held-out error falls: downwards, else upwards."""
        first = strengths[min(_FIRST, len(strengths) - 1)]
        start = [self.trials.start(self.loss)] * len(self.splits)
        self._fit(first, start, FROM_SCRATCH)
        self._walk(strengths, first, (-1, 1), FROM_NEIGHBOUR)

    def go_on(self, strengths: tuple[float, ...]) -> None:
        """Longer fits from the best strength: of weaker ones, or of stronger ones where going on did harm.

        Ending early is a restraint too: what a short fit does well with may be too weak for a long one.
        """
        assert self.best is not None
        first, short = self.best, self.least_error()
        self._fit(first, self.fits[first], LONGER, _LONGER_EPOCHS)
        harmed = self.least_error() > (1 + _WORTH_A_CHANGE) * short
        self._walk(strengths, first, (1,) if harmed else (-1,), LONGER, _LONGER_EPOCHS)

    def _walk(
        self,
        strengths: tuple[float, ...],
        first: float,
        directions: tuple[int, ...],
        solver: Solver,
        epochs: int | None = None,
    ) -> None:
        """From a strength that has been fitted, on in the first direction in which the held-out error falls."""
        self.best = first
        for direction in directions:
            at = strengths.index(first)
            while 0 <= at + direction < len(strengths):
                here, there = strengths[at], strengths[at + direction]
                self._fit(there, self.fits[here], solver, epochs)
                if self.error(there) > (1 + _PATIENCE) * self.least_error():
                    break
                if self.error(there) < (1 - _WORTH_A_CHANGE) * self.least_error():
                    self.best = there
                at += direction
            if self.best != first:
                break

    def _fit(self, l2: float, starts: list[np.ndarray], solver: Solver, epochs: int | None = None) -> None:
        fits = [
            self.trials.fit(part, self.loss, l2, points, solver, epochs)
            for points, (part, _) in zip(starts, self.splits, strict=True)
        ]
        # both at once: an interruption in between must not leave one without the other
        self.errors[l2], self.fits[l2] = self._mean_error(fits), fits

    def error(self, l2: float) -> float:
        """Mean held-out error over the splits."""
        return self.errors[l2]

    def least_error(self) -> float:
        """The error of the best strength."""
        assert self.best is not None
        return self.error(self.best)

    def _mean_error(self, fits: list[np.ndarray]) -> float:
        return float(
            np.mean([triplet_error(x, held) for x, (_, held) in zip(fits, self.splits, strict=True)])
        )

    def best_points(self) -> np.ndarray:
        """Of the splits' fits, the one that suits all comparisons best: a split may end in a local minimum."""
        assert self.best is not None
        objective = self.trials.course.objective(self.loss, self.best)
        return min(self.fits[self.best], key=objective.value)
