"""Columns in units of their own."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

import nearer
from nearer import AUCClassifier, PairwiseLearner
from nearer.errors import InputError
from nearer.pairwise._scales import column_sizes, scales_of

RNG = np.random.default_rng(0)
Z = RNG.normal(size=(600, 4))
UNITS = np.array([1.0, 1e-3, 1e4, 20.0])
X = Z * UNITS
Y = (Z @ [1.0, 1.0, 0.0, -1.0] + 0.3 * RNG.normal(size=600) > 0.5).astype(int)


def sparse_rows(units):
    """Mostly zeros, as sparse and as dense rows."""
    rows = Z * (np.random.default_rng(1).random(Z.shape) < 0.3) * units
    return sparse.csr_matrix(rows), rows


class TestSizes:
    def test_are_distances_from_the_median_of_those_that_differ_from_it(self):
        column = np.array([5.0, 5.0, 5.0, 8.0, 1.0])
        sizes, spreads = column_sizes(np.stack([column, 0 * column, column / 3], axis=1))
        assert sizes == pytest.approx([np.sqrt(25 / 2), 0, np.sqrt(25 / 2) / 3])
        assert spreads == pytest.approx([np.sqrt(25 / 5), 0, np.sqrt(25 / 5) / 3])

    def test_of_sparse_rows_are_those_of_the_same_dense_ones(self):
        rows, dense = sparse_rows(UNITS)
        for one, other in zip(column_sizes(rows), column_sizes(dense), strict=True):
            assert one == pytest.approx(other)

    def test_stored_zeros_are_zeros(self):
        rows = sparse.csr_matrix((np.array([3.0, 0.0]), np.array([0, 0]), np.array([0, 1, 2])), shape=(2, 1))
        assert column_sizes(rows)[0] == pytest.approx([3.0])

    def test_a_column_that_varies_beyond_the_sample_has_a_size(self):
        rows = np.zeros((5000, 2))
        rows[:, 0] = np.arange(5000) % 2
        rows[1234, 1] = 7.0
        assert column_sizes(rows)[0] == pytest.approx([1.0, 7.0])


class TestAuto:
    @pytest.mark.parametrize("units", [UNITS, [1e20, 1, 1, 1], [1, 1, 1, 1e-20], [1e-3, 1, 1e3, 1e6]])
    def test_divides_columns_that_are_apart(self, units):
        assert scales_of(Z * units, "auto") == pytest.approx(column_sizes(Z * units)[0])
        assert scales_of(sparse_rows(units)[0], "auto") is not None

    @pytest.mark.parametrize("units", [np.ones(4), np.full(4, 1e20), [1, 2, 4, 10], [0, 0, 0, 1e20]])
    def test_leaves_alike_columns_alone(self, units):
        assert scales_of(Z * units, "auto") is None
        assert scales_of(sparse_rows(units)[0], "auto") is None

    def test_leaves_rare_flags_alone_scaled_or_not(self):
        flags = (RNG.random((2000, 5)) < [0.5, 0.3, 0.1, 0.01, 0.001]).astype(float)
        assert scales_of(flags, "auto") is None
        assert scales_of(StandardScaler().fit_transform(flags), "auto") is None

    def test_constant_columns_are_not_divided(self):
        rows = np.column_stack([X, np.full(600, 1e9)])
        assert scales_of(rows, "auto")[-1] == 1
        assert scales_of(np.zeros((3, 2)), True) == pytest.approx([1, 1])


@pytest.mark.parametrize("load", [load_wine, load_breast_cancer])
@pytest.mark.parametrize("solver", ["adadsg", "exact"])
def test_tables_as_they_are_need_no_scaler(load, solver):
    rows, labels = load(return_X_y=True)
    labels, test = labels == 1, np.arange(len(labels)) % 3 == 0
    given, scaled = rows, StandardScaler().fit(rows[~test]).transform(rows)
    scores = [
        AUCClassifier(solver=solver, random_state=0)
        .fit(each[~test], labels[~test])
        .score(each[test], labels[test])
        for each in (given, scaled)
    ]
    assert scores[0] > scores[1] - 0.01


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("solver", ["adadsg", "olp", "exact"])
def test_is_learning_from_divided_rows(kind, solver):
    rows = X if kind == "dense" else sparse_rows(UNITS)[0]
    scales = column_sizes(rows)[0]
    by_hand = rows / scales if kind == "dense" else sparse.csr_matrix(rows.multiply(1 / scales))
    one = AUCClassifier(solver=solver, random_state=0).fit(rows, Y)
    other = AUCClassifier(solver=solver, scale=False, random_state=0).fit(by_hand, Y)
    np.testing.assert_allclose(one.decision_function(rows), other.decision_function(by_hand), rtol=1e-6)
    np.testing.assert_allclose(one.coef_, other.coef_ / scales, rtol=1e-6)
    in_units = rows @ one.coef_[0] + one.intercept_
    np.testing.assert_allclose(one.decision_function(rows), in_units, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("model", ["rff", ["linear", "rff"]])
def test_kernels_see_divided_rows(model):
    plain = AUCClassifier(model=model, random_state=0).fit(Z, Y).score(Z, Y)
    assert AUCClassifier(model=model, random_state=0).fit(X, Y).score(X, Y) == pytest.approx(plain, abs=0.02)
    assert AUCClassifier(model=model, scale=False, random_state=0).fit(X, Y).score(X, Y) < plain - 0.05


def test_ranking_and_distances_see_divided_rows():
    for pair in ("ranking", "metric"):
        plain = PairwiseLearner(pair=pair, random_state=0).fit(Z, Y).score(Z, Y)
        learner = PairwiseLearner(pair=pair, random_state=0).fit(X, Y)
        assert learner.score(X, Y) == pytest.approx(plain, abs=0.02)
    np.testing.assert_allclose(learner.transform(X), X @ learner.components_.T)


def test_the_first_chunk_of_a_stream_decides():
    stream = AUCClassifier(random_state=0).partial_fit(X[:200], Y[:200])
    scales = stream.learned_.row_map.scales
    for start in (200, 400):
        stream.partial_fit(1.5 * X[start : start + 200], Y[start : start + 200])
    np.testing.assert_array_equal(stream.learned_.row_map.scales, scales)
    assert stream.score(X, Y) > 0.95


def test_is_saved_with_the_model(tmp_path):
    model = AUCClassifier(random_state=0).partial_fit(X[:300], Y[:300])
    nearer.save(model, tmp_path / "model.nearer")
    again = nearer.load(tmp_path / "model.nearer")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    for each in (model, again):
        each.partial_fit(X[300:], Y[300:])
    np.testing.assert_array_equal(again.coef_, model.coef_)


def test_single_precision_stays():
    model = PairwiseLearner(random_state=0).fit(X.astype(np.float32), Y)
    assert model.learned_.row_map(X.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("scale", ["always", None, 2, 1.0])
def test_bad_values_are_one_sentence(scale):
    with pytest.raises(InputError, match='scale must be "auto", True or False, not'):
        AUCClassifier(scale=scale).fit(X, Y)


def test_transformers_see_to_it_themselves():
    with pytest.raises(InputError, match="scale=True is for the models 'linear' and 'rff'"):
        AUCClassifier(model=MaxAbsScaler(), scale=True).fit(X, Y)
    own = AUCClassifier(model=MaxAbsScaler(), random_state=0).fit(X, Y)
    by_hand = AUCClassifier(scale=False, random_state=0).fit(MaxAbsScaler().fit_transform(X), Y)
    np.testing.assert_allclose(own.coef_, by_hand.coef_)
