"""L-BFGS compared with the textbook's recursion, with scipy, and on functions that are hard to search."""

from contextlib import suppress
from itertools import islice

import numpy as np
import pytest
from scipy.optimize import minimize, rosen, rosen_der

from nearer.solvers.lbfgs import CurvaturePairs, _Point, descend, steps


def two_loops(gradient, pairs):
    """Return the direction as Nocedal and Wright print it."""
    q, alphas = gradient.copy(), []
    for s, y in reversed(pairs):
        alphas.append(s @ q / (s @ y))
        q -= alphas[-1] * y
    s, y = pairs[-1]
    r = s @ y / (y @ y) * q
    for (s, y), alpha in zip(pairs, reversed(alphas), strict=True):
        r += s * (alpha - y @ r / (s @ y))
    return -r


def added(kept, step, change):
    """Take a step from 0, where the gradient is 0."""
    zero = np.zeros_like(step)
    return kept.advance(_Point(zero, 0.0, zero), _Point(step, 0.0, change))


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-10), (np.float32, 1e-3)])
@pytest.mark.parametrize("count", [1, 3, 5, 12])
def test_the_direction_is_that_of_the_two_loops(count, dtype, rtol):
    rng = np.random.default_rng(0)
    curvature = np.linspace(1, 9, 20)
    kept = CurvaturePairs(5, np.empty(20, dtype))
    pairs = []
    for _ in range(count):
        step = rng.normal(size=20)
        pairs.append((step, curvature * step))
        added(kept, step.astype(dtype), (curvature * step).astype(dtype))
    gradient = rng.normal(size=20)
    expected = two_loops(gradient, pairs[-5:])
    x = rng.normal(size=20).astype(dtype)
    found, slope, end = kept.aim(_Point(x, 0.0, gradient.astype(dtype)))
    assert slope == pytest.approx(gradient @ expected, rel=rtol)
    np.testing.assert_allclose(end, x + found, rtol=rtol)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol * abs(expected).max())


def test_pairs_without_curvature_are_left_out():
    kept = CurvaturePairs(3, np.empty(2))
    assert added(kept, np.array([3.0, 4.0]), np.array([4.0, -3.0]))[0] == 5.0
    _, aim = added(kept, np.array([1.0, 0.0]), np.array([-1.0, 2.0]))
    assert len(kept) == 0
    np.testing.assert_array_equal(aim.direction, [1.0, -2.0])


class EndedError(Exception):
    pass


def descended(function, x, most=200, tol=1e-12):
    values, evaluations = [], []

    def counted(at):
        evaluations.append(1)
        return function(at)

    def record(at, value, length):
        values.append(value)
        if len(values) >= most or value < tol:
            raise EndedError

    with suppress(EndedError):
        descend(counted, x, record)
    return np.array(values), len(evaluations)


def test_rosenbrock_takes_no_more_evaluations_than_scipy():
    start = np.tile([-1.2, 1.0], 5)
    values, evaluations = descended(lambda x: (rosen(x), rosen_der(x)), start, tol=1e-10)
    theirs = minimize(rosen, start, jac=rosen_der, method="L-BFGS-B", options={"ftol": 0, "gtol": 1e-6})
    assert values[-1] < 1e-10
    assert (np.diff(values) < 0).all()
    assert evaluations <= 1.3 * theirs.nfev


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_the_first_step_finds_its_length(scale):
    """A quadratic far from its minimum, or with another unit, costs a few more evaluations and no more."""
    curvature = scale * np.linspace(1, 50, 30)
    values, evaluations = descended(
        lambda x: (float(x @ (curvature * x)) / 2, curvature * x), np.ones(30), tol=1e-10 * scale
    )
    assert values[-1] < 1e-10 * scale
    assert evaluations < 60


def test_a_wall_of_infinity_is_stepped_back_from():
    def function(x):
        with np.errstate(invalid="ignore", divide="ignore"):
            return float(np.sum(x - np.log(x))) - len(x), 1 - 1 / x

    values, _ = descended(function, np.full(3, 0.01), tol=1e-12)
    assert values[-1] < 1e-12


def test_a_minimum_is_left_alone_and_nan_is_told():
    x, finite = descend(lambda x: (0.0, np.zeros_like(x)), np.ones((2, 3)), lambda *record: None)
    np.testing.assert_array_equal(x, np.ones((2, 3)))
    assert finite
    _, finite = descend(lambda x: (np.nan, np.full_like(x, np.nan)), np.ones(2), lambda *record: None)
    assert not finite


def test_a_descent_can_be_continued():
    """Steps that are asked for later are those of one descent; before that, nothing is evaluated."""
    evaluations = []

    def function(x):
        evaluations.append(1)
        return rosen(x), rosen_der(x)

    start = np.tile([-1.2, 1.0], 3)
    values = []
    descend(function, start, lambda x, value, length: values.append(value), memory=5, iterations=12)
    whole = len(evaluations)
    path = steps(function, start, memory=5)
    first = [step.value for step in islice(path, 6)]
    assert whole < len(evaluations) < 2 * whole
    rest = [step.value for step in islice(path, 7)]
    assert [*first[1:], *rest] == values
    assert len(evaluations) == 2 * whole
