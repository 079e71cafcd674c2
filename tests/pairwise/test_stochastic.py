"""AdaDSG, DSGD and their field: they reach the minimum, go on with streams, and keep to their limits."""

import tracemalloc
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

from nearer.errors import InputError
from nearer.losses.margins import MARGIN_LOSSES, HingeLoss, LogisticLoss, MarginLoss, SquareLoss
from nearer.objectives import _pair_walks
from nearer.objectives._decks import deck_of
from nearer.objectives.pair_rows import Pairs, ready
from nearer.solvers import DSGD, OLP, OPAUC, SOLAM, AdaDSG, Budget, State
from tests.pairwise.plain import value_and_gradient
from tests.pairwise.runs import STRENGTH, learn, run, suited

LOSSES = [loss() for loss in MARGIN_LOSSES.values()]
NAMES = [loss.name for loss in LOSSES]
SOLVERS = [AdaDSG(), DSGD(), OLP(), OPAUC(), SOLAM()]


def planted(n=600, d=5, share=0.3, seed=0):
    """Two Gaussian classes that overlap, of unequal spread."""
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < share
    X = rng.normal(size=(n, d)) * np.linspace(0.5, 1.5, d)
    X[positive] = 0.8 * X[positive] + np.linspace(0.8, -0.2, d)
    return X, positive


def objective(X, positive, loss, w):
    return value_and_gradient(X, positive.astype(int), loss, STRENGTH / np.sqrt(len(X)), w)


def gap(X, positive, loss, w):
    """How much is left to gain, as a share of what there was at w = 0."""
    start = np.zeros(X.shape[1])
    # the hinge's minimum by a method for smooth functions is good enough here: an upper bound
    best = min(
        minimize(lambda w: objective(X, positive, loss, w), first, jac=True, method="L-BFGS-B").fun
        for first in (start, w)
    )
    first = objective(X, positive, loss, start)[0]
    return (objective(X, positive, loss, w)[0] - best) / (first - best)


