"""`PairwiseLearner`: settings and data that cannot be, each refused in one sentence."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from nearer import PairwiseLearner
from nearer.errors import InputError
from nearer.pairwise import RandomFourier
from tests.pairwise.plain import neighbours

ROWS, LABELS = np.random.default_rng(0).normal(size=(20, 3)), np.arange(20) % 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"pair": "aux"}, "pair must be one of auc, ranking, metric or a function, not 'aux'"),
        ({"loss": "hings"}, "loss must be one of square, hinge"),
        ({"model": "liner"}, "model must be 'linear', 'rff', a RandomFourier"),
        ({"model": []}, "model is an empty list"),
        ({"solver": "sgd"}, "'sgd'.*: choose adadsg"),
        ({"solver": "opauc"}, "'opauc'.*square.*'hinge'"),
        ({"solver": "solam"}, "'solam'.*square.*'hinge'"),
        ({"solver": "olp", "pair": "ranking"}, "'olp'.*: choose .*'adadsg' or 'dsgd' or 'exact'$"),
        ({"solver": "opauc", "pair": "metric", "loss": "square"}, "'opauc'.*: choose 'adadsg' or 'dsgd'$"),
        ({"solver": "exact", "pair": "metric"}, "'exact'.*: choose 'adadsg' or 'dsgd'$"),
        ({"solver": "exact", "pair": neighbours}, "'exact'.*: choose 'adadsg' or 'dsgd'$"),
        ({"solver": "exact", "regularization": 0}, "l2"),
        ({"regularization": -1}, "regularization must be a number of 0 or more"),
        ({"n_components": 2}, "n_components is for pair='metric'"),
        ({"pair": "metric", "n_components": 0}, "n_components must be a whole number of 1 or more"),
        ({"max_seconds": 0}, "max_seconds must be a number above 0"),
        ({"model": RandomFourier, "pair": "auc"}, "model must be"),
    ],
)
def test_settings_that_cannot_be(settings, message):
    with pytest.raises(InputError, match=message):
        PairwiseLearner(**settings).fit(ROWS, LABELS)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"gamma": "auto"}, "gamma must be"),
        ({"gamma": 0.0}, "gamma must be"),
        ({"n_components": 0}, "n_comp"),
    ],
)
def test_random_features_that_cannot_be(settings, message):
    with pytest.raises(InputError, match=message):
        RandomFourier(**settings)


def changed(row, column, value):
    X = ROWS.copy()
    X[row, column] = value
    return X


@pytest.mark.parametrize(
    ("X", "y", "settings", "message"),
    [
        (ROWS, np.ones(20), {}, "y holds one class only, 1.0, but a pair takes a row of each of two classes"),
        (
            ROWS,
            np.arange(20) % 3,
            {},
            "Only binary classification is supported, but y holds 3 classes, 0, 1, 2",
        ),
        (np.ones((20, 3)), LABELS, {}, "all features are constant"),
        (sparse.csr_matrix(np.ones((20, 3))), LABELS, {}, "all features are constant"),
        (changed(3, 1, np.nan), LABELS, {}, "features hold NaN in row 3, column 1"),
        (changed(3, 1, -np.inf), LABELS, {}, "features hold infinity in row 3, column 1"),
        (sparse.csr_matrix(changed(4, 2, np.nan)), LABELS, {}, "features hold NaN in row 4, column 2"),
        (ROWS, LABELS, {"pair": "ranking", "groups": np.arange(20)}, "no group has rows of different grades"),
        (ROWS, np.ones(20), {"pair": "ranking"}, "all grades of y are equal"),
        (ROWS, LABELS, {"pair": "ranking", "groups": [1, 2]}, r"groups has shape \(2,\), but X has 20 rows"),
        (ROWS, LABELS, {"groups": np.arange(20)}, "groups are for pair='ranking', but pair is 'auc'"),
        (ROWS, np.array(list("ab") * 10), {"pair": "ranking"}, "pair='ranking' needs grades, numbers"),
        (ROWS[0], LABELS, {}, "X must not have shape"),
        (ROWS, LABELS[:5], {}, "inconsistent numbers of samples"),
    ],
)
def test_data_that_cannot_be(X, y, settings, message):
    groups = settings.pop("groups", None)
    with pytest.raises(ValueError, match=message) as caught:
        PairwiseLearner(**settings).fit(X, y, groups=groups)
    assert "\n" not in str(caught.value)


def test_a_constant_column_is_no_trouble(two_classes):
    X, y = two_classes
    X = np.column_stack([X, np.full(len(X), 7.0)])
    model = PairwiseLearner(random_state=0).fit(X, y)
    assert model.coef_[-1] == 0
    assert model.score(X, y) > 0.9


def test_streams_that_cannot_be():
    model = PairwiseLearner(random_state=0).partial_fit(ROWS, LABELS)
    with pytest.raises(
        InputError, match="y holds 7 in row 2, but the classes are 0, 1: give these labels only"
    ):
        model.partial_fit(ROWS[:3], [0, 1, 7])
    with pytest.raises(ValueError, match="2 features"):
        model.partial_fit(ROWS[:, :2], LABELS)
    with pytest.raises(InputError, match="classes must name two classes, not 3: 0, 1, 2"):
        PairwiseLearner().partial_fit(ROWS, LABELS, classes=[0, 1, 2])
    with pytest.raises(InputError, match="y holds one class only"):
        PairwiseLearner().partial_fit(ROWS, np.zeros(20))
    with pytest.raises(InputError, match="the first rows of a stream hold no pairs to begin with"):
        PairwiseLearner(pair="ranking").partial_fit(ROWS, np.zeros(20))
    assert not hasattr(PairwiseLearner(solver="exact"), "partial_fit")


def test_what_was_not_learned_is_not_there(two_classes):
    X, y = two_classes
    model = PairwiseLearner(random_state=0)
    assert not hasattr(model, "coef_")
    model.fit(X, y)
    for name in ("kernel_weights_", "components_", "threshold_"):
        assert not hasattr(model, name)
