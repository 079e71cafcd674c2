"""The minimum over all pairs, with a proof of how close it is."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from nearer._utils.arrays import LARGEST, read_only
from nearer._utils.runtime import one_thread
from nearer._utils.validation import positive, whole
from nearer.errors import InputError
from nearer.losses.margins import HingeLoss
from nearer.objectives.all_pairs import AllPairs
from nearer.pairwise._newton import Metric, Point, newton_step

#: the corner of the hinge begins as wide as this: at w = 0 all pairs are well inside
_FIRST_WIDTH = 4.0
#: how much wider the corner is that Newton's steps are computed with where the true one is too narrow for them
_WIDER = 3.0
#: iterations without a better gap after which digits are taken to be exhausted
_PATIENCE = 30
_EPS = float(np.finfo(float).eps)


class ExactProgress(NamedTuple):
    """What a callback sees after each iteration."""

    iteration: int
    w: np.ndarray
    value: float
    gap: float
    seconds: float


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
        "tolerance", "iterations", "seconds", "callback", "interrupted" (ctrl-C), or "precision" where rounding
        allows no further progress.
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


@one_thread()
def solve_exact(
    objective: AllPairs,
    *,
    tol: float = 1e-6,
    max_iterations: int = 200,
    max_seconds: float | None = None,
    start: np.ndarray | None = None,
    callback: Callable[[ExactProgress], bool | None] | None = None,
) -> ExactSolution:
    """Minimise the mean loss over all pairs plus the L2 term.

    Newton's method, its steps by conjugate gradients in the metric of the square loss, which is itself solved by one
    such step. The corner of the hinge is rounded off, less and less. The gap is proved by duality: with the slopes of
    the (rounded) loss as dual variables it is the Fenchel gap of these slopes, which is zero where nothing is rounded,
    plus |gradient|² / (2 l2).

    Parameters
    ----------
    objective : AllPairs
        With `l2` above zero: the proof rests on it.
    tol : float, default=1e-6
        Ends when the gap is at most `tol` times the value.
    max_iterations : int, default=200
        Most Newton steps.
    max_seconds : float, optional
        Looked at between iterations.
    start : (d,) array, optional
        Zeros by default.
    callback : callable, optional
        Called with an `ExactProgress` after each iteration; a true value ends the run.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(200, 3)), np.arange(200) % 2
    >>> X[y == 1] += 1.0
    >>> found = solve_exact(AllPairs(X, y, "hinge", l2=0.01), tol=1e-4)
    >>> found.converged, found.gap <= 1e-4 * found.value
    (True, True)
    """
    _check(objective, tol, max_iterations, max_seconds)
    w = np.zeros(objective.shape) if start is None else np.array(start, np.float64)
    if w.shape != objective.shape:
        raise InputError(
            f"start has shape {w.shape}, but X has {objective.shape[0]} columns: give one weight each"
        )
    if not (np.abs(w) <= LARGEST).all():  # NaN compares false and is refused as well
        raise InputError(f"start holds NaN or numbers above {LARGEST:g}, which overflow: give smaller ones")
    limits = _Limits(tol, max_iterations, np.inf if max_seconds is None else max_seconds, callback)
    return _descend(objective, w, limits)


def _check(objective: AllPairs, tol: float, max_iterations: int, max_seconds: float | None) -> None:
    positive("tol", tol)
    whole("max_iterations", max_iterations)
    if max_seconds is not None:
        positive("max_seconds", max_seconds)
    if objective.l2 == 0:
        raise InputError("the exact solver needs an L2 term: give l2 a value above 0, 1e-6 for instance")
    if not _rounded(objective, 1.0).bends:
        raise InputError(
            f"the exact solver needs second derivatives, and the loss {objective.loss.name!r} has no method "
            f"second_derivative: write one, or take a solver that draws pairs"
        )


class _Limits(NamedTuple):
    tol: float
    max_iterations: int
    max_seconds: float
    callback: Callable[[ExactProgress], bool | None] | None


class _Seen(NamedTuple):
    """A point of the rounded objective, the true value, and the two parts of the gap."""

    point: Point
    value: float
    corner: float  # what rounding leaves
    steepness: float  # what the gradient leaves


class _Proof:
    """The best weights and the highest lower bound so far, and when they are good enough."""

    def __init__(self, limits: _Limits):
        self.limits = limits
        self.began = time.perf_counter()
        self.w, self.value, self.bound = np.empty(0), np.inf, -np.inf
        self.rows: list[tuple[int, float, float, float]] = []
        self._improved = 0

    @property
    def gap(self) -> float:
        return max(self.value - self.bound, _EPS * self.value)  # no proof is better than its rounding

    @property
    def wanted(self) -> float:
        """The gap to reach."""
        return self.limits.tol * self.value

    def add(self, iteration: int, seen: _Seen) -> str | None:
        """Take note of an iterate; gives the reason to stop, if there is one."""
        before = self.gap
        self.bound = max(self.bound, seen.value - seen.corner - seen.steepness)
        if seen.value < self.value:
            self.w, self.value = seen.point.w, seen.value
        if self.gap < before:
            self._improved = iteration
        seconds = time.perf_counter() - self.began
        self.rows.append((iteration, self.value, self.gap, seconds))
        return self._reason(iteration, seconds)

    def _reason(self, iteration: int, seconds: float) -> str | None:
        callback = self.limits.callback
        asked = callback is not None and callback(
            ExactProgress(iteration, read_only(self.w), self.value, self.gap, seconds)
        )
        reasons = {
            "tolerance": self.gap <= self.wanted,
            "callback": asked,
            "iterations": iteration >= self.limits.max_iterations,
            "seconds": seconds >= self.limits.max_seconds,
            "precision": iteration - self._improved >= _PATIENCE,
        }
        return next((reason for reason, holds in reasons.items() if holds), None)

    def solution(self, reason: str, products: int) -> ExactSolution:
        """What is known at the end."""
        columns = zip(*self.rows, strict=True)
        history = dict(zip(("iteration", "objective", "gap", "seconds"), map(np.array, columns), strict=True))
        iterations, value, gap, seconds = self.rows[-1]
        return ExactSolution(self.w, value, gap, iterations, products, seconds, reason, history)


def _look(objective: AllPairs, rounded: AllPairs, w: np.ndarray) -> _Seen:
    """Value and gap at w, with the slopes p of the rounded loss at its pairs as the dual point.

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
    return _Seen(Point(w, scores, pairs.loss + penalty, gradient), loss + penalty, corner, steepness)


