"""The minimum over all pairs, with a proof of how close it is."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from nearer._utils.arrays import LARGEST
from nearer._utils.runtime import threads_for
from nearer._utils.validation import positive, whole
from nearer.errors import InputError
from nearer.losses.margins import HingeLoss
from nearer.objectives.all_pairs import AllPairs
from nearer.solvers.base import Solver, minimise
from nearer.solvers.newton import Along, Move, Product, newton_step
from nearer.solvers.result import Budget, Progress
from nearer.solvers.run import Run

#: most features whose second moments are written down: their eigenvectors take about a second
MOST_DENSE = 1024
#: the corner of the hinge begins as wide as this: at w = 0 all pairs are well inside
_FIRST_WIDTH = 4.0
#: how much wider the corner is that Newton's steps are computed with where the true one is too narrow for them
_WIDER = 3.0
#: iterations without a better gap after which digits are taken to be exhausted
_PATIENCE = 30
_EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Exact(Solver):
    """Newton's method on the mean over all pairs, with a proof of how close the minimum is.

    For linear scores of two classes or grades, up to about 10^5 rows (10^8 pairs with the logistic loss).

    Steps are found by conjugate gradients in the metric of the square loss, which is itself solved by one such step.
    The corner of the hinge is rounded off, less and less. The gap is proved by duality: with the slopes of the
    (rounded) loss as dual variables it is the Fenchel gap of these slopes, which is zero where nothing is rounded,
    plus |gradient|² / (2 l2).

    Parameters
    ----------
    tol : float
        Ends when the proved gap is at most `tol` times the objective.
    max_iterations : int
        Newton steps at most.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(200, 3)), np.arange(200) % 2
    >>> w, result = minimise(Exact(tol=1e-4), AllPairs(X, y, "hinge", l2=0.01), np.zeros(3))
    >>> result.stop_reason, bool(result.details["gap"] <= 1e-4 * result.objective)
    ('tolerance', True)
    """

    tol: float = 1e-6
    max_iterations: int = 200
    name: ClassVar[str] = "exact"
    requires: ClassVar[frozenset[str]] = frozenset(
        {"loss", "l2", "with_loss", "scores", "penalty", "gradient", "of_scores"}
        | {"has_curvature", "curvature_at", "quadratic", "shape", "second_moments", "spreads"}
    )
    ends: ClassVar[bool] = True

    def __post_init__(self) -> None:
        positive("tol", self.tol)
        whole("max_iterations", self.max_iterations)

    @property
    def default_epochs(self) -> None:
        return None

    def solve(self, objective: AllPairs, x: np.ndarray, rng: np.random.Generator, run: Run) -> np.ndarray:
        self._check(objective, x)
        proof, metric = _Proof(self, run), _Metric(objective)
        width = _FIRST_WIDTH
        rounded = model = _rounded(objective, width)
        seen = _look(objective, rounded, x)
        before = seen.steepness
        proof.add(seen)
        while True:
            if 0 < seen.corner >= 2 * seen.steepness:  # as good as this corner allows
                width *= min(max(math.sqrt(0.4 * proof.wanted / seen.corner), 0.3), 0.5)
                rounded, model = _rounded(objective, width), _rounded(objective, _WIDER * width)
                seen = _look(objective, rounded, seen.w)
                before = seen.steepness
            move = _step(rounded, model, seen, metric, _tolerance(rounded, proof, seen, before))
            model = rounded if move.step > 0.5 else _rounded(objective, _WIDER * width)
            proof.products, before = proof.products + move.products, seen.steepness
            seen = _look(objective, rounded, move.x)
            proof.add(seen)

    def _check(self, objective: AllPairs, x: np.ndarray) -> None:
        if objective.l2 == 0:
            raise InputError("the exact solver needs an L2 term: give l2 a value above 0, 1e-6 for instance")
        if not _rounded(objective, 1.0).has_curvature:
            raise InputError(
                f"the exact solver needs second derivatives, and the loss {objective.loss.name!r} has no method "
                f"second_derivative: write one, or take a solver that draws pairs"
            )
        if not (np.abs(x) <= LARGEST).all():  # NaN compares false and is refused as well
            raise InputError(
                f"start holds NaN or numbers above {LARGEST:g}, which overflow: give smaller ones"
            )


class _Seen(NamedTuple):
    """A point of the rounded objective, the true value, and the two parts of the gap."""

    w: np.ndarray
    scores: np.ndarray
    rounded_value: float
    gradient: np.ndarray
    value: float
    corner: float  # what rounding leaves
    steepness: float  # what the gradient leaves


class _Proof:
    """The best weights and the highest lower bound so far, and when they are good enough."""

    def __init__(self, solver: Exact, run: Run):
        self._solver, self._run = solver, run
        self.w, self.value, self.bound = np.empty(0), np.inf, -np.inf
        self.products = 0
        self._iteration, self._improved = -1, 0

    @property
    def gap(self) -> float:
        return max(self.value - self.bound, _EPS * self.value)  # no proof is better than its rounding

    @property
    def wanted(self) -> float:
        """Return the gap to reach."""
        return self._solver.tol * self.value

    def add(self, seen: _Seen) -> None:
        """Record an iterate; raise `Stop` if it is good enough or the run is over."""
        self._iteration += 1
        before = self.gap
        self.bound = max(self.bound, seen.value - seen.corner - seen.steepness)
        if seen.value < self.value:
            self.w, self.value = seen.w, seen.value
        if self.gap < before:
            self._improved = self._iteration
        self._run.note(gap=self.gap, products=self.products)
        # the tolerance is this solver's own, not that of the budget
        self._run.record(self.w, self.value, 1.0, gap=self.gap, settled=False, reason=self._reason())

    def _reason(self) -> str | None:
        if self.gap <= self.wanted:
            return "tolerance"
        if self._iteration >= self._solver.max_iterations:
            return "epochs"
        return "precision" if self._iteration - self._improved >= _PATIENCE else None


def _look(objective: AllPairs, rounded: AllPairs, w: np.ndarray) -> _Seen:
    """Return value and gap at w, with the slopes p of the rounded loss at its pairs as the dual point.

    Whatever the slopes, no weights have a value below `mean of -conjugate(p) - l2/2 |v|²` with
    `v = - mean of p (x - x') / l2 = w - gradient / l2`. The conjugate of the hinge is p itself, -1 ≤ p ≤ 0. What the
    value at w has above that bound is the mean of `hinge + p (1 - margin)`, zero for slopes of the hinge itself, plus
    `|gradient|² / (2 l2)`. Other losses are not rounded, and the first part is zero.
    """
    scores = objective.scores(w)
    pairs = rounded.of_scores(scores)
    gradient = rounded.gradient(w, pairs.slopes)
    penalty = objective.penalty(w)
    loss, corner = pairs.loss, 0.0
    if rounded is not objective:
        loss = objective.of_scores(scores).loss
        corner = max(loss + pairs.slope - float(pairs.slopes @ (scores - scores.mean())), 0.0)
    steepness = float(gradient @ gradient) / (2 * objective.l2)
    return _Seen(w, scores, pairs.loss + penalty, gradient, loss + penalty, corner, steepness)


def _rounded(objective: AllPairs, width: float) -> AllPairs:
    """Return the objective without kinks: itself, unless its loss is the hinge, whose conjugate `_look` relies on."""
    loss = objective.loss
    return objective.with_loss(loss.smoothed(width)) if type(loss) is HingeLoss else objective


def _tolerance(rounded: AllPairs, proof: _Proof, seen: _Seen, before: float) -> float:
    """Return how short the gradient should become: as is needed, or as one step can make it if that is longer."""
    needed = math.sqrt(rounded.l2 * proof.wanted / 4)
    if rounded.quadratic:
        return needed
    # the rule of Eisenstat and Walker: steps are worth computing as well as the last one came out
    ratio = seen.steepness / before if before > 0 else 0.0
    return max(needed, min(0.1, ratio) * math.sqrt(2 * rounded.l2 * seen.steepness))


class _Metric:
    """What second derivatives look like up to a factor: the second moments of pair differences, or their diagonal.

    Those of the square loss are exactly that, so its minimum takes one step. Those of other losses weigh the pairs
    differently, which changes much less than the scales and correlations of the features do.
    """

    def __init__(self, objective: AllPairs):
        self._objective = objective

    def inverse(self, level: float) -> Product:
        """Return the product with the inverse of `level * moments + l2`."""
        values, vectors = self._spectrum
        scale = 1 / (level * values + self._objective.l2)
        if vectors is None:
            return lambda r: scale * r
        return lambda r: vectors @ (scale * (r @ vectors))

    @cached_property
    def _spectrum(self) -> tuple[np.ndarray, np.ndarray | None]:
        if self._objective.shape[0] > MOST_DENSE:
            return self._objective.spreads(), None
        moments = self._objective.second_moments()
        with threads_for(len(moments)):
            values, vectors = np.linalg.eigh(moments)
        return np.maximum(values, 0.0), vectors


def _step(objective: AllPairs, model: AllPairs, seen: _Seen, metric: _Metric, tolerance: float) -> Move:
    """Make a step with the second derivatives of `model`: the objective itself, or one with rounder corners."""
    curvature = model.curvature_at(seen.scores)
    return newton_step(
        seen.w,
        seen.rounded_value,
        seen.gradient,
        objective.parameters,
        product=lambda v: objective.gradient(v, curvature.product(objective.scores(v))),
        inverse=metric.inverse(curvature.level),
        along=lambda direction: _along(objective, seen, direction),
        tolerance=tolerance,
    )


def _along(objective: AllPairs, seen: _Seen, direction: np.ndarray) -> Along:
    """Return value and slope after a step; a trial costs sums over scores, but no product with X."""
    change = objective.scores(direction)

    def along(step: float) -> tuple[float, float]:
        w = seen.w + step * direction
        found = objective.of_scores(seen.scores + step * change)
        slope = float(found.slopes @ change + objective.l2 * (w @ direction))
        return found.loss + objective.penalty(w), slope

    return along


@dataclass(frozen=True)
class ExactSolution:
    """A minimum and how close it is.

    Attributes
    ----------
    w : (d,) array
        The weights.
    value : float
        The objective at w.
    gap : float
        By how much the objective can fall at most; proved, not estimated.
    iterations : int
        Newton steps.
    products : int
        Products with second derivatives, each at the cost of a gradient without its sort.
    seconds : float
        Time it took.
    stop_reason : str
        One of `nearer.solvers.STOP_REASONS`, except that the end of `max_iterations` is "iterations". "precision" means
        that rounding errors allow no further progress.
    history : dict
        Arrays "iteration", "objective", "gap", "seconds", of equal length.
    """

    w: np.ndarray
    value: float
    gap: float
    iterations: int
    products: int
    seconds: float
    stop_reason: str
    history: dict[str, np.ndarray] = field(repr=False)

    @property
    def converged(self) -> bool:
        """Whether the gap is as small as was asked for."""
        return self.stop_reason == "tolerance"


def solve_exact(
    objective: AllPairs,
    *,
    tol: float = 1e-6,
    max_iterations: int = 200,
    max_seconds: float | None = None,
    start: np.ndarray | None = None,
    callback: Callable[[Progress], object] | None = None,
) -> ExactSolution:
    """Minimise the mean loss over all pairs plus the L2 term with the solver `Exact`.

    Parameters
    ----------
    objective : AllPairs
        With `l2` above zero: the proof rests on it.
    tol : float, default=1e-6
        Ends when the gap is at most `tol` times the value.
    max_iterations : int, default=200
        Newton steps at most.
    max_seconds : float, optional
        Looked at between iterations.
    start : (d,) array, optional
        Zeros by default.
    callback : callable, optional
        Called with a `nearer.solvers.Progress` after each iteration; a true value ends the run. `gap` is among
        its attributes.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(200, 3)), np.arange(200) % 2
    >>> X[y == 1] += 1.0
    >>> found = solve_exact(AllPairs(X, y, "hinge", l2=0.01), tol=1e-4)
    >>> found.converged, found.gap <= 1e-4 * found.value
    (True, True)
    """
    w, result = minimise(
        Exact(tol, max_iterations),
        objective,
        np.zeros(objective.shape) if start is None else start,
        budget=Budget(max_seconds=max_seconds, tol=0),
        callback=callback,
    )
    history = result.history
    return ExactSolution(
        w,
        result.objective,
        result.details["gap"],
        result.n_epochs,
        result.details["products"],
        result.seconds,
        "iterations" if result.stop_reason == "epochs" else result.stop_reason,
        {"iteration": history["epoch"]} | {name: history[name] for name in ("objective", "gap", "seconds")},
    )
