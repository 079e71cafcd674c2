"""What the parts of one fit share: data, precision, threads, randomness, callback, and one budget."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nearer.comparisons import Comparisons
from nearer.losses import Loss
from nearer.objectives import PointObjective
from nearer.solvers import Budget, Progress, Result, Solver, minimise
from nearer.solvers.monitor import Callback, Monitor


@dataclass(frozen=True)
class StagedProgress(Progress):
    """A record that knows its place in a fit of several runs, each of which counts from its start.

    `stage` is what the run is about ("choosing l2" and the like, then "fitting"); it is `part` of at most `parts`.
    """

    stage: str = ""
    part: int = 1
    parts: int = 1


@dataclass
class Course:
    """One fit of points to comparisons, which may take several runs of solvers.

    The clock runs from the beginning, starts and automatic choices included; evaluations add up over the runs.
    """

    comparisons: Comparisons
    n_components: int
    rng: np.random.Generator
    budget: Budget = field(default_factory=Budget)
    dtype: Any = np.float64
    n_jobs: int = 1
    callback: Callback | None = None
    evaluations: int = 0
    began: float = field(default_factory=time.perf_counter)
    stage: str = ""
    part: int = 0
    parts: int = 1

    @property
    def seconds(self) -> float:
        """Time since the beginning."""
        return time.perf_counter() - self.began

    @property
    def seconds_left(self) -> float | None:
        """What is left of the budget of seconds, where there is one."""
        most = self.budget.max_seconds
        return None if most is None else max(most - self.seconds, 0.0)

    def enter(self, stage: str, parts: int) -> None:
        """Begin a stage of at most `parts` runs; callbacks are told which one they see."""
        self.stage, self.part, self.parts = stage, 0, parts

    def objective(self, loss: Loss, l2: float, part: Comparisons | None = None) -> PointObjective:
        """The objective on all comparisons or on a part of them."""
        comparisons = self.comparisons if part is None else part
        return PointObjective(
            comparisons, loss, self.n_components, l2=l2, dtype=self.dtype, n_jobs=self.n_jobs
        )

    def run(
        self, solver: Solver, objective: PointObjective, points: np.ndarray, budget: Budget | None = None
    ) -> tuple[np.ndarray, Result]:
        """Run a solver within what is left of the budget."""
        left = (budget or self.budget).less(self.seconds, self.evaluations)
        tell = None if self.callback is None else self._tell
        self.part += 1
        points, result = minimise(solver, objective, points, budget=left, callback=tell, rng=self.rng)
        self.evaluations += result.n_evaluations
        return points, result

    def _tell(self, progress: Progress) -> object:
        assert self.callback is not None
        if not self.stage:
            return self.callback(progress)
        return self.callback(
            StagedProgress(**vars(progress), stage=self.stage, part=self.part, parts=self.parts)
        )

    def no_run(self, objective: PointObjective, points: np.ndarray, reason: str) -> Result:
        """The result of a fit that was ended before its solver began."""
        monitor = Monitor(self.budget)
        monitor.reason, monitor.evaluations = reason, self.evaluations
        monitor.best_value = objective.value(points.astype(self.dtype))
        return monitor.result()
