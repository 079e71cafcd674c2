"""Scores and embeddings by torch modules; skipped where torch is not installed, the messages without it excepted."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import nearer
from nearer import AUCClassifier, PairwiseLearner
from nearer.pairwise import DSGD, AdaDSG, Network
from tests.refusals import refused


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch", reason="torch is an extra: pip install 'nearer[torch]'")


@pytest.fixture
def small(torch):
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(3, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))


QUICK = AdaDSG(stages=12)


def test_torch_is_not_imported_without_a_module():
    code = (
        "import sys, numpy as np, nearer\n"
        "nearer.PairwiseLearner().fit(np.random.default_rng(0).normal(size=(20, 2)), np.arange(20) % 2)\n"
        "print('torch' in sys.modules)"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "False\n"
    )


@pytest.mark.parametrize(("name", "value"), [("module", "linear"), ("batch_size", 0), ("learning_rate", 0)])
def test_settings_that_cannot_be(name, value):
    with refused(repr(value), parameter=name):
        Network(**{"module": SimpleNamespace(state_dict=dict), name: value})


def test_without_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    module = SimpleNamespace(state_dict=dict, forward=abs)
    with refused("a network", "pip install 'nearer[torch]'", error=ImportError):
        PairwiseLearner(model=module).fit(np.eye(4), [0, 1, 0, 1])


@pytest.mark.parametrize("solver", [QUICK, DSGD(passes=6)])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_a_network_finds_what_is_not_linear(ring, small, solver, kind):
    X, y = ring
    model = PairwiseLearner(
        model=Network(small, batch_size=16, learning_rate=0.02), solver=solver, random_state=0
    )
    model.fit(kind(X[:1000]), y[:1000])
    assert model.score(kind(X[1000:]), y[1000:]) > 0.95
    assert model.result_.stop_reason == "epochs"
    assert model.result_.n_evaluations >= 6000
    assert not hasattr(model, "coef_")


def test_the_first_step_is_adams_on_the_gradient_of_the_mean_loss(torch, ring):
    """Plain numpy says in which direction each weight of a linear module must go."""
    X, y = ring
    module = torch.nn.Linear(3, 1, bias=False)
    seen = []

    def pair(y, groups, rng, count):
        pairs = np.stack(
            [rng.permutation(np.flatnonzero(y))[:count], rng.permutation(np.flatnonzero(y == 0))[:count]]
        )
        seen.append(pairs)
        return pairs.T

    rows = np.concatenate([np.flatnonzero(y)[:20], np.flatnonzero(y == 0)[:20]])
    rows = np.resize(rows, 10_000)
    network = Network(module, batch_size=4096, learning_rate=0.1)
    model = PairwiseLearner("logistic", pair=pair, model=network, regularization=0.0, random_state=0)
    model.set_params(solver=AdaDSG(start=4096, stages=1), callback=lambda progress: True)
    model.fit(X[rows], y[rows])
    before = module.weight.detach().numpy().ravel().astype(float)
    after = model.learned_.row_map.module.weight.detach().numpy().ravel().astype(float)
    first, second = seen[0]
    difference = X[rows][first] - X[rows][second]
    gradient = -(1 / (1 + np.exp(difference @ before))) @ difference
    np.testing.assert_allclose(after - before, -0.1 * np.sign(gradient), rtol=1e-3)


def test_a_network_ranks_within_groups(torch):
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(800, 3)), np.repeat(np.arange(80), 10)
    grades = np.digitize(np.abs(X[:, 0]) + 2 * rng.normal(size=80)[groups], [-2, 0, 1, 2])
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(3, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    model = PairwiseLearner(
        pair="ranking", model=Network(module, batch_size=16, learning_rate=0.02), solver=QUICK, random_state=0
    )
    assert model.fit(X, grades, groups).score(X, grades, groups) > 0.9


def test_an_embedding_for_a_distance(torch, ring):
    X, y = ring
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(3, 16), torch.nn.Tanh(), torch.nn.Linear(16, 4))
    model = PairwiseLearner(
        pair="metric", model=Network(module, batch_size=16, learning_rate=0.02), solver=QUICK, random_state=0
    )
    model.fit(X[:1000], y[:1000])
    assert model.score(X[1000:], y[1000:]) > 0.8  # 0.5 without learning
    points = model.transform(X[:4])
    assert points.shape == (4, 4)
    np.testing.assert_allclose(
        model.pair_distance(X[:2], X[2:4]), np.sum((points[:2] - points[2:]) ** 2, axis=1)
    )
    assert model.threshold_ > 0
    assert not hasattr(model, "components_")


def test_the_module_given_stays_as_it_was(ring, small):
    before = [parameter.detach().clone() for parameter in small.parameters()]
    model = PairwiseLearner(model=small, solver=QUICK, random_state=0).fit(*ring)
    assert all((old == new).all() for old, new in zip(before, small.parameters(), strict=True))
    again = clone(model).fit(*ring)
    np.testing.assert_array_equal(again.decision_function(ring[0]), model.decision_function(ring[0]))


def test_dropout_draws_from_the_seed(torch, ring):
    module = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1))
    before = torch.random.get_rng_state()
    scores = []
    for seed in (0, 0, 1):
        model = PairwiseLearner(model=module, solver=AdaDSG(stages=2), random_state=seed).fit(*ring)
        scores.append(model.decision_function(ring[0]))
    np.testing.assert_array_equal(scores[0], scores[1])
    assert not np.array_equal(scores[0], scores[2])
    assert torch.equal(before, torch.random.get_rng_state())


def test_a_stream_of_chunks(ring, small):
    X, y = ring
    model = PairwiseLearner(model=Network(small, batch_size=16, learning_rate=0.02), random_state=0)
    for _ in range(4):
        for start in range(0, 1500, 300):
            model.partial_fit(X[start : start + 300], y[start : start + 300])
    assert model.score(X, y) > 0.9
    before = model.decision_function(X)
    model.partial_fit(X[y == 0][:20], y[y == 0][:20])  # no pairs: nothing to learn
    np.testing.assert_array_equal(before, model.decision_function(X))


def test_a_classifier_may_have_a_network(ring, small):
    X, y = ring
    model = AUCClassifier(
        model=Network(small, batch_size=16, learning_rate=0.02), solver=QUICK, random_state=0
    )
    model.fit(X[:1000], y[:1000])
    assert np.mean(model.predict(X[1000:]) == y[1000:]) > 0.85
    assert model.result_.details["calibrated_on"] == "held out"


def test_a_module_is_not_saved(ring, small, tmp_path):
    model = PairwiseLearner(model=small, solver=AdaDSG(stages=1), random_state=0).fit(*ring)
    with refused("model", "torch.save"):
        nearer.save(model, tmp_path / "model.nearer")


@pytest.mark.parametrize(
    ("make", "settings", "facts"),
    [
        (lambda nn: nn.Linear(3, 1), {"solver": "exact"}, ["'exact'", "'adadsg'", "'dsgd'"]),
        (lambda nn: nn.Linear(3, 2), {}, [", 2)", "score"]),
        (lambda nn: nn.Sequential(nn.Linear(3, 1), nn.Flatten(0)), {"pair": "metric"}, ["embedding"]),
        (lambda nn: nn.Flatten(), {}, ["module", "parameters"]),
    ],
    ids=["solver", "scores", "embedding", "parameters"],
)
def test_modules_and_solvers_that_cannot_be(torch, ring, make, settings, facts):
    with refused(*facts):
        PairwiseLearner(model=make(torch.nn), **settings).fit(*ring)
