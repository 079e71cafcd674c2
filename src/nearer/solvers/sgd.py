"""Plain stochastic gradient descent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nearer._utils.validation import whole
from nearer.errors import InputError
from nearer.objectives.base import WithStochasticEpochs, members
from nearer.solvers.base import Solver
from nearer.solvers.run import Run
from nearer.solvers.steps import Snapshot, StepRule, as_rule, first_step


@dataclass(frozen=True)
class SGD(Solver[WithStochasticEpochs]):
    """Mini-batch stochastic gradient descent.

    The recorded objective is the mean over the comparisons of the epoch, each at the points of that moment.

    Parameters
    ----------
    step : float, "constant", "decay" or StepRule
        Size of the step per comparison. The step of a batch of b comparisons is b times as long.
    batch_size : int
        Comparisons per step.
    """

    step: float | str | StepRule = "decay"
    batch_size: int = 10
    name = "sgd"
    requires = members(WithStochasticEpochs)

    def __post_init__(self) -> None:
        whole("batch_size", self.batch_size)
        if as_rule(self.step).needs_gradients:
            raise InputError(
                "SGD takes no full gradients, which this step rule needs: use a number, 'decay', or the solver SVRG"
            )

    def solve(
        self, objective: WithStochasticEpochs, x: np.ndarray, rng: np.random.Generator, run: Run
    ) -> np.ndarray:
        rule = as_rule(self.step)
        n_terms = objective.n_terms
        batch_size = min(self.batch_size, n_terms)
        walk = objective.walk(rng)
        value, gradient = objective.value_and_gradient(x)
        run.count(n_terms)
        at = Snapshot(x, gradient, n_terms)
        step, evaluations = first_step(rule, objective, at)
        run.count(evaluations)
        run.begin(x, value, step)
        for epoch in range(1, 10**9):
            steps = np.full(-(-n_terms // batch_size), step * batch_size)
            value = objective.sgd_epoch(x, walk, steps, batch_size)
            run.count(n_terms)
            walk.shuffle()
            run.record(x, value, step, exact=False)
            before, at = at, Snapshot(x, gradient, n_terms, epoch)
            step = rule.next(step, before, at)
        return x
