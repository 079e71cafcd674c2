"""One warm-started path over the strength of a penalty: every automatic choice of a strength follows one.

Each strength is fitted on the training part of every split, from the parameters of the strength before it, and judged
on the held-out part. All fits share the clock and the callback of one run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from nearer._utils.runtime import in_threads
from nearer.solvers.base import Solver, minimise
from nearer.solvers.run import Run

#: with fewer comparisons than this, none are held out
LEAST_COMPARISONS = 50
#: share of the seconds and evaluations that trials may use
_SHARE = 0.5
_USER = ("interrupted", "callback")
_ENDED = (*_USER, "seconds", "evaluations")

#: comparisons, or whatever else an objective is made of; it has a length
Data = Any
#: training part and held-out part
Split = tuple[Data, Data]
#: a loss of comparisons or of margins; it has a name
Loss = Any


@dataclass(frozen=True)
class Choice:
    """What trials chose, points to continue from, and what the trials cost.

    Attributes
    ----------
    loss, strength : Loss, float
        The loss and the strength of its penalty.
    points : array
        Of the fits with them, those that suit all comparisons best.
    errors, scores : dict
        Held-out error and score per strength, for each loss by its name.
    stopped : str, optional
        "interrupted" or "callback" if the user ended the trials, "seconds" if there was no time for any.
    n_held_out : int
        Held-out comparisons, or other terms, over all splits.
    held_out : list of tuple
        Per split, what was held out and the points that were fitted without it.
    """

    loss: Loss
    strength: float
    points: np.ndarray
    errors: dict[str, dict[float, float]] = field(default_factory=dict)
    scores: dict[str, dict[float, float]] = field(default_factory=dict)
    seconds: float = 0.0
    evaluations: int = 0
    stopped: str | None = None
    n_held_out: int = 0
    held_out: list[tuple[Data, np.ndarray]] = field(default_factory=list)

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
        Share by which the held-out score must fall.
    slack : float
        Stop when the score is above the lowest one by more than this share.
    idle : int
        Stop after this many strengths in a row that are no better.
    enough, hopeless : float
        Stop at a score of this or below, or above this.
    """

    gain: float = 0.0
    slack: float = math.inf
    idle: float = math.inf
    enough: float = -math.inf
    hopeless: float = math.inf


