"""TwoTower on planted interactions: quality, scikit-learn's manners, new entities, files, interruptions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

torch = pytest.importorskip("torch")

import nearer  # noqa: E402
from nearer import solvers  # noqa: E402
from tests.towers.problems import QUICK, planted, popularity, split  # noqa: E402

MODELS = {
    "history": {},
    "network on history": {"hidden": (16,), "max_epochs": 300, "solver": solvers.NoisyAdam(step=0.01)},
    "ids": {"inputs": "ids"},
    "ids by least squares": {
        "inputs": "ids",
        "loss": "square",
        "missing": 0.0,
        "omega": 0.2,
        "max_epochs": 20,
    },
    "ids through a network": {
        "inputs": "ids",
        "linear": False,
        "hidden": (16,),
        "frequency": 0.0,
        "l2": 0.02,
        "solver": solvers.FullAdam(step=0.02),
        "max_epochs": 300,
    },
    "by newton": {"inputs": "ids", "solver": "newton", "max_epochs": 40, "dropout": 0.0},
    "float64": {"dtype": "float64"},
    "with validation": {"validation": 0.1},
}


def fitted(**settings):
    return nearer.TwoTower(**{**QUICK, **settings}).fit(split()[0])


@pytest.mark.parametrize("settings", MODELS.values(), ids=MODELS)
def test_recommendations_are_far_better_than_popularity(settings):
    train, test = split()
    model = fitted(**settings)
    assert model.score(test) > 2 * popularity(train, test)


def test_scores_are_those_of_ranked_lists():
    train, test = split()
    model = fitted()
    similarity = model.similarity()
    similarity[train.left, train.right] = -np.inf
    order = np.argsort(-similarity, axis=1)
    assert model.score(test) == pytest.approx(nearer.metrics.mean_precision(order[:, :5], test.csr(), k=5))
    found = model.recommend(k=7)
    assert (found.items == order[:, :7]).all()
    rows = np.arange(len(order))[:, None]
    assert np.allclose(found.scores, similarity[rows, order[:, :7]])


def test_seen_pairs_are_left_out_only_if_asked():
    train, _ = split()
    model = fitted()
    everything = model.recommend(k=60, exclude_seen=False).items
    assert (np.sort(everything, axis=1) == np.arange(60)).all()
    rest = model.recommend(k=60).items
    for row in (0, 5):
        seen = set(train.right[train.left == row].tolist())
        assert set(rest[row].tolist()) == set(range(60)) - seen | {-1}


def test_the_same_seed_repeats_and_another_differs():
    one, again, other = (fitted(random_state=seed).left_embedding_ for seed in (0, 0, 1))
    assert (one == again).all()
    assert not np.allclose(one, other)


def test_scikit_learn_can_copy_it():
    model = nearer.TwoTower(n_components=3, hidden=(4,), l2=0.5)
    assert clone(model).get_params() == model.get_params()
    assert model.set_params(l2=2.0).l2 == 2.0


CHANGES = {
    "n_components": 5,
    "hidden": (4,),
    "inputs": "ids",
    "loss": "square",
    "omega": 0.5,
    "missing": 0.0,
    "l2": 3.0,
    "frequency": 0.0,
    "dropout": 0.1,
    "solver": "full-adam",
    "max_epochs": 100,
    "validation": 0.2,
    "dtype": "float64",
}


@pytest.mark.parametrize("name", CHANGES)
def test_every_parameter_changes_something(name):
    before, after = fitted(), fitted(**{name: CHANGES[name]})
    assert before.similarity().shape == after.similarity().shape
    assert not np.array_equal(before.similarity(), after.similarity().astype(np.float32))


def test_linear_path_and_chunks():
    settings = {"hidden": (8,), "max_epochs": 30}
    with_path, without = fitted(**settings), fitted(**settings, linear=False)
    assert not np.allclose(with_path.left_embedding_, without.left_embedding_)
    chunks = fitted(**settings, chunk_rows=50)
    assert np.allclose(chunks.left_embedding_, with_path.left_embedding_, atol=1e-3)


def test_weights_and_imputed_scores_count():
    train, _ = split()
    plain = fitted(inputs="ids")
    light = nearer.TwoTower(**QUICK, inputs="ids").fit(train, right_weights=np.linspace(0.01, 2, 60))
    assert plain.similarity()[:, :10].mean() < light.similarity()[:, :10].mean() - 0.1
    constant = nearer.TwoTower(**QUICK, inputs="ids", missing=5.0).fit(
        train, imputed=(-np.ones((120, 1)), np.ones((60, 1)))
    )
    assert np.allclose(constant.similarity(), plain.similarity(), atol=1e-2)
    weighted = nearer.Interactions(
        train.left, train.right, np.where(train.right < 30, 20.0, 1.0), n_left=120, n_right=60
    )
    heavy = nearer.TwoTower(**QUICK, inputs="ids").fit(weighted)
    assert heavy.similarity()[:, :30].mean() > plain.similarity()[:, :30].mean() + 0.1


# -- entities that were not part of the fit ---------------------------------------------------------------------


@pytest.mark.parametrize("inputs", ["auto", "ids"])
def test_a_history_embeds_an_entity_as_if_it_had_been_there(inputs):
    train, _ = split()
    model = fitted(inputs=inputs, max_epochs=400)
    again = model.embed_left(history=train.csr())
    assert np.abs(again - model.left_embedding_).max() < 0.05 * np.abs(model.left_embedding_).max()
    right = model.embed_right(history=sparse.csr_matrix(train.csr().T))
    assert np.corrcoef(right.ravel(), model.right_embedding_.ravel())[0, 1] > 0.9


def test_new_users_from_histories_beat_popularity():
    everything = planted().interactions
    train, held_out = everything.split(test_size=0.2, by="left", random_state=0)
    model = nearer.TwoTower(**QUICK).fit(train)
    history, rest = held_out.split(test_size=0.3, by="each-left", random_state=0)
    rows = np.unique(rest.left)
    P = model.embed_left(history=history.csr()[rows])
    scores = P @ model.right_embedding_.T
    scores[history.csr()[rows].toarray() > 0] = -np.inf
    ours = nearer.metrics.recall(np.argsort(-scores, axis=1), rest.csr()[rows], 10)
    counts = np.broadcast_to(np.asarray(train.csr().sum(axis=0)).ravel(), scores.shape).copy()
    counts[history.csr()[rows].toarray() > 0] = -np.inf
    assert ours > 1.5 * nearer.metrics.recall(np.argsort(-counts, axis=1), rest.csr()[rows], 10)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_new_items_from_features(kind):
    data = planted()
    train, held_out = data.interactions.split(test_size=0.2, by="right", random_state=0)
    new = np.unique(held_out.right)
    model = nearer.TwoTower(**QUICK).fit(train, right=kind(data.right))
    scores = model.left_embedding_ @ model.embed_right(features=kind(data.right[new])).T
    found = nearer.metrics.recall(np.argsort(-scores, axis=1), held_out.csr()[:, new], 3)
    chance = 3 / len(new)
    assert found > 2 * chance


def test_features_in_other_units_give_the_same_answers():
    data = planted()
    train, _ = split()
    one = nearer.TwoTower(**QUICK).fit(train, right=data.right)
    other = nearer.TwoTower(**QUICK).fit(train, right=1000 * data.right + 5)
    assert np.allclose(one.similarity(), other.similarity(), atol=1e-3)
    new = data.right[:4]
    assert np.allclose(one.embed_right(features=new), other.embed_right(features=1000 * new + 5), atol=1e-3)


def test_rows_and_columns_without_pairs_get_popular_answers():
    train, _ = split()
    bare = nearer.Interactions(train.left, train.right, n_left=122, n_right=61)
    for inputs in ("auto", "ids"):
        model = nearer.TwoTower(**QUICK, inputs=inputs).fit(bare)
        popular = np.asarray(train.csr().sum(axis=0)).ravel()
        scores = model.similarity()[121]
        assert np.isfinite(scores).all()
        assert np.corrcoef(scores[:60], popular)[0, 1] > 0.5
        assert np.allclose(
            model.embed_left(history=sparse.csr_matrix((1, 61)))[0], model.left_embedding_[121]
        )


# -- files and interruptions ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings", [{}, {"inputs": "ids", "hidden": (4,)}, {"solver": solvers.NoisyAdam(epochs=20)}]
)
def test_a_saved_model_answers_the_same(settings, tmp_path):
    data = planted()
    model = (
        nearer.TwoTower(**{**QUICK, "max_epochs": 20, **settings}).fit(split()[0], right=data.right)
        if (settings.get("inputs") != "ids")
        else fitted(**{**settings, "max_epochs": 20})
    )
    loaded = nearer.load(nearer.save(model, tmp_path / "model.nearer"))
    assert (loaded.recommend(k=5).items == model.recommend(k=5).items).all()
    history = split()[0].csr()[:3]
    assert (loaded.embed_left(history=history) == model.embed_left(history=history)).all()


def test_a_killed_fit_continues_from_its_checkpoint(tmp_path, monkeypatch):
    from nearer.towers import checkpoints

    monkeypatch.setattr(checkpoints, "EVERY", 0.0)
    path = tmp_path / "fit.npz"
    whole = fitted(inputs="ids")

    class KilledError(Exception):
        pass

    def kill(progress):
        if progress.epoch == 60:
            raise KilledError

    with pytest.raises(KilledError):
        fitted(inputs="ids", checkpoint=path, callback=kill)
    assert path.exists()
    seen = []
    resumed = fitted(inputs="ids", checkpoint=path, callback=lambda progress: seen.append(progress.epoch))
    assert min(seen) >= 60
    assert np.allclose(resumed.similarity(), whole.similarity(), atol=1e-4)
    assert len(resumed.result_.history["epoch"]) == len(whole.result_.history["epoch"])
    assert not path.exists()


def test_a_checkpoint_of_another_fit_is_not_used(tmp_path):
    path = tmp_path / "fit.npz"
    np.savez(path, x=np.zeros(3), digest=np.array("another"))
    with pytest.warns(UserWarning, match="other data or settings"):
        model = fitted(checkpoint=path, max_epochs=5)
    assert model.result_.n_epochs == 5


@pytest.mark.parametrize("length", [10, 300, -5])
def test_a_checkpoint_that_was_cut_short_is_not_used(length, tmp_path):
    path = tmp_path / "fit.npz"
    np.savez(path, x=np.zeros(3), digest=np.array("another"))
    path.write_bytes(path.read_bytes()[:length])
    with pytest.warns(UserWarning, match="is not a checkpoint"):
        model = fitted(checkpoint=path, max_epochs=5)
    assert model.result_.n_epochs == 5


def test_a_checkpoint_is_of_all_that_a_fit_is_given():
    from nearer.towers.checkpoints import digest_of
    from nearer.towers.fitting import Data
    from nearer.towers.spreading import Side

    pairs = split()[0].csr()
    left = Side(pairs.shape[0], ("ids",))
    eye = sparse.identity(len(pairs.indptr) - 1, format="csr")
    others = (
        {"kinds": ("history",)},
        {"weights": np.arange(left.n_rows)},
        {"imputed": np.ones((left.n_rows, 2))},
        {"features": eye},
        {"features": eye[::-1]},
        {"features": eye.toarray()},
    )
    sides = [left, *(replace(left, **fields) for fields in others)]
    digests = {digest_of("settings", Data(pairs, (side, Side(pairs.shape[1], ("ids",))))) for side in sides}
    assert len(digests) == len(sides)


def test_a_callback_stops_the_fit_and_keeps_what_it_has():
    model = fitted(callback=lambda progress: progress.stage == "fitting" and progress.epoch >= 10)
    assert model.result_.stop_reason == "callback"
    assert model.result_.n_epochs == 10
    assert np.isfinite(model.similarity()).all()


def test_history_of_the_fit_has_scores_on_held_out_pairs():
    history = fitted(validation=0.2, max_epochs=30).result_.history
    assert len(history["score"]) == len(history["seconds"]) == 31
    assert history["score"][-1] > history["score"][0]


def test_search_finds_settings_and_lists_its_trials():
    train, test = split()
    model = nearer.TwoTower(n_components=4, max_epochs=60, random_state=0).search(train, seconds=25)
    trials = model.result_.details["trials"]
    assert len(trials) >= 4
    best = max(trial["score"] for trial in trials)
    assert best >= trials[0]["score"]
    assert model.score(test) > 2 * popularity(train, test)


@pytest.mark.parametrize("ending", ["npz", "parquet"])
def test_embeddings_are_exported(ending, tmp_path):
    model, path = fitted(max_epochs=5), tmp_path / f"embeddings.{ending}"
    model.export(path)
    if ending == "npz":
        with np.load(path) as file:
            assert (file["right"] == model.right_embedding_).all()
    else:
        import pyarrow.parquet as parquet

        table = parquet.read_table(path).to_pydict()
        rows = [row for side, row in zip(table["side"], table["embedding"], strict=True) if side == "right"]
        assert np.array_equal(np.array(rows, dtype=np.float32), model.right_embedding_)


def test_an_index_finds_the_same_neighbours(tmp_path):
    index = pytest.importorskip("usearch.index", reason="usearch is not installed")
    model = fitted(max_epochs=30)
    model.export(tmp_path / "right.usearch")
    found = index.Index.restore(str(tmp_path / "right.usearch")).search(model.left_embedding_[:5], 3)
    assert (found.keys == model.recommend(np.arange(5), 3, exclude_seen=False).items).all()


def test_modules_of_the_user():
    data, (train, test) = planted(), split()
    towers = tuple(torch.nn.Linear(3, 6) for _ in range(2))
    model = nearer.TwoTower(
        n_components=6, modules=towers, max_epochs=300, l2=0.01, frequency=0.0, solver="full-adam"
    )
    model.fit(train, data.left, data.right)
    assert model.score(test) > 2 * popularity(train, test)
    ids = torch.nn.Embedding(120, 6), torch.nn.Embedding(60, 6)
    model = nearer.TwoTower(
        n_components=6, modules=ids, max_epochs=300, l2=0.5, solver=solvers.FullAdam(step=0.03)
    ).fit(train)
    assert model.score(test) > 2 * popularity(train, test)


def test_names_are_understood():
    pairs = nearer.Interactions(["ann", "ann", "bob", "eve"], ["tea", "milk", "tea", "milk"])
    model = nearer.TwoTower(n_components=2, hidden=(), max_epochs=20, random_state=0).fit(pairs)
    found = model.recommend(["bob"], k=2, names=True)
    assert found.items[0, 0] == "milk"
    assert found.items[0, 1] == ""
    assert model.similarity(["eve"], ["tea"]).shape == (1, 1)
    later = nearer.Interactions(["bob"], ["milk"])
    assert model.score(later) == pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 4 + 1 / 5) / 5)
    assert model.similar_right(["tea"], k=1, names=True).items[0, 0] == "milk"


def test_towers_below_popularity_are_said_to_be():
    """Everybody takes the same few items, and one short step does not learn which."""
    rng = np.random.default_rng(0)
    R = sparse.csr_matrix(rng.random((200, 60)) < 0.7 * 0.8 ** np.arange(60))
    settings = {"hidden": (), "inputs": "ids", "validation": 0.2, "random_state": 0}
    solver = nearer.solvers.FullAdam(step=1e-6, epochs=1)
    with pytest.warns(UserWarning, match="MAP@5 0.*most popular right objects for everybody 0"):
        nearer.TwoTower(4, solver=solver, max_epochs=1, **settings).fit(R)
    nearer.TwoTower(4, solver=solver, max_epochs=1, **{**settings, "validation": None}).fit(R)
