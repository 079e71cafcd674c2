"""What `peers_recommend` rests on: protocols that leak nothing, measures, baselines, and checks that can say no."""

from __future__ import annotations

import doctest
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

sys.path.insert(
    0, str(Path(__file__).parents[2])
)  # benchmarks is a folder of the repository, not of the package

from benchmarks import (
    _peer_recommend,
    _recommend_baselines,
    _recommend_data,
    _recommend_metrics,
    _recommend_ours,
    _recommend_peers,
    _recommend_search,
    _recommend_standings,
    _runner,
    peers_recommend,
)
from benchmarks.conclusions.peers_recommend import conclude

N_USERS, N_MOVIES = 150, 130
IALS = {"n_components": 4, "alpha0": 0.2, "reg": 0.01, "nu": 0.6}


@pytest.mark.parametrize(
    "module", [_recommend_baselines, _recommend_data, _recommend_metrics, _recommend_search]
)
def test_examples_in_docstrings(module):
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0


# -- data -------------------------------------------------------------------------------------------------------------


def table() -> dict[str, np.ndarray]:
    """Users of two tastes and movies of two genres; a user gives 5 to movies of the own taste, else 3."""
    random = np.random.default_rng(0)
    taste, genre = np.arange(N_USERS) % 2, np.arange(N_MOVIES) % 2
    user, movie = np.nonzero(random.random((N_USERS, N_MOVIES)) < 0.2)
    return {
        "user": user + 1,
        "item": movie + 1,
        "rating": np.where(taste[user] == genre[movie], 5, 3),
        "user_ids": np.arange(1, N_USERS + 1),
        "user_gender": np.where(taste, "F", "M"),
        "user_age": random.choice([1, 18, 25], N_USERS),
        "user_occupation": random.integers(0, 4, N_USERS),
        "movie_ids": np.arange(1, N_MOVIES + 1),
        "movie_titles": np.array([f"Movie {i} ({1950 + i % 50})" for i in range(N_MOVIES)]),
        "movie_genres": np.column_stack([genre, 1 - genre]),
    }


