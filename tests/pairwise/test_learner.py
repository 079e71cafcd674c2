"""`PairwiseLearner`: scores and rankings, whatever the pairs, the features and the solver are."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from nearer import PairwiseLearner
from nearer.errors import InputError
from nearer.losses import MARGIN_LOSSES
from nearer.objectives.all_pairs import AllPairs
from nearer.pairwise import AdaDSG, Exact, RandomFourier, solve_exact
from nearer.pairwise import maps as maps_module
from nearer.pairwise.scoring import share_in_order
from tests.pairwise.plain import neighbours, pairs_of

# -- two classes --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["adadsg", "dsgd", "olp", "exact"])
@pytest.mark.parametrize("loss", MARGIN_LOSSES)
def test_every_solver_gets_close_to_the_minimum(two_classes, solver, loss):
    X, y = two_classes
    model = PairwiseLearner(loss, solver=solver, random_state=0).fit(X, y)
    f = AllPairs(X, y == "yes", loss, 0.01 / np.sqrt(len(X)))
    best, start = solve_exact(f).value, f.value(np.zeros(8))
    assert (f.value(model.coef_) - best) / (start - best) < 0.03
    assert model.score(X, y) == pytest.approx(roc_auc_score(y == "yes", model.decision_function(X)))
    apart = model.decision_function(X) - X @ model.coef_  # scores are measured from their mean
    np.testing.assert_allclose(apart, -np.mean(X @ model.coef_), atol=0.1)
    assert np.ptp(apart) < 1e-12 * np.abs(X @ model.coef_).max()
    assert model.classes_.tolist() == ["no", "yes"]


@pytest.mark.parametrize("solver", ["opauc", "solam"])
def test_solvers_of_the_square_loss(two_classes, solver):
    X, y = two_classes
    exact = PairwiseLearner("square", solver="exact").fit(X, y)
    assert (
        PairwiseLearner("square", solver=solver, random_state=0).fit(X, y).score(X, y)
        > exact.score(X, y) - 0.02
    )


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix])
def test_sparse_rows_give_the_same_scores(two_classes, kind):
    X, y = two_classes
    X = np.where(np.abs(X) > 0.7, X, 0.0)
    dense = PairwiseLearner("logistic", random_state=0).fit(X, y)
    other = PairwiseLearner("logistic", random_state=0).fit(kind(X), y)
    np.testing.assert_allclose(other.coef_, dense.coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(
        other.decision_function(kind(X)), dense.decision_function(X), rtol=1e-6, atol=1e-9
    )


def test_single_precision_and_frames_are_taken(two_classes):
    import pandas as pd

    X, y = two_classes
    frame = pd.DataFrame(X.astype(np.float32)).add_prefix("f")
    model = PairwiseLearner(random_state=0).fit(frame, pd.Series(y))
    assert model.feature_names_in_.tolist() == [f"f{i}" for i in range(8)]
    assert model.score(frame, y) > 0.9


def test_result_tells_the_course(two_classes):
    X, y = two_classes
    result = PairwiseLearner(random_state=0).fit(X, y).result_
    lengths = {name: len(column) for name, column in result.history.items()}
    columns = ("epoch", "objective", "seconds", "evaluations", "step", "samples")
    assert lengths == dict.fromkeys(columns, result.n_epochs)
    assert result.history["samples"][-1] == len(X)
    assert result.stop_reason == "epochs"
    assert result.n_evaluations == result.history["evaluations"][-1] > len(X)
    assert result.details["positives"] == (y == "yes").sum()
    exact = PairwiseLearner(solver=Exact(tol=1e-5)).fit(X, y).result_
    assert exact.stop_reason == "tolerance"
    assert exact.details["gap"] <= 1e-5 * exact.objective


def test_scikit_learn_manners(two_classes):
    X, y = two_classes
    model = PairwiseLearner(loss="logistic", model=RandomFourier(50), random_state=3)
    assert clone(model).get_params() == model.get_params()
    search = GridSearchCV(
        make_pipeline(StandardScaler(), PairwiseLearner(random_state=0)),
        {"pairwiselearner__regularization": [1e-3, 1e6]},
        cv=3,
    ).fit(X, y)
    assert search.best_params_ == {"pairwiselearner__regularization": 1e-3}
    assert search.best_score_ > 0.9


def test_the_seed_is_all_that_matters(two_classes):
    X, y = two_classes
    first, second, other = (PairwiseLearner(random_state=seed).fit(X, y).coef_ for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, other)


# -- rankings -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["adadsg", "dsgd", AdaDSG(average="tail"), "exact"])
@pytest.mark.parametrize("loss", ["hinge", "square", "logistic"])
def test_ranking_gets_close_to_the_minimum_over_pairs_of_groups(queries, solver, loss):
    X, y, groups = queries
    model = PairwiseLearner(loss, pair="ranking", solver=solver, random_state=0).fit(X, y, groups=groups)
    f = AllPairs(X, y, loss, 0.01 / np.sqrt(len(X)), groups=groups)
    best, start = solve_exact(f).value, f.value(np.zeros(6))
    assert (f.value(model.coef_) - best) / (start - best) < 0.03
    # what differs between queries would mislead a model that compares across them
    across = PairwiseLearner(loss, pair="ranking", random_state=0).fit(X, y)
    assert f.value(across.coef_) > f.value(model.coef_)


def test_ranking_of_sparse_rows_is_the_same(queries):
    X, y, groups = queries
    X = np.where(np.abs(X) > 0.7, X, 0.0)
    settings = {"pair": "ranking", "random_state": 0}
    dense = PairwiseLearner("logistic", **settings).fit(X, y, groups)
    other = PairwiseLearner("logistic", **settings).fit(sparse.csr_matrix(X), y, groups)
    np.testing.assert_allclose(other.coef_, dense.coef_, rtol=1e-6, atol=1e-9)


def test_score_of_a_ranking_is_the_share_of_pairs_in_order(queries):
    X, y, groups = queries
    model = PairwiseLearner(pair="ranking", random_state=0).fit(X, y, groups)
    scores = model.decision_function(X)
    i, j = pairs_of(y, groups)
    assert model.score(X, y, groups) == pytest.approx(np.mean(scores[i] > scores[j]))
    assert model.score(X, y, groups) > 0.85


def test_share_in_order_counts_ties_half():
    rng = np.random.default_rng(0)
    scores, grades, groups = rng.integers(0, 4, 60), rng.integers(0, 5, 60), rng.integers(0, 3, 60)
    i, j = pairs_of(grades, groups)
    expected = np.mean((scores[i] > scores[j]) + 0.5 * (scores[i] == scores[j]))
    assert share_in_order(scores.astype(float), grades, groups) == pytest.approx(expected)
    with pytest.raises(InputError, match="there are no pairs to score"):
        share_in_order(scores, np.zeros(60))


def test_groups_without_pairs_are_ignored_and_counted(queries):
    X, y, groups = queries
    y = np.where(groups < 7, 1, y)
    details = PairwiseLearner(pair="ranking", random_state=0).fit(X, y, groups).result_.details
    idle = sum(len(set(y[groups == group])) == 1 for group in range(120))
    assert details["groups_without_pairs"] == idle >= 7
    assert details["groups"] == 120 - idle
    assert details["pairs"] == len(pairs_of(y, groups)[0])
    names = np.array([f"query {group}" for group in groups])
    assert PairwiseLearner(pair="ranking", random_state=0).fit(X, y, names).result_.details == details


def test_a_stream_of_queries(queries):
    X, y, groups = queries
    order = np.argsort(groups, kind="stable")
    model = PairwiseLearner("logistic", pair="ranking", random_state=0)
    for rows in np.split(order, 12):
        model.partial_fit(X[rows], y[rows], groups[rows])
    whole = PairwiseLearner("logistic", pair="ranking", random_state=0).fit(X, y, groups)
    assert model.score(X, y, groups) > whole.score(X, y, groups) - 0.01
    assert model.result_.details["rows_seen"] > 1000


# -- a function of one's own --------------------------------------------------------------------------------------


def test_pairs_of_ones_own(two_classes):
    X, _ = two_classes
    quality = X @ np.arange(8.0)
    model = PairwiseLearner("logistic", pair=neighbours, random_state=0).fit(X, quality)
    direction = model.coef_ / np.linalg.norm(model.coef_)
    assert direction @ np.arange(8.0) / np.linalg.norm(np.arange(8.0)) > 0.99
    assert model.score(X, quality) > 0.9
    stream = PairwiseLearner("logistic", pair=neighbours, random_state=0)
    for start in range(0, 1500, 300):
        stream.partial_fit(X[start : start + 300], quality[start : start + 300])
    assert stream.score(X, quality) > 0.9


# -- features -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model", ["rff", RandomFourier(300, gamma=0.5), PolynomialFeatures(2, include_bias=False)]
)
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_features_find_what_is_not_linear(ring, model, kind):
    X, y = ring
    assert PairwiseLearner(random_state=0).fit(X[:1000], y[:1000]).score(X[1000:], y[1000:]) < 0.6
    curved = PairwiseLearner(model=model, random_state=0).fit(kind(X[:1000]), y[:1000])
    assert curved.score(kind(X[1000:]), y[1000:]) > 0.97


@pytest.mark.parametrize("pair", ["auc", "ranking", "metric"])
def test_features_that_do_not_fit_into_memory_give_the_same_answer(ring, pair, monkeypatch):
    X, y = ring
    model = PairwiseLearner("logistic", pair=pair, model=RandomFourier(60), random_state=0)
    if pair == "metric":
        model.set_params(n_components=4)
    whole = model.fit(X, y).score(X, y)
    monkeypatch.setattr(maps_module, "MOST_BYTES", 1000)
    piecewise = clone(model).fit(X, y)
    assert piecewise.score(X, y) == pytest.approx(whole, abs=0.005)
    with pytest.raises(InputError, match=r"'exact'.*1,500 rows of 60.*: choose 'adadsg' or 'dsgd'$"):
        clone(model).set_params(solver="exact", pair="auc", n_components=None).fit(X, y)


def test_kernel_weights_find_the_kernel_that_matters(ring):
    X, y = ring
    kernels = [RandomFourier(150, gamma) for gamma in (0.003, 0.3, 100.0)]
    model = PairwiseLearner(model=[*kernels, "linear"], random_state=0).fit(X[:1000], y[:1000])
    weights = model.kernel_weights_
    assert weights.sum() == pytest.approx(1)
    assert weights.argmax() == 1
    assert weights[1] > 0.7
    assert model.score(X[1000:], y[1000:]) > 0.97
    assert model.coef_.shape == (453,)


def test_kernel_weights_minimise_what_they_should(two_classes):
    """With kernels that are features of one's own, the minimum has |w_k| in proportion to the weights."""
    from sklearn.compose import make_column_transformer

    X, y = two_classes
    parts = [make_column_transformer(("passthrough", [k, k + 1])) for k in (0, 2, 4)]
    model = PairwiseLearner("logistic", model=parts, solver="exact", regularization=1.0, random_state=0).fit(
        X, y
    )
    joined, weights = model.learned_.row_map, model.kernel_weights_
    assert weights.argmax() == 0
    features = joined(X)

    def penalised(w, d):
        base = np.array([np.sum(w[part] ** 2) for part in joined.slices])  # of w_k / sqrt(d_k)
        f = AllPairs(features, y == "yes", "logistic")
        return f.value(w) + 1.0 / np.sqrt(len(X)) / 2 * np.sum(weights * base / d)

    best = penalised(model.coef_, weights)
    rng = np.random.default_rng(0)
    for _ in range(20):
        other = rng.dirichlet(50 * weights + 0.1)
        assert penalised(model.coef_, np.maximum(other, 1e-9)) >= best * (1 - 1e-3)
    assert np.sqrt(weights[0]) * np.linalg.norm(model.coef_[:2]) > 10 * np.sqrt(weights[2]) * np.linalg.norm(
        model.coef_[4:]
    )
