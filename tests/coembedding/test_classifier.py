"""CoEmbeddingClassifier: planted labels, thresholds, probabilities, labels never seen, and scikit-learn's manners."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, make_multilabel_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import nearer
from nearer import CoEmbeddingClassifier
from nearer.errors import InputError
from nearer.losses import LogisticLoss, SoftMaxLoss
from nearer.objectives import AffinityObjective


def planted(n=200, width=8, m=5, seed=0, noise=0.0):
    """Rows and labels in two dimensions: a row has the labels that are nearer than a threshold."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, width))
    U, V = np.zeros((width, 2)), rng.normal(size=(m, 2)) * 1.5
    U[0, 0] = U[1, 1] = 1.0
    distances = np.sum((X @ U)[:, None] ** 2 - 2 * (X @ U)[:, None] * V + V**2, axis=2)
    at_threshold = np.sum((X @ U - 0.5) ** 2, axis=1)[:, None]
    return X, (at_threshold - distances + noise * rng.normal(size=(n, m)) > 0).astype(int)


def micro(Y, P):
    return f1_score(Y, P, average="micro", zero_division=0)


X, Y = planted()
FITTED = CoEmbeddingClassifier(random_state=0).fit(X[:150], Y[:150])


@parametrize_with_checks(
    [
        CoEmbeddingClassifier(random_state=0),
        CoEmbeddingClassifier(beta=0.5, cv=0, threshold=0.0, unit_length=True),
    ]
)
def test_manners_of_scikit_learn(estimator, check):
    check(estimator)


# -- what is learned --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("look", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("beta", ["auto", 0.1])
def test_planted_labels_are_found(look, beta):
    model = CoEmbeddingClassifier(beta=beta, random_state=0).fit(look(X[:150]), Y[:150])
    assert model.score(look(X[150:]), Y[150:]) > 0.9
    assert micro(Y[150:], model.predict(look(X[150:]))) == pytest.approx(model.score(look(X[150:]), Y[150:]))


def test_it_is_as_good_as_a_classifier_per_label():
    gains = []
    for seed in range(3):
        X, Y = make_multilabel_classification(400, n_features=30, n_classes=6, random_state=seed)
        rival = OneVsRestClassifier(LogisticRegression()).fit(X[:300], Y[:300])
        model = CoEmbeddingClassifier(random_state=0).fit(X[:300], Y[:300])
        gains.append(model.score(X[300:], Y[300:]) - micro(Y[300:], rival.predict(X[300:])))
    assert np.mean(gains) > -0.02


def test_one_label_per_row():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    rng = np.random.default_rng(0).permutation(len(y))
    model = CoEmbeddingClassifier(random_state=0).fit(X[rng[:100]], names[rng[:100]])
    assert model.score(X[rng[100:]], names[rng[100:]]) > 0.9
    assert set(model.predict(X)) == set(names)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    assert not model.threshold_embedding_.any()


def test_the_minimum_is_certified():
    model = CoEmbeddingClassifier(beta=0.5, cv=0, threshold=0, tol=1e-5, random_state=0).fit(X, Y)
    assert model.result_.stop_reason == "tolerance"
    assert model.result_.details["gap"] <= 1e-5 * model.result_.objective
    assert len(model.result_.history["rank"]) == model.result_.n_epochs + 1
    assert model.label_embedding_.shape[1] <= Y.shape[1] + 1


def test_beta_is_for_the_sum_over_rows():
    """As in the paper: the objective is that of the mean with beta divided by the number of rows."""
    model = CoEmbeddingClassifier(beta=0.5, cv=0, threshold=0, scale=False, unit_length=False, random_state=0)
    model.fit(X, Y)
    f = AffinityObjective(X, sparse.csr_matrix(Y), loss=SoftMaxLoss(), trace_penalty=0.5 / len(X))
    Q = np.vstack([model.row_factor_, model.label_embedding_, model.threshold_embedding_])
    assert f.value(Q) == pytest.approx(model.result_.objective, rel=1e-9)
    assert len(Q) == X.shape[1] + Y.shape[1] + 1