def published(rated: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """A split like that of He et al.: users in another order, one rated movie each and 99 that were not."""
    random = np.random.default_rng(1)
    order = random.permutation(N_USERS) + 1
    own = [rated["item"][rated["user"] == user] for user in order]
    others = [random.permutation(np.setdiff1d(rated["movie_ids"], movies))[:99] for movies in own]
    short = min(map(len, others))
    return {
        "test_user": order,
        "test_item": np.array([movies[0] for movies in own]),
        "test_negatives": np.array([movies[:short] for movies in others]),
    }


@pytest.fixture
def small(monkeypatch):
    """A small MovieLens."""
    rated = table()
    sets = {"ml_1m": rated, "ml_1m_ncf_split": published(rated)}
    monkeypatch.setattr(_recommend_data, "load", sets.__getitem__)
    monkeypatch.setattr(_recommend_data, "NEGATIVES", 60)
    _recommend_data.movies.cache_clear()
    yield rated
    _recommend_data.movies.cache_clear()


def overlap(one: sparse.csr_matrix, other: sparse.csr_matrix) -> int:
    return one.multiply(other).nnz


@pytest.mark.parametrize("protocol", _recommend_data.PROTOCOLS)
def test_a_split_is_the_same_again_and_loses_no_pair(small, protocol):
    of, again = (_recommend_data.problem(protocol, 1) for _ in range(2))
    assert (of.train != again.train).nnz == 0
    assert (of.test != again.test).nnz == 0
    history = 0 if of.history is None else of.history.nnz
    n_pairs = len(_recommend_data.movies(1 if protocol == "ncf" else 4).pairs)
    assert of.train.nnz + of.test.nnz + history == n_pairs
    assert of.users.shape[0] == of.train.shape[0]
    assert of.movies.shape[0] == of.train.shape[1]


def test_pairs_to_be_found_are_not_in_training(small):
    for protocol in ("warm", "ncf"):
        of = _recommend_data.problem(protocol, 0)
        assert overlap(of.train, of.test) == 0
    first, second = (_recommend_data.problem("warm", split) for split in (0, 1))
    assert overlap(first.test, second.test) < first.test.nnz / 2


def test_new_users_are_the_same_with_and_without_history(small):
    history, side = (_recommend_data.problem(name, 0) for name in ("history", "side"))
    assert overlap(history.history, history.test) == 0
    assert ((history.history + history.test) != side.test).nnz == 0
    assert history.history.nnz / side.test.nnz == pytest.approx(0.8, abs=0.02)
    assert history.train.shape[0] + history.test.shape[0] == N_USERS
    np.testing.assert_array_equal(history.new_users, side.new_users)


def test_new_movies_are_the_only_candidates(small):
    of = _recommend_data.problem("items", 0)
    assert of.train.shape[1] + of.test.shape[1] == N_MOVIES
    assert of.new_movies.shape[0] == of.test.shape[1] == 13
    assert of.seen is None


def test_the_published_split_is_read_in_the_order_of_users(small):
    of = _recommend_data.problem("ncf", 0)
    rows = np.arange(N_USERS)
    rated = sparse.csr_matrix(
        (np.ones(len(small["user"])), (small["user"] - 1, small["item"] - 1)), of.train.shape
    )
    assert np.asarray(of.test[rows, of.candidates[:, -1]]).sum() == N_USERS
    for column in of.candidates[:, :-1].T:
        assert np.asarray(rated[rows, column]).sum() == 0


@pytest.mark.parametrize("protocol", _recommend_data.PROTOCOLS)
def test_the_validation_part_knows_training_pairs_alone(small, protocol):
    of = _recommend_data.problem(protocol, 0)
    part = _recommend_data.validation(of)
    assert part.protocol == protocol
    history = 0 if part.history is None else part.history.nnz
    assert part.train.nnz + part.test.nnz + history == of.train.nnz
    if protocol in ("warm", "ncf"):
        assert overlap(part.train + part.test, of.test) == 0
    if protocol == "ncf":
        assert part.candidates.shape == (N_USERS, 61)


# -- measures ---------------------------------------------------------------------------------------------------------


def test_measures_are_their_definitions():
    random = np.random.default_rng(0)
    test = sparse.random(50, 80, 0.1, "csr", random_state=1)
    best = np.argsort(random.random((50, 80)), axis=1)[:, :20]
    found = _recommend_metrics.per_question(best, test)
    asked = [row for row in range(50) if test[row].nnz]
    assert len(found["map5"]) == len(asked)
    for place, row in enumerate(asked):
        right = set(test[row].indices.tolist())
        hits = [int(movie in right) for movie in best[row].tolist()]
        assert found["map5"][place] == pytest.approx(np.mean([sum(hits[:k]) / k for k in range(1, 6)]))
        assert found["recall20"][place] == pytest.approx(sum(hits) / len(right))
        gain = sum(hit / np.log2(rank + 2) for rank, hit in enumerate(hits[:10]))
        ideal = sum(1 / np.log2(rank + 2) for rank in range(min(10, len(right))))
        assert found["ndcg10"][place] == pytest.approx(gain / ideal)


def test_rankings_leave_out_what_was_seen(small):
    of = _recommend_data.problem("history", 0)
    scores = _recommend_baselines.popularity(of, {})
    best = _recommend_metrics.top(scores, of)
    rows = np.repeat(np.arange(len(best)), best.shape[1])
    assert np.asarray(of.history[rows, best.ravel()]).sum() == 0
    ranked = np.take_along_axis(scores(slice(0, len(best))), best, axis=1)
    assert (np.diff(ranked, axis=1) <= 0).all()


def test_ties_of_the_published_split_count_against_the_answer(small):
    of = _recommend_data.problem("ncf", 0)
    equal = _recommend_metrics.top(_recommend_baselines.same_for_all(np.ones(N_MOVIES)), of)
    assert _recommend_metrics.judged(equal, of)["hr10"][0] == 0
    right = _recommend_metrics.top(lambda rows: of.test[rows].toarray(), of)
    judged = _recommend_metrics.judged(right, of)
    assert judged["hr10"][0] == judged["ndcg10"][0] == 1
    assert judged["groups"]["hr10"] == [1] * 5


# -- rivals -----------------------------------------------------------------------------------------------------------


def recall(of: _recommend_data.Problem, rival: str, **setting: float) -> float:
    scores = _recommend_baselines.FITS[rival](of, setting)
    return _recommend_metrics.judged(_recommend_metrics.top(scores, of), of)["recall20"][0]


def test_ease_has_no_diagonal_and_minimises_its_objective(small):
    of = _recommend_data.problem("warm", 0)
    X = of.train.toarray()
    B = np.linalg.lstsq(X, _recommend_baselines.ease(of, {"l2": 5.0})(slice(0, N_USERS)), rcond=None)[0]
    np.testing.assert_allclose(np.diag(B), 0, atol=1e-8)
    gradient = X.T @ (X @ B - X) + 5.0 * B
    np.fill_diagonal(gradient, 0)
    np.testing.assert_allclose(gradient, 0, atol=1e-6)


def test_baselines_that_see_taste_beat_those_that_do_not(small):
    for protocol in ("warm", "history"):
        of = _recommend_data.problem(protocol, 0)
        assert recall(of, "EASE", l2=5.0) > 1.3 * recall(of, "popularity")
    side, items = (_recommend_data.problem(name, 0) for name in ("side", "items"))
    assert recall(side, "ridge", l2=1.0) > 1.3 * recall(side, "popularity")
    order = _recommend_metrics.top(_recommend_baselines.ridge_movies(items, {"l2": 1.0}), items)
    mean = _recommend_metrics.top(_recommend_baselines.ridge_mean(items, {"l2": 1.0}), items)
    personal, same = (_recommend_metrics.judged(one, items)["map5"][0] for one in (order, mean))
    assert personal > 1.3 * same


@pytest.mark.parametrize("features", [False, True])
def test_a_problem_reaches_the_peers_whole(small, tmp_path, features):
    of = _recommend_data.problem("history", 0)
    np.savez(tmp_path / "data.npz", **_recommend_peers.arrays(of, features))
    found = _peer_recommend.read(tmp_path / "data.npz")
    assert (found["train"] != of.train).nnz == (found["history"] != of.history).nnz == 0
    assert ("users" in found) == features
    if features:
        np.testing.assert_allclose(found["new_users"][:, 1:], of.new_users)
        assert (found["movies"][:, 0] == 1).all()


def test_every_rival_has_the_same_number_of_trials(small):
    settings = {**peers_recommend.SETTINGS, "trials": 4}
    for protocol in ("warm", "items"):
        cell = {"who": "baselines", "protocol": protocol, "split": peers_recommend.CHOICE}
        peer_names = frozenset(peers_recommend.BASELINES[protocol]) - set(_recommend_baselines.FITS)
        chosen = dict(peers_recommend.measure(cell, _runner.Job(settings, [], peer_names)))
        assert chosen
        assert {len(one["trials"]) for one in chosen.values()} == {4}
        row = {"cell": cell, "results": chosen, "done": True}
        measured = dict(
            peers_recommend.measure({**cell, "split": 0}, _runner.Job(settings, [row], peer_names))
        )
        assert set(measured) | peer_names == set(peers_recommend.BASELINES[protocol])
        assert all(one["cpu"] >= 0 for one in measured.values())


def test_a_split_without_chosen_settings_is_skipped(small):
    job = _runner.Job(peers_recommend.SETTINGS, [], frozenset())
    cell = {"who": "baselines", "protocol": "items", "split": 1}
    with pytest.raises(_runner.Skip, match="no settings were chosen"):
        list(peers_recommend.measure(cell, job))


def test_ours_is_asked_by_the_agreed_interface(small, monkeypatch):
    calls, questions = [], []

    class TwoTower:
        """Embeds users by their taste, whatever it is asked."""

        def __init__(self, **settings):
            calls.append(settings)
            self.__dict__.update(dict.fromkeys(_recommend_ours._CHOICES, 1), **settings)

        def fit(self, R, left=None, right=None):
            self.R, self.features = R, (left is not None, right is not None)
            return self

        def search(self, R, left=None, right=None, *, seconds, **asked):
            questions.append(asked)
            trial = {"settings": {"l2": "1"}, "score": 0.5, "seconds": 1.0}
            self.result_ = SimpleNamespace(details={"trials": [trial]})
            return self.fit(R, left, right)

        def recommend(self, rows=None, k=20, exclude_seen=True):
            return np.tile(np.arange(k), (self.R.shape[0], 1)), None

        def embed_left(self, features=None, history=None):
            given = (
                self.R if features is None and history is None else features if history is None else history
            )
            return np.ones((given.shape[0], 2))

        def embed_right(self, features=None):
            return np.ones((self.R.shape[1] if features is None else len(features), 2))

    monkeypatch.setattr(_recommend_ours, "nearer", SimpleNamespace(TwoTower=TwoTower))
    assert _recommend_ours.available()
    for protocol, rivals in _recommend_ours.RIVALS.items():
        of = _recommend_data.problem(protocol, 0)
        setting, trials = _recommend_ours.search(of, seconds=1.0)
        assert set(setting) == set(_recommend_ours._CHOICES)
        assert trials == [{"l2": "1", "score": 0.5, "seconds": 1.0}]
        for rival in rivals:
            setting = IALS if rival == _recommend_ours.LINEAR else {"l2": 2.0}
            model = _recommend_ours.fit(rival, of, setting, seed=3)
            best = _recommend_ours.best(model, of)
            assert best.shape == (of.test.shape[0], min(20, of.test.shape[1]))
            assert model.features == (protocol == "side", protocol == "items")
    assert {"random_state": 3, "l2": 2.0} in calls
    assert [asked.get("by", "pairs") for asked in questions] == ["pairs", "left", "left", "right", "last"]


def test_linear_towers_have_the_objective_and_the_strength_of_irspack(small):
    of = _recommend_data.problem("warm", 0)
    X = of.train.toarray()
    model = _recommend_ours.fit(_recommend_ours.LINEAR, of, IALS, seed=0)
    alpha, nu = IALS["alpha0"], IALS["nu"]
    P, Q = (side / np.sqrt(1 + alpha) for side in (model.left_embedding_, model.right_embedding_))
    seen = X.sum(axis=1) + alpha * X.shape[1], X.sum(axis=0) + alpha * X.shape[0]
    reg = IALS["reg"] * sum(side.sum() for side in seen) / sum((side**nu).sum() for side in seen)
    norms = sum((side**nu * (E**2).sum(axis=1)).sum() for side, E in zip(seen, (P, Q), strict=True))
    scores = P @ Q.T
    theirs = ((X * (scores - 1) ** 2).sum() + alpha * (scores**2).sum() + reg * norms) / 2
    wanted = (1 + alpha) ** 2 * theirs - (1 + alpha) * alpha * X.sum() / 2
    assert model.result_.objective == pytest.approx(wanted, rel=1e-5)
    assert model.result_.n_epochs == 16


# -- tables -----------------------------------------------------------------------------------------------------------


def made_rows(ours: float | None, seconds: float = 100.0) -> list[dict]:
    """Rows in which EASE reaches 0.3 of everything, other baselines 0.1, and ours what is given."""
    rows = []
    for protocol, baselines in peers_recommend.BASELINES.items():
        for split in range(1 if protocol == "ncf" else 5):
            strong = _recommend_standings.STRONG
            reached = {name: 0.3 if name in strong else 0.1 for name in baselines}
            if ours is not None:
                reached |= dict.fromkeys(_recommend_ours.RIVALS[protocol], ours)
            results = {}
            for name, value in reached.items():
                moved = value + 0.01 * split
                one = {"cpu": 1.0, "seconds": seconds}
                one |= {measure: [moved, 0.01] for measure in _recommend_standings.measures(protocol)}
                one["groups"] = {measure: [moved] * 5 for measure in ("hr10", "ndcg10")}
                results[name] = one
            rows.append(
                {
                    "cell": {"who": "all", "protocol": protocol, "split": split},
                    "results": results,
                    "done": True,
                }
            )
    return rows


def verdicts(ours: float | None, seconds: float = 100.0) -> set[bool | None]:
    return {holds for *_, holds in _recommend_standings.checks(made_rows(ours, seconds))}


def test_the_checks_say_yes_and_no():
    assert verdicts(None) == {None}
    assert verdicts(0.3) == {True}
    assert verdicts(0.05) == {False, True}  # quick enough, if nothing else
    assert verdicts(0.05, seconds=400) == {False}
    late = _recommend_standings.checks(made_rows(0.3, seconds=400))
    assert [what for what, *_, holds in late if not holds] == [
        "warm: seconds of TwoTower() on two cores, the longest"
    ]


def test_differences_are_taken_on_the_same_splits():
    rows = made_rows(0.28)
    ahead = _recommend_standings.lead(rows, "warm", "search", "EASE", "map5")
    assert ahead.mean == pytest.approx(-0.02)
    assert ahead.error == pytest.approx(0, abs=1e-12)  # the splits differ, the differences do not


def test_tables_figures_and_conclusions_with_and_without_ours():
    settings = peers_recommend.SETTINGS
    for ours, first in ((None, "Warm"), (0.3, "Checks")):
        rows = made_rows(ours)
        shown = peers_recommend.summarise(rows, settings)
        assert shown[0].title.startswith(first)
        assert any("published" in row[0] for table in shown for row in table.rows)
        assert len(peers_recommend.draw(rows, settings)["quality-time"].axes) == 5
        assert 3 <= len(conclude(rows, settings)) <= 5
    assert "misses" in conclude(made_rows(0.05), settings)[0]
    assert "reaches all" in conclude(made_rows(0.3), settings)[0]
    chosen = {"setting": IALS, "trials": []}
    both = {_recommend_ours.LINEAR: chosen, _recommend_peers.IRSPACK: chosen}
    choice = {"cell": {"who": "all", "protocol": "warm", "split": "choice"}, "results": both, "done": True}
    assert "same setting" not in conclude(rows, settings)[1]
    assert "same setting: 0.3200 ± 0.0071 and 0.3200" in conclude([*rows, choice], settings)[1]


def test_a_failure_of_a_peer_is_shown():
    rows = made_rows(None)
    rows[0]["results"]["implicit ALS"] = {"failure": "over 600 s"}
    warm = peers_recommend.summarise(rows, peers_recommend.SETTINGS)[0]
    assert any(row[:2] == ["implicit ALS", "over 600 s"] for row in warm.rows)
