"""Accelerated proximal gradient over positive semidefinite kernels, for convex losses, with a certified gap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nearer._utils.validation import positive
from nearer.errors import InputError
from nearer.solvers.base import Solver
from nearer.solvers.factored import factor_descent
from nearer.solvers.proximal import (
    FACTOR_PARTS,
    FIRST_RANK,
    Factors,
    Iterate,
    difference,
    first_step,
    note_spectra,
    stepped,
)
from nearer.solvers.run import Run
from nearer.solvers.spectrum import PositivePart

#: a step is right where curvature times step is at most 1; the next one aims a little below
_AIM = 0.9
#: how far a bound by the Frobenius norm may be from closing before the exact, dearer one is worth taking
_NEARLY = 30.0
#: rounds in the factor that may pass before the gap has fallen by this share
_PATIENCE, _WORTH_WHILE = 10, 0.3
#: without bounds, width of the kink beside the tolerance that is sharp enough
_SHARP = 0.1
#: share of the gap that may be left to descend before the rounded kink is centred anew
_LEFT_TO_DESCEND = 0.7


@dataclass(frozen=True)
class AcceleratedProximalGradient(Solver):
    """FISTA with a step that follows the curvature, restarts where the objective rises, and a bound from below.

    A step from Y along the gradient G(Y) to the kernel K leaves a certificate behind: `trace_penalty * I + G(Y)` has no
    eigenvalue below `- largest eigenvalue of (K - Y) / step`, so the slopes at Y, scaled down a little, are a feasible
    point of the dual problem. The run ends when the gap between the objective and the best such bound is below `tol`
    times the objective. (The bound is as good as the eigenvalues: where they come from Lanczos, to nine digits.)
    Without a trace penalty there is no such bound, and it ends when the objective stands still.

    Losses with a kink are rounded off. Whenever rounding makes up most of the gap, it is centred at the slopes found so
    far, which at the minimum would make it exact, and its width falls by `narrowing`.

    Parameters
    ----------
    factored : bool
        Begin with rounds of L-BFGS in the factor of the kernel, each followed by one proximal step, for as long as they
        close the gap quickly: far fewer decompositions, the same minimum.
    partial : bool
        Compute only the eigenpairs that a step needs, by Lanczos or LAPACK, whichever is quicker; False computes all of
        them at every step.
    growth : float
        Most that a step may grow at once.
    narrowing : float
        Factor of the width of the rounded kink at every new centre, below 1.
    """

    factored: bool = True
    partial: bool = True
    growth: float = 1.5
    narrowing: float = 0.8
    name = "accelerated"
    requires = FACTOR_PARTS | {"convexity", "lower_bound", "smoothed"}

    @property
    def default_epochs(self) -> int:
        return 5000

    def __post_init__(self) -> None:
        positive("growth", self.growth)
        if self.growth < 1:
            raise InputError(f"growth must be 1 or more, not {self.growth!r}")
        positive("narrowing", self.narrowing)
        if self.narrowing >= 1:
            raise InputError(f"narrowing must be below 1, not {self.narrowing!r}")

    def solve(self, objective: Any, x: np.ndarray, rng: np.random.Generator, run: Run) -> np.ndarray:
        descent = _Descent(self, objective, Iterate.of(objective, x), run)
        run.begin(descent.now.factor, descent.now.value(objective), descent.step)
        if self.factored:
            descent.rounds_in_the_factor()
        while descent.advance():
            descent.record()
        descent.note()
        run.stop_reason = "tolerance"  # there is no further descent to see
        return descent.now.factor


class _Descent:
    """The state of a run: two kernels, a step, the momentum between them, bounds, and how round the kink is."""

    def __init__(self, solver: AcceleratedProximalGradient, objective: Any, start: Iterate, run: Run):
        self.solver, self.objective, self.run = solver, objective, run
        self.width = objective.loss.unit
        self.surface = objective.smoothed(self.width)
        self.now = self.before = start
        self.momentum = 1.0
        # what the objective, and its rounded form, cannot fall below
        self.bound = self.rounded_bound = -np.inf
        self.positive_part = PositivePart(partial=solver.partial)
        self.still = 0
        slopes = objective.pair_slopes(*self.surface.derivatives(start.distances))
        run.count(objective.n_terms)
        self.step = first_step(objective, objective.gradient(slopes))

    @property
    def gap(self) -> float:
        """How far the objective can at most be above its minimum."""
        return self.now.value(self.objective) - self.bound

    def advance(self) -> bool:
        """One step that lowers the objective, with momentum if that does; False where no descent is left to see."""
        here = self.now.value(self.surface)
        while True:
            next_momentum = (1 + np.sqrt(1 + 4 * self.momentum**2)) / 2
            beta = (self.momentum - 1) / next_momentum
            new = self._step_from(beta)
            there = new.value(self.surface)
            if not there >= here:
                break
            if beta == 0:
                return self._can_be_sharper() and self._sharpen()
            self.before, self.momentum = self.now, 1.0  # begin anew from here
        self.still = self.still + 1 if here - there <= self.run.budget.tol * abs(here) else 0
        self.before, self.now, self.momentum = self.now, new, next_momentum
        return True

    def rounds_in_the_factor(self) -> None:
        """L-BFGS in the factor and a proximal step, in turns, while that brings the bounds together."""
        most = max(FIRST_RANK, 2 * self.now.factor.shape[1])
        certified, idle, reference = self.objective.trace_penalty > 0, 0, np.inf
        while idle < _PATIENCE:
            if self.now.trace:  # at zero the factor has no direction to go
                X = factor_descent(self.objective, self.surface, self.now.factor, self.run)
                self.now = Iterate.of(self.objective, X)
            self.before = self.now = self._step_from(0.0, most)
            cut = self.now.factor.shape[1] >= most
            sharper = self.record()
            most = 2 * most if cut else most
            left = self.gap if certified else self.now.value(self.objective)
            far = not np.isfinite(reference) or reference - left > _WORTH_WHILE * abs(reference)
            idle, reference = (0, left) if cut or sharper or far else (idle + 1, reference)

    def record(self) -> bool:
        """Tell the run, which may end the run; whether the kink became sharper."""
        value, step, factor = self.now.value(self.objective), self.step, self.now.factor
        self.note()
        if self.objective.trace_penalty:
            sharper = self.now.value(self.surface) - self.rounded_bound <= _LEFT_TO_DESCEND * self.gap
            gap, settled = self.gap, True
        else:  # no bounds to go by: as sharp as the tolerance asks, then until the objective stands still
            sharper = self.still >= 2 and self._can_be_sharper()
            gap, settled = None, not self._can_be_sharper()
        self.run.record(factor, value, step, gap=gap, settled=settled)
        return sharper and self._sharpen()

    def note(self) -> None:
        """Leave the bound and the cost of the decompositions in the result."""
        note_spectra(self.run, self.positive_part)
        if self.objective.trace_penalty:
            self.run.note(lower_bound=self.bound)

    def _can_be_sharper(self) -> bool:
        least = _SHARP * self.run.budget.tol * self.objective.loss.unit
        return self.surface is not self.objective and self.width > least

    def _sharpen(self) -> bool:
        """Centre the rounded kink at the slopes of now, and make it narrower; False where there is none."""
        if self.surface is self.objective:
            return False
        self.width *= self.solver.narrowing
        self.step *= self.solver.narrowing
        centre = self.surface.derivatives(self.now.distances)[0]
        self.surface = self.objective.smoothed(self.width, centre)
        self.before, self.momentum, self.still, self.rounded_bound = self.now, 1.0, 0, -np.inf
        return True

    def _step_from(self, beta: float, most: int | None = None) -> Iterate:
        """A step from beyond the last two kernels, no longer than the curvature allows, and the bound it gives."""
        origin: Factors = ((1 + beta, self.now.factor), (-beta, self.before.factor))
        distances = self.now.distances + beta * (self.now.distances - self.before.distances)
        by_near, by_far = self.surface.derivatives(distances)
        slopes = self.objective.pair_slopes(by_near, by_far)
        self.run.count(self.objective.n_terms)
        while True:
            new = stepped(self.objective, origin, slopes, self.step, self.positive_part, most)
            way = difference(new.factor, origin)
            length = float(np.linalg.norm(way))
            there = self.objective.pair_slopes(*self.surface.derivatives(new.distances))
            self.run.count(self.objective.n_terms)
            bend = self.step * float((there - slopes) @ (new.distances - distances)) / max(length**2, 1e-300)
            if bend <= 1.0 + 1e-6 or not np.isfinite(bend):
                break
            self.step *= _AIM / bend
        if self.objective.trace_penalty and (most is None or new.factor.shape[1] < most):
            self._bound_from(new, by_near, way, length)
        growth = self.solver.growth
        self.step *= min(growth, max(1.0, _AIM / bend)) if bend > 0 else growth
        return new

    def _bound_from(self, new: Iterate, by_near: np.ndarray, way: np.ndarray, length: float) -> None:
        """Bound the objective from below, first roughly, and exactly where that may end the run."""
        self._add_bound(by_near, length / self.step)
        value = new.value(self.objective)
        if value - self.bound <= _NEARLY * self.run.budget.tol * value:
            self._add_bound(by_near, max(float(np.linalg.eigvalsh(way)[-1]), 0.0) / self.step)

    def _add_bound(self, by_near: np.ndarray, excess: float) -> None:
        """Take in the bound of slopes whose gradient falls short of feasible by `excess`."""
        scale = self.objective.trace_penalty / (self.objective.trace_penalty + excess)
        self.bound = max(self.bound, self.objective.lower_bound(by_near, scale))
        self.rounded_bound = max(self.rounded_bound, self.surface.lower_bound(by_near, scale))
