"""A learner of distances is a transformer with scikit-learn's manners; learners of scores are not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from nearer import PairwiseLearner

RNG = np.random.default_rng(0)
Y = np.arange(90) % 3
X = RNG.normal(size=(90, 4)) + Y[:, None]
FRAME = pd.DataFrame(X, columns=list("abcd"), index=np.arange(90) * 7)
NAMES = ["pairwiselearner0", "pairwiselearner1"]
SCORES = ("auc", "ranking", lambda y, groups, rng, count: np.zeros((count, 2), int))


def metric(**settings):
    return PairwiseLearner(pair="metric", n_components=2, random_state=0, **settings)


@parametrize_with_checks([PairwiseLearner(pair="metric", random_state=0)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_only_distances_are_transformers():
    assert get_tags(metric()).transformer_tags.preserves_dtype == ["float64"]
    for pair in SCORES:
        learner = PairwiseLearner(pair=pair)
        assert get_tags(learner).transformer_tags is None
        for name in ("transform", "fit_transform", "set_output", "get_feature_names_out"):
            assert hasattr(metric(), name)
            assert not hasattr(learner, name)


@pytest.mark.parametrize("model", ["linear", "rff"])
def test_names(model):
    learner = metric(model=model).fit(X, Y)
    assert learner.get_feature_names_out().tolist() == NAMES
    assert learner.transform(X).shape == (90, 2)
    with pytest.raises(NotFittedError):
        metric().get_feature_names_out()


def test_frames():
    learner = metric().fit(FRAME, Y)
    plain = learner.transform(FRAME)
    assert isinstance(plain, np.ndarray)
    frame = learner.set_output(transform="pandas").transform(FRAME)
    assert frame.columns.tolist() == NAMES
    assert frame.index.tolist() == FRAME.index.tolist()
    np.testing.assert_array_equal(frame, plain)
    assert isinstance(clone(learner).fit_transform(FRAME, Y), pd.DataFrame)
    assert isinstance(learner.set_output(transform="polars").transform(FRAME), pl.DataFrame)
    assert isinstance(learner.set_output(transform=None).transform(FRAME), pl.DataFrame)
    assert isinstance(learner.set_output(transform="default").transform(FRAME), np.ndarray)
    with config_context(transform_output="pandas"):
        assert isinstance(metric().fit(FRAME, Y).transform(FRAME), pd.DataFrame)
    with pytest.raises(ValueError, match="frame"):
        learner.set_output(transform="frame").transform(FRAME)


def test_sparse_rows_and_distances_whatever_the_output():
    learner = metric().set_output(transform="pandas").fit(sparse.csr_matrix(X), Y)
    assert isinstance(learner.transform(sparse.csr_matrix(X)), pd.DataFrame)
    assert isinstance(learner.pair_distance(X[:5], X[5:10]), np.ndarray)
    assert learner.score(X, Y) > 0.5


def test_in_a_pipeline():
    pipeline = make_pipeline(metric(), KNeighborsClassifier()).set_output(transform="pandas").fit(FRAME, Y)
    assert pipeline[:-1].get_feature_names_out().tolist() == NAMES
    assert pipeline[:-1].transform(FRAME).columns.tolist() == NAMES
    assert pipeline.score(FRAME, Y) > 0.5


def test_networks():
    nn = pytest.importorskip("torch").nn
    learner = PairwiseLearner(pair="metric", model=nn.Linear(4, 3), random_state=0).fit(X, Y)
    assert len(learner.get_feature_names_out()) == 3
    assert learner.set_output(transform="pandas").transform(X).shape == (90, 3)
