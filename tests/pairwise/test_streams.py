"""Solvers on chunks: what they keep of those before, and how near they come to a fit on all rows."""

import numpy as np
import pytest
from scipy import sparse

from nearer.losses.margins import HingeLoss, SquareLoss
from nearer.objectives._decks import deck_of
from nearer.objectives._kept_rows import Reservoir
from nearer.objectives._pair_weights import rule_of
from nearer.objectives.pair_rows import Pairs
from nearer.solvers import DSGD, OLP, OPAUC, SOLAM, AdaDSG
from nearer.solvers.moments import Moments, frequent_directions
from tests.pairwise.runs import learn, run, suited
from tests.pairwise.test_stochastic import gap, planted

SOLVERS = [AdaDSG(), DSGD(), OLP(), OPAUC(), SOLAM()]


def streamed(solver, X, positive, size, order=None, after=None, seed=0):
    """Learn from chunks of `size` rows."""
    rng = np.random.default_rng(seed)
    rows = np.arange(len(positive)) if order is None else order
    for begin in range(0, len(rows), size):
        chunk = rows[begin : begin + size]
        pairs = Pairs.from_labels(X[chunk], positive[chunk], rng)
        after = run(solver, pairs, suited(solver), rng, after=after, stream=True)
    return after


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver.name)
class TestStreams:
    @pytest.mark.parametrize("size", [10, 400])
    def test_chunks_come_near_the_minimum_of_all(self, solver, size):
        X, positive = planted(n=4000, d=4)
        state = streamed(solver, X, positive, size)
        sample = slice(0, 1000)  # all pairs of all rows are many to write down
        assert gap(X[sample], positive[sample], suited(solver), state.w) < 0.03
        assert state.seen == (positive.sum(), (~positive).sum())

    def test_chunks_of_one_class_each(self, solver):
        """Partners come from what was kept."""
        X, positive = planted(n=3000, d=4, share=0.5)
        sides = np.flatnonzero(positive), np.flatnonzero(~positive)
        order = np.concatenate([side[k : k + 50] for k in range(0, 1400, 50) for side in sides])
        state = streamed(solver, X, positive, 50, order)
        assert gap(X[:1000], positive[:1000], suited(solver), state.w) < 0.06

    def test_a_first_chunk_of_one_class_is_remembered(self, solver):
        X, positive = planted(n=200, d=4)
        order = np.argsort(~positive, kind="stable")
        state = streamed(solver, X, positive, int(positive.sum()), order[: positive.sum()])
        assert state.result.n_evaluations == 0
        assert not state.w.any()
        state = streamed(solver, X, positive, 1000, order[positive.sum() :], after=state)
        assert state.result.n_evaluations > 0
        assert state.w.any()

    def test_sparse_chunks(self, solver):
        X, positive = planted(n=600, d=4)
        X *= np.random.default_rng(1).random(X.shape) < 0.5
        dense = streamed(solver, X, positive, 40)
        thin = streamed(solver, sparse.csr_matrix(X), positive, 40)
        np.testing.assert_allclose(dense.w, thin.w, rtol=1e-6, atol=1e-9)

    def test_what_is_kept_does_not_grow(self, solver):
        X, positive = planted(n=6000, d=4)
        sizes = []
        for n in (2000, 6000):
            state = streamed(solver, X[:n], positive[:n], 100)
            sizes.append(sum(array.size for array in state.state.arrays.values()))
        assert sizes[0] == sizes[1]


def test_a_fit_goes_on_with_chunks():
    X, positive = planted(n=2000, d=4)
    first = learn(AdaDSG(), X[:500], positive[:500], HingeLoss())
    state = streamed(AdaDSG(), X[500:], positive[500:], 300, after=first)
    assert sum(state.seen) == 2000
    gaps = [gap(X[:1000], positive[:1000], HingeLoss(), w) for w in (first.w, state.w)]
    assert gaps[1] < max(gaps[0], 0.005)


def test_stages_of_a_stream_double_across_chunks():
    X, positive = planted(n=2100, d=4)
    solver = AdaDSG(start=100)
    state = streamed(solver, X, positive, 70)
    assert state.result.n_evaluations == 2 * 2100
    assert state.result.n_epochs == 5  # of 200, 400, 800, 1600 and what is left of 3200 steps
    assert (state.state.numbers["size"], state.state.numbers["position"]) == (3200, 4200 - 3000)


def test_the_history_of_a_long_stream_thins_out():
    X, positive = planted(n=2200, d=2)
    state = streamed(SOLAM(), X, positive, 2)
    history = state.result.history
    assert 500 <= len(history["epoch"]) <= 1000
    assert history["evaluations"][-1] == state.result.n_evaluations
    assert (np.diff(history["evaluations"]) > 0).all()


