"""One battery for every solver, and what is special to each."""

import pickle
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

from nearer import solvers
from nearer.errors import InputError
from nearer.objectives import PointObjective
from nearer.solvers import Budget, minimise
from tests.registries import SOLVERS, SquaredHinge, objective, start

EVERY_SOLVER = pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)


def solved(solver, f=None, *, seed=0, x=None, **budget):
    f = f or objective()
    x = start(f.shape, dtype=f.dtype) if x is None else x
    return minimise(solver, f, x, budget=Budget(**budget), rng=np.random.default_rng(seed))


@cache
def reference_minimum():
    """Return the least value that scipy finds from several starts: one set of fits for all solvers."""
    from scipy.optimize import minimize

    f = objective()

    def flat(x):
        value, gradient = f.value_and_gradient(x.reshape(f.shape))
        return value, gradient.ravel()

    return min(
        minimize(flat, start(seed=s).ravel(), jac=True, options={"maxiter": 2000}).fun for s in range(5)
    )


@EVERY_SOLVER
def test_reaches_the_minimum(solver):
    f = objective()
    points, result = solved(solver, f, tol=1e-6, max_epochs=300)
    least = reference_minimum()
    assert result.objective == pytest.approx(f.value(points))
    assert result.objective < least * 1.03
    assert result.objective > least * (1 - 1e-6)


@EVERY_SOLVER
def test_same_seed_same_numbers(solver):
    one, two, other = (solved(solver, seed=s, max_epochs=4)[0] for s in (3, 3, 4))
    np.testing.assert_array_equal(one, two)
    stochastic = solver.name not in ("batch", "lbfgs", "full-adam")
    assert np.array_equal(one, other) != stochastic


@EVERY_SOLVER
def test_keeps_float32(solver):
    points, result = solved(solver, objective(dtype=np.float32), max_epochs=20)
    assert points.dtype == np.float32
    assert result.objective < 0.5


@EVERY_SOLVER
def test_history_is_complete(solver):
    _, result = solved(solver, max_epochs=5, tol=0)
    history = result.history
    assert set(history) == {"epoch", "objective", "seconds", "evaluations", "step"}
    assert {len(column) for column in history.values()} == {result.n_epochs + 1}
    assert (np.diff(history["seconds"]) > 0).all()
    assert (np.diff(history["evaluations"]) > 0).all()
    assert history["evaluations"][-1] == result.n_evaluations
    assert np.isfinite(history["objective"]).all()


@EVERY_SOLVER
def test_pickles_and_runs_with_a_users_loss(solver):
    solver = pickle.loads(pickle.dumps(solver))
    f = objective(SquaredHinge())
    assert not f.compiled
    _, result = solved(solver, f, max_epochs=12)
    assert result.objective < 0.95 * f.value(start())


@pytest.mark.parametrize("name", solvers.fitting(PointObjective))
def test_staged_equals_compiled(name):
    """The same walk in numpy: a whole fit agrees, not only one loop."""
    compiled = objective("tste")
    staged = objective("tste")
    from nearer._compiled import StagedLoops

    staged._loops = StagedLoops(staged.loss)
    runs = [solved(solvers.find(name), f, max_epochs=3)[0] for f in (compiled, staged)]
    np.testing.assert_allclose(runs[0], runs[1], atol=1e-6)


# -- stopping ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("budget", "reason"),
    [
        ({"max_epochs": 3, "tol": 0}, "epochs"),
        ({"max_evaluations": 10_000, "tol": 0}, "evaluations"),
        ({"max_seconds": 1e-6, "tol": 0}, "seconds"),
        ({"tol": 0.5}, "tolerance"),
    ],
)
@pytest.mark.parametrize("name", ["svrg-sbb", "sgd", "batch", "lbfgs"])
def test_stop_reasons(name, budget, reason):
    _, result = solved(solvers.find(name), **budget)
    assert result.stop_reason == reason
    if reason == "epochs":
        assert result.n_epochs == 3
    if reason == "evaluations":
        assert 10_000 <= result.n_evaluations <= 10_000 + 4000


def test_callback_sees_progress_and_stops():
    seen = []

    def callback(progress):
        seen.append(progress)
        return progress.epoch >= 2

    f = objective()
    points, result = minimise(solvers.SVRG(), f, start(), callback=callback, budget=Budget(max_epochs=10))
    assert result.stop_reason == "callback"
    assert [progress.epoch for progress in seen] == [0, 1, 2]
    seen.clear()
    minimise(solvers.SVRG(), f, start(), callback=seen.append, budget=Budget(max_epochs=4, tol=0))
    assert [progress.epoch for progress in seen] == [0, 1, 2, 3, 4]  # the last one too
    seen.clear()
    _, result = minimise(solvers.SVRG(), f, start(), callback=callback, budget=Budget(max_epochs=10))
    assert [progress.fraction for progress in seen] == [0, 0.1, 0.2]
    assert seen[-1].objective == pytest.approx(f.value(seen[-1].points))
    assert points.shape == (25, 2)


