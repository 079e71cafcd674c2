"""Convex co-embedding along its central path: Newton's method with a barrier, for few labels and many features.

The trace of the feature block of C is only held up by its products with labels, so the minimum over C is one over
A = U Vᵀ, the inner products of features with labels, and M = V Vᵀ, those of labels with each other:

    L(A, diag M) + beta * (tr A M⁻¹ Aᵀ + tr M) - mu * log det M

This is convex in A and M together. The last term, the barrier, keeps M from losing rank. At the minimum with it, no
eigenvalue of minus the gradient of the loss exceeds beta, and the gap of the objective is exactly mu per label: a
certificate. As mu falls, these minima, the central path, lead to that of the objective. Before that, beta falls from
the strength that leaves nothing to its value.

Steps are changes of U and V, of which only what they mean for A and M counts, to first order. In these A and M move on
a line, so that a step may be as long as M stays positive definite. Newton's equations are solved by conjugate gradients
in coordinates in which every row of U and V has about unit curvature.

Descent over the factor of C alone, as in `ila.py`, needs no barrier and no more columns than C has rank. But where beta
is small, nearly all margins are large and the loss is flat. Its slopes then do not become even enough for a bound: on
tags of last.fm, gaps of 0.99 are left after thousands of passes, though the objective may be near the minimum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from nearer._utils.runtime import polling
from nearer.errors import InputError
from nearer.objectives.base import WithInnerProducts, members
from nearer.objectives.parameters import OneArray
from nearer.solvers.barrier import Point, steepest
from nearer.solvers.base import Solver
from nearer.solvers.certificate import gap_bound, least_loss
from nearer.solvers.ila import principal
from nearer.solvers.newton import conjugate_gradients, step_length
from nearer.solvers.run import Run

#: factor between strengths, and between barriers at the last strength
_STRENGTHS, _BARRIERS = 3.0, 5.0
#: the gap that the barrier leaves on the way, as a share of the objective: with strong penalties, and with those below
#: a share of the strength that leaves nothing, where a wide barrier is far from the minimum
_WIDE, _NARROW, _WEAK = 0.5, 0.15, 1e-4
#: that of the last barrier, as a share of the tolerance
_LAST = 0.5
#: minima on the way are found to a Newton decrement of this share of the gap that the barrier leaves
_NEAR = 0.25
#: those at the last strength, to a decrement of this share of the barrier, so that no eigenvalue exceeds beta
_WELL = 0.1
#: conjugate gradients end when a product brings less than this share of the mean of all: on the way, and at the end
_GAIN, _LAST_GAIN, _MOST_PRODUCTS = 0.3, 0.05, 500
#: Newton steps at one strength and barrier
_MOST_STEPS = 60
#: columns are left out as long as the gap stays below this share of the tolerance
_NEARLY = 0.95
#: no gap is a smaller share of the objective than this
_ROUNDING = 1e-12
#: what is not known before the last strength
_UNKNOWN: dict[str, Any] = {"rank": math.nan, "eigenvalue": math.nan, "slack": math.nan}
_SPACE = OneArray()


@dataclass(frozen=True)
class CentralPath(Solver[WithInnerProducts]):
    """An interior-point method for co-embedding with rankings of labels, to a certified gap where beta is small.

    It follows the minima of the objective with a barrier, first to the strength `beta`, then without the barrier. A
    Newton step is an epoch. Memory and time per step grow with features times labels and with the cube of labels, so
    that it suits up to about a thousand labels. The history has the columns of `ILA` and "slack"; all of them but "gap"
    are NaN until `beta` is reached.

    From a start other than 0, the path begins at the last strength.

    Examples
    --------
    >>> from scipy import sparse
    >>> import nearer
    >>> X = sparse.csr_matrix([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    >>> labels = sparse.csr_matrix([[1, 0, 0], [0, 1, 1], [0, 1, 0]])
    >>> f = nearer.objectives.AffinityObjective(
    ...     X, labels, loss=nearer.losses.RankingLoss(), threshold=False, trace_penalty=0.01
    ... )
    >>> Q, result = nearer.solvers.minimise(nearer.solvers.CentralPath(), f, np.zeros((5, 1)))
    >>> result.stop_reason, bool(result.history["gap"][-1] <= 1e-3 * result.objective)
    ('tolerance', True)
    """

    name = "central-path"
    requires = members(WithInnerProducts) | {"convexity", "smoothness"}

    @property
    def default_epochs(self) -> int:
        return 1000

    def solve(
        self, objective: WithInnerProducts, x: np.ndarray, rng: np.random.Generator, run: Run
    ) -> np.ndarray:
        if not objective.trace_penalty > 0:
            raise InputError(
                "must be above 0 with the solver 'central-path', whose certificate rests on it",
                parameter="trace_penalty",
                remedy="set it, if only to 1e-6",
            )
        walk = _Walk(objective, run)
        walk.begin(x)
        with polling(run.poll):
            walk.to_the_strength(x)
            walk.to_the_minimum()
        return walk.point.Q


class _Walk:
    """The state of a run: a point, and the strength and the barrier whose minimum it is near."""

    def __init__(self, objective: WithInnerProducts, run: Run):
        self.objective, self.run = objective, run
        self.n_labels = objective.shape[0] - objective.n_features
        self.beta = objective.trace_penalty
        self.least = self.bound = least_loss(objective)
        self.mu = math.inf

    def begin(self, x: np.ndarray) -> None:
        """Record the start."""
        self.run.count(self.objective.n_terms)
        value = self.objective.value(x)
        self.mu = self._barrier(value, _WIDE)
        self.run.record(x, value, 0.0, gap=value - self.bound, **_UNKNOWN)

    def to_the_strength(self, x: np.ndarray) -> None:
        """Follow the path with a wide barrier, from strengths that leave nothing to the last one."""
        strongest = self._strongest()
        strengths = [self.beta] if x.any() else _between(strongest, self.beta)
        self.point = self._looked_at(self._inside(x, strengths[0]))
        for strength in strengths:
            share = _WIDE if strength > _WEAK * strongest else _NARROW
            before, self.mu = self.mu, self._barrier(self.point.value(strength), share)
            self._centre(strength, max(before, self.mu), _GAIN, _NEAR * self.n_labels)

    def to_the_minimum(self) -> None:
        """Lower the barrier until the gap that it leaves is a share of the tolerance."""
        while True:
            before, value = self.mu, self.point.value(self.beta)
            if before <= self._barrier(value, _ROUNDING):
                self.run.stop_reason = "precision"
                return
            last = self._barrier(value, _LAST * self.run.budget.tol)
            self.mu = before / _BARRIERS if before <= last else max(before / _BARRIERS, last)
            self._centre(self.beta, before, _LAST_GAIN, _WELL)

    def _barrier(self, value: float, share: float) -> float:
        """Return the barrier whose minimum has a gap of a share of the objective."""
        return share * (value - self.least) / self.n_labels

    def _strongest(self) -> float:
        """Return the strength that leaves nothing."""
        nothing = np.zeros((self.objective.n_features, self.n_labels)), np.zeros(self.n_labels)
        self.run.count(self.objective.n_terms)
        _, *slopes = self.objective.inner_products.slopes(*nothing)
        return steepest(*slopes)

    def _inside(self, x: np.ndarray, beta: float) -> np.ndarray:
        """Return U and V with the products of a factor, and with lengths of labels that the barrier adds."""
        n, (U, V) = self.objective.n_features, np.split(x, [self.objective.n_features])
        root = np.linalg.cholesky(V @ V.T + self.mu / beta * np.eye(self.n_labels))
        return np.concatenate([np.linalg.solve(root, V @ U.T).T.reshape(n, -1), root])

    def _looked_at(self, Q: np.ndarray) -> Point:
        self.run.count(self.objective.n_terms)
        return Point(self.objective, Q)

    def _centre(self, beta: float, curvature: float, gain: float, near: float) -> None:
        """Take Newton steps at a strength until their decrement is at most `near` times the barrier.

        Second derivatives of the barrier are those of the barrier before, for the first step: a column of V that only
        the barrier holds up then gets its new length at once.
        """
        for _ in range(_MOST_STEPS):
            length, slope = self._step(beta, curvature, gain)
            curvature = self.mu if length > 0.5 else math.sqrt(self.mu * curvature)
            self._record(beta, length)
            if length == 0 or -slope <= near * self.mu:
                return

    def _step(self, beta: float, curvature: float, gain: float) -> tuple[float, float]:
        """Take a Newton step; return its length and the slope along its direction."""
        point, count = self.point, self.objective.n_terms
        gradient = point.gradient(beta, self.mu)
        product = point.curvature(beta, curvature)
        self.run.count(count)
        inverse = point.preconditioner(beta, curvature)

        def counted(changes: np.ndarray) -> np.ndarray:
            self.run.poll()
            self.run.count(count)
            return product(changes)

        changes, _ = conjugate_gradients(
            counted, -gradient, _SPACE, gain=gain, inverse=inverse, most=_MOST_PRODUCTS
        )
        slope = float(np.vdot(gradient, changes))
        if not slope < 0:
            return 0.0, 0.0
        line = point.line(changes, beta, self.mu)
        shorter = min(1.0, line.longest)

        def along(step: float) -> tuple[float, float]:
            self.run.count(count)
            value, rise = line(shorter * step)
            return value, shorter * rise

        step = shorter * step_length(along, point.value(beta, self.mu), shorter * slope)
        if step > 0:
            self.point = self._looked_at(line.factor(step))
        return step, slope

    def _record(self, beta: float, step: float) -> None:
        """Report to the run, with a certificate at the last strength."""
        value, Q = self.point.value(self.beta), self.point.Q
        if beta != self.beta:
            self.run.record(Q, value, step, gap=value - self.bound, settled=False, **_UNKNOWN)
            return
        eigenvalue, slack = self.point.certificate(beta)
        self.bound = max(self.bound, value - gap_bound(value - self.least, slack, eigenvalue, beta))
        if value - self.bound <= _NEARLY * self.run.budget.tol * value:
            Q, value = self._shortened()
        columns: dict[str, Any] = {"rank": Q.shape[1], "eigenvalue": eigenvalue, "slack": slack}
        self.run.note(lower_bound=self.bound, **columns)
        self.run.record(Q, value, step, gap=max(value - self.bound, 0.0), **columns)

    def _shortened(self) -> tuple[np.ndarray, float]:
        """Return the factor without the columns that only the barrier holds up, and its value."""
        Q = principal(self.point.Q)
        allowed = self.bound / (1 - _NEARLY * min(self.run.budget.tol, 0.5))
        low, high = 0, Q.shape[1]
        while high - low > 1:  # as few columns as the allowance permits
            middle = (low + high) // 2
            self.run.count(self.objective.n_terms)
            if self.objective.value(Q[:, :middle]) <= allowed:
                high = middle
            else:
                low = middle
        return Q[:, :high], self.objective.value(Q[:, :high])


def _between(strongest: float, last: float) -> list[float]:
    """Return strengths from about the strongest down to the last.

    >>> _between(10.0, 1.0), _between(0.5, 1.0)
    ([27.0, 9.0, 3.0, 1.0], [1.0])
    """
    count = math.ceil(math.log(max(strongest / last, 1.0)) / math.log(_STRENGTHS))
    return [last * _STRENGTHS**power for power in range(count, -1, -1)]