def test_points_explain_decisions():
    """A row has a label if it is nearer to it than to the threshold, with the cut at 0."""
    model = CoEmbeddingClassifier(beta=0.5, threshold=0, random_state=0).fit(X, Y)
    points = model.transform(X)
    to_labels = np.sum((points[:, None] - model.label_embedding_) ** 2, axis=2)
    to_threshold = np.sum((points - model.threshold_embedding_) ** 2, axis=1)[:, None]
    np.testing.assert_allclose(model.decision_function(X), to_threshold - to_labels, atol=1e-9)
    np.testing.assert_array_equal(model.predict(X), (to_labels < to_threshold).astype(int))


def test_the_strength_of_the_trace_lowers_the_rank():
    ranks = [
        CoEmbeddingClassifier(beta=beta, cv=0, threshold=0).fit(*planted(noise=1.0)).label_embedding_.shape[1]
        for beta in (0.1, 30.0)
    ]
    assert ranks[1] < ranks[0]


def test_max_rank():
    model = CoEmbeddingClassifier(beta=0.1, max_rank=1, cv=0, threshold=0).fit(X, Y)
    assert model.label_embedding_.shape[1] == 1
    assert model.result_.details["gap"] > 0


@pytest.mark.parametrize("loss", ["logistic", "squared-hinge", LogisticLoss()])
def test_other_losses(loss):
    assert (
        CoEmbeddingClassifier(beta=0.1, loss=loss, random_state=0)
        .fit(X[:150], Y[:150])
        .score(X[150:], Y[150:])
        > 0.88
    )


def test_units_and_offsets_do_not_matter():
    """Columns in other units, measured from elsewhere: the same predictions."""
    units = np.geomspace(1e-3, 1e3, X.shape[1])
    one = CoEmbeddingClassifier(beta=1.0, scale=True, random_state=0).fit(X, Y)
    other = CoEmbeddingClassifier(beta=1.0, scale=True, random_state=0).fit(X * units + 50 * units, Y)
    np.testing.assert_allclose(
        one.decision_function(X), other.decision_function(X * units + 50 * units), atol=0.02
    )


# -- decisions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", ["micro-f1", "macro-f1", "hamming"])
def test_the_threshold_serves_its_criterion(criterion):
    """On rows never seen, the cut that was chosen for a criterion is about as good as the best cut in hindsight."""
    X, Y = planted(n=800, seed=3, noise=2.0)
    measure = {
        "micro-f1": micro,
        "macro-f1": lambda Y, P: f1_score(Y, P, average="macro", zero_division=0),
        "hamming": lambda Y, P: (Y == P).mean(),
    }[criterion]
    model = CoEmbeddingClassifier(beta=3.0, threshold=criterion, random_state=0).fit(X[:400], Y[:400])
    above = model.decision_function(X[400:])
    best = max(measure(Y[400:], above > cut) for cut in np.linspace(-4, 4, 81))
    assert measure(Y[400:], model.predict(X[400:])) > best - 0.02
    assert model.result_.details["decided_on"] == "held out"


def test_probabilities_are_calibrated():
    X, Y = planted(n=2000, seed=4, noise=2.0)
    model = CoEmbeddingClassifier(beta=3.0, random_state=0).fit(X[:1000], Y[:1000])
    found = model.predict_proba(X[1000:])
    for low in np.arange(0.1, 0.9, 0.2):
        inside = (found >= low) & (found < low + 0.2)
        assert Y[1000:][inside].mean() == pytest.approx(found[inside].mean(), abs=0.08)


def test_few_rows_decide_on_themselves():
    model = CoEmbeddingClassifier(beta=0.5, random_state=0).fit(X[:30], Y[:30])
    assert model.result_.details["decided_on"] == "learned from"
    assert model.score(X[:30], Y[:30]) > 0.9


