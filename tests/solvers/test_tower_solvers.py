"""The solvers of two towers, on a small problem whose minimum scipy knows."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from scipy.optimize import minimize  # noqa: E402

from nearer import solvers  # noqa: E402
from nearer.losses import LogisticLoss  # noqa: E402
from nearer.objectives.parameters import OneTensor  # noqa: E402
from nearer.objectives.towers import TowerObjective  # noqa: E402
from nearer.solvers import Budget, minimise  # noqa: E402
from nearer.solvers.adam import AdamMoments  # noqa: E402
from nearer.solvers.eigen_adam import _eigenvectors  # noqa: E402
from tests.objectives.test_towers import problem  # noqa: E402

EXACT = {
    "newton": solvers.find("newton"),
    "newton, plain": solvers.GaussNewton(preconditioner="none"),
    "gd": solvers.find("gd"),
    "gd-diag": solvers.find("gd-diag"),
    "full-adam": solvers.FullAdam(step=0.03),
    "eigen-adam": solvers.EigenAdam(step=0.03, final_step=1e-3, epochs=400),
}
SAMPLED = {
    "sogram": solvers.OnlineGramians(share=0.3, step=0.01),
    "sogram-diag": solvers.OnlineGramians(share=0.3, diagonal=True, step=0.1),
    "sampling": solvers.BlockSampling(share=0.5, step=0.02),
    "sampling-diag": solvers.BlockSampling(share=0.5, diagonal=True, step=0.1),
    "sg": solvers.OnlineGramians(share=0.3, alpha=1.0, step=0.01),
}


def towers():
    """Linear towers, whose minima are equally low; every entity has pairs, as the Gramians of samples require."""
    f, x, _ = problem(LogisticLoss(), empty=False, hidden=False)
    f.l2 = 0.5
    return f, x


def solved(solver, *, seed=0, **budget):
    f, x = towers()
    return minimise(solver, f, x, budget=Budget(**budget), rng=np.random.default_rng(seed))


@cache
def least():
    """The value that scipy's L-BFGS finds from the same start."""
    f, x = towers()

    def flat(at):
        value, gradient = f.value_and_gradient(torch.from_numpy(at.copy()))
        return value, gradient.numpy()

    options = {"maxiter": 5000, "maxfun": 10_000, "ftol": 1e-14, "gtol": 1e-9}
    return minimize(flat, x.numpy(), jac=True, method="L-BFGS-B", options=options).fun


def test_the_table_has_every_solver_of_towers():
    names = [*(set(EXACT) - {"newton, plain"}), *SAMPLED]
    assert set(names) <= set(solvers.fitting(TowerObjective))


@pytest.mark.parametrize("solver", EXACT.values(), ids=EXACT)
def test_full_gradients_lead_to_the_minimum(solver):
    f, _ = towers()
    x, result = solved(solver, max_epochs=400, tol=1e-7)
    assert f.value(x) == pytest.approx(result.objective)
    assert result.objective < least() * (1 + 1e-3)
    assert result.objective > least() * (1 - 1e-6)


@pytest.mark.parametrize("solver", SAMPLED.values(), ids=SAMPLED)
def test_samples_descend_to_near_the_minimum(solver):
    f, x = towers()
    _, result = solved(solver, max_epochs=100, tol=0)
    assert result.objective - least() < 0.2 * (f.value(x) - least())


@pytest.mark.parametrize("kind", [solvers.OnlineGramians, solvers.BlockSampling])
@pytest.mark.parametrize("diagonal", [False, True])
def test_the_automatic_step_descends(kind, diagonal):
    f, x = towers()
    _, result = solved(kind(share=0.7, diagonal=diagonal), max_epochs=20, tol=0)
    assert result.objective < 0.95 * f.value(x)


@pytest.mark.parametrize("solver", [*EXACT.values(), *SAMPLED.values()], ids=[*EXACT, *SAMPLED])
def test_a_seed_repeats(solver):
    one, two, other = (solved(solver, seed=s, max_epochs=3, tol=0)[0] for s in (3, 3, 4))
    assert torch.equal(one, two)
    draws = isinstance(solver, (solvers.OnlineGramians, solvers.BlockSampling))
    assert torch.equal(one, other) != draws


@pytest.mark.parametrize(
    "solver",
    [
        solvers.BlockSampling(step=1e6),
        solvers.OnlineGramians(step=1e6),
        solvers.FullAdam(step=1e6),
    ],
)
def test_divergence_is_caught(solver):
    f, x = towers()
    found, result = solved(solver, max_epochs=50)
    assert result.stop_reason == "diverged"
    assert bool(found.isfinite().all())
    assert result.objective <= f.value(x)


def test_every_value_gradient_and_product_is_counted():
    f, x = towers()
    calls = {"value": 0, "value_and_gradient": 0, "product": 0}

    def counted(name, function):
        def wrapped(*arguments):
            calls[name] += 1
            return function(*arguments)

        return wrapped

    curvature = f.curvature
    f.value, f.value_and_gradient = (counted(name, getattr(f, name)) for name in list(calls)[:2])
    f.curvature = lambda at: counted("product", curvature(at))
    _, result = minimise(solvers.GaussNewton(), f, x, budget=Budget(max_epochs=4, tol=0))
    assert calls["product"] == result.history["products"][1:].sum() > 4
    assert result.n_evaluations == f.n_terms * sum(calls.values())


