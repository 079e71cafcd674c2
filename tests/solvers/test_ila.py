"""The iterative local algorithm: global minima, certificates, growth, saddle points, stops, refusals."""

import os
import pickle
import signal
import time
import tracemalloc

import numpy as np
import pytest

from nearer import datasets, losses
from nearer.errors import InputError
from nearer.objectives import GramObjective, SimilarityObjective
from nearer.solvers import ILA, AcceleratedProximalGradient, Budget, Run, minimise
from nearer.solvers.certificate import certify, gap_bound, strongest_penalty
from nearer.solvers.ila import principal
from nearer.solvers.path import Choice, StopRule, Trials
from nearer.solvers.plane_search import lowest_on
from tests.registries import planted

GROWTHS = pytest.mark.parametrize("growth", ["exponential", "linear"])


def gram(trace_penalty=0.002, **data):
    return GramObjective(planted(**data), losses.STE(), trace_penalty=trace_penalty)


def similarities(rows=40, width=12, rank=None, penalty=0.5, seed=0):
    """Target inner products of rows under a metric of some rank, about those of the identity."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, width))
    root = np.eye(width) if rank is None else np.linalg.qr(rng.normal(size=(width, rank)))[0]
    return SimilarityObjective(X, X @ root @ root.T @ X.T, trace_penalty=penalty), X, root


def solved(f, x=None, *, solver=None, callback=None, seed=0, **budget):
    x = np.zeros((f.shape[0], 1)) if x is None else x
    rng = np.random.default_rng(seed)
    return minimise(solver or ILA(), f, x, budget=Budget(**budget), callback=callback, rng=rng)


# -- the minimum ------------------------------------------------------------------------------------------------------


@GROWTHS
@pytest.mark.parametrize("penalty", [0.02, 0.002])
@pytest.mark.parametrize("weights", [False, True])
def test_reaches_the_minimum_of_the_other_solver(growth, penalty, weights):
    f = gram(penalty, weights=weights)
    Q, result = solved(f, solver=ILA(growth=growth), tol=1e-6)
    least = solved(f, solver=AcceleratedProximalGradient(), tol=1e-7)[1].objective
    assert result.stop_reason == "tolerance"
    assert result.objective == pytest.approx(f.value(Q), rel=1e-12)
    assert result.objective == pytest.approx(least, rel=2e-6)


@pytest.mark.parametrize("kind", ["ste", "similarities"])
def test_the_same_minimum_as_a_solver_of_cones(kind):
    cvxpy = pytest.importorskip("cvxpy")
    if kind == "ste":
        answers, _ = datasets.planted(10, 2, 80, noise=0.1, random_state=0)
        f = GramObjective(answers, losses.STE(), trace_penalty=0.01)
        C = cvxpy.Variable((10, 10), PSD=True)
        i, j, l, k = answers.quadruplets().T
        own = cvxpy.diag(C)
        near, far = own[i] + own[j] - 2 * C[i, j], own[l] + own[k] - 2 * C[l, k]
        loss = cvxpy.sum(cvxpy.logistic(near - far)) / 80
    else:
        f, X, root = similarities(rows=15, width=5)
        C = cvxpy.Variable((5, 5), PSD=True)
        loss = cvxpy.sum_squares(X @ root @ root.T @ X.T - X @ C @ X.T) / 225
    problem = cvxpy.Problem(cvxpy.Minimize(loss + f.trace_penalty * cvxpy.trace(C)))
    problem.solve(solver=cvxpy.SCS, eps=1e-8, max_iters=50_000)
    _, result = solved(f, tol=1e-8)
    assert result.objective == pytest.approx(problem.value, rel=1e-5)
    early = solved(f, tol=1e-12, max_epochs=3)[1]
    for value, gap in zip(early.history["objective"], early.history["gap"], strict=True):
        assert value - problem.value <= gap + 1e-6


def test_the_closed_form():
    """Without the constraint, the gradient -2 K (I - C) K + penalty * I vanishes, K = XᵀX / t, at this C."""
    f, X, _ = similarities(rows=400, width=12, penalty=0.5)
    inverse = np.linalg.inv(X.T @ X / 400)
    best = np.eye(12) - 0.25 * inverse @ inverse
    assert np.linalg.eigvalsh(best)[0] > 0
    Q, result = solved(f, tol=1e-9)
    assert result.objective == pytest.approx(f.value(np.linalg.cholesky(best)), rel=1e-8)
    np.testing.assert_allclose(Q @ Q.T, best, atol=1e-4)


def test_features_of_very_different_size_take_no_longer():
    """The curvature varies by a factor of 10 to the power 8; descent over the factor itself takes 100 times longer."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 12)) * np.logspace(0, 2, 12)
    f = SimilarityObjective(X, X @ X.T, trace_penalty=0.1)
    Q, result = solved(f, tol=1e-6)
    assert result.stop_reason == "tolerance"
    assert result.n_evaluations < 2000 * f.n_terms
    np.testing.assert_allclose(X @ Q @ Q.T @ X.T, X @ X.T, atol=0.01 * np.abs(X @ X.T).max())


