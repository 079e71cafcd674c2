"""Batch gradient descent with a line search."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nearer._utils.validation import positive
from nearer.errors import InputError
from nearer.objectives.base import WithGradient, members
from nearer.solvers.base import Solver
from nearer.solvers.run import Run
from nearer.solvers.steps import Constant, Snapshot, first_step


@dataclass(frozen=True)
class GradientDescent(Solver[WithGradient]):
    """Steepest descent with Armijo backtracking; after each step the next is tried `growth` times larger.

    Each value in the line search counts one evaluation per comparison, as a gradient does.
    """

    armijo: float = 1e-4
    shrink: float = 0.5
    growth: float = 2.0
    name = "batch"
    requires = members(WithGradient)

    @property
    def default_epochs(self) -> int:
        return 1000

    def __post_init__(self) -> None:
        for name in ("armijo", "shrink"):
            positive(name, getattr(self, name))
            if getattr(self, name) >= 1:
                raise InputError(f"{name} must be below 1, not {getattr(self, name)!r}")
        positive("growth", self.growth)
        if self.growth < 1:
            raise InputError(f"growth must be 1 or more, not {self.growth!r}")

    def solve(self, objective: WithGradient, x: np.ndarray, rng: np.random.Generator, run: Run) -> np.ndarray:
        value, gradient = objective.value_and_gradient(x)
        run.count(objective.n_terms)
        step, evaluations = first_step(Constant(), objective, Snapshot(x, gradient, objective.n_terms))
        step *= objective.n_terms  # one long step instead of one per comparison
        run.count(evaluations)
        run.begin(x, value, step)
        while True:
            slope = float(np.vdot(gradient, gradient))
            while True:
                trial = x - x.dtype.type(step) * gradient
                trial_value = objective.value(trial)
                run.count(objective.n_terms)
                if trial_value <= value - self.armijo * step * slope:
                    break
                # descent is below rounding error, or the slope is not finite
                if not step * slope > np.finfo(np.float64).eps * abs(value):
                    trial = x
                    break
                step *= self.shrink
            x = trial
            value, gradient = objective.value_and_gradient(x)
            run.count(objective.n_terms)
            run.record(x, value, step)
            step *= self.growth