# -- labels -----------------------------------------------------------------------------------------------------------


def test_labels_never_seen_are_predicted_from_their_features():
    """Labels lie on a circle; those of the second half of the test were in no training row."""
    rng = np.random.default_rng(0)
    angles = rng.uniform(0, 2 * np.pi, size=30)
    features = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    X = rng.normal(size=(400, 6))
    Y = (X[:, :2] @ features.T > 0.5).astype(int)
    model = CoEmbeddingClassifier(random_state=0, unit_length=False).fit(
        X[:300], Y[:300, :20], label_features=features[:20]
    )
    assert model.score(X[300:], Y[300:, :20]) > 0.9
    assert model.score(X[300:], Y[300:, 20:], label_features=features[20:]) > 0.85
    known = model.decision_function(X, label_features=features[:20])
    np.testing.assert_allclose(known, model.decision_function(X), atol=1e-9)
    assert model.predict_proba(X, label_features=features[20:]).shape == (400, 10)


def test_sparse_labels_and_features_of_labels():
    features = sparse.csr_matrix(np.random.default_rng(0).random((5, 3)) > 0.4).astype(float)
    model = CoEmbeddingClassifier(beta=0.1, random_state=0).fit(
        X, sparse.csr_matrix(Y), label_features=features
    )
    assert sparse.issparse(model.predict(X))
    assert model.label_factor_.shape[0] == 3
    plain = CoEmbeddingClassifier(beta=0.1, random_state=0).fit(X, Y, label_features=features.toarray())
    np.testing.assert_array_equal(model.predict(X).toarray(), plain.predict(X))


def test_names_of_labels():
    pandas = pytest.importorskip("pandas")
    names = ["a", "b", "c", "d", "e"]
    model = CoEmbeddingClassifier(beta=0.1, random_state=0).fit(X, pandas.DataFrame(Y, columns=names))
    assert model.classes_.tolist() == names


def test_rows_with_no_label_or_all_labels_are_valid():
    Y = planted()[1].copy()
    Y[:20], Y[20:40] = 0, 1
    model = CoEmbeddingClassifier(beta=0.1, random_state=0).fit(X, Y)
    assert np.isfinite(model.result_.objective)
    assert model.score(X[40:], Y[40:]) > 0.8


def test_a_label_that_never_occurs_is_warned_of():
    Y = planted()[1].copy()
    Y[:, 3] = 0
    with pytest.warns(UserWarning, match="y has no row with 1 label, so nothing is learned about: 3"):
        model = CoEmbeddingClassifier(beta=0.1, random_state=0).fit(X, Y)
    assert model.predict(X)[:, 3].mean() < 0.05


# -- the fit ----------------------------------------------------------------------------------------------------------


def test_it_repeats():
    again = CoEmbeddingClassifier(random_state=0).fit(X[:150], Y[:150])
    np.testing.assert_array_equal(again.decision_function(X), FITTED.decision_function(X))


def test_budgets_and_callbacks():
    model = CoEmbeddingClassifier(beta=0.1, cv=0, threshold=0, max_epochs=1).fit(X, Y)
    assert model.result_.stop_reason == "epochs"
    seen = []
    stopped = CoEmbeddingClassifier(
        beta=0.1,
        cv=0,
        threshold=0,
        callback=lambda progress: seen.append(progress.objective) or len(seen) == 2,
    ).fit(X, Y)
    assert stopped.result_.stop_reason == "callback"
    assert len(seen) == 2


def test_ctrl_c_keeps_what_there_is():
    def interrupt(progress):
        raise KeyboardInterrupt

    model = CoEmbeddingClassifier(callback=interrupt, random_state=0).fit(X, Y)
    assert model.result_.stop_reason == "interrupted"
    assert model.predict(X).shape == Y.shape