def test_descent_ends_soon_if_the_new_columns_are_nearly_right():
    """Eigenvectors of the first gradient are columns of the solution; descent to rounding takes 640 evaluations."""
    f, _, _ = similarities(rows=250, width=50, penalty=0.5 / 250**2)
    _, result = solved(f, tol=1e-3)
    assert result.stop_reason == "tolerance"
    assert result.n_evaluations < 550 * f.n_terms


@pytest.mark.parametrize("rank", [1, 3, 6])
def test_a_planted_rank_is_found(rank):
    f, _, root = similarities(rows=100, rank=rank, penalty=1e-4)
    Q, result = solved(f, tol=1e-4)
    assert Q.shape == (12, rank)
    assert result.details["rank"] == rank
    np.testing.assert_allclose(Q @ Q.T, root @ root.T, atol=0.02)


@pytest.mark.parametrize("share", [0.999, 0.99999])
def test_an_eigenvalue_that_a_rough_look_misses_is_found(share):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6))
    f = SimilarityObjective(X, X @ np.diag([3, 2, 1, 0.5, 0.2, 0.1]) @ X.T, trace_penalty=1.0)
    f.trace_penalty = share * strongest_penalty(f, 6, rng)
    _, result = solved(f, np.zeros((6, 1)), max_epochs=50, tol=1e-8)
    assert result.stop_reason == "tolerance"
    assert result.history["rank"][-1] == 1
    assert result.n_epochs < 3


def test_a_strong_penalty_leaves_nothing():
    Q, result = solved(gram(10.0))
    assert not Q.any()
    assert Q.shape == (25, 1)
    assert result.objective == pytest.approx(np.log(2))
    assert (result.stop_reason, result.n_epochs, result.details["rank"]) == ("tolerance", 0, 0)


# -- the certificate --------------------------------------------------------------------------------------------------


@GROWTHS
def test_every_round_bounds_its_gap(growth):
    f = gram()
    least = solved(f, tol=1e-9)[1].objective
    history = solved(f, solver=ILA(growth=growth), tol=1e-5)[1].history
    gaps = history["objective"] - least
    assert (gaps <= history["gap"] + 1e-9).all()
    assert (np.diff(history["objective"]) <= 0).all()
    assert history["gap"][0] < f.value(np.zeros((25, 1)))
    assert history["gap"][-1] <= 1e-5 * history["objective"][-1]
    assert len({len(column) for column in history.values()}) == 1


@pytest.mark.parametrize("seed", range(5))
def test_a_certificate_anywhere_bounds_eigenvalue_and_gap(seed):
    """Not only where descent ends: at any factor."""
    f = gram()
    rng = np.random.default_rng(seed)
    Q = principal(rng.normal(size=(25, 1 + 2 * seed)) * 0.3)
    found = certify(f, Q, f.value(Q), 4, rng)
    gradient = f.of_kernel(Q @ Q.T)[1]
    largest = np.linalg.eigvalsh(-gradient)[-1]
    assert largest <= found.eigenvalue + 1e-12
    assert found.slack == pytest.approx(np.vdot(gradient, Q @ Q.T))
    assert f.value(Q) - solved(f, tol=1e-8)[1].objective <= found.gap
    assert found.gap == gap_bound(f.value(Q), found.slack, found.eigenvalue, f.trace_penalty)
    np.testing.assert_allclose(found.directions.T @ Q, 0, atol=1e-10)
    np.testing.assert_allclose(
        found.directions.T @ found.directions, np.eye(found.directions.shape[1]), atol=1e-10
    )


