"""What columns are measured from and in makes no difference: fits to X and to X * unit + offset decide alike."""

from __future__ import annotations

import json
import zipfile
from functools import cache

import numpy as np
import pytest
from scipy import sparse
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import nearer
from nearer import AUCClassifier, PairwiseLearner
from nearer.pairwise import AdaDSG, RandomFourier

N, D = 1200, 6
RNG = np.random.default_rng(0)
W = np.array([1.0, -1.0, 0.5, 0.0, 0.0, 2.0])


def planted(filled):
    """Rows of which a share of the numbers is not 0, and labels that a linear score explains for the most part."""
    rows = RNG.normal(size=(N, D)) * (RNG.random((N, D)) < filled)
    noise = 0.4 * np.std(rows @ W) * RNG.normal(size=N)
    return rows, (rows @ W + noise > np.quantile(rows @ W, 0.6)).astype(int)


#: a table of measurements, one with some zeros, and rows that are mostly zero
ROWS = {"table": planted(1.0), "gaps": planted(0.8), "bag": planted(0.35)}
KINDS = {
    "table": ("table", np.asarray),
    "bag": ("bag", np.asarray),
    "sparse table": ("gaps", sparse.csr_matrix),
    "sparse bag": ("bag", sparse.csr_matrix),
}
#: unit and offset of each column
CHANGES = {
    "a year": (np.ones(D), np.array([0, 0, 1000, 0, 0, 2020])),
    "timestamps": (np.array([1, 1e5, 1, 1, 1, 1e8]), np.array([0, 1e9, 0, 0, 0, 1.7e12])),
    "units": (np.array([1e-6, 1, 1e6, 1, 30, 1e3]), np.zeros(D)),
    "all tiny": (np.full(D, 1e-6), np.zeros(D)),
    "all large": (np.full(D, 1e6), np.zeros(D)),
    "everything": (np.array([1e-6, 1e5, 1e6, 1, 3, 1e3]), np.array([1, 1e9, -1e8, 0, -50, 1e5])),
}
SOLVERS = {
    "adadsg": "hinge",
    "dsgd": "logistic",
    "olp": "hinge",
    "opauc": "square",
    "solam": "square",
    "exact": "hinge",
}


def fitted(model, X, y, stream=False):
    if not stream:
        return model.fit(X, y)
    for start in range(0, N, 300):
        model.partial_fit(X[start : start + 300], y[start : start + 300])
    return model


@cache
def on_rows_as_they_are(kind, solver, stream):
    """What the fit to changed rows is compared with."""
    (X, y), convert = ROWS[KINDS[kind][0]], KINDS[kind][1]
    model = fitted(AUCClassifier(SOLVERS[solver], solver, random_state=0), convert(X), y, stream)
    assert model.score(convert(X), y) > 0.88
    return model


def assert_same_decisions(one, X, other, Z, y, tolerance):
    """The share of rows that are decided otherwise, and what probabilities and AUC differ by, are within tolerances."""
    assert other.score(Z, y) == pytest.approx(one.score(X, y), abs=tolerance)
    np.testing.assert_allclose(other.predict_proba(Z), one.predict_proba(X), atol=20 * tolerance)
    assert np.mean(other.predict(Z) != one.predict(X)) <= 2 * tolerance
    np.testing.assert_allclose(
        Z @ other.coef_[0] + other.intercept_,
        other.decision_function(Z),
        atol=1e-5 * np.abs(other.decision_function(Z)).max(),
    )


def tolerance_of(kind, change):
    """Tables and changes of all columns alike leave rounding; columns of a bag keep their sizes unless these differ."""
    return 0.01 if "bag" in kind and change in ("units", "timestamps", "everything") else 0.0005


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", KINDS)
def test_linear_scores(kind, solver, stream, change):
    if stream and solver == "exact":
        return  # it needs all rows at once
    (X, y), convert = ROWS[KINDS[kind][0]], KINDS[kind][1]
    unit, offset = CHANGES[change]
    one, Z = on_rows_as_they_are(kind, solver, stream), convert(X * unit + offset)
    other = fitted(AUCClassifier(SOLVERS[solver], solver, random_state=0), Z, y, stream)
    assert_same_decisions(one, convert(X), other, Z, y, tolerance_of(kind, change))