@pytest.mark.parametrize("name", ["svrg-sbb", "sgd", "adam", "batch", "lbfgs"])
def test_callbacks_cannot_write_into_the_points(name):
    def spoil(progress):
        with pytest.raises(ValueError, match="read-only"):
            progress.points[:] = 1e9
        spoilt.append(progress.points.copy() * 1e9)

    spoilt = []
    budget = Budget(max_epochs=3, tol=0)
    rng = np.random.default_rng
    plain, _ = minimise(solvers.find(name), objective(), start(), budget=budget, rng=rng(0))
    watched, _ = minimise(solvers.find(name), objective(), start(), budget=budget, rng=rng(0), callback=spoil)
    assert len(spoilt) == 4
    np.testing.assert_array_equal(plain, watched)


def test_time_in_callbacks_does_not_count(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("nearer.solvers.run.time", SimpleNamespace(perf_counter=lambda: now[0]))

    def callback(progress):
        now[0] += 100.0

    _, result = minimise(solvers.SVRG(), objective(), start(), callback=callback, budget=Budget(4))
    assert (now[0], result.seconds) == (500.0, 0.0)


def test_ctrl_c_keeps_the_best():
    def callback(progress):
        if progress.epoch == 3:
            raise KeyboardInterrupt

    f = objective()
    points, result = minimise(solvers.SVRG(), f, start(), callback=callback, rng=np.random.default_rng(0))
    assert result.stop_reason == "interrupted"
    assert result.objective == pytest.approx(f.value(points))
    assert result.objective == result.history["objective"].min()


def test_ctrl_c_before_anything_is_passed_on():
    class Impatient(solvers.GradientDescent):
        def solve(self, *arguments):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        minimise(Impatient(), objective(), start())


@pytest.mark.parametrize("name", ["svrg", "sgd"])
def test_divergence_is_caught(name):
    solver = solvers.SVRG(step=1e3) if name == "svrg" else solvers.SGD(step=1e3)
    f = objective("gnmds", l2=0.0)
    points, result = solved(solver, f, max_epochs=50)
    assert result.stop_reason == "diverged"
    assert np.isfinite(points).all()
    assert result.objective <= f.value(start()) * 1.0001


@pytest.mark.parametrize("solver", [solvers.SGD(step=0.5), solvers.SGD(step=3.0), solvers.Adam(step=100.0)])
def test_a_mean_over_an_epoch_never_hides_a_bad_end(solver):
    f = objective("gnmds", l2=0.0)
    points, result = solved(solver, f, max_epochs=20)
    assert result.objective == pytest.approx(f.value(points))
    assert result.objective <= f.value(start()) * (1 + 1e-12)


def test_a_rough_first_phase_does_not_spoil_the_second():
    rough = solvers.Adam(step=10.0, final_step=10.0, epochs=1, n_batches=1)
    f = objective("gnmds")
    points, result = solved(solvers.Phases((rough, solvers.SVRG())), f, max_epochs=6, tol=0)
    assert result.objective == pytest.approx(f.value(points))
    assert result.n_epochs == 6
    assert result.objective <= result.history["objective"][1:].min() * 1.0001


def test_a_gradient_that_is_not_finite_ends_the_line_search():
    f = objective()
    broken = f.value_and_gradient
    f.value_and_gradient = lambda x: (broken(x)[0], np.full(f.shape, np.nan))
    for solver in (solvers.GradientDescent(), solvers.LBFGS()):
        points, result = solved(solver, f, max_epochs=30)
        assert result.n_epochs <= 2
        assert result.stop_reason in ("tolerance", "diverged")
        np.testing.assert_array_equal(points, start())


def test_the_start_may_have_any_memory_order():
    fortran = np.asfortranarray(start())
    np.testing.assert_array_equal(
        solved(solvers.SVRG(), x=fortran, max_epochs=2)[0], solved(solvers.SVRG(), max_epochs=2)[0]
    )


def test_solved_exactly_stops():
    """Noise-free hinge: the objective becomes zero and there is nothing left to do."""
    from nearer import datasets, losses

    answers, truth = datasets.planted(10, 3, 60, random_state=0)
    f = PointObjective(answers, losses.GNMDS(), 3)
    _, result = minimise(solvers.LBFGS(), f, 3 * truth)
    assert result.stop_reason == "tolerance"
    assert result.objective < 1e-9


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: solvers.SVRG(batch_size=0), ["batch_size", "0"]),
        (lambda: solvers.SVRG(step=-1.0), ["step", "-1.0"]),
        (lambda: solvers.SVRG(step="newton"), ["step", "'newton'", "sbb", "bb", "constant", "decay"]),
        (lambda: solvers.SVRG(epsilon=-0.1), ["epsilon", "-0.1"]),
        (lambda: solvers.SVRG(step="bb", epsilon=5.0), ["epsilon", "sbb", "StabilizedBB"]),
        (lambda: solvers.SVRG(epoch_length=0), ["epoch_length", "0"]),
        (lambda: solvers.SVRG(module_epochs=0), ["module_epochs", "0"]),
        (lambda: solvers.SGD(step="sbb"), ["step", "'decay'", "SVRG"]),
        (lambda: solvers.Adam(step=0), ["step", "0"]),
        (lambda: solvers.Adam(epochs=0), ["epochs", "0"]),
        (lambda: solvers.Adam(beta1=1.0), ["beta1", "1.0"]),
        (lambda: solvers.Phases(()), ["Phases", "tuple"]),
        (lambda: solvers.Phases((solvers.SVRG(), solvers.LBFGS())), ["'svrg'", "last"]),
        (lambda: solvers.GradientDescent(shrink=1.0), ["shrink", "1.0"]),
        (lambda: solvers.GradientDescent(growth=0.5), ["growth", "0.5"]),
        (lambda: solvers.GradientDescent(growth_every=0), ["growth_every", "0"]),
        (lambda: solvers.FullAdam(step=0.0), ["step", "0.0"]),
        (lambda: solvers.FullAdam(beta2=1.0), ["beta2", "1.0"]),
        (lambda: solvers.BlockSampling(share=2.0), ["share", "2.0"]),
        (lambda: solvers.BlockSampling(step=-1.0), ["step", "-1.0"]),
        (lambda: solvers.OnlineGramians(alpha=1.5), ["alpha", "1.5"]),
        (lambda: solvers.GaussNewton(cg_tolerance=0.0), ["cg_tolerance", "0.0"]),
        (lambda: solvers.GaussNewton(max_products=0), ["max_products", "0"]),
        (lambda: solvers.GaussNewton(preconditioner="ilu"), ["preconditioner", "'ilu'", "none"]),
        (lambda: solvers.LBFGS(memory=0), ["memory", "0"]),
        (lambda: solvers.find("simplex"), ["solver", "'simplex'", *solvers.SOLVERS]),
        (lambda: Budget(tol=-1), ["tol", "-1"]),
        (lambda: Budget(max_epochs=0), ["max_epochs", "0"]),
        (lambda: Budget(max_seconds=0), ["max_seconds", "0"]),
        (lambda: Budget(max_evaluations=1.5), ["max_evaluations", "1.5"]),
        (lambda: minimise(solvers.SVRG(), objective(), np.ones((3, 2))), ["start", "(3, 2)", "(25, 2)"]),
        (lambda: objective().value(np.ones((25, 2), int)), ["points", "int64", "float64", "(25, 2)"]),
    ],
)
def test_what_is_refused_is_named(make, named):
    with pytest.raises(InputError) as refusal:
        make()
    assert [word for word in named if word not in str(refusal.value)] == []