def test_lanczos_finds_what_the_whole_decomposition_finds(monkeypatch):
    answers, _ = datasets.planted(200, 3, 4000, noise=0.1, random_state=0)
    f = GramObjective(answers, losses.STE(), trace_penalty=2e-4)
    Q = principal(np.random.default_rng(0).normal(size=(200, 3)) * 0.1)
    found = []
    for quicker in (True, False):
        monkeypatch.setattr(
            "nearer.solvers.certificate.lanczos_is_quicker", lambda n, k, quicker=quicker: quicker
        )
        found.append(certify(f, Q, f.value(Q), 5, np.random.default_rng(0), accuracy=1e-6))
    assert found[0].eigenvalue == pytest.approx(found[1].eigenvalue, rel=1e-5)
    overlap = np.linalg.svd(found[0].directions.T @ found[1].directions)[1]
    np.testing.assert_allclose(overlap, 1, atol=1e-3)


def test_lanczos_that_does_not_converge_is_asked_for_less(monkeypatch):
    from scipy.sparse import linalg

    whole, asked = linalg.eigsh, []

    def stubborn(*arguments, tol, **settings):
        asked.append(tol)
        if len(asked) == 1:
            raise linalg.ArpackNoConvergence("not yet", np.empty(0), np.empty((200, 0)))
        return whole(*arguments, tol=tol, **settings)

    monkeypatch.setattr(linalg, "eigsh", stubborn)
    monkeypatch.setattr("nearer.solvers.certificate.lanczos_is_quicker", lambda n, count: True)
    answers, _ = datasets.planted(200, 3, 4000, noise=0.1, random_state=0)
    f = GramObjective(answers, losses.STE(), trace_penalty=2e-4)
    certificate = certify(f, np.zeros((200, 0)), np.log(2), 3, np.random.default_rng(0), accuracy=1e-6)
    assert asked == [1e-6, pytest.approx(1e-5)]
    largest = np.linalg.eigvalsh(-f.of_kernel(np.zeros((200, 200)))[1])[-1]
    assert certificate.eigenvalue == pytest.approx(largest, rel=1e-4)


# -- growth and saddle points -----------------------------------------------------------------------------------------


def test_columns_double_or_come_one_by_one():
    f, _, _ = similarities(rows=60, width=40)
    doubling, single = (
        solved(f, solver=ILA(growth=growth), tol=1e-4)[1].history["rank"]
        for growth in ("exponential", "linear")
    )
    assert list(doubling[:5]) == [0, 1, 3, 7, 15]
    assert list(single[:5]) == [0, 1, 2, 3, 4]
    assert single[-1] == doubling[-1]