class Judged(NamedTuple):
    """The points of a fit, with the error and the score of the comparisons held out."""

    points: np.ndarray
    error: float
    score: float


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
    judge : callable
        Returns the error of points on held-out comparisons, to report, and their score, to choose by: lower is better.
    prepare : callable, optional
        Returns the points from which to minimise an objective, given it and its neighbour's points.
    n_jobs : int
        Splits to fit at the same time, in threads.
    budget : optional
        Fields of the budget to replace, such as `tol`.
    """

    def __init__(
        self,
        run: Run,
        rng: np.random.Generator,
        build: Callable[[Data, Loss, float], Any],
        judge: Callable[[np.ndarray, Data], tuple[float, float]],
        prepare: Callable[[Any, np.ndarray], np.ndarray] = lambda objective, points: points,
        n_jobs: int = 1,
        **budget: Any,
    ):
        self.run, self.rng, self.build, self.judge, self.prepare = run, rng, build, judge, prepare
        self.n_jobs = n_jobs
        self.budget = replace(run.budget.part(_SHARE), **budget)
        self.paths: list[Path] = []

    def path(self, loss: Loss, splits: list[Split]) -> Path:
        """Return a new path for a loss."""
        self.paths.append(Path(self, loss, splits))
        return self.paths[-1]

    def fit(
        self,
        solver: Solver,
        splits: Sequence[Split],
        loss: Loss,
        strength: float,
        starts: Sequence[np.ndarray],
        **budget: Any,
    ) -> list[Judged]:
        """Return one fit per split, within what is left of the budget."""
        runs = self.run.shares(len(splits), replace(self.budget, **budget))
        seeds = self.rng.integers(2**63, size=len(splits))  # one each: threads may draw in any order

        def one(at: int) -> Judged:
            part, held = splits[at]
            objective = self.build(part, loss, strength)
            start = self.prepare(objective, starts[at])
            points, result = minimise(
                solver, objective, start, rng=np.random.default_rng(seeds[at]), run=runs[at]
            )
            if result.stop_reason in _ENDED:
                raise _Ended(result.stop_reason)
            return Judged(points, *self.judge(points, held))

        return in_threads([partial(one, at) for at in range(len(splits))], self.n_jobs)

    def choose(self, first: Choice, work: Callable[[], None], comparisons: Data, gain: float) -> Choice:
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
            if path.best is not None and path.least < (1 - gain) * least:
                least = path.least
                held_out = [
                    (held, points) for (_, held), points in zip(path.splits, path.best_fits, strict=True)
                ]
                best = Choice(path.loss, path.best, path.best_points(comparisons), held_out=held_out)
        return replace(
            best,
            errors={name: path.errors for name, path in self._named().items()},
            scores={name: path.scores for name, path in self._named().items()},
            seconds=self.run.seconds,
            evaluations=self.run.evaluations,
            stopped=ended if ended in _USER else None,
            n_held_out=sum(len(held) for _, held in self.paths[0].splits) if self.paths else 0,
        )

    def _named(self) -> dict[str, Path]:
        named: dict[str, Path] = {}
        for path in self.paths:
            if path.errors:  # a second loss of the same name is listed with its parameters
                named[path.loss.name if path.loss.name not in named else str(path.loss)] = path
        return named


class Path:
    """Fits of one loss along strengths, each from its neighbour's points, on every split."""

    def __init__(self, trials: Trials, loss: Loss, splits: list[Split]):
        self.trials, self.loss, self.splits = trials, loss, splits
        self.fits: dict[float, Sequence[np.ndarray]] = {}  # of the best strength and the latest
        self.errors: dict[float, float] = {}
        self.scores: dict[float, float] = {}
        self.best: float | None = None

    @property
    def least(self) -> float:
        """Return the score of the best strength; infinity if there is none."""
        return math.inf if self.best is None else self.scores[self.best]

    def fit(self, strength: float, starts: Sequence[np.ndarray], solver: Solver, **budget: Any) -> None:
        """Fit one strength on every split."""
        judged = self.trials.fit(solver, self.splits, self.loss, strength, starts, **budget)
        points, errors, scores = zip(*judged, strict=True)
        error, score = float(np.mean(errors)), float(np.mean(scores))
        # all at once: an interruption in between must not leave one without the others
        self.errors[strength], self.scores[strength], self.fits[strength] = error, score, points
        for other in [each for each in self.fits if each not in (strength, self.best)]:
            del self.fits[other]  # there may be as much memory in points as in all else

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
            starts, score = self.fits[strength], self.scores[strength]
            if score > (1 + rule.slack) * self.least:
                return
            if score < (1 - rule.gain) * self.least:
                self.best, idle = strength, 0
            else:
                idle += 1
            if idle >= rule.idle or score <= rule.enough or score > rule.hopeless:
                return

    @property
    def best_fits(self) -> Sequence[np.ndarray]:
        """Return the points of the best strength on each split."""
        assert self.best is not None
        return self.fits[self.best]

    def errors_by_split(self) -> list[float]:
        """Return the held-out error of the best strength on each split."""
        return [
            self.trials.judge(x, held)[0] for x, (_, held) in zip(self.best_fits, self.splits, strict=True)
        ]

    def best_points(self, comparisons: Data) -> np.ndarray:
        """Return the fit of a split that suits all comparisons best: a split may end in a local minimum."""
        assert self.best is not None
        return min(self.best_fits, key=self.trials.build(comparisons, self.loss, self.best).value)
