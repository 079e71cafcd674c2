"""The convex problems, solved by a general solver for cones: the same minimum."""

import numpy as np
import pytest

import nearer
from nearer.comparisons import Comparisons
from nearer.solvers import AcceleratedProximalGradient


def answers(kind="triplets", weights=False, seed=0):
    found, _ = nearer.datasets.planted(10, 2, 80, noise=0.1, kind=kind, random_state=seed)
    drawn = np.random.default_rng(seed).uniform(0.5, 2.0, size=80) if weights else None
    return Comparisons(found.indices, 10, weights=drawn)


def by_scs(comparisons, loss, penalty):
    """The problem as a modelling language writes it down."""
    cvxpy = pytest.importorskip("cvxpy")
    K = cvxpy.Variable((comparisons.n_objects,) * 2, PSD=True)
    i, j, l, k = comparisons.quadruplets().T
    own = cvxpy.diag(K)
    difference = own[i] + own[j] - 2 * K[i, j] - (own[l] + own[k] - 2 * K[l, k])
    losses = cvxpy.logistic(difference) if loss == "ste" else cvxpy.pos(difference + 1)
    weights = np.ones(len(comparisons)) if comparisons.weights is None else comparisons.weights
    objective = weights @ losses / weights.sum() + penalty * cvxpy.trace(K)
    problem = cvxpy.Problem(cvxpy.Minimize(objective))
    problem.solve(solver=cvxpy.SCS, eps=1e-6, max_iters=20_000)
    return problem.value, K.value


@pytest.mark.parametrize("loss", ["ste", "gnmds"])
@pytest.mark.parametrize("penalty", [0.05, 0.01])
@pytest.mark.parametrize(
    "data", [{}, {"kind": "quadruplets", "weights": True, "seed": 1}], ids=["plain", "rich"]
)
def test_the_same_minimum(loss, penalty, data):
    comparisons = answers(**data)
    least, kernel = by_scs(comparisons, loss, penalty)
    model = nearer.RelativeKernel(loss, trace_penalty=penalty, tol=1e-5).fit(comparisons)
    assert model.result_.objective == pytest.approx(least, abs=1e-4)
    assert model.result_.details["dual"] <= least + 1e-5
    if loss == "ste":  # the minimiser of a smooth strictly convex sum is the same too, as far as answers tell
        np.testing.assert_allclose(model.kernel_, kernel - kernel.mean(axis=0), atol=0.02 * kernel.max())


@pytest.mark.parametrize("loss", ["ste", "gnmds"])
def test_steps_alone_reach_the_same_minimum(loss):
    comparisons = answers(seed=2)
    least, _ = by_scs(comparisons, loss, 0.02)
    solver = AcceleratedProximalGradient(factored=False)
    model = nearer.RelativeKernel(loss, trace_penalty=0.02, tol=1e-5, solver=solver).fit(comparisons)
    assert model.result_.objective == pytest.approx(least, abs=1e-4)
