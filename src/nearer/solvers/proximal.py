"""Proximal gradient over positive semidefinite kernels: the parts its variants share, and the monotone variant.

A step goes along the negative gradient from a kernel, or from an extrapolation of two, and returns to the positive
semidefinite kernels: eigenvalues fall by `step * trace_penalty`, and those that would be negative become zero. That is
the exact minimiser of trace penalty plus squared distance. Kernels are stored as factors, K = X Xᵀ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nearer._utils.validation import positive
from nearer.errors import InputError
from nearer.objectives.gram import FactorObjective
from nearer.solvers.base import Solver
from nearer.solvers.factored import factor_descent
from nearer.solvers.run import Run
from nearer.solvers.spectrum import LowRankPlusSparse, PositivePart

if TYPE_CHECKING:
    from scipy.sparse import csr_array

#: largest rank with which descent in the factor begins
FIRST_RANK = 10

#: what descent over kernels uses of an objective
STEP_PARTS = frozenset(
    {
        *("distances", "mean_loss", "derivatives", "pair_slopes", "gradient"),
        *("value_and_factor_gradient", "trace_penalty", "loss"),
    }
)

Factors = tuple[tuple[float, np.ndarray], ...]


@dataclass(frozen=True)
class Iterate:
    """A kernel by its factor, with the distances of the objective's pairs."""

    factor: np.ndarray
    distances: np.ndarray
    trace: float

    @classmethod
    def of(cls, objective: FactorObjective, X: np.ndarray) -> Iterate:
        """Return the iterate for any factor, without its columns of zeros."""
        X = X[:, X.any(axis=0)]
        X = X if X.shape[1] else np.zeros((len(X), 1))
        return cls(X, objective.distances(X), float(np.vdot(X, X)))

    def value(self, objective: FactorObjective) -> float:
        """Return the objective here."""
        return objective.mean_loss(self.distances) + objective.trace_penalty * self.trace


def stepped(
    objective: FactorObjective,
    origin: Factors,
    slopes: np.ndarray,
    step: float,
    positive_part: PositivePart,
    most: int | None = None,
) -> Iterate:
    """Take one step from the kernel `sum of c X Xᵀ` along the gradient of these slopes, and back to feasible kernels.

    The rank is at most `most`, if given. Slopes that are not finite lead to a kernel that is not, which the run
    reports as diverged.
    """
    if not np.isfinite(slopes).all():
        return Iterate(origin[0][1] * np.nan, slopes * np.nan, np.nan)
    shift = step * objective.trace_penalty
    matrix = LowRankPlusSparse(origin, objective.gradient(slopes), -step)
    values, vectors = positive_part(matrix, shift, most)
    return Iterate.of(objective, vectors * np.sqrt(values - shift))


def difference(new: np.ndarray, origin: Factors) -> np.ndarray:
    """Return a symmetric matrix with the norms and nonzero eigenvalues of `X Xᵀ - sum of c Z Zᵀ`.

    If the factors are narrow, it is in the space of their columns: differences of inner products of the factors would
    lose half of the digits.
    """
    factors = ((1.0, new), *((-c, X) for c, X in origin if c))
    columns = sum(X.shape[1] for _, X in factors)
    if columns < len(new) // 2:
        signs = np.concatenate([np.full(X.shape[1], c) for c, X in factors])
        R: np.ndarray = np.linalg.qr(np.concatenate([X for _, X in factors], axis=1), mode="r")  # type: ignore[assignment]
        return (R * signs) @ R.T
    total = np.zeros((len(new), len(new)))
    for c, X in factors:
        total += c * (X @ X.T)
    return total


def _of_rank(X: np.ndarray, most: int | None) -> np.ndarray:
    """Return the factor of the nearest kernel of at most this rank."""
    if most is None or np.count_nonzero(X.any(axis=0)) <= most:
        return X
    U, s, _ = np.linalg.svd(X, full_matrices=False)
    return U[:, :most] * s[:most]


def first_step(objective: FactorObjective, gradient: csr_array) -> float:
    """Return a step that moves eigenvalues by about the loss's unit; line searches do the rest."""
    size = float(np.sqrt((gradient.data**2).sum() / gradient.shape[0]))
    return objective.loss.unit / (2 * size) if size > 0 else 1.0


def note_spectra(run: Run, positive_part: PositivePart) -> None:
    """Note the number of decompositions and their time in the result."""
    run.note(
        whole_decompositions=positive_part.n_whole,
        lanczos_decompositions=positive_part.n_lanczos,
        decomposition_seconds=positive_part.seconds,
    )