class TestReservoir:
    @pytest.mark.parametrize("chunk", [1, 7, 40])
    def test_all_rows_seen_are_kept_with_the_same_probability(self, chunk):
        X, kept = np.arange(40.0)[:, None], np.zeros(40)
        rng = np.random.default_rng(0)
        for _ in range(600):
            reservoir = Reservoir(8)
            for begin in range(0, 40, chunk):
                rows = np.arange(begin, min(begin + chunk, 40))
                reservoir.add(Pairs(X, rows, np.empty(0, np.int64)), rng)
            assert reservoir.count(0) == 8
            np.add.at(kept, reservoir.rows[0].ravel().astype(int), 1)
        assert abs(kept / 600 - 8 / 40).max() < 0.07

    @pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
    def test_stored_and_resumed(self, kind):
        X = kind(np.random.default_rng(0).normal(size=(30, 3)))
        reservoir = Reservoir(5)
        reservoir.add(Pairs(X, np.arange(20), np.arange(20, 22)), np.random.default_rng(1))
        arrays: dict[str, np.ndarray] = {}
        reservoir.store(arrays)
        again = Reservoir.resumed(5, arrays, (20, 2))
        for side, count in enumerate((5, 2)):
            assert again.count(side) == count
            assert abs(again.rows[side] - reservoir.rows[side]).max() == 0

    def test_kept_rows_join_the_class_that_is_short_of_them(self):
        reservoir = Reservoir(4)
        X = np.arange(20.0).reshape(10, 2)
        reservoir.add(Pairs(X, np.arange(6), np.arange(6, 10)), np.random.default_rng(1))
        chunk = Pairs(-X, np.arange(9), np.array([9]))
        joined = reservoir.join(chunk, np.random.default_rng(2))
        assert (joined.positives == chunk.positives).all()  # of these the chunk has enough
        assert len(joined.negatives) == 1 + 4
        behind = joined.X[joined.negatives[1:]]
        np.testing.assert_array_equal(behind[behind[:, 0].argsort()], np.sort(reservoir.rows[1], axis=0))


class TestLowRank:
    def sketch(self, rank, X, sides, chunk=10**9):
        moments = Moments(X.shape[1], rank)
        begin = 0
        while begin < len(X):
            taken, _ = moments.steps(
                X[begin : begin + chunk], sides[begin : begin + chunk], True, rule_of(1.0, 0.0)
            )
            begin += taken
        return moments

    def test_full_rank_is_the_covariance(self):
        rng = np.random.default_rng(0)
        X, sides = rng.normal(size=(700, 6)) + 3.0, rng.integers(0, 2, 700)
        for rank in (None, 6, 9):
            moments = self.sketch(rank, X, sides)
            for side in (0, 1):
                expected = np.cov(X[sides == side].T, bias=True)
                np.testing.assert_allclose(moments.covariance(side), expected, rtol=1e-8, atol=1e-10)

    @pytest.mark.parametrize("rank", [1, 3, 5])
    def test_a_sketch_is_positive_semidefinite_at_every_moment(self, rank):
        """Far from the origin, where a sketch that is not centred turns indefinite."""
        rng = np.random.default_rng(0)
        X, sides = rng.normal(size=(300, 8)) * np.linspace(0.2, 3, 8) + 50.0, rng.integers(0, 2, 300)
        for n in (5, 20, 100, 300):
            moments = self.sketch(rank, X[:n], sides[:n])
            for side in (0, 1):
                covariance = moments.covariance(side)
                exact = np.cov(X[:n][sides[:n] == side].T, bias=True)
                scale = np.linalg.norm(exact, 2)
                assert np.linalg.eigvalsh(covariance).min() >= -1e-9 * scale
                # Liberty's bound: no direction is wrong by more than the trace over the rank
                assert np.linalg.norm(covariance - exact, 2) <= np.trace(exact) / rank
        assert np.linalg.norm(covariance - exact, 2) < 1.2 * np.linalg.eigvalsh(exact)[-rank - 1 :][0] + 1.0

    def test_directions_that_fit_are_kept_exactly(self):
        vectors = np.random.default_rng(0).normal(size=(20, 3)) @ np.random.default_rng(1).normal(
            size=(3, 10)
        )
        rows, lost = frequent_directions(vectors, 4)
        assert lost == pytest.approx(0, abs=1e-9)
        np.testing.assert_allclose(rows.T @ rows, vectors.T @ vectors, atol=1e-9)

    def test_low_rank_learns_where_few_directions_matter(self):
        rng = np.random.default_rng(0)
        X, positive = planted(n=400, d=20)
        X = X * np.r_[np.ones(6), np.full(14, 0.05)]
        state = run(OPAUC(rank=8, passes=3), Pairs.from_labels(X, positive, rng), SquareLoss(), rng)
        assert gap(X, positive, SquareLoss(), state.w) < 0.03


class TestDecks:
    @pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
    def test_rows_are_copied_in_order_as_stages_grow(self, kind):
        X = np.random.default_rng(0).normal(size=(30, 3))
        rows = np.random.default_rng(1).permutation(30)[:20]
        deck = deck_of(kind(X), rows)
        for count in (3, 4, 20, 7):
            deck.show(count)
            np.testing.assert_array_equal(self.told(deck, 3), X[rows[:count]])
            assert deck.visits_left is None
            assert not deck.visited(1000)

    @pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
    def test_windows_take_turns_over_all_rows(self, kind):
        X = np.random.default_rng(0).normal(size=(30, 3))
        rows = np.random.default_rng(1).permutation(30)
        deck = deck_of(kind(X), rows, capacity=450)
        deck.show(6)
        deck.show(30)
        seen = []
        for _ in range(40):
            assert len(self.told(deck, 3)) == deck.size <= 18
            seen.append(self.told(deck, 3))
            visits = deck.visits_left
            assert not deck.visited(visits - 1)
            assert deck.visited(1)
        # the new rows first, and in the long run each as often as the others
        np.testing.assert_array_equal(seen[0], X[rows[6 : 6 + len(seen[0])]])
        met = [(np.concatenate(seen) == row).all(axis=1).sum() for row in X]
        assert max(met) <= 1.5 * min(met)

    def told(self, deck, d):
        if len(deck.arrays) == 1:
            return deck.arrays[0].copy()
        starts, columns, numbers = deck.arrays
        stop = starts[-1]
        return sparse.csr_matrix(
            (numbers[:stop], columns[:stop], starts), shape=(len(starts) - 1, d)
        ).toarray()
