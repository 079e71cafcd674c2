"""Bad input and bad settings of MetricLearner: one sentence each, about the right parameter."""

import numpy as np
import pytest

import nearer
from nearer import MetricLearner
from nearer.errors import InputError

X = np.random.default_rng(0).normal(size=(10, 3))
LABELS = np.arange(10) % 2
TUPLES = np.array([[0, 1, 2], [3, 4, 5]])


def named(names):
    return nearer.Comparisons([["a", "b", "c"]], names=names)


@pytest.mark.parametrize(
    ("settings", "parameter", "words"),
    [
        ({"beta": 0.0}, "beta", "above 0"),
        ({"beta": -1}, "beta", "-1"),
        ({"beta": "automatic"}, "beta", "'automatic'"),
        ({"loss": "hinge"}, "loss", "kink"),
        ({"loss": "ste"}, "loss", "smooth-hinge"),
        ({"n_neighbors": 0}, "n_neighbors", "0"),
        ({"scale": "yes"}, "scale", "'yes'"),
        ({"max_rank": 0}, "max_rank", "0"),
        ({"tol": -1.0}, "tol", "-1.0"),
        ({"max_seconds": 0}, "max_seconds", "0"),
        ({"callback": 3}, "callback", "3"),
        ({"random_state": "seed"}, "random_state", "'seed'"),
    ],
)
def test_settings(settings, parameter, words):
    with pytest.raises(InputError) as refused:
        MetricLearner(**{"beta": 0.1} | settings).fit(X, LABELS)
    assert refused.value.parameter == parameter
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("given", "parameter", "words"),
    [
        ((X, None), None, "requires y to be passed"),
        ((X, np.zeros(10, int)), "y", "one label only"),
        ((X, np.arange(10)), "y", "no two rows of one label"),
        ((X, LABELS + 0.5), None, "labels as texts"),
        ((X, LABELS[:9]), "y", "9 labels"),
        ((X, np.zeros((10, 4))), "y", "nearer.Comparisons"),
        ((X, np.zeros((9, 9))), "y", "every two rows"),
        ((X, np.full((10, 10), np.nan)), "y", "finite"),
        ((X, [["a", "b"]] * 10), "y", "every two rows"),
        ((np.where(X[2, 1] == X, np.nan, X), LABELS), None, "NaN in row 2, column 1"),
        ((np.ones((10, 3)), LABELS), None, "constant"),
        ((X[:1], LABELS[:1]), None, "1 sample"),
        ((X * 1e200, LABELS), None, "too large"),
        ((X, nearer.Comparisons([[0, 1, 10]])), "X", "about 11 objects"),
        ((X, nearer.Comparisons(np.empty((0, 3), int), 10)), None, "no comparisons"),
        ((X, nearer.Comparisons([[0, 1, 2]], weights=[0.0])), None, "weight 0"),
        ((X, named(["a", "b", "c"])), "X", "about 3 objects"),
        ((X[TUPLES[:, :1]], None), None, "tuples are pairs"),
        ((X[TUPLES[:, :2]], None), "y", "belong together"),
        ((X[TUPLES[:, :2]], [1, 1]), "y", "one kind only"),
        ((X[TUPLES[:, :2]], [1, 0]), "y", "-1 for no"),
        ((X[TUPLES], [1]), "y", "2 tuples"),
    ],
)
def test_data(given, parameter, words):
    with pytest.raises(InputError) as refused:
        MetricLearner(0.1).fit(*given)
    assert words in str(refused.value)
    assert parameter is None or refused.value.parameter == parameter
    assert "\n" not in str(refused.value)


def test_a_missing_name_is_named():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X[:2], index=["a", "b"])
    with pytest.raises(InputError, match="'c'"):
        MetricLearner(0.1).fit(frame, named(["a", "b", "c"]))


def test_similarities_have_one_loss():
    with pytest.raises(InputError) as refused:
        MetricLearner(0.1, loss="logistic").fit(X, X @ X.T)
    assert refused.value.parameter == "loss"


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda m: m.fit([[1, 2, 3], [4, 4, 5]]), "row 1 .*with itself"),
        (lambda m: m.transform([3, 12]), "12"),
        (lambda m: m.transform([-1]), "-1"),
        (lambda m: m.transform([[1, 2]]), "one index per row"),
        (lambda m: m.pair_distance([1, 2]), "pairs of rows"),
        (lambda m: m.pair_distance(X), "pairs of rows"),
        (lambda m: m.pair_distance(X[:3], X[:4]), "3"),
        (lambda m: m.transform(X[:, :2]), "2 features"),
    ],
)
def test_questions(ask, words):
    model = MetricLearner(0.01, preprocessor=X).fit(X, LABELS)
    with pytest.raises(ValueError, match=words):
        ask(model)