@pytest.mark.parametrize("change", ["a year", "all tiny", "everything"])
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("model", [RandomFourier(60), ["linear", RandomFourier(60)]], ids=str)
@pytest.mark.parametrize("kind", ["table", "sparse table"])
def test_kernels(kind, model, stream, change):
    (X, y), convert = ROWS[KINDS[kind][0]], KINDS[kind][1]
    unit, offset = CHANGES[change]
    X, Z = convert(X), convert(X * unit + offset)
    one, other = (fitted(AUCClassifier(model=model, random_state=0), rows, y, stream) for rows in (X, Z))
    assert other.score(Z, y) == pytest.approx(one.score(X, y), abs=1e-3)
    assert np.mean(other.predict(Z) != one.predict(X)) < 0.002
    np.testing.assert_allclose(other.predict_proba(Z), one.predict_proba(X), atol=0.01)


@pytest.mark.parametrize("scale", ["auto", True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_an_offset_leaves_the_share_of_positive_rows_whatever_is_scaled(kind, scale):
    (X, y), convert = ROWS[KINDS[kind][0]], KINDS[kind][1]
    shares = [
        AUCClassifier(scale=scale, random_state=0).fit(rows, y).predict(rows).mean()
        for rows in map(convert, (X, X + CHANGES["a year"][1], X + CHANGES["timestamps"][1]))
    ]
    assert shares == pytest.approx([shares[0]] * 3, abs=0.002)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix])
def test_single_precision_far_from_zero(solver, convert):
    """The digits that are there suffice: the same numbers in double precision, less the offset, say the same."""
    X, y = ROWS["table"]
    offset = np.array([0, 0, 1e6, 0, 0, 1e4])
    far = (X + offset).astype(np.float32)
    near = far.astype(np.float64) - offset
    one = AUCClassifier(SOLVERS[solver], solver, random_state=0).fit(near, y)
    other = AUCClassifier(SOLVERS[solver], solver, random_state=0).fit(convert(far), y)
    assert other.learned_.row_map(convert(far)).dtype == np.float32
    assert_same_decisions(one, near, other, convert(far), y, 0.002)


@pytest.mark.parametrize("criterion", ["f1", "accuracy", "prior", 0.5])
@pytest.mark.parametrize("calibration", ["sigmoid", "isotonic"])
def test_every_threshold_and_calibration(criterion, calibration):
    X, y = ROWS["table"]
    unit, offset = CHANGES["everything"]
    one, other = (
        AUCClassifier(threshold=criterion, calibration=calibration, random_state=0).fit(rows, y)
        for rows in (X, X * unit + offset)
    )
    assert other.threshold_ == pytest.approx(one.threshold_, abs=1e-4)
    assert_same_decisions(one, X, other, X * unit + offset, y, 0.001)


def test_a_stream_that_begins_with_a_single_row():
    X, y = ROWS["table"]
    shares = []
    for rows in (X, X + CHANGES["a year"][1], X + 1e6):
        model = AUCClassifier(random_state=0).partial_fit(rows[:1], y[:1], classes=[0, 1])
        model.partial_fit(rows[1:600], y[1:600]).partial_fit(rows[600:], y[600:])
        shares.append(model.predict(rows).mean())
    assert shares == pytest.approx([shares[0]] * 3, abs=0.002)


def test_saved_streams_go_on(tmp_path):
    X, y = ROWS["table"]
    Z = X * CHANGES["everything"][0] + CHANGES["everything"][1]
    models = [AUCClassifier(random_state=0).partial_fit(rows[:500], y[:500]) for rows in (X, Z)]
    models = [nearer.load(nearer.save(model, tmp_path / "stream.nearer")) for model in models]
    one, other = (model.partial_fit(rows[500:], y[500:]) for model, rows in zip(models, (X, Z), strict=True))
    assert_same_decisions(one, X, other, Z, y, 0.0005)