def test_saddle_points_are_left():
    """Descent cannot leave an invariant subspace: where it starts in one, only new columns lead on."""
    f, X, _ = similarities(rows=400)
    vectors = np.linalg.eigh(X.T @ X)[1]
    trapped = minimise(ILA(max_rank=2), f, vectors[:, :2], budget=Budget(tol=1e-8))[0]
    _, result = solved(f, trapped, tol=1e-7)
    assert result.history["objective"][0] > 1.5 * result.objective
    assert result.objective == pytest.approx(solved(f, tol=1e-8)[1].objective, rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_vanishing_columns_are_removed(seed):
    """From a start of full rank the factor shrinks to the rank of the minimum."""
    f, _, _ = similarities(rows=100, rank=3, penalty=1e-3)
    start = np.random.default_rng(seed).normal(size=(12, 12))
    Q, result = solved(f, start, tol=1e-5)
    assert Q.shape[1] == 3
    assert result.stop_reason == "tolerance"


def test_max_rank_holds_and_the_gap_says_what_it_costs():
    f, _, _ = similarities(rows=100)
    seen = []
    Q, result = solved(
        f, solver=ILA(max_rank=3), tol=1e-4, callback=lambda p: seen.append(p.points.shape[1]) and False
    )
    least = solved(f, tol=1e-7)[1].objective
    assert max(seen) == Q.shape[1] == 3
    assert result.stop_reason == "tolerance"
    assert 0.1 * least < result.objective - least <= result.history["gap"][-1]


def test_a_path_of_penalties_starts_each_from_the_last():
    answers = planted(weights=False)
    rounds = []

    def watch(progress):
        rounds.append((progress.part, progress.columns.get("rank")))

    build = lambda part, loss, penalty: GramObjective(part, loss, trace_penalty=penalty)  # noqa: E731
    judge = lambda Q, held: (1 / max(Q.shape[1], 1),) * 2  # noqa: E731
    trials = Trials(Run(Budget(tol=1e-4), watch), np.random.default_rng(0), build, judge)
    path = trials.path(losses.STE(), [(answers[:800], answers[800:])])
    choice = trials.choose(
        Choice(losses.STE(), 1.0, np.zeros((25, 1))),
        lambda: path.walk([0.03, 0.01, 0.003], [np.zeros((25, 1))], ILA(), StopRule()),
        answers,
        gain=0.0,
    )
    assert choice.strength == 0.003
    first_ranks = {part: next(rank for number, rank in rounds if number == part) for part in (1, 2, 3)}
    assert first_ranks[1] == 0 < first_ranks[2] <= first_ranks[3]


# -- the search over the weights of old and new columns ---------------------------------------------------------------


@pytest.mark.parametrize("seed", range(10))
def test_the_search_over_two_weights(seed):
    rng = np.random.default_rng(seed)
    A, t = rng.normal(size=(5, 2)), rng.normal(size=5)
    plane = lambda a, b: (  # noqa: E731
        float(np.sum((A @ [a, b] - t) ** 2)) + 1,
        *(2 * A.T @ (A @ [a, b] - t)),
    )
    a, b, value = lowest_on(plane, (1.0, 1.0), 20.0)
    from scipy.optimize import nnls

    best, residual = nnls(A, t)
    assert value == pytest.approx(residual**2 + 1, rel=1e-8)
    np.testing.assert_allclose([a, b], best, atol=1e-6)


def test_a_weak_penalty_does_not_lengthen_the_search_for_weights():
    margins, other, count = np.linspace(0.5, 2, 50), np.linspace(-0.2, 1, 50), 0

    def plane(a, b):  # logistic losses: limits are a million times the weights that matter
        nonlocal count
        count += 1
        z = margins * a + other * b
        slopes = -1 / (1 + np.exp(z))
        loss = np.logaddexp(0, -z).sum() + 1e-6 * (a + b)
        return float(loss), float(slopes @ margins + 1e-6), float(slopes @ other + 1e-6)

    a, b, value = lowest_on(plane, (1.0, 1.0), 50 * np.log(2) / 1e-6)
    assert count < 60
    assert b == 0
    assert value == pytest.approx(
        min(plane(a * share, 0)[0] for share in np.linspace(0.9, 1.1, 41)), rel=1e-6
    )


# -- manners ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("budget", "reason"),
    [
        ({"max_epochs": 2, "tol": 0}, "epochs"),
        ({"max_evaluations": 30_000, "tol": 0}, "evaluations"),
        ({"max_seconds": 1e-6, "tol": 0}, "seconds"),
        ({"tol": 0}, "precision"),
    ],
)
def test_stop_reasons(budget, reason):
    assert solved(gram(), **budget)[1].stop_reason == reason


@pytest.mark.parametrize("press", [False, True])
def test_ctrl_c_and_callbacks_keep_the_best_of_an_unfinished_round(press):
    looks = []

    def callback(progress):
        looks.append(progress.objective)
        if len(looks) == 40 and press:
            raise KeyboardInterrupt
        return len(looks) == 40

    f = gram()
    Q, result = solved(f, callback=callback)
    assert result.stop_reason == ("interrupted" if press else "callback")
    assert result.objective == looks[-1] == min(looks)
    assert f.value(Q) == pytest.approx(result.objective, rel=1e-12)
    assert Q.shape[1] == result.history["rank"][-1] == result.details["rank"]


