"""MetricLearner: what it learns from four kinds of supervision, and the manners of scikit-learn and metric-learn."""

import os
import signal
import time
from contextlib import nullcontext

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import nearer
from nearer import MetricLearner
from nearer.losses import LogisticLoss
from nearer.metrics import triplet_error
from nearer.objectives import SimilarityObjective

KINDS = ("similarities", "comparisons", "labels", "pairs")
EVERY = pytest.mark.parametrize("kind", KINDS)


def features(n=60, width=6, seed=0):
    """Rows of which the first two columns alone count; the others are larger."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, width)) * np.r_[1.0, 1.0, np.full(width - 2, 2.0)]


def supervised(kind, X, seed=1, count=1500):
    """Return what `fit` takes about the first two columns."""
    rng = np.random.default_rng(seed)
    points = X[:, :2]
    if kind == "similarities":
        return X, points @ points.T
    if kind == "labels":
        return X, (points[:, 0] > 0).astype(int) + 2 * (points[:, 1] > 0)
    if kind == "comparisons":
        ends = np.array([rng.permutation(len(X))[:3] for _ in range(count)])
        near, far = (np.sum((points[ends[:, 0]] - points[ends[:, at]]) ** 2, axis=1) for at in (1, 2))
        ends[near > far] = ends[near > far][:, [0, 2, 1]]
        return X, nearer.Comparisons(ends, len(X))
    pairs = np.array([rng.permutation(len(X))[:2] for _ in range(count)])
    distances = np.sum((points[pairs[:, 0]] - points[pairs[:, 1]]) ** 2, axis=1)
    return X[pairs], np.where(distances < np.median(distances), 1, -1)


def share_of_two(model):
    """How much of the metric, in columns of size 1, is about the two columns that count."""
    weights = np.sum((model.metric_factor_ * np.r_[1, 1, 2, 2, 2, 2][:, None]) ** 2, axis=1)
    return weights[:2].sum() / weights.sum()


# -- what is learned --------------------------------------------------------------------------------------------------


@EVERY
@pytest.mark.parametrize("beta", ["auto", 0.05])
def test_the_columns_that_count_are_found(kind, beta):
    model = MetricLearner(beta, random_state=0).fit(*supervised(kind, features()))
    assert share_of_two(model) > (0.75 if kind == "labels" else 0.95)
    test = supervised(kind, features(seed=5), seed=6)
    assert model.score(*test) > (0.7 if kind == "labels" else 0.85)
    assert model.result_.stop_reason == "tolerance"
    assert model.result_.details["task"] == kind
    assert model.result_.details["gap"] <= 1e-3 * model.result_.objective
    assert model.result_.details["rank"] == model.metric_factor_.shape[1]


def test_the_closed_form_of_similarities():
    """Where it is positive semidefinite, the minimum is C = I - beta / 2 K⁻² with K = XᵀX / n."""
    X = np.random.default_rng(0).normal(size=(300, 5))
    inverse = np.linalg.inv(X.T @ X / 300)
    best = np.eye(5) - 0.25 * inverse @ inverse
    model = MetricLearner(beta=0.5, scale=False, tol=1e-9, random_state=0).fit(X, X @ X.T)
    np.testing.assert_allclose(model.get_mahalanobis_matrix(), best, atol=1e-4)
    least = np.mean((X @ X.T - X @ best @ X.T) ** 2) + 0.5 * np.trace(best)
    assert model.result_.objective == pytest.approx(least, rel=1e-7)


def test_objects_never_compared_are_covered():
    """Both steps in one beat a map of the compared objects followed by a map of features."""
    X = features(n=120)
    X, answers = supervised("comparisons", X, count=3000)
    known = (answers.indices < 60).all(axis=1)
    new = (answers.indices >= 60).all(axis=1)
    assert new.sum() > 100
    model = MetricLearner(random_state=0).fit(X, answers[known])
    assert model.score(X, answers[new]) > 0.95
    seen = nearer.Comparisons(answers.indices[known], 60)
    embedding = nearer.OrdinalEmbedding(2, random_state=0).fit(seen).embedding_
    placed = nearer.FeatureMap().fit(X[:60], embedding).transform(X)
    assert 1 - model.score(X, answers[new]) < triplet_error(placed, answers[new])


def test_weights_are_repeated_rows():
    X, answers = supervised("comparisons", features(), count=200)
    weights = np.where(np.arange(200) < 80, 3.0, 1.0)
    weighted = nearer.Comparisons(answers.indices, 60, weights=weights)
    repeated = nearer.Comparisons(np.concatenate([answers.indices, *[answers.indices[:80]] * 2]), 60)
    one, two = (MetricLearner(0.1, tol=1e-7, random_state=0).fit(X, c) for c in (weighted, repeated))
    np.testing.assert_allclose(one.get_mahalanobis_matrix(), two.get_mahalanobis_matrix(), atol=1e-3)


def test_neighbours_of_real_classes():
    X, y = load_wine(return_X_y=True)
    usual = make_pipeline(StandardScaler(), KNeighborsClassifier(3))
    learned = make_pipeline(MetricLearner(0.02, random_state=0), KNeighborsClassifier(3))
    assert cross_val_score(learned, X, y).mean() >= cross_val_score(usual, X, y).mean()


@pytest.mark.parametrize("loss", ["smooth-hinge", "logistic", "squared-hinge", "square", LogisticLoss()])
def test_the_loss_that_is_asked_for_is_minimised(loss):
    X, answers = supervised("comparisons", features(), count=400)
    model = MetricLearner(0.1, loss=loss, tol=1e-6, scale=False, random_state=0).fit(X, answers)
    C = model.get_mahalanobis_matrix()
    i, j, l, k = answers.quadruplets().T
    distance = lambda a, b: np.einsum("ij,jk,ik->i", X[a] - X[b], C, X[a] - X[b])  # noqa: E731
    losses = nearer.losses.find_margin_loss(loss).value(distance(l, k) - distance(i, j))
    assert model.result_.objective == pytest.approx(losses.mean() + 0.1 * np.trace(C), rel=1e-9)


def test_more_neighbours_make_more_terms():
    X, y = supervised("labels", features())
    terms = [MetricLearner(0.1, n_neighbors=k).fit(X, y).result_.details["n_terms"] for k in (1, 2)]
    assert terms == [600, 1200]


# -- units ------------------------------------------------------------------------------------------------------------


@EVERY
def test_units_and_offsets_do_not_matter(kind):
    X = features()
    units, offsets = np.array([1.0, 1e3, 1e-3, 1.0, 5.0, 1e6]), np.array([0, 1e3, 1.0, -50, 0, 1e7])
    X1, y1 = supervised(kind, X)
    X2 = X1 * units + offsets
    one = MetricLearner(0.1, random_state=0).fit(X1, y1)
    two = MetricLearner(0.1, random_state=0).fit(X2, y1)
    some, others = (X1, X2) if kind != "pairs" else (X1[:, 0], X2[:, 0])
    first, second = one.pair_distance(some[:20], some[20:40]), two.pair_distance(others[:20], others[20:40])
    np.testing.assert_allclose(first, second, rtol=1e-4, atol=1e-6)
    assert one.score(X1, y1) == pytest.approx(two.score(X2, y1), abs=1e-3)
    unscaled = MetricLearner(0.1, scale=False, random_state=0).fit(X1 * units, y1)
    assert not np.allclose(unscaled.pair_distance(some[:20] * units, some[20:40] * units), first, rtol=0.1)


# -- what can be asked ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted():
    return MetricLearner(0.05, random_state=0).fit(*supervised("comparisons", features()))


def test_distances_agree(fitted):
    X = features(seed=3)
    points = fitted.transform(X)
    metric, C = fitted.get_metric(), fitted.get_mahalanobis_matrix()
    between = fitted.pair_distance(X[:10], X[10:20])
    np.testing.assert_allclose(between, np.linalg.norm(points[:10] - points[10:20], axis=1))
    np.testing.assert_allclose(between, fitted.pair_distance(np.stack([X[:10], X[10:20]], axis=1)))
    np.testing.assert_allclose(between, [metric(u, v) for u, v in zip(X[:10], X[10:20], strict=True)])
    np.testing.assert_allclose(
        between**2, [metric(u, v, squared=True) for u, v in zip(X, X[10:20], strict=False)]
    )
    difference = X[0] - X[10]
    assert between[0] ** 2 == pytest.approx(difference @ C @ difference)
    np.testing.assert_array_equal(fitted.components_, fitted.metric_factor_.T)


def test_the_metric_serves_other_estimators(fitted):
    X, y = supervised("labels", features())
    by_metric = KNeighborsClassifier(3, metric=fitted.get_metric()).fit(X, y).predict(features(seed=3))
    by_points = (
        KNeighborsClassifier(3).fit(fitted.transform(X), y).predict(fitted.transform(features(seed=3)))
    )
    assert np.mean(by_metric == by_points) > 0.98


@parametrize_with_checks([MetricLearner(beta=1e-3)])
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


def test_searches_and_clones():
    X, y = supervised("labels", features())
    search = GridSearchCV(
        make_pipeline(MetricLearner(random_state=0), KNeighborsClassifier(3)),
        {"metriclearner__beta": [0.01, 100.0]},
    )
    with pytest.warns(UserWarning, match="so strong that all distances are 0"):
        search.fit(X, y)
    assert search.best_params_ == {"metriclearner__beta": 0.01}
    model = MetricLearner(0.3, loss="logistic", preprocessor=X)
    assert repr(clone(model)) == repr(model)


def test_frames_keep_their_names():
    pandas = pytest.importorskip("pandas")
    X, y = supervised("labels", features())
    frame = pandas.DataFrame(X, columns=list("abcdef"), index=[f"row {at}" for at in range(60)])
    model = MetricLearner(0.05, random_state=0).set_output(transform="pandas").fit(frame, y)
    points = model.transform(frame)
    assert list(points.index) == list(frame.index)
    assert list(points.columns) == [f"metriclearner{at}" for at in range(model.metric_factor_.shape[1])]
    assert list(model.feature_names_in_) == list("abcdef")


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "pairs"])  # tuples of rows are dense
@pytest.mark.parametrize("look", [sparse.csr_matrix, sparse.csr_array])
def test_sparse_rows_give_the_same(kind, look):
    X, y = supervised(kind, features())
    X[np.abs(X) < 0.8] = 0
    settings = {"beta": 0.1, "scale": False, "tol": 1e-7, "random_state": 0}
    dense, other = MetricLearner(**settings).fit(X, y), MetricLearner(**settings).fit(look(X), y)
    np.testing.assert_allclose(dense.get_mahalanobis_matrix(), other.get_mahalanobis_matrix(), atol=1e-3)
    np.testing.assert_allclose(
        dense.pair_distance(X[:9], X[9:18]), other.pair_distance(look(X[:9]), X[9:18]), atol=1e-3
    )


def test_single_precision_is_kept():
    X, y = supervised("labels", features())
    model = MetricLearner(0.1, random_state=0).fit(X.astype(np.float32), y)
    assert model.transform(X.astype(np.float32)).dtype == np.float32
    assert model.metric_factor_.dtype == np.float64


def test_it_is_not_fitted():
    for ask in (
        lambda m: m.transform(features()),
        lambda m: m.get_metric(),
        lambda m: m.score(features(), [0]),
    ):
        with pytest.raises(NotFittedError):
            ask(MetricLearner())


# -- tuples and indices -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", ["triplets", "quadruplets", "signs", "booleans"])
def test_tuples_are_comparisons(shape):
    X, answers = supervised("comparisons", features())
    model = MetricLearner(0.1, random_state=0).fit(X, answers)
    tuples, y = answers.indices, None
    if shape == "quadruplets":
        tuples = answers.quadruplets()
    elif shape in ("signs", "booleans"):
        turned = np.arange(len(tuples)) % 3 == 0
        tuples = np.where(turned[:, None], tuples[:, [0, 2, 1]], tuples)
        y = ~turned if shape == "booleans" else np.where(turned, -1, 1)
    by_index = MetricLearner(0.1, preprocessor=X, random_state=0).fit(tuples, y)
    by_function = MetricLearner(0.1, preprocessor=lambda at: X[at], random_state=0).fit(tuples, y)
    by_rows = MetricLearner(0.1, random_state=0, scale=False).fit(X[tuples], y)
    np.testing.assert_allclose(by_index.metric_factor_, model.metric_factor_, atol=1e-8)
    np.testing.assert_allclose(by_function.metric_factor_, model.metric_factor_, atol=1e-8)
    unscaled = MetricLearner(0.1, random_state=0, scale=False, tol=1e-6).fit(X, answers)
    assert by_rows.result_.objective == pytest.approx(unscaled.result_.objective, rel=1e-3)
    assert by_index.score(tuples, y) == pytest.approx(model.score(X, answers))


def test_indices_stand_for_rows():
    X, y = supervised("labels", features())
    model = MetricLearner(0.1, preprocessor=X, random_state=0).fit(np.arange(40), y[:40])
    plain = MetricLearner(0.1, random_state=0).fit(X[:40], y[:40])
    np.testing.assert_allclose(model.metric_factor_, plain.metric_factor_)
    np.testing.assert_allclose(model.transform([50, 3]), plain.transform(X[[50, 3]]))
    np.testing.assert_allclose(model.transform(X[[50, 3]]), plain.transform(X[[50, 3]]))
    np.testing.assert_allclose(model.pair_distance([[50, 3]]), plain.pair_distance(X[[50]], X[[3]]))


def test_named_objects_are_matched_by_name():
    pandas = pytest.importorskip("pandas")
    X, answers = supervised("comparisons", features())
    names = [f"object {at:02d}" for at in range(60)]
    named = nearer.Comparisons(answers.indices, 60, names=names)
    frame = pandas.DataFrame(X, index=names).iloc[::-1]
    plain = MetricLearner(0.1, random_state=0).fit(X, answers)
    np.testing.assert_allclose(
        MetricLearner(0.1, random_state=0).fit(frame, named).get_mahalanobis_matrix(),
        plain.get_mahalanobis_matrix(),
        atol=1e-4,
    )


def loss_of(model, X, answers):
    """The mean loss that was minimised, on other answers."""
    near, far = (
        model.pair_distance(X[i], X[j]) ** 2 for i, j in (answers.indices[:, :2].T, answers.indices[:, ::2].T)
    )
    return nearer.losses.SmoothHingeLoss().value(far - near).mean()


# -- the course of a fit ----------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:beta = .* is so strong")
def test_beta_is_chosen_by_the_held_out_loss():
    X, answers = supervised("comparisons", features(), count=1200)
    wrong = np.random.default_rng(0).random(1200) < 0.25
    noisy = nearer.Comparisons(np.where(wrong[:, None], answers.indices[:, [0, 2, 1]], answers.indices), 60)
    train, test = noisy[:200], noisy[200:]
    model = MetricLearner(random_state=0).fit(X, train)
    errors = model.result_.details["held_out_errors"]
    assert f"{model.beta_:.4g}" in errors
    assert len(errors) > 3
    for other in (model.beta_ / 30, model.beta_ * 30):
        worse = MetricLearner(other, random_state=0).fit(X, train)
        assert loss_of(model, X, test) < loss_of(worse, X, test)


def test_few_terms_are_not_split():
    X, answers = supervised("comparisons", features(), count=20)
    model = MetricLearner(random_state=0).fit(X, answers)
    assert "held_out_errors" not in model.result_.details
    assert model.beta_ > 0


def test_answers_at_random_are_said_to_be():
    answers = nearer.Comparisons([np.random.default_rng(s).permutation(60)[:3] for s in range(800)], 60)
    with pytest.warns(UserWarning, match="no better than without a metric"):
        MetricLearner(random_state=1).fit(np.random.default_rng(0).normal(size=(60, 6)), answers)


@pytest.mark.parametrize("beta", ["auto", 0.01])
def test_ctrl_c_keeps_the_best(beta):
    looks = []

    def interrupt(progress):
        looks.append(progress.stage)
        if len(looks) == (200 if beta == "auto" else 30):
            raise KeyboardInterrupt

    X, answers = supervised("comparisons", features())
    model = MetricLearner(beta, callback=interrupt, random_state=0).fit(X, answers)
    assert model.result_.stop_reason == "interrupted"
    assert model.result_.details.get("stopped_while") == ("choosing beta" if beta == "auto" else None)
    assert looks[0] == ("choosing beta" if beta == "auto" else "fitting")
    assert model.metric_factor_.any()
    assert model.score(X, answers) > 0.5


def test_max_rank_and_budgets():
    X, answers = supervised("comparisons", features())
    model = MetricLearner(0.001, max_rank=1, random_state=0).fit(X, answers)
    assert model.metric_factor_.shape == (6, 1)
    assert MetricLearner(0.001, max_epochs=1, tol=0).fit(X, answers).result_.stop_reason == "epochs"
    assert MetricLearner(0.001, max_evaluations=40_000).fit(X, answers).result_.stop_reason == "evaluations"


@pytest.mark.parametrize("reason", ["interrupted", "seconds"])
@pytest.mark.parametrize("beta", ["auto", 0.001])
def test_a_slow_operator_is_cut_short_before_the_first_epoch(monkeypatch, reason, beta):
    """Before beta can be chosen, and in the first certificate, Lanczos may take minutes."""
    products, clock, gradient_at = [], [0.0], SimilarityObjective.gradient_at
    monkeypatch.setattr("nearer.solvers.certificate.lanczos_is_quicker", lambda n, count: True)
    if reason == "seconds":
        monkeypatch.setattr(time, "perf_counter", lambda: clock[0])

    def slow(self, X):
        product = gradient_at(self, X)

        def slowly(V):
            products.append(V)
            if len(products) == 3 and reason == "interrupted":
                os.kill(os.getpid(), signal.SIGINT)
            elif len(products) == 3:
                clock[0] = 1e6
            return product(V)

        return slowly

    monkeypatch.setattr(SimilarityObjective, "gradient_at", slow)
    X, target = supervised("similarities", features())
    with nullcontext() if reason == "interrupted" else pytest.warns(UserWarning, match="nothing was learned"):
        model = MetricLearner(beta, max_seconds=1000, random_state=0).fit(X, target)
    assert len(products) == 3
    assert model.result_.stop_reason == reason
    stage = "choosing beta" if beta == "auto" else "looking for the first direction"
    assert model.result_.details["stopped_while"] == stage
    assert "gap" not in model.result_.details
    assert not model.metric_factor_.any()


def test_it_repeats():
    X, y = supervised("labels", features())
    one, two = (MetricLearner(random_state=3).fit(X, y).metric_factor_ for _ in range(2))
    np.testing.assert_array_equal(one, two)
