"""Proximal gradient over kernels, plain and accelerated: certificates, ranks, stops, refusals."""

import pickle
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from nearer import datasets, losses, solvers
from nearer.errors import InputError
from nearer.objectives import GramObjective, PointObjective
from nearer.solvers import AcceleratedProximalGradient, Budget, ProximalGradient, minimise, spectrum
from tests.registries import LOSSES, SquaredHinge, objective, planted

CONVEX = {
    "accelerated": AcceleratedProximalGradient(),
    "accelerated-steps": AcceleratedProximalGradient(factored=False),
    "accelerated-careful": AcceleratedProximalGradient(factored=False, growth=1.1, narrowing=0.5),
}
ANY = {
    "proximal": ProximalGradient(),
    "proximal-steps": ProximalGradient(factored=False),
    "proximal-careful": ProximalGradient(factored=False, armijo=0.3, shrink=0.3),
}
EVERY = pytest.mark.parametrize("solver", [*CONVEX.values(), *ANY.values()], ids=[*CONVEX, *ANY])
EVERY_CONVEX = pytest.mark.parametrize("solver", CONVEX.values(), ids=CONVEX)
EVERY_PLAIN = pytest.mark.parametrize("solver", ANY.values(), ids=ANY)


def gram(loss="ste", *, trace_penalty=0.01, max_rank=None, **data):
    return GramObjective(planted(**data), losses.find(loss), trace_penalty=trace_penalty, max_rank=max_rank)


def solved(solver, f, X=None, *, callback=None, **budget):
    X = np.zeros(f.shape) if X is None else X
    return minimise(solver, f, X, budget=Budget(**budget), callback=callback)


def equal_distances(f):
    return np.sqrt(f.loss.unit / 2) * (np.eye(f.shape[0]) - 1 / f.shape[0])


# -- the minimum ------------------------------------------------------------------------------------------------------


@EVERY
def test_reaches_the_minimum(solver):
    f = gram()
    X, result = solved(solver, f, tol=1e-7)
    least = solved(AcceleratedProximalGradient(), f, tol=1e-8)[1].objective
    assert result.objective == pytest.approx(f.value(X), rel=1e-12)
    assert result.objective == pytest.approx(least, rel=1e-4)
    assert result.stop_reason == "tolerance"


@EVERY_CONVEX
@pytest.mark.parametrize("loss", ["ste", "gnmds"])
@pytest.mark.parametrize("weights", [False, True])
def test_the_gap_is_certified(solver, loss, weights):
    f = gram(loss, weights=weights)
    X, result = solved(solver, f, tol=1e-3)
    assert result.stop_reason == "tolerance"
    bound = result.details["lower_bound"]
    assert 0 <= result.objective - bound <= 1e-3 * result.objective
    closer = solved(AcceleratedProximalGradient(factored=False), f, tol=1e-5)[1].objective
    assert bound <= closer <= result.objective * (1 + 1e-5)
    # the condition of optimality itself: penalty plus gradient has no negative eigenvalue, and vanishes on the kernel
    certificate = f.of_kernel(X @ X.T)[1]
    if loss == "ste":
        assert np.linalg.eigvalsh(certificate)[0] > -0.05 * f.trace_penalty
        assert np.abs(certificate @ X).max() < 0.05 * f.trace_penalty * np.abs(X).max()


class ConvexSquaredHinge(SquaredHinge):
    """A user's loss that says that it is convex."""

    convex = True

    def conjugate(self, slopes):
        return slopes**2 / 4 - self.margin * slopes


@EVERY_CONVEX
def test_a_users_convex_loss_is_certified_too(solver):
    f = gram(ConvexSquaredHinge())
    _, result = solved(solver, f, tol=1e-4)
    assert result.stop_reason == "tolerance"
    assert result.objective - result.details["lower_bound"] <= 1e-4 * result.objective
    plain = solved(ProximalGradient(), gram(SquaredHinge()), tol=1e-8, max_epochs=5000)[1]
    assert result.objective == pytest.approx(plain.objective, rel=1e-3)


@EVERY_CONVEX
def test_the_start_does_not_matter(solver):
    f = gram()
    X = np.random.default_rng(3).normal(size=f.shape)
    ends = [solved(solver, f, start, tol=1e-6)[0] for start in (None, X - X.mean(axis=0))]
    np.testing.assert_allclose(ends[0] @ ends[0].T, ends[1] @ ends[1].T, atol=0.01)


@EVERY
def test_a_strong_penalty_leaves_nothing(solver):
    X, result = solved(solver, gram(trace_penalty=10.0))
    assert not X.any()
    assert result.objective == pytest.approx(np.log(2))
    assert result.stop_reason == "tolerance"


