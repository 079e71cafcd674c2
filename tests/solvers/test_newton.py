"""Newton's method with conjugate gradients: the same minimum for numpy arrays and for torch tensors."""

import numpy as np
import pytest

from nearer.objectives.parameters import OneArray, Tensors
from nearer.solvers.newton import Smooth, conjugate_gradients, newton, newton_step, step_length

RNG = np.random.default_rng(0)
ROOT = RNG.normal(size=(6, 6))
A, B = ROOT @ ROOT.T + np.eye(6), RNG.normal(size=6)
X, Y = RNG.normal(size=(80, 6)), np.sign(RNG.normal(size=80))
L2 = 0.1


def quadratic(inverse=None):
    return Smooth(
        lambda x: (float(x @ A @ x / 2 - B @ x), A @ x - B), lambda x: lambda v: A @ v, inverse=inverse
    )


def logistic():
    """Logistic regression with an L2 term."""

    def value_and_gradient(w):
        margins = Y * (X @ w)
        slopes = -Y / (1 + np.exp(margins))
        value = np.logaddexp(0, -margins).mean() + L2 / 2 * w @ w
        return float(value), X.T @ slopes / len(Y) + L2 * w

    def curvature(w):
        p = 1 / (1 + np.exp(-(X @ w)))
        return lambda v: X.T @ (p * (1 - p) * (X @ v)) / len(Y) + L2 * v

    return Smooth(value_and_gradient, curvature)


def on_tensors(value):
    """A function of two tensors, by automatic derivatives."""
    torch = pytest.importorskip("torch")

    def leaves(x):
        return {name: tensor.detach().clone().requires_grad_() for name, tensor in x.items()}

    def value_and_gradient(x):
        x = leaves(x)
        found = value(x)
        return found.item(), dict(zip(x, torch.autograd.grad(found, list(x.values())), strict=True))

    def curvature(x):
        def product(v):
            at = leaves(x)
            slopes = torch.autograd.grad(value(at), list(at.values()), create_graph=True)
            along = sum((slope * v[name]).sum() for slope, name in zip(slopes, at, strict=True))
            return dict(zip(at, torch.autograd.grad(along, list(at.values())), strict=True))

        return product

    return Smooth(value_and_gradient, curvature)


def split(w):
    torch = pytest.importorskip("torch")
    return {"left": torch.tensor(w[:2]), "right": torch.tensor(w[2:].reshape(2, 2))}


def joined(x):
    import torch

    return torch.cat([x["left"], x["right"].ravel()])


def test_a_quadratic_takes_one_step():
    x, found = newton(quadratic(), np.zeros(6), OneArray(), tolerance=1e-9)
    np.testing.assert_allclose(x, np.linalg.solve(A, B), rtol=1e-8)
    assert found.gradient_norm <= 1e-9
    assert found.steps <= 3


def test_the_exact_inverse_as_preconditioner_takes_one_product():
    inverse = np.linalg.inv(A)
    start = RNG.normal(size=6)
    x, found = newton(quadratic(lambda x: lambda r: inverse @ r), start, OneArray(), tolerance=1e-8)
    np.testing.assert_allclose(x, np.linalg.solve(A, B), rtol=1e-7)
    assert found.products == found.steps == 1
    assert newton(quadratic(), start, OneArray(), tolerance=1e-8)[1].products > 1


def test_logistic_regression_has_the_minimum_that_scipy_finds():
    from scipy.optimize import minimize

    problem = logistic()
    x, found = newton(problem, np.full(6, 5.0), OneArray(), tolerance=1e-9)
    best = minimize(
        problem.value_and_gradient,
        np.zeros(6),
        jac=True,
        method="L-BFGS-B",
        options={"gtol": 1e-10, "ftol": 0},
    )
    np.testing.assert_allclose(x, best.x, atol=1e-6)
    assert found.gradient_norm <= 1e-9
    assert found.steps < 15


@pytest.mark.parametrize("kind", ["quadratic", "logistic"])
def test_tensors_have_the_minimum_of_arrays(kind):
    torch = pytest.importorskip("torch")
    a, b, rows, labels = (torch.tensor(array) for array in (A, B, X, Y))

    def value(x):
        w = joined(x)
        if kind == "quadratic":
            return w @ a @ w / 2 - b @ w
        return torch.nn.functional.softplus(-labels * (rows @ w)).mean() + L2 / 2 * w @ w

    start = RNG.normal(size=6)
    problem = quadratic() if kind == "quadratic" else logistic()
    expected, _ = newton(problem, start, OneArray(), tolerance=1e-10)
    tensors = split(start)
    x, found = newton(on_tensors(value), tensors, Tensors(), tolerance=1e-10)
    assert x["right"].shape == (2, 2)
    np.testing.assert_allclose(joined(x).numpy(), expected, rtol=1e-7, atol=1e-9)
    assert found.gradient_norm <= 1e-10
    np.testing.assert_array_equal(joined(tensors).numpy(), start)  # the start is left as it was


def test_conjugate_gradients_end_when_little_is_gained():
    """Of many equal curvatures and a few others, little is gained after the first products."""
    curvatures = np.append(np.ones(500), np.linspace(1, 100, 20))
    right = np.append(np.ones(500), np.full(20, 0.1))
    (x, few), (_, many) = (
        conjugate_gradients(lambda v: curvatures * v, right, OneArray(), gain=gain, tolerance=1e-9)
        for gain in (0.02, 0.0)
    )
    assert few < many / 2
    lowest = -(right**2 / curvatures).sum() / 2
    assert (curvatures * x**2).sum() / 2 - right @ x < 0.99 * lowest


def test_conjugate_gradients_end_early_with_a_direction_of_descent():
    lengths = []
    for tolerance in (1.0, 1e-3, 1e-10):
        x, products = conjugate_gradients(lambda v: A @ v, B, OneArray(), tolerance=tolerance)
        assert B @ x > 0
        assert np.linalg.norm(B - A @ x) <= tolerance
        lengths.append(products)
    assert lengths == sorted(lengths)
    assert lengths[-1] <= 7


def test_nothing_is_left_to_gain_at_the_minimum():
    x = np.linalg.solve(A, B)
    move = newton_step(
        x,
        0.0,
        np.zeros(6),
        OneArray(),
        product=lambda v: A @ v,
        tolerance=0.0,
        value_and_gradient=quadratic().value_and_gradient,
    )
    assert move.step == 0
    assert move.x is x


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_a_step_halves_the_slope_whatever_its_unit(scale):
    along = lambda t: ((t / scale - 3) ** 4, 4 * (t / scale - 3) ** 3 / scale)  # noqa: E731
    value, slope = along(0.0)
    step = step_length(along, value, slope)
    found, rise = along(step)
    assert found < value
    assert abs(rise) <= 0.5 * abs(slope)