def test_grid_search_and_clone():
    search = GridSearchCV(CoEmbeddingClassifier(cv=2, random_state=0), {"beta": [0.1, 40.0]}, cv=2).fit(X, Y)
    assert search.best_params_ == {"beta": 0.1}
    assert clone(FITTED).get_params() == FITTED.get_params()


def test_save_and_load(tmp_path):
    nearer.save(FITTED, tmp_path / "model.nearer")
    loaded = nearer.load(tmp_path / "model.nearer")
    np.testing.assert_array_equal(loaded.decision_function(X), FITTED.decision_function(X))
    np.testing.assert_array_equal(loaded.predict_proba(X), FITTED.predict_proba(X))


def test_accuracy_of_two_classes_follows_the_sign():
    y = Y[:, 0]
    model = CoEmbeddingClassifier(random_state=0).fit(X[:150], y[:150])
    scores = model.decision_function(X[150:])
    assert scores.shape == (50,)
    np.testing.assert_array_equal(model.predict(X[150:]), (scores > 0).astype(int))
    assert accuracy_score(y[150:], model.predict(X[150:])) > 0.85


# -- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "parameter", "words"),
    [
        ({"beta": 0.0}, "beta", "above 0"),
        ({"beta": "best"}, "beta", "'best'"),
        ({"loss": "hinge"}, "loss", "kink"),
        ({"threshold": "f1"}, "threshold", "'f1'"),
        ({"threshold": np.nan}, "threshold", "nan"),
        ({"cv": 1}, "cv", "at least 2"),
        ({"cv": 0, "beta": "auto"}, "cv", "held-out"),
        ({"scale": "yes"}, "scale", "'yes'"),
        ({"unit_length": "no"}, "unit_length", "'no'"),
        ({"max_rank": 0}, "max_rank", "0"),
        ({"tol": -1.0}, "tol", "-1.0"),
        ({"callback": 3}, "callback", "3"),
    ],
)
def test_settings(settings, parameter, words):
    with pytest.raises(InputError) as refused:
        CoEmbeddingClassifier(**settings).fit(X, Y)
    assert refused.value.parameter == parameter
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (Y[:10], "10 rows, but X has 200"),
        (Y * 2, "holds 2, but labels are 0 or 1"),
        (np.where(Y == 1, np.nan, 0.0), "holds nan, but labels are 0 or 1"),
        (sparse.csr_matrix(Y * 3), "holds 3"),
        ([{"a"}, {"b"}] * 100, "MultiLabelBinarizer"),
        ([["a"], ["b", "c"]] * 100, "MultiLabelBinarizer"),
        (np.zeros((200, 2, 2)), "shape"),
        (np.zeros(200), "one class only"),
        (np.array([["yes", "no"]] * 200), "labels"),
    ],
)
def test_labels_that_are_refused(wrong, words):
    with pytest.raises(InputError, match=words):
        CoEmbeddingClassifier(beta=0.1).fit(X, wrong)


def test_features_that_are_refused():
    with pytest.raises(InputError, match="constant"):
        CoEmbeddingClassifier(beta=0.1).fit(np.ones((200, 3)), Y)
    with pytest.raises(InputError, match="one row per label"):
        CoEmbeddingClassifier(beta=0.1).fit(X, Y, label_features=np.ones((4, 2)))
    with pytest.raises(InputError, match="fit again with the features"):
        FITTED.predict(X, label_features=np.ones((4, 2)))
    with pytest.raises(InputError, match="a column for each label"):
        FITTED.score(X, Y[:, :3])


@pytest.mark.parametrize("name", ["slopes", "offsets", "thresholds"])
def test_decisions_about_other_labels_are_not_stored(name, tmp_path):
    X, Y = np.eye(12)[:, :4], np.tile(np.eye(3, dtype=int), (4, 1))
    model = CoEmbeddingClassifier(0.5, cv=0, threshold=0.0).fit(X, Y)
    model.decisions_ = replace(model.decisions_, **{name: np.zeros(1)})
    with pytest.raises(InputError):
        nearer.save(model, tmp_path / "model.nearer")
