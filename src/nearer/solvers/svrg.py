"""Stochastic variance-reduced gradient with any step rule: Algorithms 1 and 2 of the SVRG-SBB paper."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nearer._utils.validation import whole
from nearer.errors import InputError
from nearer.objectives.base import Shuffled, WithSnapshots, members
from nearer.solvers.base import Solver
from nearer.solvers.run import Run
from nearer.solvers.steps import Snapshot, StepRule, as_rule, first_step


@dataclass(frozen=True)
class SVRG(Solver[WithSnapshots]):
    """Mini-batch SVRG; with the stabilised Barzilai-Borwein step it is SVRG-SBB.

    Parameters
    ----------
    step : float, "sbb", "bb", "constant", "decay" or StepRule
        Size of the step per comparison. The step of a batch of b comparisons is b times as long.
    batch_size : int
        Comparisons per step.
    epsilon : float or "auto"
        Stabilisation of the step "sbb"; see `StabilizedBB`.
    epoch_length : int, optional
        Comparisons walked between two snapshots (the paper's m); None means all of them once.
    module_epochs : int, optional
        Start again with the first step after this many epochs (Algorithm 2); None means never (Algorithm 1).

    Notes
    -----
    An epoch draws comparisons without replacement (a walk along a shuffled copy), and the best snapshot is the result.
    The paper draws with replacement and returns a random iterate, for its proof.
    """

    step: float | str | StepRule = "sbb"
    batch_size: int = 10
    epsilon: float | str = "auto"
    epoch_length: int | None = None
    module_epochs: int | None = None
    name = "svrg"
    requires = members(WithSnapshots)

    def __post_init__(self) -> None:
        as_rule(self.step, self.epsilon)
        if self.step != "sbb" and self.epsilon != "auto":
            raise InputError('epsilon belongs to step="sbb": leave it out, or pass a StabilizedBB as step')
        whole("batch_size", self.batch_size)
        if self.epoch_length is not None:
            whole("epoch_length", self.epoch_length)
        if self.module_epochs is not None:
            whole("module_epochs", self.module_epochs)

    def solve(
        self, objective: WithSnapshots, x: np.ndarray, rng: np.random.Generator, run: Run
    ) -> np.ndarray:
        rule = as_rule(self.step, self.epsilon)
        n_terms = objective.n_terms
        length = self.epoch_length or n_terms
        walk = objective.walk(rng, slopes=True)
        value, gradient = objective.snapshot_gradient(x, walk)
        run.count(n_terms)
        epoch = 0
        at = Snapshot(x.copy(), objective.with_penalty(gradient, x), length)
        step, evaluations = first_step(rule, objective, at)
        run.count(evaluations)
        begin = step
        run.begin(x, value, step)
        while True:
            self._walk(objective, x, at.points, gradient, walk, step, length)
            run.count(2 * length + n_terms)
            walk.shuffle()
            value, gradient = objective.snapshot_gradient(x, walk)
            epoch += 1
            before, at = at, Snapshot(x.copy(), objective.with_penalty(gradient, x), length, epoch)
            used = step
            begins_module = self.module_epochs is not None and epoch % self.module_epochs == 0
            step = rule.next(step, before, at)
            if begins_module:  # the first step may be too long by now
                step = min(begin, step)
            run.record(x, value, used)

    def _walk(
        self,
        objective: WithSnapshots,
        x: np.ndarray,
        snapshot: np.ndarray,
        gradient: np.ndarray,
        walk: Shuffled,
        step: float,
        length: int,
    ) -> None:
        """Walk `length` comparisons: part of the walk, or several walks if it is longer."""
        while length > 0:
            count = min(length, objective.n_terms)
            batch_size = min(self.batch_size, count)
            objective.svrg_epoch(x, snapshot, gradient, walk, step * batch_size, batch_size, count)
            length -= count
            if length > 0:
                walk.shuffle()