@pytest.mark.parametrize("name", ["sampling", "sogram"])
def test_an_epoch_of_samples_counts_its_pairs_and_one_value(name):
    f, _ = towers()
    solver = solvers.find(name).__class__(share=0.5, step=1e-3)
    _, result = solved(solver, max_epochs=3, tol=0)
    of_step = int(np.ceil(0.5 * f.n_terms)) * (2 if name == "sogram" else 1)
    assert np.diff(result.history["evaluations"]).tolist() == [2 * of_step + f.n_terms] * 3


def test_steps_of_adam_grow_while_it_warms_up():
    solver = solvers.FullAdam(step=0.1, final_step=0.02, epochs=5, warm_up=3)
    _, result = solved(solver, max_epochs=5, tol=0)
    assert result.history["step"][1:] == pytest.approx([0.1 / 4, 0.08 * 2 / 4, 0.06 * 3 / 4, 0.04, 0.02])


def test_adam_moves_tensors_as_it_does_arrays():
    rng = np.random.default_rng(0)
    arrays = rng.normal(size=5)
    tensors = torch.from_numpy(arrays.copy())
    of_arrays, of_tensors = AdamMoments(arrays, 0.9, 0.99), AdamMoments(tensors, 0.9, 0.99)
    for _ in range(4):
        gradient = rng.normal(size=5) * [1, 1e-8, 0, 1e8, 1]
        of_tensors(tensors, torch.from_numpy(gradient.copy()), 0.1)
        of_arrays(arrays, gradient, 0.1)
    np.testing.assert_allclose(tensors.numpy(), arrays, rtol=1e-12)


@pytest.mark.parametrize("make", [np.asarray, torch.from_numpy], ids=["numpy", "torch"])
def test_eigenvectors_are_followed(make):
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(2, 6, 6)) * [100, 10, 5, 1, 0.1, 0.01]
    matrices = {(k, 0): make(factor @ factor.T) for k, factor in enumerate(factors)}
    nearby = {key: matrix + make(0.01 * np.eye(6)[::-1].copy()) for key, matrix in matrices.items()}
    found = _eigenvectors(nearby, {})
    for _ in range(30):
        found = _eigenvectors(matrices, found)
    for key, matrix in matrices.items():
        values = np.linalg.eigvalsh(np.asarray(matrix))[::-1]
        basis = np.asarray(found[key])
        np.testing.assert_allclose(basis.T @ basis, np.eye(6), atol=1e-9)
        np.testing.assert_allclose(
            basis.T @ np.asarray(matrix) @ basis, np.diag(values), atol=1e-3 * values[0]
        )


def test_eigenvectors_of_nothing_and_of_dependent_vectors():
    nothing = {(0, 1): torch.zeros(3, 3)}
    assert torch.equal(_eigenvectors(nothing, {(0, 1): torch.eye(3)})[0, 1], torch.eye(3))
    again = _eigenvectors({(0, 1): torch.eye(3)}, {(0, 1): torch.ones(3, 3)})[0, 1]
    assert torch.allclose(again.T @ again, torch.eye(3))


def test_axes_of_curvature_that_are_turned_cost_eigen_adam_nothing():
    rng = np.random.default_rng(1)
    turn = np.linalg.qr(rng.normal(size=(8, 8)))[0]
    targets = rng.normal(size=(30, 8))

    def reached(solver, basis):
        curved = basis * np.geomspace(1, 1e3, 8) @ basis.T
        f = _Turned(torch.from_numpy(curved), torch.from_numpy(targets))
        budget = Budget(max_epochs=200, tol=0)
        return minimise(solver, f, torch.zeros(30, 8, dtype=torch.float64), budget=budget)[1].objective

    eigen = solvers.EigenAdam(step=0.1, final_step=1e-3, epochs=200)
    plain = solvers.FullAdam(step=0.1, final_step=1e-3, epochs=200, beta2=0.95, warm_up=20)
    assert reached(eigen, turn) < 2 * reached(eigen, np.eye(8))
    assert reached(eigen, turn) < 0.2 * reached(plain, turn)


@pytest.mark.parametrize("solver", [solvers.EigenAdam(epochs=8), solvers.FullAdam(epochs=8)])
def test_adam_goes_on_from_a_state(solver):
    f, x = towers()
    seen = {}

    def look(progress):
        seen.setdefault(progress.epoch, (progress.parameters.clone(), progress.state()))

    budget = Budget(max_epochs=8, tol=0)
    whole, _ = minimise(solver, f, x, budget=budget, callback=look)
    between, state = seen[4]
    again, _ = minimise(solver, f, between, budget=budget, state=state)
    assert not torch.allclose(between, whole, rtol=1e-6)
    assert torch.allclose(again, whole, rtol=1e-12)


class _Turned:
    """Half of the squared distance to targets in a metric of their columns."""

    n_terms, parameters = 1, OneTensor(dtype=torch.float64)
    provides = frozenset({"value_and_gradient", "matrices", "products_of_matrices"})

    def __init__(self, metric, targets):
        self.metric, self.targets = metric, targets

    def start(self, x):
        return x.clone()

    def value(self, x):
        return self.value_and_gradient(x)[0]

    def value_and_gradient(self, x):
        apart = x - self.targets
        return float((apart @ self.metric * apart).sum()) / 2, apart @ self.metric

    def matrices(self, x):
        return [x]

    def products_of_matrices(self, x):
        return [(None, x.T @ x)]