@EVERY_PLAIN
@pytest.mark.parametrize("loss", [*LOSSES.values(), SquaredHinge()], ids=[*LOSSES, "own"])
def test_every_loss_falls_monotonely(solver, loss):
    f = gram(loss)
    X, result = solved(solver, f, equal_distances(f), tol=1e-4, max_epochs=300)
    assert (np.diff(result.history["objective"]) <= 1e-12).all()
    assert result.objective < 0.97 * result.history["objective"][0]
    assert result.objective == pytest.approx(f.value(X), rel=1e-12)


@EVERY_PLAIN
@pytest.mark.parametrize("loss", ["ckl", "tste"])
def test_ends_at_a_stationary_point(solver, loss):
    f = gram(loss)
    X, _ = solved(solver, f, tol=1e-9, max_epochs=3000)
    certificate = f.of_kernel(X @ X.T)[1]
    assert np.abs(certificate @ X).max() < 1e-2 * f.trace_penalty * np.abs(X).max()
    assert np.linalg.eigvalsh(certificate)[0] > -1e-2 * f.trace_penalty


@EVERY_PLAIN
@pytest.mark.parametrize("loss", ["ste", "gnmds", "ckl"])
def test_the_rank_stays_within_its_limit(solver, loss):
    seen = []
    X, _ = solved(
        solver,
        gram(loss, max_rank=3, trace_penalty=0.0),
        callback=lambda p: seen.append(p.points.shape[1]) and False,
    )
    assert max(seen) <= 3
    assert X.shape == (25, 3)


@pytest.mark.parametrize("loss", ["ste", "gnmds", "ckl"])
def test_a_constant_step_is_plain_projected_gradient(loss):
    f = gram(loss, trace_penalty=0.002)
    X, result = solved(ProximalGradient(step=2.0, partial=False), f, max_epochs=3, tol=0)
    K = np.zeros(f.shape)
    for _ in range(3):
        values, vectors = np.linalg.eigh(K - 2.0 * f.of_kernel(K)[1])
        K = (vectors * np.maximum(values, 0)) @ vectors.T
    np.testing.assert_allclose(X @ X.T, K, atol=1e-10)
    assert (result.history["step"] == 2.0).all()
    assert result.details["whole_decompositions"] == 3


@EVERY_CONVEX
@pytest.mark.parametrize("loss", ["ste", "gnmds"])
def test_without_a_penalty_it_ends_where_the_objective_stands_still(solver, loss):
    _, result = solved(solver, gram(loss, trace_penalty=0.0), tol=1e-3)
    assert result.stop_reason == "tolerance"
    assert "lower_bound" not in result.details
    assert result.objective < 0.3


def test_answers_that_all_hold_leave_no_loss():
    f = GramObjective(datasets.planted(8, 2, 60, random_state=0)[0], losses.GNMDS())
    X, result = solved(AcceleratedProximalGradient(), f)
    assert 0 <= result.objective < 1e-12
    assert result.stop_reason == "tolerance"
    assert f.mean_loss(f.distances(X)) < 1e-12


@EVERY
def test_kernels_stay_centred(solver):
    X, _ = solved(solver, gram(trace_penalty=0.001), tol=1e-3)
    assert np.abs(X.sum(axis=0)).max() < 1e-8 * np.abs(X).max()


# -- Lanczos ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("factored", [True, False])
def test_part_of_the_spectrum_gives_the_same_kernel(factored, monkeypatch):
    answers, _ = datasets.planted(160, 3, 4000, noise=0.05, random_state=0)
    f = GramObjective(answers, losses.STE(), trace_penalty=2e-3)
    solver, kernels = AcceleratedProximalGradient(factored=factored), []
    monkeypatch.setattr(spectrum, "lanczos_is_quicker", lambda n, count: count < 60)
    for partial in (True, False):
        X, result = solved(replace(solver, partial=partial), f, tol=1e-6)
        kernels.append((X @ X.T, result))
    assert kernels[0][1].details["lanczos_decompositions"] > kernels[0][1].details["whole_decompositions"]
    assert kernels[1][1].details["lanczos_decompositions"] == 0
    assert kernels[0][1].objective == pytest.approx(kernels[1][1].objective, rel=1e-6)
    np.testing.assert_allclose(kernels[0][0], kernels[1][0], atol=1e-3 * np.abs(kernels[1][0]).max())


# -- manners ----------------------------------------------------------------------------------------------------------


@EVERY
@pytest.mark.parametrize(
    ("budget", "reason"),
    [
        ({"max_epochs": 3, "tol": 0}, "epochs"),
        ({"max_evaluations": 10_000, "tol": 0}, "evaluations"),
        ({"max_seconds": 1e-6, "tol": 0}, "seconds"),
    ],
)
def test_stop_reasons(solver, budget, reason):
    _, result = solved(solver, gram(), **budget)
    assert result.stop_reason == reason
    if reason == "epochs":
        assert result.n_epochs == 3


