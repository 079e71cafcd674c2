"""The lowest point of a convex function of two weights a, b >= 0: Newton's method with safeguards."""

from __future__ import annotations

import numpy as np

from nearer.objectives.base import Plane

_MOST_STEPS = 50
_MOST_HALVINGS = 30
#: differences of slopes are taken over this share of the largest weight
_DIFFERENCE = 1e-8
#: a step must bring this share of the decrease that the slopes promise
_DECREASE = 1e-4
#: a step is the last one if it promises less than this share of the value
_LEAST = 1e-10


def lowest_on(plane: Plane, traces: tuple[float, float], most: float) -> tuple[float, float, float]:
    """Return the weights with the lowest value, and the value there, beginning at (1, 0).

    On a quadratic function one step leads to the minimum: differences of slopes are then the exact curvature.

    Parameters
    ----------
    plane : callable
        Returns the value at (a, b) and its derivatives by a and b.
    traces : tuple of float
        Of the two matrices that a and b weigh; the first may be zero.
    most : float
        The largest trace that the result can have.

    Examples
    --------
    >>> def paraboloid(a, b):
    ...     return (a - 2) ** 2 + a * b + 2 * (b - 1) ** 2, 2 * (a - 2) + b, a + 4 * (b - 1)
    >>> a, b, value = lowest_on(paraboloid, (1.0, 1.0), most=10.0)
    >>> round(a, 6), round(b, 6), round(value, 6)
    (1.714286, 0.571429, 1.428571)
    """
    limits = np.array([most / trace if trace > 0 else 1.0 for trace in traces])
    x = np.array([1.0, 0.0])
    value, slopes = _at(plane, x)
    free = np.array([trace > 0 for trace in traces])
    for _ in range(_MOST_STEPS):
        moving = free & ((x > 0) | (slopes < 0)) & ((x < limits) | (slopes > 0))
        if not moving.any():
            break
        step = _newton_step(plane, x, slopes, moving, limits)
        found = _shortened(plane, x, value, slopes, step, limits)
        if found is None:  # the way to the minimum leads out of bounds
            found = _shortened(
                plane, x, value, slopes, -np.where(moving, limits * np.sign(slopes), 0), limits
            )
        if found is None:
            break
        promised = value - found[1]
        x, value, slopes = found
        if promised <= _LEAST * abs(value):
            break
    return float(x[0]), float(x[1]), value


def _at(plane: Plane, x: np.ndarray) -> tuple[float, np.ndarray]:
    value, by_a, by_b = plane(float(x[0]), float(x[1]))
    return value, np.array([by_a, by_b])


def _newton_step(
    plane: Plane, x: np.ndarray, slopes: np.ndarray, moving: np.ndarray, limits: np.ndarray
) -> np.ndarray:
    """Return the way to the minimum of the local quadratic over the weights that move."""
    places = np.flatnonzero(moving)
    curvature = np.empty((len(places), len(places)))
    for column, place in enumerate(places):
        end = x.copy()
        end[place] += _DIFFERENCE * limits[place]
        curvature[:, column] = (_at(plane, end)[1] - slopes)[places] / (_DIFFERENCE * limits[place])
    curvature = (curvature + curvature.T) / 2
    # in units of the limits: a direction without curvature leads as far as the limits
    units = limits[places]
    values, vectors = np.linalg.eigh(units[:, None] * curvature * units)
    pull = -vectors.T @ (units * slopes[places])
    steps = np.where(values * 10 > np.abs(pull), pull / np.maximum(values, 1e-300), 10 * np.sign(pull))
    step = np.zeros(2)
    step[places] = units * (vectors @ steps)
    return step


def _shortened(
    plane: Plane, x: np.ndarray, value: float, slopes: np.ndarray, step: np.ndarray, limits: np.ndarray
) -> tuple[np.ndarray, float, np.ndarray] | None:
    """Return the end of the step, halved until the value falls enough, with value and slopes; None if it never does."""
    share = 1.0
    for _ in range(_MOST_HALVINGS):
        end = np.clip(x + share * step, 0.0, np.maximum(limits, x))
        there, slopes_there = _at(plane, end)
        if there < value and there <= value + _DECREASE * float(slopes @ (end - x)):
            return end, there, slopes_there
        share /= 2
    return None