class TestDoublyStochastic:
    @pytest.mark.parametrize("solver", [AdaDSG(start=64), DSGD()], ids=["adadsg", "dsgd"])
    @pytest.mark.parametrize("loss", LOSSES, ids=NAMES)
    def test_the_minimum_of_all_pairs(self, solver, loss):
        X, positive = planted()
        state = learn(solver, X, positive, loss)
        assert gap(X, positive, loss, state.w) < 0.01

    @pytest.mark.parametrize("loss", LOSSES, ids=NAMES)
    @pytest.mark.parametrize("walk", ["ordered", "random"])
    def test_sparse_rows_give_what_the_same_dense_rows_give(self, loss, walk, monkeypatch):
        monkeypatch.setattr(_pair_walks, "WORTHWHILE", 0)  # decks even for data this small
        X, positive = planted(n=300)
        X *= np.random.default_rng(1).random(X.shape) < 0.5
        solver = AdaDSG(start=32, stages=6, walk=walk)
        dense = learn(solver, X, positive, loss)
        thin = learn(solver, sparse.csr_matrix(X), positive, loss)
        np.testing.assert_allclose(dense.w, thin.w, rtol=1e-7, atol=1e-10)
        assert dense.result.n_evaluations == thin.result.n_evaluations

    def test_decks_are_the_lists_in_order(self, monkeypatch):
        X, positive = planted(n=300)
        solver = AdaDSG(start=32, stages=8)
        listed = learn(solver, X, positive, HingeLoss())
        monkeypatch.setattr(_pair_walks, "WORTHWHILE", 0)
        np.testing.assert_array_equal(learn(solver, X, positive, HingeLoss()).w, listed.w)

    @pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
    def test_windows_instead_of_a_whole_copy(self, kind, monkeypatch):
        """Decks too small for the data: the minimum is still that of all rows."""
        monkeypatch.setattr(_pair_walks, "WORTHWHILE", 0)
        made = []

        def small(X, rows):
            made.append(deck_of(X, rows, capacity=100 * 12 * X.shape[1]))
            return made[-1]

        monkeypatch.setattr(_pair_walks, "deck_of", small)
        X, positive = planted()
        state = learn(AdaDSG(start=64), kind(X), positive, SquareLoss())
        assert max(deck.size for deck in made) <= 150 < positive.sum()
        assert gap(X, positive, SquareLoss(), state.w) < 0.01

    def test_float32_is_kept_and_gives_about_the_same(self):
        X, positive = planted()
        pairs = Pairs.from_labels(X.astype(np.float32), positive, np.random.default_rng(0))
        assert pairs.X.dtype == np.float32
        state = run(AdaDSG(), pairs, LogisticLoss(), np.random.default_rng(1))
        wide = run(AdaDSG(), replace(pairs, X=X), LogisticLoss(), np.random.default_rng(1))
        np.testing.assert_allclose(state.w, wide.w, rtol=1e-4, atol=1e-5)

    @pytest.mark.parametrize("average", ["weighted", "tail", "last"])
    def test_averages(self, average):
        X, positive = planted()
        state = learn(AdaDSG(start=64, average=average), X, positive, HingeLoss())
        assert gap(X, positive, HingeLoss(), state.w) < (0.1 if average == "last" else 0.01)

    def test_stages_double_until_they_count_on_all_rows(self):
        X, positive = planted(n=500)
        state = learn(AdaDSG(start=50, stages=6), X, positive, HingeLoss())
        history, numbers = state.result.history, state.state.numbers
        assert np.diff(history["evaluations"], prepend=0).tolist() == [100, 200, 400, 500, 500, 500]
        assert (state.result.n_epochs, numbers["repeats"], numbers["size"]) == (6, 3, 500)
        # steps grow shorter only once rows come again
        assert history["step"][3] > history["step"][4] > history["step"][5]

    def test_the_printed_rule_diverges_with_the_square_loss_and_says_so(self):
        X, positive = planted()
        state = learn(AdaDSG(step="paper", average="last"), 100 * X, positive, SquareLoss())
        assert state.result.stop_reason == "diverged"
        assert (state.w == 0).all()
        assert state.state is None  # nothing that is not a number is kept for later chunks

    def test_the_printed_rule_forgets_the_stage_before(self):
        """Its first step multiplies the weights by zero: what is left is one pair's difference."""
        X, positive = planted(n=300)
        first = learn(AdaDSG(start=150, stages=1, step="paper", average="last"), X, positive, HingeLoss())
        rng = np.random.default_rng(5)
        pairs = Pairs.from_labels(X, positive, rng)
        solver = AdaDSG(start=150, stages=1, step="paper", average="last")
        again = run(solver, pairs, HingeLoss(), rng, after=first, budget=Budget(max_evaluations=1))
        length = 1 / (STRENGTH / np.sqrt(300))
        differences = X[positive][:, None] - X[~positive][None]
        # the pair's difference, or nothing where the pair asks for none
        steps = np.concatenate([differences.reshape(-1, 5) * length, np.zeros((1, 5))])
        assert np.isclose(steps, again.w, atol=1e-9).all(axis=1).any()

    def test_the_printed_rule_needs_a_penalty(self):
        X, positive = planted(n=50)
        with pytest.raises(InputError, match="regularization"):
            learn(AdaDSG(step="paper"), X, positive, HingeLoss(), strength=0.0)

    def test_a_step_of_ones_own(self):
        X, positive = planted()
        state = learn(DSGD(step=0.05), X, positive, SquareLoss())
        assert state.result.history["step"][0] == pytest.approx(1 / (20 + STRENGTH / np.sqrt(600)))
        assert gap(X, positive, SquareLoss(), state.w) < 0.01

    @pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
    def test_a_loss_of_ones_own_runs_in_plain_numpy(self, kind):
        @dataclass(frozen=True)
        class Twice(MarginLoss):
            name = "twice"
            curvature = 4.0

            def value(self, margin):
                return 2 * (1 - margin) ** 2

            def slope(self, margin):
                return 4 * (margin - 1)

        X, positive = planted(n=200)
        state = learn(AdaDSG(start=50, stages=8), kind(X), positive, Twice())
        assert gap(X, positive, Twice(), state.w) < 0.02
        state = learn(OLP(passes=1), kind(X), positive, Twice())
        assert gap(X, positive, Twice(), state.w) < 0.2