@pytest.mark.parametrize("reason", ["interrupted", "seconds"])
@pytest.mark.parametrize("at", [2, 40])
def test_lanczos_is_cut_short(monkeypatch, reason, at):
    """In the first certificate nothing is known yet; in a later one, bounds of the rounds before still hold."""
    products, clock = [], [0.0]
    monkeypatch.setattr("nearer.solvers.certificate.lanczos_is_quicker", lambda n, count: True)
    if reason == "seconds":
        monkeypatch.setattr(time, "perf_counter", lambda: clock[0])

    class Slow(GramObjective):
        def gradient_at(self, X):
            product = super().gradient_at(X)

            def slowly(V):
                products.append(X.shape[1])
                if len(products) == at and reason == "seconds":
                    clock[0] = 1e6
                elif len(products) == at:
                    os.kill(os.getpid(), signal.SIGINT)
                return product(V)

            return slowly

    f = Slow(planted(), losses.STE(), trace_penalty=0.002)
    Q, result = solved(f, tol=1e-9, max_seconds=1000)
    assert result.stop_reason == reason
    assert len(products) == at
    assert Q.shape[1] == max(result.details["rank"], 1)
    assert result.objective == result.history["objective"][-1]
    assert result.objective == pytest.approx(f.value(Q), rel=1e-12)  # columns may have been turned
    assert np.isnan(result.history.get("gap", [np.nan])[-1])
    assert "eigenvalue" not in result.details
    if at == 2:
        assert "lower_bound" not in result.details
        assert (result.n_epochs, result.details["rank"]) == (0, 0)
    else:
        assert result.n_epochs > 0
        assert result.details["rank"] > 0
        assert result.details["lower_bound"] <= solved(gram(), tol=1e-8)[1].objective


@pytest.mark.parametrize("reason", ["interrupted", "seconds"])
def test_the_search_over_weights_and_pruning_are_cut_short(monkeypatch, reason):
    clock, looks = [0.0], []
    if reason == "seconds":
        monkeypatch.setattr(time, "perf_counter", lambda: clock[0])

    class Slow(GramObjective):
        def plane(self, X, U):
            whole = super().plane(X, U)

            def slowly(a, b):
                looks.append((a, b))
                if reason == "seconds":
                    clock[0] = 1e6
                elif len(looks) == 1:
                    os.kill(os.getpid(), signal.SIGINT)
                return whole(a, b)

            return slowly

    _, result = solved(Slow(planted(), losses.STE(), trace_penalty=0.002), tol=1e-9, max_seconds=1000)
    assert result.stop_reason == reason
    assert len(looks) == 1


def test_it_repeats_and_pickles():
    runs = [solved(gram(), tol=1e-4) for _ in range(2)]
    np.testing.assert_array_equal(runs[0][0], runs[1][0])
    assert pickle.loads(pickle.dumps(ILA(growth="linear"))) == ILA(growth="linear")


def test_a_loss_that_breaks_down_is_a_divergence():
    class Broken(GramObjective):
        def value_and_factor_gradient(self, X):
            value, gradient = super().value_and_factor_gradient(X)
            return (value, gradient) if X.shape[1] < 2 else (np.nan, gradient * np.nan)

    Q, result = solved(Broken(planted(), losses.STE(), trace_penalty=0.002), tol=1e-9)
    assert np.isfinite(Q).all()
    assert np.isfinite(result.objective)
    assert result.stop_reason != "tolerance"


@pytest.mark.parametrize(
    ("make", "parameter", "named"),
    [
        (lambda: ILA(growth="fast"), "growth", "'fast'"),
        (lambda: ILA(max_rank=0), "max_rank", "0"),
        (lambda: ILA(memory=-1), "memory", "-1"),
        (lambda: solved(gram(0.0)), "trace_penalty", "above 0"),
        (lambda: solved(GramObjective(planted(), losses.CKL())), None, "convexity"),
        (lambda: solved(GramObjective(planted(), losses.GNMDS())), None, "smoothness"),
        (lambda: solved(GramObjective(planted(), losses.STE(), max_rank=2)), None, "convexity"),
    ],
)
def test_what_is_refused(make, parameter, named):
    with pytest.raises(InputError) as refused:
        make()
    assert named in str(refused.value)
    if parameter is not None:
        assert parameter in str(refused.value)


def test_no_matrix_of_all_rows_is_formed():
    n = 3500
    answers = datasets.planted(n, 2, 6000, random_state=0)[0]
    f = GramObjective(answers, losses.STE(), trace_penalty=1e-5)
    solved(f, max_epochs=1, tol=0)  # imports and compiles
    tracemalloc.start()
    try:
        _, result = solved(f, max_epochs=3, tol=0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.1 * 8 * n * n
    assert result.history["rank"][-1] == 7
