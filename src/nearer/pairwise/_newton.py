"""Parts of Newton's method on all pairs: a metric, a direction by conjugate gradients, and a step along it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np

from nearer._utils.runtime import threads_for
from nearer.objectives.all_pairs import AllPairs

Product = Callable[[np.ndarray], np.ndarray]

#: most features whose second moments are written down: their eigenvectors take about a second
MOST_DENSE = 1024
#: share of the slope along a direction that a step may leave
_LEFT = 0.5
_MOST_TRIALS = 40
_MOST_PRODUCTS = 1000


class Metric:
    """What second derivatives look like up to a factor: the second moments of pair differences, or their diagonal.

    Those of the square loss are exactly that, so its minimum takes one step. Those of other losses weigh the pairs
    differently, which changes much less than the scales and correlations of the features do.
    """

    def __init__(self, objective: AllPairs):
        self._objective = objective

    def inverse(self, bend: float) -> Product:
        """The product with the inverse of `bend * moments + l2`."""
        values, vectors = self._spectrum
        scale = 1 / (bend * values + self._objective.l2)
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


class Point(NamedTuple):
    """Weights, and what an objective without kinks says there."""

    w: np.ndarray
    scores: np.ndarray
    value: float
    gradient: np.ndarray


class Move(NamedTuple):
    """New weights, the step that led to them (1 is all of Newton's), and the products that it took."""

    w: np.ndarray
    step: float
    products: int


def newton_step(objective: AllPairs, model: AllPairs, point: Point, metric: Metric, tolerance: float) -> Move:
    """Where Newton's method goes from a point; nowhere if nothing is left to gain.

    Parameters
    ----------
    model : AllPairs
        Whose second derivatives are taken: the objective itself, or one whose corners are rounder.
    tolerance : float
        The step is computed until what it leaves of the gradient, were the model exact, is as short as this.
    """
    bends = model.bends_at(point.scores)
    direction, products = conjugate_gradients(
        lambda v: objective.gradient(v, bends.product(objective.scores(v))),
        -point.gradient,
        metric.inverse(bends.level),
        tolerance,
    )
    slope = float(point.gradient @ direction)
    if slope >= 0:
        return Move(point.w, 0.0, products)
    step = step_length(_along(objective, point, direction), point.value, slope)
    return Move(point.w + step * direction, step, products)


def _along(
    objective: AllPairs, point: Point, direction: np.ndarray
) -> Callable[[float], tuple[float, float]]:
    """Value and slope after a step; a trial costs sums over scores, but no product with X."""
    change = objective.scores(direction)

    def along(step: float) -> tuple[float, float]:
        w = point.w + step * direction
        found = objective.of_scores(point.scores + step * change)
        slope = float(found.slopes @ change + objective.l2 * (w @ direction))
        return found.loss + objective.penalty(w), slope

    return along


def conjugate_gradients(
    product: Product, right: np.ndarray, inverse: Product, tolerance: float
) -> tuple[np.ndarray, int]:
    """Solve `product(x) = right` until the residual is below `tolerance`; gives the number of products, too.

    From zero, so that what comes out early is a direction of descent as well.
    """
    x = np.zeros_like(right)
    residual = right.copy()
    towards = inverse(residual)
    length = float(residual @ towards)
    direction = towards
    for count in range(_MOST_PRODUCTS):
        if np.linalg.norm(residual) <= tolerance:
            return x, count
        turned = product(direction)
        bend = float(direction @ turned)
        if bend <= 0:  # rounding: nothing is left to gain
            return x, count
        x += length / bend * direction
        residual -= length / bend * turned
        towards = inverse(residual)
        length, before = float(residual @ towards), length
        direction = towards + length / before * direction
    return x, _MOST_PRODUCTS


def step_length(along: Callable[[float], tuple[float, float]], value: float, slope: float) -> float:
    """A step that halves the slope of a convex function at least, without rising above its start; 0 if none is found.

    Parameters
    ----------
    along : callable
        Value and slope after a step.
    value, slope : float
        Those before it; the slope is negative.
    """
    low, low_slope, high, high_slope = 0.0, slope, np.inf, np.inf
    step = 1.0
    for _ in range(_MOST_TRIALS):
        found, rise = along(step)
        # close to the minimum values no longer differ but slopes do: a slope that is not positive proves descent
        descends = rise <= 0 or found <= value
        if descends and abs(rise) <= -_LEFT * slope:
            return step
        if rise < 0:
            low, low_slope = step, rise
        else:
            high, high_slope = step, rise
        step = 2 * low if high == np.inf else _between(low, low_slope, high, high_slope)
    return low


def _between(low: float, low_slope: float, high: float, high_slope: float) -> float:
    """Where a line through both slopes is zero, but not too close to either end."""
    share = -low_slope / (high_slope - low_slope) if np.isfinite(high_slope) else 0.0
    return low + (high - low) * min(max(share, 0.1), 0.9)
