"""What `TwoTower.search` judges settings by: nothing that is asked was learned from, and scores are those of lists."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

pytest.importorskip("torch")

import nearer
from nearer.towers.exams import exam
from nearer.towers.search import _Search, first_settings
from tests.refusals import refused
from tests.towers.problems import planted

QUICK = {"n_components": 6, "hidden": (), "max_epochs": 10, "random_state": 0}


def clicks():
    return planted().interactions


def tables(R):
    random = np.random.default_rng(0)
    return random.normal(size=(R.n_left, 4)), random.normal(size=(R.n_right, 3))


def of(by, history=True, features=(None, None), measure="recall@5", held_out=0.2):
    by_last = None if by == "last" else held_out
    return exam(clicks(), features, by_last, by, history, measure, np.random.default_rng(0))


@pytest.mark.parametrize("by", ["pairs", "each-left", "last"])
def test_held_out_pairs_of_known_entities_are_not_learned_from(by):
    whole, found = clicks(), of(by)
    assert found.train.shape == whole.shape
    assert 0.5 < len(found.train) / len(whole) < 0.99
    assert found.new is None


def test_the_score_is_that_of_the_held_out_pairs():
    found = of("pairs")
    known, held = clicks().split(0.2, random_state=np.random.default_rng(0))
    model = nearer.TwoTower(**QUICK).fit(known)
    assert found.train.csr().nnz == known.csr().nnz
    ranked = model.recommend(k=5).items
    assert found.score(model) == pytest.approx(nearer.metrics.recall(ranked, held.csr(), k=5))


@pytest.mark.parametrize(("by", "side"), [("left", 0), ("right", 1)])
@pytest.mark.parametrize("history", [True, False])
def test_new_entities_are_in_no_row_of_the_training_part(by, side, history):
    R = clicks()
    found = of(by, history, tables(R))
    sizes = [R.n_left, R.n_right]
    sizes[side] = round(0.8 * sizes[side])
    assert found.train.shape == tuple(sizes)
    assert tuple(len(X) for X in found.features) == tuple(sizes)
    assert (found.new, found.by_features) == (side, not history)
    assert np.bincount((found.train.left, found.train.right)[side]).min() > 0


def test_the_score_of_new_users_is_that_of_lists_from_their_history():
    found = of("left")
    model = nearer.TwoTower(**QUICK).fit(found.train)
    R, random = clicks(), np.random.default_rng(0)
    _, held = R.split(0.2, by="left", random_state=random)
    new = np.unique(held.left)
    asked = nearer.Interactions.from_sparse(held.csr()[new])
    given, rest = asked.split(0.2, by="each-left", random_state=random)
    scores = model.embed_left(history=given.csr()) @ model.right_embedding_.T
    scores[given.left, given.right] = -np.inf
    ranked = np.argsort(-scores, axis=1)[:, :5]
    assert found.score(model) == pytest.approx(nearer.metrics.recall(ranked, rest.csr(), k=5))


def test_new_items_are_ranked_among_themselves_by_their_features():
    R = clicks()
    _, of_items = tables(R)
    found = of("right", False, (None, of_items), measure="recall@3")
    model = nearer.TwoTower(**QUICK).fit(found.train, right=found.features[1])
    _, held = R.split(0.2, by="right", random_state=np.random.default_rng(0))
    new = np.unique(held.right)
    scores = model.embed_left() @ model.embed_right(features=of_items[new]).T
    ranked = np.argsort(-scores, axis=1)[:, :3]
    assert found.score(model) == pytest.approx(nearer.metrics.recall(ranked, held.csr()[:, new], k=3))


def test_bad_questions_are_one_sentence():
    with refused("map", "xyz@5", parameter="measure"):
        of("pairs", measure="xyz@5")
    with refused(parameter="by"):
        of("rows")
    with refused("left=", parameter="history"):
        of("left", history=False)
    with refused("7 rows", parameter="left"):
        of("pairs", features=(np.ones((7, 2)), None))


def test_features_join_the_inputs_of_their_side():
    R = clicks()
    plain, with_items = (
        first_settings(of("pairs", features=X)) for X in ((None, None), (None, tables(R)[1]))
    )
    assert {settings["inputs"][1] for settings in plain} == {"ids"}
    assert {settings["inputs"][1] for settings in with_items} == {"ids+features"}
    cold = first_settings(of("right", False, (None, tables(R)[1])))
    assert all("features" in settings["inputs"][1] for settings in cold)
    assert any(settings["inputs"][1] == "features" for settings in cold)
    # by least squares, too: ridge regression of low rank
    assert any(settings["inputs"][1] == "features" and settings["loss"] == "square" for settings in cold)


def search_of(monkeypatch, score, seconds):
    """Run a search whose trials take one second each and score what `score` says."""
    clock, tried = [0.0], []

    class Trial(nearer.TwoTower):
        def fit(self, R, left=None, right=None, **rest):
            clock[0] += 1.0
            tried.append(self)
            self.result_ = type("R", (), {"stop_reason": "epochs", "n_epochs": 7})()
            return self

    monkeypatch.setattr("nearer.towers.search.time.monotonic", lambda: clock[0])
    question = of("pairs")
    question = type(question)(question.train, question.features, score)
    search = _Search(Trial(random_state=0), question, seconds)
    search.run()
    return search, tried


def test_a_search_climbs_and_tries_nothing_twice(monkeypatch):
    search, tried = search_of(
        monkeypatch, lambda model: -abs(np.log(model.l2 / 2.4)) - (model.loss == "square"), 60.0
    )
    assert search.best["settings"]["l2"] == pytest.approx(2.4, rel=0.5)
    assert len({str(model.get_params()) for model in tried}) == len(tried)


def test_a_search_leaves_time_for_the_last_fit(monkeypatch):
    _, tried = search_of(monkeypatch, lambda model: len(str(model.l2)), 10.0)
    assert 7 <= len(tried) <= 8  # each takes a second, the last fit 1.2


def test_a_trial_cut_short_is_not_the_best(monkeypatch):
    search, _ = search_of(monkeypatch, lambda model: 0.5, 6.0)
    search.trials.append({**search.trials[0], "score": 0.9, "complete": False})
    assert search.best["score"] == 0.5


def test_sparse_matrices_are_accepted():
    model = nearer.TwoTower(**{**QUICK, "max_epochs": 2}).search(sparse.csr_matrix(clicks().csr()), seconds=1)
    assert len(model.result_.details["trials"]) >= 1


@pytest.mark.parametrize("by", ["pairs", "last", "left"])
def test_every_way_of_holding_out_works_without_a_share(by):
    model = nearer.TwoTower(**{**QUICK, "max_epochs": 2}).search(clicks(), seconds=1, by=by)
    assert len(model.result_.details["trials"]) >= 1
