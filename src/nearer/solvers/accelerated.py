"""Accelerated proximal gradient over positive semidefinite kernels, for convex losses, with a certified gap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nearer._utils.validation import positive
from nearer.errors import InputError
from nearer.objectives.gram import CONVEX_PARTS, ConvexFactorObjective
from nearer.solvers.base import Solver
from nearer.solvers.factored import factor_descent
from nearer.solvers.proximal import (
    FIRST_RANK,
    STEP_PARTS,
    Factors,
    Iterate,
    difference,
    first_step,
    note_spectra,
    stepped,
)
from nearer.solvers.run import Run
from nearer.solvers.spectrum import PositivePart

#: a step is valid if curvature times step is at most 1; the next one aims a little lower
_AIM = 0.9
#: the exact, more expensive bound is computed when the rough one is within this many tolerances of closing the gap
_NEARLY = 30.0
#: rounds in the factor within which the gap must fall by this share
_PATIENCE, _WORTH_WHILE = 10, 0.3
#: without bounds, the smallest width of a smoothed kink, as a share of the tolerance
_SHARP = 0.1
#: a smoothed kink is centred again once this share of the gap or less is left to descend on the smoothed objective
_LEFT_TO_DESCEND = 0.7


@dataclass(frozen=True)
class AcceleratedProximalGradient(Solver):
    """FISTA with a step that follows the curvature, restarts when the objective rises, and a lower bound.

    A step from Y along the gradient G(Y) to the kernel K yields a certificate: `trace_penalty * I + G(Y)` has no
    eigenvalue below `- largest eigenvalue of (K - Y) / step`, so the slopes at Y, scaled down a little, are a feasible
    point of the dual problem. The run ends when the gap between the objective and the best such bound is below `tol`
    times the objective. (The bound is as accurate as the eigenvalues: nine digits if they come from Lanczos.) Without a
    trace penalty there is no such bound, and the run ends when the objective stops falling.

    Losses with a kink are smoothed. Whenever smoothing makes up most of the gap, it is centred at the current slopes,
    which would make it exact at the minimum, and its width is multiplied by `narrowing`.

    Parameters
    ----------
    factored : bool
        Begin with rounds of L-BFGS in the factor of the kernel, each followed by one proximal step, as long as they
        close the gap quickly: far fewer decompositions, the same minimum.
    partial : bool
        Compute only the eigenpairs that a step needs, by Lanczos or LAPACK, whichever is faster; False computes all of
        them at every step.
    growth : float
        Largest factor by which a step may grow at once.
    narrowing : float
        Factor of the width of a smoothed kink at every new centre, below 1.
    """

    factored: bool = True
    partial: bool = True
    growth: float = 1.5
    narrowing: float = 0.8
    name = "accelerated"
    requires = STEP_PARTS | CONVEX_PARTS

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

    def solve(
        self, objective: ConvexFactorObjective, x: np.ndarray, rng: np.random.Generator, run: Run
    ) -> np.ndarray:
        descent = _Descent(self, objective, Iterate.of(objective, x), run)
        run.begin(descent.now.factor, descent.now.value(objective), descent.step)
        if self.factored:
            descent.rounds_in_the_factor()
        while descent.advance():
            descent.record()
        descent.note()
        run.stop_reason = "tolerance"  # no further descent is possible
        return descent.now.factor


class _Descent:
    """The state of a run: two kernels, a step, the momentum between them, bounds, and the width of smoothed kinks."""

    def __init__(
        self, solver: AcceleratedProximalGradient, objective: ConvexFactorObjective, start: Iterate, run: Run
    ):
        self.solver, self.objective, self.run = solver, objective, run
        self.width = objective.loss.unit
        self.surface = objective.smoothed(self.width)
        self.now = self.before = start
        self.momentum = 1.0
        # lower bounds of the objective and of its smoothed form
        self.bound = self.smoothed_bound = -np.inf
        self.positive_part = PositivePart(partial=solver.partial)
        self.still = 0
        slopes = objective.pair_slopes(*self.surface.derivatives(start.distances))
        run.count(objective.n_terms)
        self.step = first_step(objective, objective.gradient(slopes))

    @property
    def gap(self) -> float:
        """Return an upper bound on the distance of the objective from its minimum."""
        return self.now.value(self.objective) - self.bound

    def advance(self) -> bool:
        """Take one step that lowers the objective, if possible with momentum; return False if none does."""
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
            self.before, self.momentum = self.now, 1.0
        self.still = self.still + 1 if here - there <= self.run.budget.tol * abs(here) else 0
        self.before, self.now, self.momentum = self.now, new, next_momentum
        return True

    def rounds_in_the_factor(self) -> None:
        """Alternate L-BFGS in the factor and a proximal step while that closes the gap."""
        most = max(FIRST_RANK, 2 * self.now.factor.shape[1])
        certified, idle, reference = self.objective.trace_penalty > 0, 0, np.inf
        while idle < _PATIENCE:
            if self.now.trace:  # at zero the gradient by the factor is zero
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
        """Report to the run, which may end; return whether the kink became sharper."""
        value, step, factor = self.now.value(self.objective), self.step, self.now.factor
        self.note()
        if self.objective.trace_penalty:
            sharper = self.now.value(self.surface) - self.smoothed_bound <= _LEFT_TO_DESCEND * self.gap
            gap, settled = self.gap, True
        else:  # no bounds: as sharp as the tolerance asks, then until the objective stops falling
            sharper = self.still >= 2 and self._can_be_sharper()
            gap, settled = None, not self._can_be_sharper()
        self.run.record(factor, value, step, gap=gap, settled=settled)
        return sharper and self._sharpen()

    def note(self) -> None:
        """Note the bound and the cost of the decompositions in the result."""
        note_spectra(self.run, self.positive_part)
        if self.objective.trace_penalty:
            self.run.note(lower_bound=self.bound)

    def _can_be_sharper(self) -> bool:
        least = _SHARP * self.run.budget.tol * self.objective.loss.unit
        return self.surface is not self.objective and self.width > least

    def _sharpen(self) -> bool:
        """Centre the smoothed kink at the current slopes and make it narrower; return False if there is none."""
        if self.surface is self.objective:
            return False
        self.width *= self.solver.narrowing
        self.step *= self.solver.narrowing
        centre = self.surface.derivatives(self.now.distances)[0]
        self.surface = self.objective.smoothed(self.width, centre)
        self.before, self.momentum, self.still, self.smoothed_bound = self.now, 1.0, 0, -np.inf
        return True

    def _step_from(self, beta: float, most: int | None = None) -> Iterate:
        """Step from an extrapolation of the last two kernels, as far as the curvature allows, and take the bound."""
        origin: Factors = ((1 + beta, self.now.factor), (-beta, self.before.factor))
        distances = self.now.distances + beta * (self.now.distances - self.before.distances)
        by_near, by_far = self.surface.derivatives(distances)
        slopes = self.objective.pair_slopes(by_near, by_far)
        self.run.count(self.objective.n_terms)
        while True:
            new = stepped(self.objective, origin, slopes, self.step, self.positive_part, most)
            moved = difference(new.factor, origin)
            length = float(np.linalg.norm(moved))
            there = self.objective.pair_slopes(*self.surface.derivatives(new.distances))
            self.run.count(self.objective.n_terms)
            rise = float((there - slopes) @ (new.distances - distances))
            curvature = self.step * rise / max(length**2, 1e-300)  # in units of 1 / step
            if curvature <= 1.0 + 1e-6 or not np.isfinite(curvature):
                break
            self.step *= _AIM / curvature
        if self.objective.trace_penalty and (most is None or new.factor.shape[1] < most):
            self._bound_from(new, by_near, moved, length)
        growth = self.solver.growth
        self.step *= min(growth, max(1.0, _AIM / curvature)) if curvature > 0 else growth
        return new

    def _bound_from(self, new: Iterate, by_near: np.ndarray, moved: np.ndarray, length: float) -> None:
        """Bound the objective from below: roughly first, and exactly if that may end the run."""
        self._add_bound(by_near, length / self.step)
        value = new.value(self.objective)
        if value - self.bound <= _NEARLY * self.run.budget.tol * value:
            self._add_bound(by_near, max(float(np.linalg.eigvalsh(moved)[-1]), 0.0) / self.step)

    def _add_bound(self, by_near: np.ndarray, excess: float) -> None:
        """Add the bound of slopes whose gradient is infeasible by `excess`."""
        scale = self.objective.trace_penalty / (self.objective.trace_penalty + excess)
        self.bound = max(self.bound, self.objective.lower_bound(by_near, scale))
        self.smoothed_bound = max(self.smoothed_bound, self.surface.lower_bound(by_near, scale))