class TestTheField:
    @pytest.mark.parametrize("solver", [OLP(passes=10), OLP(pairs=None)], ids=["few", "whole buffer"])
    @pytest.mark.parametrize("loss", LOSSES, ids=NAMES)
    def test_olp_comes_near_the_minimum(self, solver, loss):
        X, positive = planted()
        assert gap(X, positive, loss, learn(solver, X, positive, loss).w) < 0.03

    def test_opauc_reaches_the_minimum_in_few_passes(self):
        X, positive = planted()
        assert gap(X, positive, SquareLoss(), learn(OPAUC(), X, positive, SquareLoss()).w) < 0.02
        assert gap(X, positive, SquareLoss(), learn(OPAUC(passes=5), X, positive, SquareLoss()).w) < 0.002

    @pytest.mark.parametrize("draws", ["balanced", "natural"])
    def test_solam_comes_near_the_minimum(self, draws):
        X, positive = planted()
        state = learn(SOLAM(draws=draws), X, positive, SquareLoss())
        assert gap(X, positive, SquareLoss(), state.w) < 0.02
        means = (X[positive] @ state.w).mean(), (X[~positive] @ state.w).mean()
        np.testing.assert_allclose(state.state.arrays["saddle"][:2], means, atol=0.2)

    def test_solam_bears_features_that_are_not_centred(self):
        X, positive = planted(n=1000)
        state = learn(SOLAM(passes=30), X + 2.0, positive, SquareLoss())
        assert gap(X + 2.0, positive, SquareLoss(), state.w) < 0.1

    @pytest.mark.parametrize("solver", [OLP(), OPAUC(), OPAUC(rank=3), SOLAM()], ids=str)
    def test_sparse_rows_give_what_the_same_dense_rows_give(self, solver):
        X, positive = planted(n=300)
        X *= np.random.default_rng(1).random(X.shape) < 0.5
        dense = learn(solver, X, positive, suited(solver))
        thin = learn(solver, sparse.csr_matrix(X), positive, suited(solver))
        np.testing.assert_allclose(dense.w, thin.w, rtol=1e-7, atol=1e-10)

    @pytest.mark.parametrize("solver", [OPAUC(), SOLAM()])
    def test_the_square_loss_only(self, solver):
        X, positive = planted(n=50)
        with pytest.raises(InputError, match=r"square.*'hinge'"):
            learn(solver, X, positive, HingeLoss())


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver.name)
class TestEverySolver:
    def test_the_same_seed_gives_the_same_bits(self, solver):
        X, positive = planted(n=300)
        one, same, other = (learn(solver, X, positive, suited(solver), seed) for seed in (0, 0, 1))
        assert (one.w == same.w).all()
        assert (one.w != other.w).any()

    def test_a_limit_of_steps(self, solver):
        X, positive = planted()
        state = learn(solver, X, positive, suited(solver), budget=Budget(max_evaluations=101))
        assert state.result.n_evaluations == 101
        assert state.result.stop_reason == "evaluations"
        assert np.isfinite(state.w).all()
        assert state.w.any()

    def test_a_limit_of_seconds_leaves_an_answer(self, solver):
        X, positive = planted()
        state = learn(solver, X, positive, suited(solver), budget=Budget(max_seconds=1e-9))
        assert state.result.stop_reason == "seconds"
        assert 0 < state.result.n_evaluations <= 4096
        assert state.w.any()

    def test_a_callback_sees_the_course_and_ends_it(self, solver):
        X, positive = planted(n=3000)
        seen = []

        def callback(progress):
            seen.append((progress.evaluations, progress.objective, progress.parameters, progress.samples))
            assert (progress.steps, progress.loss) == (progress.evaluations, progress.objective)
            np.testing.assert_array_equal(progress.w, progress.parameters)
            return progress.evaluations >= 500

        state = learn(solver, X, positive, suited(solver), callback=callback)
        assert state.result.stop_reason == "callback"
        assert state.result.n_evaluations == seen[-1][0] >= 500 > (seen[-2][0] if len(seen) > 1 else 0)
        np.testing.assert_array_equal(seen[-1][2], state.w)
        assert 0 < seen[-1][1] < 10
        assert seen[-1][3] == 3000
        assert state.result.history["evaluations"][-1] == seen[-1][0]

    def test_blocks_do_not_change_the_numbers(self, solver):
        X, positive = planted()
        whole = learn(solver, X, positive, suited(solver))
        watched = learn(solver, X, positive, suited(solver), callback=lambda progress: None)
        assert (whole.w == watched.w).all()

    def test_going_on_leaves_the_state_before_as_it_was(self, solver):
        X, positive = planted()
        first = learn(solver, X, positive, suited(solver))
        kept = first.state.copy()
        w = first.w.copy()
        further = learn(solver, X, positive, suited(solver), seed=1, after=first)
        assert (first.w == w).all()
        assert all((first.state.arrays[name] == array).all() for name, array in kept.arrays.items())
        assert first.state.numbers == kept.numbers
        assert further.result.n_evaluations > first.result.n_evaluations
        assert further.result.n_epochs > first.result.n_epochs
        assert len(further.result.history["step"]) == 2 * len(first.result.history["step"])
        assert gap(X, positive, suited(solver), further.w) < 0.03

    def test_the_state_is_numbers_and_arrays(self, solver):
        X, positive = planted(n=300)
        for rows in (X, sparse.csr_matrix(X)):
            first = learn(solver, rows, positive, suited(solver), stream=True)
            state = first.state
            assert all(isinstance(array, np.ndarray) for array in state.arrays.values())
            assert all(isinstance(number, float) for number in state.numbers.values())
            assert {len(column) for column in state.history.values()} == {len(state.history["step"])}
            # a copy by way of its fields, as a file would make it, goes on alike
            again = replace(
                first, state=State(**{name: getattr(state, name) for name in state.__dataclass_fields__})
            )
            one, other = (
                learn(solver, rows, positive, suited(solver), seed=3, after=part, stream=True)
                for part in (first, again)
            )
            assert (one.w == other.w).all()

    def test_features_of_every_scale_do_not_overflow(self, solver):
        X, positive = planted()
        X = X * 10.0 ** np.array([4, -4, 0, 2, -2])
        X[::50] *= 30  # and rows far longer than the rest
        for loss in LOSSES if solver.losses is None else [SquareLoss()]:
            state = learn(solver, X, positive, loss)
            assert np.isfinite(state.w).all()
            assert state.result.stop_reason == "epochs"
            start = objective(X, positive, loss, np.zeros(5))[0]
            assert objective(X, positive, loss, state.w)[0] <= 2 * start

    def test_rows_that_are_all_equal(self, solver):
        state = learn(solver, np.ones((20, 3)), np.arange(20) < 10, suited(solver))
        np.testing.assert_allclose(state.w @ np.ones(3), 0, atol=1.5)

    def test_without_a_penalty(self, solver):
        X, positive = planted()
        state = learn(solver, X, positive, suited(solver), strength=0.0)
        assert gap(X, positive, suited(solver), state.w) < 0.03

    def test_one_class_only(self, solver):
        X = planted(n=50)[0]
        with pytest.raises(InputError, match=r"positive.*negative"):
            learn(solver, X, np.ones(50, dtype=bool), suited(solver))

    def test_another_number_of_features(self, solver):
        X, positive = planted(n=50)
        state = learn(solver, X, positive, suited(solver))
        with pytest.raises(InputError, match=r"4 features.*5"):
            learn(solver, X[:, :4], positive, suited(solver), after=state, stream=True)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_memory_of_a_step_does_not_grow_with_the_rows(kind):
    """At random nothing is copied; a limit of steps ends both runs after the same work."""
    peaks = []
    for n in (2_000, 64_000):
        X, positive = planted(n=n)
        X = sparse.csr_matrix(X) if kind == "sparse" else X
        pairs = Pairs.from_labels(X, positive, np.random.default_rng(0))
        arrays = [X.indptr] if kind == "sparse" else []
        if arrays:  # its row starts in the kind of number that the loops take: made once, here
            X.indptr = X.indptr.astype(np.int64)
        solver = AdaDSG(walk="random")
        run(solver, pairs, HingeLoss(), np.random.default_rng(0), budget=Budget(max_evaluations=10))
        tracemalloc.start()
        run(solver, pairs, HingeLoss(), np.random.default_rng(0), budget=Budget(max_evaluations=2_000))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0] + 20_000


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AdaDSG(start=0), "start"),
        (lambda: AdaDSG(stages=0), "stages"),
        (lambda: AdaDSG(step=-1.0), "step"),
        (lambda: AdaDSG(average="mean"), "average.*weighted, tail, last.*mean"),
        (lambda: DSGD(walk="sorted"), "walk.*ordered, random.*sorted"),
        (lambda: DSGD(passes=0), "passes"),
        (lambda: AdaDSG(buffer=0), "buffer"),
        (lambda: OLP(buffer=1), "buffer"),
        (lambda: OLP(pairs=0), "pairs"),
        (lambda: OPAUC(rank=0), "rank"),
        (lambda: OPAUC(passes=0), "passes"),
        (lambda: SOLAM(draws="both"), "draws"),
        (lambda: ready(np.zeros(3)), "two dimensions"),
    ],
)
def test_settings_that_make_no_sense(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_whole_covariances_of_too_many_features_are_refused():
    X = sparse.csr_matrix((4, 30_000))
    with pytest.raises(InputError, match="choose rank=50"):
        learn(OPAUC(rank=None), X, np.arange(4) < 2, SquareLoss())


def test_rows_are_made_ready():
    X = sparse.coo_matrix(([1, 2, 3], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    made = ready(X)
    assert made.dtype == np.float64
    np.testing.assert_array_equal(made.toarray(), [[0, 3], [3, 0]])
    assert ready(np.asfortranarray(np.eye(3, dtype=np.float32))).flags.c_contiguous
