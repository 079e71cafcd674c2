"""One warm-started path over the strength of a penalty: every automatic choice of a strength follows one.

Each strength is fitted on the training part of every split, from the parameters of the strength before it, and judged
on the held-out part. All fits share the clock and the callback of one run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nearer.objectives.base import Objective
from nearer.solvers.base import Solver, minimise
from nearer.solvers.run import Run

if TYPE_CHECKING:
    from nearer.comparisons import Comparisons
    from nearer.losses import Loss

#: with fewer comparisons than this, none are held out
LEAST_COMPARISONS = 50
#: share of the seconds and evaluations that trials may use
_SHARE = 0.5
_USER = ("interrupted", "callback")
_ENDED = (*_USER, "seconds", "evaluations")

#: training part and held-out part
Split = tuple["Comparisons", "Comparisons"]


@dataclass(frozen=True)
class Choice:
    """What trials chose, points to continue from, and what the trials cost.

    Attributes
    ----------
    loss, strength : Loss, float
        The loss and the strength of its penalty.
    points : array
        Of the fits with them, those that suit all comparisons best.
    errors : dict
        Held-out error per strength, for each loss by its name.
    stopped : str, optional
        "interrupted" or "callback" if the user ended the trials.
    n_held_out : int
        Comparisons judged, over all splits.
    """

    loss: Loss
    strength: float
    points: np.ndarray
    errors: dict[str, dict[float, float]] = field(default_factory=dict)
    seconds: float = 0.0
    evaluations: int = 0
    stopped: str | None = None
    n_held_out: int = 0

    @property
    def least_error(self) -> float:
        """Return the lowest held-out error of any loss and strength."""
        return min(error for errors in self.errors.values() for error in errors.values())


@dataclass(frozen=True)
class StopRule:
    """When a strength is better than the best so far, and when to stop looking.

    Parameters
    ----------
    gain : float
        Share by which the held-out error must fall.
    slack : float
        Stop when the error is above the lowest one by more than this share.
    idle : int
        Stop after this many strengths in a row that are no better.
    enough : float
        Stop at an error of this or below.
    """

    gain: float = 0.0
    slack: float = math.inf
    idle: float = math.inf
    enough: float = -math.inf


class _Ended(Exception):  # noqa: N818 - a user's wish or a spent budget, not an error
    """A trial ended before its time."""


class Trials:
    """Fits on parts of the comparisons, scored on the rest, within half of the budget of a run.

    Parameters
    ----------
    run : Run
        The fit that the trials are a part of.
    rng : numpy Generator
        For the draws of the solvers.
    build : callable
        Returns the objective of some comparisons with a loss and a strength.
    error : callable
        Returns the held-out error of points on some comparisons.
    prepare : callable, optional
        Returns the points from which to minimise an objective, given it and its neighbour's points.
    budget : optional
        Fields of the budget to replace, such as `tol`.
    """

    def __init__(
        self,
        run: Run,
        rng: np.random.Generator,
        build: Callable[[Comparisons, Loss, float], Objective],
        error: Callable[[np.ndarray, Comparisons], float],
        prepare: Callable[[Any, np.ndarray], np.ndarray] = lambda objective, points: points,
        **budget: Any,
    ):
        self.run, self.rng, self.build, self.error, self.prepare = run, rng, build, error, prepare
        self.budget = replace(run.budget.part(_SHARE), **budget)
        self.paths: list[Path] = []

    def path(self, loss: Loss, splits: list[Split]) -> Path:
        """Return a new path for a loss."""
        self.paths.append(Path(self, loss, splits))
        return self.paths[-1]

    def fit(
        self,
        solver: Solver,
        part: Comparisons,
        loss: Loss,
        strength: float,
        points: np.ndarray,
        **budget: Any,
    ) -> np.ndarray:
        """Return the points of one fit within what is left of the budget."""
        objective = self.build(part, loss, strength)
        limits = replace(self.budget, **budget)
        start = self.prepare(objective, points)
        points, result = minimise(solver, objective, start, budget=limits, rng=self.rng, run=self.run)
        if result.stop_reason in _ENDED:
            raise _Ended(result.stop_reason)
        return points

    def choose(
        self, first: Choice, work: Callable[[], None], comparisons: Comparisons, gain: float
    ) -> Choice:
        """Do the work and return the best choice: the first loss unless another lowers the error by `gain`.

        If ctrl-C, a callback or a spent budget ends the work early, this is the best so far.
        """
        ended = None
        try:
            work()
        except _Ended as reason:
            ended = str(reason)
        except KeyboardInterrupt:
            ended = "interrupted"
        best, least = first, math.inf
        for path in self.paths:
            if path.best is not None and path.least_error < (1 - gain) * least:
                least = path.least_error
                best = Choice(path.loss, path.best, path.best_points(comparisons))
        return replace(
            best,
            errors=self._errors(),
            seconds=self.run.seconds,
            evaluations=self.run.evaluations,
            stopped=ended if ended in _USER else None,
            n_held_out=sum(len(held) for _, held in self.paths[0].splits) if self.paths else 0,
        )

    def _errors(self) -> dict[str, dict[float, float]]:
        errors: dict[str, dict[float, float]] = {}
        for path in self.paths:
            if path.errors:  # a second loss of the same name is listed with its parameters
                errors[path.loss.name if path.loss.name not in errors else str(path.loss)] = path.errors
        return errors


class Path:
    """Fits of one loss along strengths, each from its neighbour's points, on every split."""

    def __init__(self, trials: Trials, loss: Loss, splits: list[Split]):
        self.trials, self.loss, self.splits = trials, loss, splits
        self.fits: dict[float, Sequence[np.ndarray]] = {}
        self.errors: dict[float, float] = {}
        self.best: float | None = None

    @property
    def least_error(self) -> float:
        """Return the error of the best strength; infinity if there is none."""
        return math.inf if self.best is None else self.errors[self.best]

    def fit(self, strength: float, starts: Sequence[np.ndarray], solver: Solver, **budget: Any) -> None:
        """Fit one strength on every split."""
        splits, trials = self.splits, self.trials
        fits = [
            trials.fit(solver, part, self.loss, strength, points, **budget)
            for points, (part, _) in zip(starts, splits, strict=True)
        ]
        error = np.mean([trials.error(x, held) for x, (_, held) in zip(fits, splits, strict=True)])
        # both at once: an interruption in between must not leave one without the other
        self.errors[strength], self.fits[strength] = float(error), fits

    def walk(
        self,
        strengths: Iterable[float],
        starts: Sequence[np.ndarray],
        solver: Solver,
        rule: StopRule,
        **budget: Any,
    ) -> None:
        """Fit one strength after another, as long as the rule allows, and keep the best."""
        idle = 0
        for strength in strengths:
            self.fit(strength, starts, solver, **budget)
            starts, error = self.fits[strength], self.errors[strength]
            if error > (1 + rule.slack) * self.least_error:
                return
            if error < (1 - rule.gain) * self.least_error:
                self.best, idle = strength, 0
            else:
                idle += 1
            if idle >= rule.idle or error <= rule.enough:
                return

    def best_points(self, comparisons: Comparisons) -> np.ndarray:
        """Return the fit of a split that suits all comparisons best: a split may end in a local minimum."""
        assert self.best is not None
        return min(self.fits[self.best], key=self.trials.build(comparisons, self.loss, self.best).value)
