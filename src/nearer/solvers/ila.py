"""Convex problems over positive semidefinite matrices by growing factors: Algorithm 1 of the co-embedding paper."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice

import numpy as np

from nearer._utils.runtime import polling
from nearer._utils.validation import whole
from nearer.errors import InputError
from nearer.objectives.base import Rescaled, WithFactors, members
from nearer.solvers.base import Solver
from nearer.solvers.certificate import Certificate, certify, least_loss
from nearer.solvers.lbfgs import Step, steps
from nearer.solvers.plane_search import lowest_on
from nearer.solvers.run import Run, Stop

#: a positive eigenvalue below this share of tolerance and trace penalty is none
_POSITIVE = 0.1
#: least accuracy of eigenvalues, as a share of the trace penalty
_ACCURACY = 1e-3
#: far from the minimum, directions need no more accuracy than a share of the gap, and this at least
_FAR_OFF, _ROUGH = 0.1, 1e-2
#: descent in the factor ends if this many iterations lower the objective by less than a share of the squared gap
_WINDOW, _ENOUGH = 5, 0.1
#: it also ends if this many iterations lower the objective by less than a share of that
_FEW, _HARDLY = 2, 1e-3
#: factor of that share after a round that did not grow, or hardly descended
_SHARPER = 0.1
_MOST_ITERATIONS = 2000
#: iterations in local coordinates cost less than the coordinates: more of them have to be slow
_LONG_WINDOW = 10
#: local coordinates are renewed after this number of iterations while the gap is above a share of the objective
_FRESH, _FAR = 30, 0.3
#: by default, past steps of descent may have this many numbers, to be read from a cache; fewest and most of them
_HISTORY, _FEWEST_STEPS, _MOST_STEPS = 2**18, 10, 60
#: damping of local coordinates, as a share of the largest eigenvalue of minus the gradient
_DAMPING = 0.2
#: columns may go if that raises the objective by less than this share of the tolerance
_NOTHING = 0.01
#: rounds in a row without progress that end the run
_PATIENCE, _ROUNDING = 3, 1e-14


@dataclass(frozen=True)
class ILA(Solver[WithFactors]):
    """The iterative local algorithm: L-BFGS over the factor Q of C = Q Qᵀ, whose columns grow until no more are needed.

    Each round computes the leading eigenvectors U, with positive eigenvalues, of minus the gradient by C. It finds the
    best a C + b U Uᵀ, appends the columns to Q, descends over Q, and removes columns that have vanished. A round is
    an epoch. The history has columns "rank", "eigenvalue" (the largest of minus the gradient) and "gap": an upper
    bound on the distance of the objective from the global minimum, which ends the run below `tol` times the objective.
    If a round is cut short by ctrl-C or the budget, its last two are NaN; "lower_bound" in the details then is that of
    the rounds before, and is missing if there was none.

    Parameters
    ----------
    growth : {"exponential", "linear"}
        New columns per round: 1, 2, 4, ..., or one.
    max_rank : int, optional
        Most columns of Q. The run then ends at a stationary point; the gap says how far from the minimum it may be.
    memory : int, optional
        Past steps that L-BFGS keeps; by default 10 to 60: more of them if they are short.

    Examples
    --------
    >>> import nearer
    >>> answers, _ = nearer.datasets.planted(30, 2, 1000, noise=0.1, random_state=0)
    >>> f = nearer.objectives.GramObjective(answers, nearer.losses.STE(), trace_penalty=0.01)
    >>> Q, result = nearer.solvers.minimise(ILA(), f, np.zeros((30, 1)))
    >>> Q.shape == (30, result.details["rank"]), bool(result.history["gap"][-1] <= 1e-3 * result.objective)
    (True, True)
    """

    growth: str = "exponential"
    max_rank: int | None = None
    memory: int | None = None
    name = "ila"
    requires = members(WithFactors) | {"convexity", "smoothness"}

    @property
    def default_epochs(self) -> int:
        return 100

    def __post_init__(self) -> None:
        if self.growth not in ("exponential", "linear"):
            raise InputError(f'must be "exponential" or "linear", not {self.growth!r}', parameter="growth")
        if self.memory is not None:
            whole("memory", self.memory)
        if self.max_rank is not None:
            whole("max_rank", self.max_rank)

    def kept(self, size: int) -> int:
        """Return how many past steps are kept, each with two vectors of this size.

        >>> ILA().kept(500), ILA().kept(10**6), ILA(memory=20).kept(10**6)
        (60, 10, 20)
        """
        if self.memory is not None:
            return self.memory
        return min(max(_HISTORY // (2 * max(size, 1)), _FEWEST_STEPS), _MOST_STEPS)

    def solve(self, objective: WithFactors, x: np.ndarray, rng: np.random.Generator, run: Run) -> np.ndarray:
        if not objective.trace_penalty > 0:
            raise InputError(
                "must be above 0 with the solver 'ila', whose certificate rests on it",
                parameter="trace_penalty",
                remedy="set it, if only to 1e-6",
            )
        growing = _Growth(self, objective, x, rng, run)
        growing.record(0.0)
        while growing.round():
            pass
        return growing.Q


class _Growth:
    """The state of a run: the factor, its certificate, and how many columns come next."""

    def __init__(
        self, solver: ILA, objective: WithFactors, x: np.ndarray, rng: np.random.Generator, run: Run
    ):
        self.solver, self.objective, self.rng, self.run = solver, objective, rng, run
        #: no more columns are added than the minimum can have, if the objective knows; the start may have more
        useful = max(x.shape[1], getattr(objective, "most_rank", len(x)))
        self.most = min(len(x), solver.max_rank or len(x), useful)
        self.Q = principal(x)[:, : self.most]
        self.value = math.nan
        self.count, self.still, self.bound = 1, 0, least_loss(objective)
        #: a decrease of the objective below which descent in the factor ends: by the gap, and in the present round
        self.sharpness, self.floor, self.enough, self.exhausted = 1.0, math.inf, math.inf, False
        self.damped = "damped" in objective.provides
        #: the gap as a share of the objective, and whether it is large
        self.share, self.far = 1.0, True
        #: descent to be continued, unless columns come or go, and by how much its last iterations lowered the objective
        self.path: Iterator[tuple[np.ndarray, Step]] | None = None
        self.pace = 0.0

    def round(self) -> bool:
        """Grow, descend and prune once; return False if there is no progress left to make."""
        before, directions = self.value, self.certificate.directions
        with self._recorded():
            weight = self._append(directions)
            self._descend()
            self._prune(before)
        self._settle(before, weight)
        if self.solver.growth == "exponential" and weight:
            self.count = min(2 * directions.shape[1], len(self.Q))
        self.record(weight)
        return self._goes_on()

    def record(self, weight: float) -> None:
        """Certify the factor and report to the run, which may end."""
        room = self.most - self.Q.shape[1]
        with self._recorded():
            if math.isnan(self.value):
                self.value = self.objective.value(self.Q)
            self.certificate = found = self._certified(min(self.count, room))
        self.bound = max(self.bound, self.value - found.gap)
        gap = max(self.value - self.bound, 0.0)
        share = max(gap / abs(self.value), self.run.budget.tol) if self.value else 0.0
        self.share, self.far = min(share, 1.0), share > _FAR
        # the gap is of the order of the slopes, what is left to descend of that of their squares
        self.floor = _ENOUGH * self.sharpness * share**2 * abs(self.value)
        self.run.note(
            lower_bound=self.bound, eigenvalue=found.eigenvalue, slack=found.slack, rank=self.Q.shape[1]
        )
        columns = {"rank": self.Q.shape[1], "eigenvalue": found.eigenvalue, "slack": found.slack}
        self.run.record(_shown(self.Q), self.value, weight, gap=gap, **columns)

    def _certified(self, most: int) -> Certificate:
        accuracy = min(max(_POSITIVE * self.run.budget.tol, 1e-12), _ACCURACY)
        # small eigenvalues lead on as well where there are no others: a round without directions would be lost
        rough = min(_POSITIVE * _FAR_OFF * self.share, _ROUGH)
        self.run.count(self.objective.n_terms)
        return certify(self.objective, self.Q, self.value, most, self.rng, accuracy, rough)

    @contextmanager
    def _recorded(self) -> Iterator[None]:
        """Record what an unfinished round has reached, without a certificate, if the run ends within."""
        try:
            with polling(self.run.poll):
                yield
        except (Stop, KeyboardInterrupt) as reason:
            if not isinstance(reason, Stop):
                self.run.end("interrupted")
            for name in ("eigenvalue", "slack"):  # of another factor
                self.run.details.pop(name, None)
            rank = self.Q.shape[1]
            self.run.note(rank=rank)
            self.run.record(_shown(self.Q), self.value, math.nan, rank=rank)
            raise

    def _append(self, U: np.ndarray) -> float:
        """Append new columns with the best weights of old and new; return the weight of the new ones.

        Descent then ends as soon as iterations gain less than they did: more columns would gain more. If there is
        nothing new, the last descent goes on.
        """
        a, b, value = self._weights(U) if U.shape[1] else (1.0, 0.0, self.value)
        if not b or not value < self.value:
            self.enough = self.floor * (_SHARPER if self.path and self.pace < self.floor else 1.0)
            return 0.0
        self.enough = self.floor if self.damped else max(self.floor, self.value - value)
        self.Q, self.value, self.path = np.hstack([math.sqrt(a) * self.Q, math.sqrt(b) * U]), value, None
        return b

    def _weights(self, U: np.ndarray) -> tuple[float, float, float]:
        """Return the best weights of the factor and of new columns, and the objective with them."""
        plane = self.objective.plane(self.Q, U)
        traces = float(np.vdot(self.Q, self.Q)), float(U.shape[1])

        def counted(a: float, b: float) -> tuple[float, float, float]:
            self.run.poll()
            self.run.count(self.objective.n_terms)
            return plane(a, b)

        return lowest_on(counted, traces, self.value / self.objective.trace_penalty)

    def _descend(self) -> None:
        """Descend over the factor until that brings little; an early end keeps what was reached."""
        self.exhausted, self.pace = True, 0.0
        if not self.Q.shape[1]:
            return
        recent = deque([self.value], maxlen=_LONG_WINDOW if self.damped else _WINDOW)
        if self.path is None:
            self.path = self._path(_FRESH if self.damped and self.far else _MOST_ITERATIONS)
        for Q, step in self.path:
            self.Q, self.value, self.exhausted = Q, step.value, False
            enough = len(recent) == recent.maxlen and recent[0] - step.value < self.enough
            enough |= len(recent) >= _FEW and recent[-_FEW] - step.value < _HARDLY * self.enough
            self.pace = recent[0] - step.value
            recent.append(step.value)
            self.run.look(Q, step.value, step.length, rank=Q.shape[1])
            if enough:
                break
        else:
            self.path = None

    def _path(self, most: int) -> Iterator[tuple[np.ndarray, Step]]:
        """Yield factors, and the steps to them, of a descent from here."""
        descent = self._descent()

        def value_and_gradient(W: np.ndarray) -> tuple[float, np.ndarray]:
            self.run.poll()
            self.run.count(self.objective.n_terms)
            return descent.value_and_gradient(W)

        path = steps(value_and_gradient, descent.start, self.solver.kept(descent.start.size))
        for step in islice(path, 1, most + 1):
            yield descent.factor(step.x), step

    def _descent(self) -> Rescaled:
        """Return what to descend over: better coordinates if the objective has any, else the factor itself."""
        if self.damped:
            excess = max(self.certificate.eigenvalue, 0.0)
            return self.objective.damped(self.Q, _DAMPING * excess)  # type: ignore[attr-defined]
        if "rescaled" in self.objective.provides:
            return self.objective.rescaled(self.Q)  # type: ignore[attr-defined]
        return Rescaled(self.Q, self.objective.value_and_factor_gradient, lambda W: W)

    def _prune(self, before: float) -> None:
        """Turn the columns of the factor to be orthogonal, and remove those that add next to nothing.

        That may cost a share of the tolerance, but never more than a share of what the round has gained: each round
        lowers the objective, so that saddle points cannot make a loop of rounds.
        """
        width = self.Q.shape[1]
        self.Q = principal(self.Q)
        tol = self.run.budget.tol
        allowed = self.value + min(_NOTHING * tol * abs(self.value), _ENOUGH * max(before - self.value, 0.0))
        sizes = np.einsum("ij,ij->j", self.Q, self.Q)
        few = self.Q.shape[1]
        while few > 0 and self.objective.trace_penalty * sizes[few - 1 :].sum() < tol * abs(self.value):
            shorter = self.Q[:, : few - 1]
            self.run.poll()
            self.run.count(self.objective.n_terms)
            value = self.objective.value(shorter)
            if not value <= allowed:
                break
            self.Q, self.value, few = shorter, value, few - 1
        if self.Q.shape[1] < width or self.damped:  # local coordinates depend on the eigenvalue
            self.path = None

    def _settle(self, before: float, weight: float) -> None:
        """Descend longer in the next round if this one has brought little; count those that led nowhere."""
        if not weight or before - self.value < self.enough:
            self.sharpness *= _SHARPER
        least = _ROUNDING * abs(before)
        done = (self.exhausted or self.enough < least) and not before - self.value > least
        self.still = self.still + 1 if done else 0

    def _goes_on(self) -> bool:
        if self.still < _PATIENCE:
            return True
        limited = self.Q.shape[1] >= (self.solver.max_rank or math.inf) and self.Q.shape[1] < len(self.Q)
        self.run.stop_reason = "tolerance" if limited else "precision"
        return False


def principal(Q: np.ndarray) -> np.ndarray:
    """Return a factor of the same matrix with orthogonal columns, longest first; none of them is zero.

    >>> abs(principal(np.array([[1.0, 1.0], [1.0, 1.0], [0.0, 0.0]]))).round(3)
    array([[1.414],
           [1.414],
           [0.   ]])
    """
    if not Q.shape[1] or not np.isfinite(Q).all():
        return Q
    U, s, _ = np.linalg.svd(Q, full_matrices=False)
    some = s > 1e-9 * s[0] if len(s) and s[0] > 0 else np.zeros(len(s), bool)
    return U[:, some] * s[some]


def _shown(Q: np.ndarray) -> np.ndarray:
    """Return the factor with at least one column."""
    return Q if Q.shape[1] else np.zeros((len(Q), 1))
