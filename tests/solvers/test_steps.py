"""Step rules: the formula, its stability, and independence of scale."""

import numpy as np
import pytest

from nearer import datasets, metrics, solvers
from nearer.ordinal import OrdinalEmbedding
from nearer.solvers import Budget, minimise
from nearer.solvers.steps import Constant, Decay, Snapshot, StabilizedBB, first_step, secant_step
from tests.registries import objective, start


def snapshots(curvature, m=50):
    """Two snapshots of a quadratic with this Hessian (diagonal)."""
    x0, x1 = np.array([[1.0, 2.0, -1.0]]), np.array([[0.5, 1.0, 0.5]])
    return Snapshot(x0, x0 * curvature, m), Snapshot(x1, x1 * curvature, m, epoch=1)


def test_the_formula():
    before, after = snapshots(np.array([1.0, 4.0, -2.0]))
    dx, dy = after.points - before.points, after.gradient - before.gradient
    expected = (dx**2).sum() / (abs((dx * dy).sum()) + 0.3 * (dx**2).sum()) / 50
    assert StabilizedBB(epsilon=0.3).next(1.0, before, after) == pytest.approx(expected)


def test_epsilon_bounds_the_step_where_plain_bb_explodes():
    before, after = snapshots(np.array([0.0, 0.0, 0.0]))
    assert StabilizedBB(epsilon=0.0).next(0.7, before, after) == 0.7  # no curvature, nothing learnt
    assert StabilizedBB(epsilon=0.5).next(0.7, before, after) == pytest.approx(1 / 0.5 / 50)
    nearly_flat = np.array([1.0, -0.25, 1e-9])
    before, after = snapshots(nearly_flat)
    assert StabilizedBB(epsilon=0.0).next(0.7, before, after) > 100 * StabilizedBB(epsilon=1.0).next(
        0.7, before, after
    )


def test_auto_epsilon_grows_at_most_twofold():
    before, after = snapshots(np.array([1e-12, 1e-12, 1e-12]))
    assert StabilizedBB().next(1e-3, before, after) == pytest.approx(2e-3)


def test_constant_and_decay():
    before, after = snapshots(np.ones(3))
    assert Constant(0.2).next(0.2, before, after) == 0.2
    rule = Decay(1.0, half_life=2.0)
    steps, step = [], 1.0
    for epoch in range(1, 4):
        step = rule.next(
            step, Snapshot(before.points, before.gradient, 1, epoch - 1), Snapshot(*_at(after, epoch))
        )
        steps.append(step)
    np.testing.assert_allclose(steps, [1 / (1 + epoch / 2) for epoch in (1, 2, 3)])


def _at(snapshot, epoch):
    return snapshot.points, snapshot.gradient, 1, epoch


@pytest.mark.parametrize("scale", [1e-2, 1.0, 1e2])
def test_secant_step_has_the_unit_of_an_inverse_curvature(scale):
    """Points in other units: the gradient falls as they grow, the step grows with the square."""
    before, after = snapshots(np.array([1.0, 4.0, -2.0]))
    scaled = [Snapshot(s.points * scale, s.gradient / scale, s.steps) for s in (before, after)]
    assert secant_step(*scaled) == pytest.approx(secant_step(before, after) * scale**2)


def test_first_step_by_hand_costs_nothing():
    f = objective()
    at = Snapshot(start(), f.value_and_gradient(start())[1], f.n_terms)
    assert first_step(Constant(0.5), f, at) == (0.5, 0)
    step, evaluations = first_step(Constant(), f, at)
    assert step > 0
    assert evaluations == f.n_terms
    careful, _ = first_step(Constant("careful"), f, at)
    assert careful < step


def test_first_step_at_a_stationary_point():
    f = objective()
    zero = np.zeros(f.shape)
    at = Snapshot(zero, f.value_and_gradient(zero)[1], f.n_terms)
    assert first_step(Constant(), f, at) == (1 / f.n_terms, 0)


def test_each_setting_changes_the_fit():
    def end(solver):
        return minimise(solver, objective(), start(), budget=Budget(4, tol=0), rng=np.random.default_rng(0))[
            0
        ]

    plain = end(solvers.SVRG())
    for other in (
        solvers.SVRG(batch_size=3),
        solvers.SVRG(epsilon=1.0),
        solvers.SVRG(epoch_length=300),
        solvers.SVRG(step="bb"),
        solvers.SVRG(step=StabilizedBB(first_step=1e-3)),
        solvers.SVRG(step=0.01),
    ):
        assert not np.allclose(plain, end(other))


def test_modules_begin_with_the_first_step_again():
    f = objective(l2=0.0)
    _, result = minimise(
        solvers.SVRG(step=StabilizedBB(first_step=1e-4), module_epochs=3),
        f,
        start(),
        budget=Budget(7, tol=0),
        rng=np.random.default_rng(0),
    )
    steps = result.history["step"]
    assert steps[1] == steps[4] == steps[7] == 1e-4  # history holds the step that led there
    assert steps[2] > 1e-4


@pytest.mark.parametrize("solver", ["svrg-sbb", "auto", "lbfgs"])
@pytest.mark.parametrize("l2", [0.0, 0.01])
def test_any_scale_of_the_start_reaches_the_same_error(solver, l2):
    answers, _ = datasets.planted(25, 2, 8000, noise=0.05, random_state=0)
    train, test = answers[:2000], answers[2000:]
    errors = []
    for scale in (0.01, 1.0, 100.0):
        init = scale * start(seed=5)
        est = OrdinalEmbedding(2, loss="ste", l2=l2, solver=solver, init=init, random_state=0, max_epochs=200)
        errors.append(metrics.triplet_error(est.fit(train).embedding_, test))
    assert max(errors) - min(errors) < 0.01
    assert max(errors) < 0.12