def test_files_of_models_without_a_centre_still_load(tmp_path):
    X, y = ROWS["table"]
    model = AUCClassifier(scale=False, random_state=0).fit(X, y)
    with zipfile.ZipFile(nearer.save(model, tmp_path / "new.nearer")) as new:
        members = {name: new.read(name) for name in new.namelist()}
    manifest = json.loads(members["manifest.json"])
    learned = manifest["fitted"]["learned_"]["fields"]
    del learned["centre"]
    for name in ("shift", "length"):
        del learned["row_map"]["fields"][name]
    members["manifest.json"] = json.dumps(manifest).encode()
    with zipfile.ZipFile(tmp_path / "old.nearer", "w") as old:
        for name, content in members.items():
            old.writestr(name, content)
    loaded = nearer.load(tmp_path / "old.nearer")
    np.testing.assert_allclose(loaded.decision_function(X), X @ model.coef_[0] - model.threshold_)
    assert loaded.partial_fit(X, y).score(X, y) > 0.9


# -- other pairs --------------------------------------------------------------------------------------------------


def later(y, groups, rng, count):
    """Pairs by a function: any two rows of different labels, the higher first."""
    ones, zeros = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    return np.stack([rng.choice(ones, count), rng.choice(zeros, count)], axis=1)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("pair", ["auc", "ranking", later])
@pytest.mark.parametrize("kind", KINDS)
def test_learners_of_scores(kind, pair, change):
    (X, y), convert = ROWS[KINDS[kind][0]], KINDS[kind][1]
    unit, offset = CHANGES[change]
    groups = {"groups": np.arange(N) // 20} if pair == "ranking" else {}
    X, Z = convert(X), convert(X * unit + offset)
    one, other = (PairwiseLearner(pair=pair, random_state=0).fit(rows, y, **groups) for rows in (X, Z))
    scores = one.decision_function(X)
    near = 20 * tolerance_of(kind, change) * scores.std()
    np.testing.assert_allclose(other.decision_function(Z), scores, atol=near)
    np.testing.assert_allclose(other.coef_ * unit, one.coef_, atol=near)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", KINDS)
def test_learned_distances(kind, change):
    (X, y), convert = ROWS[KINDS[kind][0]], KINDS[kind][1]
    unit, offset = CHANGES[change]
    X, Z = convert(X), convert(X * unit + offset)
    one, other = (
        PairwiseLearner(pair="metric", n_components=2, random_state=0).fit(rows, y) for rows in (X, Z)
    )
    assert other.score(Z, y) == pytest.approx(one.score(X, y), abs=tolerance_of(kind, change))
    points = one.transform(X)
    np.testing.assert_allclose(
        other.transform(Z), points, atol=60 * tolerance_of(kind, change) * points.std()
    )


def test_neighbours_by_a_learned_distance():
    """Far from 0 the squares in a search for neighbours would lose all digits."""
    X, y = ROWS["table"]
    answers = []
    for rows in (X, X + CHANGES["timestamps"][1]):
        model = PairwiseLearner(pair="metric", n_components=2, random_state=0)
        points = model.fit_transform(rows, y)
        answers.append(KNeighborsClassifier(algorithm="brute").fit(points, y).predict(points))
    assert np.mean(answers[0] == answers[1]) > 0.99


# -- models of a user's own ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["adadsg", "solam", "exact"])
def test_transformers_may_leave_an_offset(solver):
    X, y = ROWS["table"]
    shares = [
        AUCClassifier(SOLVERS[solver], solver, model=FunctionTransformer(), random_state=0)
        .fit(rows, y)
        .predict(rows)
        .mean()
        for rows in (X, X + CHANGES["a year"][1])
    ]
    assert shares[1] == pytest.approx(shares[0], abs=0.03)


def test_networks_are_cut_at_the_same_place():
    """A module sees rows as they are; what an offset adds to all scores does not reach the threshold."""
    nn = pytest.importorskip("torch").nn
    import torch

    X, y = ROWS["table"]
    shares = []
    for offset in (0.0, 30.0):
        torch.manual_seed(0)
        model = AUCClassifier(model=nn.Linear(D, 1), solver=AdaDSG(stages=6), random_state=0).fit(
            X + offset, y
        )
        shares.append(model.predict(X + offset).mean())
        assert abs(model.decision_function(X + offset).mean() + model.threshold_) < 0.01
    assert shares[1] == pytest.approx(shares[0], abs=0.05)


def test_a_scaler_makes_no_difference():
    X, y = ROWS["table"]
    Z = StandardScaler().fit_transform(X * CHANGES["units"][0])
    one, other = (AUCClassifier(random_state=0).fit(rows, y) for rows in (X, Z))
    assert_same_decisions(one, X, other, Z, y, 0.0005)
