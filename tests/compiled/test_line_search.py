"""Line searches in one compiled call against the same in Python."""

import numpy as np
import pytest

from nearer import Comparisons
from nearer._compiled import CompiledLoops, StagedLoops, line_search, line_search_reference
from nearer._compiled.line_search_reference import MOST_TRIALS, STEP
from nearer.datasets import planted
from nearer.losses import SOE, STE, TSTE
from nearer.objectives import PointObjective
from nearer.solvers import LBFGS, minimise
from nearer.solvers.lbfgs import _Aim, _Point, _search, new_bracket


@pytest.mark.parametrize("seed", range(20))
def test_both_searches_try_the_same_steps(seed):
    rng = np.random.default_rng(seed)
    brackets = [new_bracket(1.0, -2.0, 10 ** rng.normal()) for _ in range(2)]
    brackets[1][:] = brackets[0]
    for _ in range(MOST_TRIALS):
        value, rise = rng.normal(1, 1), rng.normal(-1, 2)
        if rng.random() < 0.1:
            value, rise = np.nan, np.inf
        found = [
            side.judge(bracket, value, rise)
            for side, bracket in zip((line_search, line_search_reference), brackets, strict=True)
        ]
        np.testing.assert_array_equal(*brackets)
        assert found[0] == found[1]
        if found[0]:
            break


@pytest.mark.parametrize(
    ("step", "value", "rise", "after"),
    [
        (1.0, 0.0, 0.0, None),  # the minimum of (1 - t)²
        (4.0, 9.0, 6.0, 1.0),  # beyond it: the cubic through both ends finds it
        (
            0.01,
            0.9801,
            -1.98,
            0.1,
        ),  # it ends where the line through both slopes is zero, at most ten times as far
        (4.0, np.nan, np.nan, 0.4),  # close to the end that is sound
    ],
)
def test_a_search_on_a_parabola(step, value, rise, after):
    bracket = new_bracket(1.0, -2.0, step)
    assert line_search.judge(bracket, value, rise) == (after is None)
    assert bracket[STEP] == pytest.approx(step if after is None else after)


def problem(dtype, loss=None):
    answers, _ = planted(40, 3, 3000, noise=0.1, random_state=0)
    answers = Comparisons(answers.indices, weights=np.random.default_rng(1).uniform(0.5, 2, 3000))
    f = PointObjective(answers, loss or SOE(), 3, l2=0.01, dtype=dtype)
    return f, f.start(np.random.default_rng(0).normal(size=(40, 3)))


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-10), (np.float32, 1e-4)])
@pytest.mark.parametrize("step", [1e-6, 1.0, 3e4])
def test_a_search_in_one_call_finds_what_one_in_python_does(dtype, rtol, step):
    f, X = problem(dtype)
    value, gradient = f.value_and_gradient(X)
    direction = -gradient.ravel()
    slope = float(gradient.ravel() @ direction)
    at = _Point(X.ravel(), value, gradient.ravel())
    evaluations = []

    def counted(x):
        evaluations.append(1)
        value, gradient = f.value_and_gradient(x.reshape(f.shape))
        return value, gradient.ravel()

    expected = _search(counted, at, _Aim(direction, slope, at.x + direction), step)
    end = at.x + direction
    count, value, gradient = f.search_along(at.x, direction, new_bracket(at.value, slope, step), end)
    assert count == len(evaluations)
    assert count > 1 or step == 1
    assert value == pytest.approx(expected.value, rel=rtol)
    np.testing.assert_allclose(end, expected.x, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(gradient, expected.gradient, rtol=10 * rtol, atol=rtol)


def test_the_plain_search_finds_the_same():
    f, X = problem(np.float64, TSTE(alpha=2.0))
    value, gradient = f.value_and_gradient(X)
    x, down = X.ravel(), -gradient.ravel()
    found = []
    for loops in (CompiledLoops(f.loss), StagedLoops(f.loss)):
        f._loops, end = loops, x + down
        found.append([*f.search_along(x, down, new_bracket(value, -down @ down, 100.0), end), end])
    for compiled, plain in zip(*found, strict=True):
        np.testing.assert_allclose(compiled, plain, rtol=1e-9)


@pytest.mark.parametrize("loops", [CompiledLoops, StagedLoops])
def test_a_search_upwards_fails(loops):
    f, X = problem(np.float64)
    f._loops = loops(f.loss)
    value, gradient = f.value_and_gradient(X)
    up = gradient.ravel() / np.linalg.norm(gradient)
    count, _, found = f.search_along(X.ravel(), up, new_bracket(value, -1.0, 1.0), X.ravel() + up)
    assert (count, found) == (MOST_TRIALS, None)


@pytest.mark.parametrize("loss", [SOE(), STE()])
def test_fits_end_at_the_same_points_either_way(loss):
    f, X = problem(np.float64, loss)
    plain, _ = problem(np.float64, loss)
    plain.provides = plain.provides - {"search_along"}
    (points, result), (expected, by_hand) = (minimise(LBFGS(), each, X) for each in (f, plain))
    assert result.n_evaluations == by_hand.n_evaluations
    np.testing.assert_allclose(points, expected, rtol=1e-6, atol=1e-6)


def test_who_can_search_in_one_call():
    """The number of threads must not decide: results do not depend on it."""
    assert "search_along" in problem(np.float64)[0].provides
    many, _ = planted(40, 3, 30_000, random_state=0)
    assert "search_along" not in PointObjective(many, SOE(), 3).provides