def _descend(objective: AllPairs, w: np.ndarray, limits: _Limits) -> ExactSolution:
    proof, metric = _Proof(limits), Metric(objective)
    width, products, iteration = _FIRST_WIDTH, 0, 0
    rounded = model = _rounded(objective, width)
    seen = _look(objective, rounded, w)
    before = seen.steepness
    reason = proof.add(0, seen)
    while reason is None:
        iteration += 1
        try:
            if 0 < seen.corner >= 2 * seen.steepness:  # as good as this corner allows
                width *= min(max(math.sqrt(0.4 * proof.wanted / seen.corner), 0.3), 0.5)
                rounded, model = _rounded(objective, width), _rounded(objective, _WIDER * width)
                seen = _look(objective, rounded, seen.point.w)
                before = seen.steepness
            move = newton_step(rounded, model, seen.point, metric, _tolerance(rounded, proof, seen, before))
            model = rounded if move.step > 0.5 else _rounded(objective, _WIDER * width)
            products, before = products + move.products, seen.steepness
            seen = _look(objective, rounded, move.w)
            reason = proof.add(iteration, seen)
        except KeyboardInterrupt:
            reason = "interrupted"
    return proof.solution(reason, products)


def _rounded(objective: AllPairs, width: float) -> AllPairs:
    """The objective without kinks: itself, unless its loss is the hinge, whose conjugate `_look` relies on."""
    loss = objective.loss
    return objective.with_loss(loss.smoothed(width)) if type(loss) is HingeLoss else objective


def _tolerance(rounded: AllPairs, proof: _Proof, seen: _Seen, before: float) -> float:
    """How short the gradient should become: as short as is needed, or as one step can make it if that is longer."""
    needed = math.sqrt(rounded.l2 * proof.wanted / 4)
    if rounded.quadratic:
        return needed
    # the rule of Eisenstat and Walker: steps are worth computing as well as the last one came out
    ratio = seen.steepness / before if before > 0 else 0.0
    return max(needed, min(0.1, ratio) * math.sqrt(2 * rounded.l2 * seen.steepness))
