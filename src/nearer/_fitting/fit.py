"""One fit to comparisons: the data, precision, threads and randomness that its parts share, and its run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nearer.comparisons import Comparisons
from nearer.losses import Loss
from nearer.objectives import PointObjective
from nearer.solvers import Budget, Result, Run, Solver, minimise


@dataclass
class Course:
    """One fit of points or a kernel to comparisons, which may take several runs of solvers.

    The clock of `run` starts at the beginning: starts and automatic choices count, and evaluations add up.
    """

    comparisons: Comparisons
    n_components: int
    rng: np.random.Generator
    dtype: Any = np.float64
    n_jobs: int = 1
    run: Run = field(default_factory=Run)

    def objective(self, loss: Loss, l2: float, part: Comparisons | None = None) -> PointObjective:
        """Return the objective on all comparisons or on a part of them."""
        comparisons = self.comparisons if part is None else part
        return PointObjective(
            comparisons, loss, self.n_components, l2=l2, dtype=self.dtype, n_jobs=self.n_jobs
        )

    def minimise(
        self, solver: Solver, objective: Any, x: np.ndarray, budget: Budget | None = None
    ) -> tuple[np.ndarray, Result]:
        """Run a solver within what is left of the budget."""
        return minimise(solver, objective, x, budget=budget, rng=self.rng, run=self.run)

    def no_run(self, objective: Any, x: np.ndarray, reason: str) -> Result:
        """Return the result of a fit that was ended before its solver began."""
        part = self.run.part()
        part.stop_reason, part.evaluations = reason, self.run.evaluations
        part.best_value = objective.value(objective.start(x))
        return part.result()
