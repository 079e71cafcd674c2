"""Newton's method with conjugate gradients, for parameters of any kind.

Nothing here looks inside parameters: `nearer.objectives.parameters` says how to add and multiply them, and the problem
comes as functions. A step costs some products of the second derivatives with a vector, and never their matrix.

>>> import numpy as np
>>> from nearer.objectives.parameters import OneArray
>>> A, b = np.diag([1.0, 100.0]), np.ones(2)
>>> problem = Smooth(lambda x: (x @ A @ x / 2 - b @ x, A @ x - b), lambda x: lambda v: A @ v)
>>> x, result = newton(problem, np.zeros(2), OneArray(), tolerance=1e-9)
>>> x.round(6), result.products
(array([1.  , 0.01]), 2)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from nearer.objectives.parameters import VectorSpace

Product = Callable[[Any], Any]
#: value and slope after a step along a direction
Along = Callable[[float], tuple[float, float]]

#: share of the slope along a direction that a step may leave
_LEFT = 0.5
_MOST_TRIALS = 40
_MOST_PRODUCTS = 1000


class Move(NamedTuple):
    """New parameters, the step that led to them (1 is all of Newton's), and the products that it took."""

    x: Any
    step: float
    products: int


@dataclass(frozen=True)
class Smooth:
    """A function with two derivatives.

    Attributes
    ----------
    value_and_gradient : callable
        Of x.
    curvature : callable
        Of x; returns the product of the second derivatives at x, or of a positive semidefinite stand-in such as the
        Gauss-Newton matrix, with a vector.
    inverse : callable, optional
        Of x; returns the product of a vector with a preconditioner: about the inverse of the second derivatives.
    """

    value_and_gradient: Callable[[Any], tuple[float, Any]]
    curvature: Callable[[Any], Product]
    inverse: Callable[[Any], Product] | None = None


class Found(NamedTuple):
    """Where `newton` ended: the value, the length of the gradient, and how many steps and products it took."""

    value: float
    gradient_norm: float
    steps: int
    products: int


def newton(
    problem: Smooth, x: Any, space: VectorSpace, *, tolerance: float, max_steps: int = 100
) -> tuple[Any, Found]:
    """Minimise a convex function until its gradient is no longer than `tolerance`, or no step helps.

    Parameters
    ----------
    problem : Smooth
        The function.
    x : parameters
        Where to begin; they are not changed.
    space : VectorSpace
        How to add parameters and to take inner products.
    tolerance : float
        The gradient norm to reach.
    max_steps : int
        Newton steps at most.
    """
    value, gradient = problem.value_and_gradient(x)
    length = before = math.sqrt(space.inner(gradient, gradient))
    steps = products = 0
    while length > tolerance and steps < max_steps:
        move = newton_step(
            x,
            value,
            gradient,
            space,
            product=problem.curvature(x),
            along=None,
            value_and_gradient=problem.value_and_gradient,
            inverse=None if problem.inverse is None else problem.inverse(x),
            # the rule of Eisenstat and Walker: a step is worth computing as well as the last one came out
            tolerance=max(tolerance / 2, min(0.1, (length / before) ** 2) * length),
        )
        steps, products = steps + 1, products + move.products
        if move.step == 0:
            break
        x, before = move.x, length
        value, gradient = problem.value_and_gradient(x)
        length = math.sqrt(space.inner(gradient, gradient))
    return x, Found(value, length, steps, products)


def newton_step(
    x: Any,
    value: float,
    gradient: Any,
    space: VectorSpace,
    *,
    product: Product,
    tolerance: float,
    inverse: Product | None = None,
    along: Callable[[Any], Along] | None = None,
    value_and_gradient: Callable[[Any], tuple[float, Any]] | None = None,
) -> Move:
    """Return where Newton's method goes from x; nowhere if nothing is left to gain.

    Parameters
    ----------
    x, value, gradient
        A point, and what is known there.
    product : callable
        The product of the second derivatives at x with a vector.
    tolerance : float
        Conjugate gradients end when what they leave of the gradient, were the function quadratic, is as short as this.
    inverse : callable, optional
        The product of a vector with a preconditioner.
    along : callable, optional
        Of a direction; returns value and slope as a function of the step, where that is cheaper than a gradient.
    value_and_gradient : callable, optional
        Of x; needed without `along`.
    """
    right = space.plus(gradient, -2.0, gradient)
    direction, products = conjugate_gradients(product, right, space, tolerance=tolerance, inverse=inverse)
    slope = space.inner(gradient, direction)
    if slope >= 0:
        return Move(x, 0.0, products)
    if along is not None:
        line = along(direction)
    else:
        assert value_and_gradient is not None, "give along or value_and_gradient"
        line = _line(value_and_gradient, x, direction, space)
    step = step_length(line, value, slope)
    return Move(space.plus(x, step, direction), step, products)


def _line(
    value_and_gradient: Callable[[Any], tuple[float, Any]], x: Any, direction: Any, space: VectorSpace
) -> Along:
    """Return value and slope after a step, each at the cost of a gradient."""

    def line(step: float) -> tuple[float, float]:
        value, gradient = value_and_gradient(space.plus(x, step, direction))
        return value, space.inner(gradient, direction)

    return line


def conjugate_gradients(
    product: Product,
    right: Any,
    space: VectorSpace,
    *,
    tolerance: float = 0.0,
    share: float = 0.0,
    gain: float = 0.0,
    inverse: Product | None = None,
    most: int = _MOST_PRODUCTS,
) -> tuple[Any, int]:
    """Solve `product(x) = right` until the residual is below `tolerance`, by at most `most` products.

    It also ends if the residual is a `share` of the right-hand side, both in the norm of the preconditioner, or if a
    product lowers the quadratic function whose minimum is sought by less than `gain` times the mean of all so far.
    Return x and the number of products.

    It starts from zero, so that what comes out early is a direction of descent as well.
    """
    inverse = inverse or (lambda residual: residual)
    x, residual = space.plus(right, -1.0, right), right
    direction = inverse(residual)
    length = first = space.inner(residual, direction)
    lowered = 0.0
    for count in range(most):
        if length <= share**2 * first or math.sqrt(space.inner(residual, residual)) <= tolerance:
            return x, count
        turned = product(direction)
        curvature = space.inner(direction, turned)
        if curvature <= 0:  # rounding: nothing is left to gain
            return x, count
        x = space.plus(x, length / curvature, direction)
        lowered += length**2 / curvature
        if (count + 1) * length**2 / curvature < gain * lowered:
            return x, count + 1
        residual = space.plus(residual, -(length / curvature), turned)
        towards = inverse(residual)
        length, before = space.inner(residual, towards), length
        direction = space.plus(towards, length / before, direction)
    return x, most


def step_length(along: Along, value: float, slope: float) -> float:
    """Return a step that at least halves the slope of a convex function without rising above its start, or 0.

    Parameters
    ----------
    along : callable
        Value and slope after a step.
    value, slope : float
        Those before it; the slope is negative.
    """
    low, low_slope, high, high_slope = 0.0, slope, math.inf, math.inf
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
        step = 2 * low if high == math.inf else _between(low, low_slope, high, high_slope)
    return low


def _between(low: float, low_slope: float, high: float, high_slope: float) -> float:
    """Return where a line through both slopes is zero, but not too close to either end."""
    share = -low_slope / (high_slope - low_slope) if math.isfinite(high_slope) else 0.0
    return low + (high - low) * min(max(share, 0.1), 0.9)