# -- counting ---------------------------------------------------------------------------------------------------------


def test_an_svrg_epoch_is_three_passes():
    _, result = solved(solvers.SVRG(step=0.01), max_epochs=4, tol=0)
    assert result.n_evaluations == 1000 + 4 * 3000
    _, result = solved(solvers.SVRG(step=0.01, epoch_length=200), max_epochs=4, tol=0)
    assert result.n_evaluations == 1000 + 4 * (1000 + 400)


def test_a_line_search_value_counts_one():
    f = objective()
    counted = {"value": 0, "gradient": 0}
    value, gradient = f.value, f.value_and_gradient
    f.value = lambda x: (counted.update(value=counted["value"] + 1), value(x))[1]
    f.value_and_gradient = lambda x: (counted.update(gradient=counted["gradient"] + 1), gradient(x))[1]
    _, result = solved(solvers.GradientDescent(), f, max_epochs=5, tol=0)
    assert result.n_evaluations == 1000 * (counted["value"] + counted["gradient"])


def test_adam_runs_its_own_schedule():
    _, result = solved(solvers.Adam(epochs=7))
    assert (result.n_epochs, result.stop_reason) == (7, "epochs")
    _, result = solved(solvers.Adam(), max_epochs=9)
    assert result.n_epochs == 9
    assert result.history["step"][-1] < result.history["step"][0]


def test_phases_follow_each_other():
    _, result = solved(solvers.Phases((solvers.Adam(epochs=5), solvers.LBFGS())), max_epochs=12, tol=0)
    assert result.n_epochs >= 10
    assert len(result.history["objective"]) == result.n_epochs + 1