@EVERY
def test_ctrl_c_and_callbacks_keep_the_best(solver):
    def interrupt(progress):
        if progress.epoch == 4:
            raise KeyboardInterrupt

    f = gram()
    X, result = solved(solver, f, callback=interrupt)
    assert result.stop_reason == "interrupted"
    assert f.value(X) == result.objective == result.history["objective"].min()
    X, result = solved(solver, f, callback=lambda progress: progress.epoch == 2)
    assert result.stop_reason == "callback"
    assert len(result.history["epoch"]) == 3


@EVERY
def test_history_counts_and_repeats(solver):
    runs = [solved(solver, gram(), max_epochs=12, tol=0) for _ in range(2)]
    np.testing.assert_array_equal(runs[0][0], runs[1][0])
    history = runs[0][1].history
    assert {len(column) for column in history.values()} == {13}
    assert (np.diff(history["evaluations"]) >= 1000).all()
    assert runs[0][1].details["decomposition_seconds"] > 0


@EVERY
def test_pickles(solver):
    assert pickle.loads(pickle.dumps(solver)) == solver


class Broken(SquaredHinge):
    """A loss that breaks down once points are apart."""

    def derivatives(self, near, far):
        slope = np.where(near + far > 1e-3, np.nan, 1.0)
        return slope, -slope


@pytest.mark.parametrize("solver", ANY.values(), ids=ANY)
def test_a_loss_that_breaks_down_is_a_divergence(solver):
    X, result = solved(solver, gram(Broken()), max_epochs=50)
    assert result.stop_reason == "diverged"
    assert np.isfinite(X).all()


@pytest.mark.parametrize(
    ("solver", "f", "missing", "fit"),
    [
        (AcceleratedProximalGradient(), gram("ckl"), "convexity", ["proximal"]),
        (AcceleratedProximalGradient(), gram(max_rank=2), "lower_bound", ["proximal"]),
        (solvers.SVRG(), gram(), "svrg_epoch", ["accelerated", "proximal", "ila"]),
        (ProximalGradient(), objective(), "pair_slopes", solvers.fitting(PointObjective)),
    ],
    ids=["not convex", "limited rank", "points' solver", "kernels' solver"],
)
def test_a_mismatch_names_what_is_missing_and_the_solvers_that_fit(solver, f, missing, fit):
    assert solvers.fitting(f) == fit
    with pytest.raises(InputError) as refused:
        minimise(solver, f, np.zeros((25, 2)))
    for name in (solver.name, missing, type(f).__name__, *fit):
        assert name in str(refused.value)


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: AcceleratedProximalGradient(growth=0.5), ["growth", "0.5"]),
        (lambda: AcceleratedProximalGradient(narrowing=1.0), ["narrowing", "1.0"]),
        (lambda: ProximalGradient(step=-1.0), ["step", "-1.0"]),
        (lambda: ProximalGradient(armijo=0.0), ["armijo", "0.0"]),
        (lambda: ProximalGradient(shrink=1.0), ["shrink", "1.0"]),
        (lambda: solvers.find("sbb", gram()), ["solver", "accelerated, proximal, ila", "'sbb'"]),
        (lambda: solvers.find("sbb"), ["solver", *solvers.SOLVERS, "'sbb'"]),
        (lambda: solvers.find("lbfgs", gram()), ["'lbfgs'", "accelerated, proximal"]),
    ],
)
def test_bad_settings_are_named(make, named):
    with pytest.raises(InputError) as refused:
        make()
    assert [text for text in named if text not in str(refused.value)] == []


# -- memory -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("solver", "max_rank"),
    [(AcceleratedProximalGradient(), None), (ProximalGradient(), None), (ProximalGradient(), 3)],
    ids=["accelerated", "proximal", "proximal, limited rank"],
)
def test_kernels_of_low_rank_need_no_n_times_n_memory(solver, max_rank):
    n = 2000
    answers = datasets.planted(n, 2, 6000, random_state=0)[0]
    f = GramObjective(answers, losses.STE(), trace_penalty=1e-4, max_rank=max_rank)
    columns = []
    callback = lambda progress: columns.append(progress.points.shape[1])  # noqa: E731
    solved(solver, f, np.zeros((n, 1)), max_epochs=2, tol=0)  # imports and compiles
    tracemalloc.start()
    try:
        _, result = solved(solver, f, np.zeros((n, 1)), callback=callback, max_epochs=12, tol=0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.5 * 8 * n * n
    assert result.objective < 0.9 * f.value(np.zeros((n, 1)))
    assert columns[0] == 1 < max(columns)  # the factor grew
