from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from nearer.features import FeatureMap, leave_one_out_residuals
from tests.refusals import refused


@pytest.fixture
def problem():
    """Features in very different units and points that depend on two of them."""
    rng = np.random.default_rng(0)
    plain = rng.normal(size=(160, 4))
    points = np.stack([np.sin(plain[:, 0]), plain[:, 0] * plain[:, 1], plain[:, 1]], axis=1)
    return plain * [1e3, 1e-3, 1, 1] + [5e4, 0, 0, 7], points + 0.05 * rng.normal(size=points.shape)


@parametrize_with_checks([FeatureMap(), FeatureMap(gamma="scale", alpha=0.1, standardise=False)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_equals_kernel_ridge_on_standardised_features_and_centred_points(problem):
    features, points = problem
    mean = points[:100].mean(axis=0)
    ridge = make_pipeline(StandardScaler(), KernelRidge(alpha=0.3, kernel="rbf", gamma=0.2))
    expected = ridge.fit(features[:100], points[:100] - mean).predict(features[100:]) + mean
    got = FeatureMap(gamma=0.2, alpha=0.3).fit(features[:100], points[:100]).transform(features[100:])
    np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-10)


def test_leave_one_out_equals_leaving_one_out(problem):
    features, points = problem[0][:20, 2:], problem[1][:20]
    distances = ((features[:, None] - features) ** 2).sum(axis=2)
    alphas = np.array([1e-3, 0.5])
    got = leave_one_out_residuals(np.exp(-0.7 * distances), points, alphas)
    for place, alpha in enumerate(alphas):
        for left_out in range(20):
            rest = np.arange(20) != left_out
            ridge = KernelRidge(alpha=alpha, kernel="rbf", gamma=0.7).fit(features[rest], points[rest])
            expected = points[left_out] - ridge.predict(features[[left_out]])[0]
            np.testing.assert_allclose(got[place, left_out], expected, rtol=1e-7, atol=1e-9)


def test_chosen_settings_are_nearly_the_best_on_new_objects(problem):
    features, points = problem
    chosen = FeatureMap().fit(features[:100], points[:100])
    scores = [
        FeatureMap(gamma=gamma, alpha=alpha)
        .fit(features[:100], points[:100])
        .score(features[100:], points[100:])
        for gamma in 4.0 ** np.arange(-6, 3)
        for alpha in 10.0 ** np.arange(-6, 3)
    ]
    assert chosen.score(features[100:], points[100:]) > max(scores) - 0.03
    assert chosen.loo_score_ == pytest.approx(chosen.score(features[100:], points[100:]), abs=0.1)
    assert min(scores) < 0.5  # the choice matters


def test_each_setting_can_be_fixed(problem):
    fixed = FeatureMap(gamma=0.5).fit(*problem)
    assert fixed.gamma_ == 0.5
    assert fixed.alpha_ == FeatureMap(gamma=0.5).fit(*problem).alpha_
    assert FeatureMap(alpha=0.01).fit(*problem).alpha_ == 0.01
    assert FeatureMap(gamma="scale").fit(*problem).gamma_ == pytest.approx(1 / 4)
    raw = FeatureMap(gamma="scale", standardise=False).fit(*problem)
    assert raw.gamma_ == pytest.approx(1 / (4 * problem[0].var(axis=0).mean()))


def test_units_do_not_matter_when_standardised(problem):
    features, points = problem
    factors = np.array([1e-3, 1e3, 10, 1])
    one = FeatureMap().fit(features, points).transform(features[:5])
    other = FeatureMap().fit(features * factors, points).transform(features[:5] * factors)
    np.testing.assert_allclose(one, other, rtol=1e-6)


def test_a_constant_feature_changes_nothing(problem):
    features, points = problem
    wider = np.hstack([features, np.full((len(features), 1), 0.1)])
    one = FeatureMap(gamma=0.3, alpha=0.1).fit(features, points).transform(features[:5])
    other = FeatureMap(gamma=0.3, alpha=0.1).fit(wider, points).transform(wider[:5])
    np.testing.assert_allclose(one, other, rtol=1e-9)


def test_score_does_not_depend_on_the_orientation(problem):
    features, points = problem
    rotation = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    straight = FeatureMap().fit(features[:100], points[:100])
    turned = FeatureMap().fit(features[:100], points[:100] @ rotation)
    np.testing.assert_allclose(straight.transform(features) @ rotation, turned.transform(features), atol=1e-8)
    one = straight.score(features[100:], points[100:])
    assert turned.score(features[100:], points[100:] @ rotation) == pytest.approx(one)


def test_many_objects_choose_from_a_part(monkeypatch, problem):
    features, points = problem
    monkeypatch.setattr("nearer.features._ROWS_TO_CHOOSE_FROM", 80)
    place = FeatureMap().fit(features, points)
    assert len(place.features_) == len(features)  # the fit itself uses all
    assert place.loo_score_ == pytest.approx(FeatureMap().fit(features[::2], points[::2]).loo_score_, abs=0.1)


def test_blocks_make_no_difference(monkeypatch, problem):
    place = FeatureMap().fit(*problem)
    whole = place.transform(problem[0])
    monkeypatch.setattr("nearer._utils.arrays.BLOCK_NUMBERS", 1000)
    np.testing.assert_allclose(place.transform(problem[0]), whole, atol=1e-8)


def test_float32_is_kept(problem):
    features, points = (array.astype(np.float32) for array in problem)
    place = FeatureMap().fit(features, points)
    assert place.transform(features).dtype == np.float32
    assert place.transform(features.astype(np.float64)).dtype == np.float64
    np.testing.assert_allclose(
        place.transform(features), FeatureMap().fit(*problem).transform(problem[0]), atol=0.01
    )


def test_works_in_pipelines_searches_and_tables(problem):
    features, points = problem
    pipeline = make_pipeline(PCA(3), FeatureMap(standardise=False))
    assert pipeline.fit_transform(features, points).shape == points.shape
    search = GridSearchCV(FeatureMap(), {"alpha": [1e-3, 100.0]}, cv=3).fit(features, points)
    assert search.best_params_ == {"alpha": 1e-3}
    table = pd.DataFrame(features, columns=list("abcd"))
    placed = FeatureMap().set_output(transform="pandas").fit(table, points).transform(table)
    assert list(placed.columns) == ["featuremap0", "featuremap1", "featuremap2"]


def test_clone_and_pickle(problem):
    place = FeatureMap(gamma=0.5, alpha=0.1, standardise=False).fit(*problem)
    assert clone(place).get_params() == place.get_params()
    again = pickle.loads(pickle.dumps(place))
    np.testing.assert_array_equal(again.transform(problem[0]), place.transform(problem[0]))


@pytest.mark.parametrize(
    ("settings", "remedies"),
    [
        ({"gamma": "wide"}, ["'auto'", "'scale'", "above 0"]),
        ({"gamma": None}, ["'auto'", "'scale'", "above 0"]),
        ({"gamma": -1.0}, ["above 0"]),
        ({"alpha": 0}, ["above 0"]),
        ({"alpha": "scale"}, ["'auto'", "above 0"]),
    ],
)
def test_bad_settings(problem, settings, remedies):
    ((name, value),) = settings.items()
    with refused(f"not {value!r}", *remedies, parameter=name):
        FeatureMap(**settings).fit(*problem)


def test_bad_data(problem):
    features, points = problem
    holed = features.copy()
    holed[3, 2] = np.nan
    with refused("NaN", "row 3", "column 2", "fill or drop"):
        FeatureMap().fit(holed, points)
    with pytest.raises(ValueError, match=r"^Input y"):
        FeatureMap().fit(features, np.full_like(points, np.inf))
    place = FeatureMap(gamma=1.0, alpha=1.0).fit(features, points)
    with refused("NaN", "row 3", "column 2"):
        place.transform(holed)
    with refused("features", "(4,)", "one row per object"):
        place.transform([1.0, 2.0, 3.0, 4.0])
    with pytest.raises(ValueError, match=f"{len(features)}.*{len(points) - 1}"):
        FeatureMap().fit(features, points[:-1])


@pytest.mark.parametrize("gamma", ["auto", "scale", 0.3])
@pytest.mark.parametrize("standardise", [True, False])
def test_what_features_are_measured_from_does_not_matter(standardise, gamma):
    rng = np.random.default_rng(0)
    features = rng.normal(size=(80, 3))
    points = np.stack([np.sin(features[:, 0]), features[:, 1]], axis=1)
    far = features + np.array([0.0, 1e3, 1e8])
    one, other = (
        FeatureMap(standardise=standardise, gamma=gamma).fit(X[:60], points[:60]) for X in (features, far)
    )
    assert other.gamma_ == pytest.approx(one.gamma_, rel=1e-6)
    np.testing.assert_allclose(other.transform(far[60:]), one.transform(features[60:]), atol=1e-4)
