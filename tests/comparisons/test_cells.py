"""Cells of features that are not numbers: the message names row, column and remedy, and the remedy works."""

from __future__ import annotations

from contextlib import nullcontext
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from nearer import AUCClassifier, FeatureMap, PairwiseLearner
from nearer.errors import InputError
from tests.refusals import refused

RNG = np.random.default_rng(0)
N = 60
Y = np.arange(N) % 2
AGE = RNG.normal(size=N) + Y
FRAME = pd.DataFrame({"age": AGE, "sex": ["M", "F", "M"] * (N // 3)})
POINTS = RNG.normal(size=(N, 2))

ESTIMATORS = {
    "AUCClassifier": (lambda: AUCClassifier(random_state=0), Y, "predict"),
    "scores": (lambda: PairwiseLearner(random_state=0), Y, "decision_function"),
    "metric": (lambda: PairwiseLearner(pair="metric", random_state=0), Y, "transform"),
    "FeatureMap": (FeatureMap, POINTS, "transform"),
}
TEXTS = {
    "frame": (FRAME, r"'M' in row 0, column 1 \('sex'\).*OneHotEncoder"),
    "category": (FRAME.astype({"sex": "category"}), r"'M' in row 0, column 1 \('sex'\).*OrdinalEncoder"),
    "string": (FRAME.astype({"sex": "string"}), r"'M' in row 0, column 1 \('sex'\).*OneHotEncoder"),
    "polars": (pl.DataFrame(FRAME.to_dict("list")), r"'M' in row 0, column 1 \('sex'\).*OneHotEncoder"),
    "objects": (FRAME.to_numpy(), r"'M' in row 0, column 1,.*OneHotEncoder"),
    "list": ([[1.0, 2.0], [1.0, "many"]] * (N // 2), r"'many' in row 1, column 1,.*OneHotEncoder"),
    "dates": (FRAME.assign(sex=pd.date_range("2020", periods=N)), r"column 1 \('sex'\).*dates into numbers"),
    "NA": (FRAME.assign(sex=pd.array([1, pd.NA] * (N // 2), dtype=object)), r"<NA> in row 1, column 1.*fill"),
    "ragged": (
        [[1.0, 2.0], [1.0]] * (N // 2),
        "have 2 columns in row 0 but 1 in row 1: give rows of equal length",
    ),
}


@cache
def fitted_to_numbers(name):
    make, target, _ = ESTIMATORS[name]
    return make().fit(np.column_stack([AGE, Y]), target)


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("case", TEXTS)
def test_cells_are_named(name, case):
    make, target, method = ESTIMATORS[name]
    X, message = TEXTS[case]
    with pytest.raises(InputError, match=message):
        make().fit(X, target)
    fitted = fitted_to_numbers(name)
    warned = pytest.warns(UserWarning, match="feature names") if hasattr(X, "columns") else nullcontext()
    with warned, pytest.raises(InputError, match=message):
        getattr(fitted, method)(X)


@pytest.mark.parametrize("encoder", [OneHotEncoder, OrdinalEncoder])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_remedy_works(name, encoder):
    make, target, method = ESTIMATORS[name]
    encode = make_column_transformer((encoder(), ["sex"]), remainder="passthrough", sparse_threshold=0)
    assert len(getattr(make_pipeline(encode, make()).fit(FRAME, target), method)(FRAME)) == N


def test_other_errors_stay_what_they_are():
    model = AUCClassifier(random_state=0).fit(POINTS, Y)
    with refused("1 features", error=ValueError):
        model.predict(np.array([["2020-01-01"]], dtype="datetime64[s]"))
    with refused("dict", error=TypeError):
        AUCClassifier().fit([[1, {}]] * N, Y)


@pytest.mark.parametrize(
    ("points", "facts"),
    [
        (FRAME, ["'M'", "row 0", "column 1", "'sex'", "coordinates"]),
        (["a", "b"] * (N // 2), ["'a'", "row 0", "number"]),
    ],
)
def test_points_of_a_feature_map(points, facts):
    with refused("points", *facts):
        FeatureMap().fit(POINTS, points)