@dataclass(frozen=True)
class ProximalGradient(Solver):
    """Proximal gradient that lowers the objective at every step: for any loss, and for kernels of limited rank.

    If the loss is not convex, or the rank is limited, it ends at a stationary point, which depends on the start. The
    first trial step is that of Barzilai and Borwein. It is multiplied by `shrink` until the objective falls by `armijo`
    times the squared distance over twice the step.

    Parameters
    ----------
    factored : bool, optional
        Begin with rounds of L-BFGS in the factor of the kernel, each followed by one proximal step, as long as a round
        lowers the objective by more than `tol`: far fewer decompositions. None means True unless `step` is given.
    partial : bool
        Compute only the eigenpairs that a step needs, by Lanczos or LAPACK, whichever is faster; False computes all of
        them at every step.
    step : float, optional
        A constant step instead of the line search, like the projected gradient of the papers; the objective may then
        also rise.
    armijo, shrink : float
        Parameters of the line search.
    """

    factored: bool | None = None
    partial: bool = True
    step: float | None = None
    armijo: float = 1e-2
    shrink: float = 0.5
    name = "proximal"
    requires = STEP_PARTS | {"max_rank"}

    @property
    def default_epochs(self) -> int:
        return 1000

    def __post_init__(self) -> None:
        if self.step is not None:
            positive("step", self.step)
        for name in ("armijo", "shrink"):
            positive(name, getattr(self, name))
            if getattr(self, name) >= 1:
                raise InputError(f"{name} must be below 1, not {getattr(self, name)!r}")

    def solve(
        self, objective: FactorObjective, x: np.ndarray, rng: np.random.Generator, run: Run
    ) -> np.ndarray:
        start = Iterate.of(objective, _of_rank(x, objective.max_rank))
        descent = _Descent(self, objective, start, run)
        run.begin(descent.now.factor, descent.value, descent.step)
        if self.factored or (self.factored is None and self.step is None):
            descent.rounds_in_the_factor()
        while descent.advance(objective.max_rank):
            descent.record()
        note_spectra(run, descent.positive_part)
        # no further descent is possible
        run.stop_reason = "tolerance" if np.isfinite(descent.slopes).all() else "diverged"
        return descent.now.factor


class _Descent:
    """The state of a monotone run: a kernel, its value and slopes, and the step to try next."""

    def __init__(self, solver: ProximalGradient, objective: FactorObjective, start: Iterate, run: Run):
        self.solver, self.objective, self.run = solver, objective, run
        self.positive_part = PositivePart(partial=solver.partial)
        self.move_to(start)
        self.step = solver.step or first_step(objective, objective.gradient(self.slopes))

    def move_to(self, new: Iterate) -> None:
        """Make this kernel the current one."""
        self.now, self.value = new, new.value(self.objective)
        self.slopes = self.objective.pair_slopes(*self.objective.derivatives(new.distances))
        self.run.count(self.objective.n_terms)

    def advance(self, most: int | None) -> bool:
        """Take one step, which lowers the objective unless its size is given; return False if none does."""
        origin: Factors = ((1.0, self.now.factor),)
        if self.solver.step is not None:
            self.move_to(stepped(self.objective, origin, self.slopes, self.step, self.positive_part, most))
            return True
        while True:
            trial = stepped(self.objective, origin, self.slopes, self.step, self.positive_part, most)
            moved = float(np.linalg.norm(difference(trial.factor, origin))) ** 2
            value = trial.value(self.objective)
            self.run.count(self.objective.n_terms)
            if moved > 0 and value <= self.value - self.solver.armijo * moved / (2 * self.step):
                break
            if not moved > np.finfo(np.float64).eps * self.now.trace**2:
                return False
            self.step *= self.solver.shrink
        before, slopes, used = self.now, self.slopes, self.step
        self.move_to(trial)
        curvature = float((self.slopes - slopes) @ (self.now.distances - before.distances))
        self.step = min(moved / curvature, 10 * used) if curvature > 0 else 2 * used
        return True

    def rounds_in_the_factor(self) -> None:
        """Alternate L-BFGS in the factor and a proximal step while that lowers the objective quickly."""
        limit = self.objective.max_rank
        most = max(FIRST_RANK, 2 * self.now.factor.shape[1])
        while True:
            before = self.value
            if self.now.trace:  # at zero the gradient by the factor is zero
                X = factor_descent(self.objective, self.objective, self.now.factor, self.run)
                self.move_to(Iterate.of(self.objective, X))
            if not self.advance(most if limit is None else min(most, limit)):
                return
            self.record(settled=False)
            if self.now.factor.shape[1] >= most and (limit is None or most < limit):
                most *= 2
            elif before - self.value <= self.run.budget.tol * abs(before):
                return

    def record(self, settled: bool = True) -> None:
        """Report to the run, which may end."""
        note_spectra(self.run, self.positive_part)
        self.run.record(self.now.factor, self.value, self.step, settled=settled)
