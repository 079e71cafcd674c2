"""Columns in units of their own."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

import nearer
from nearer import AUCClassifier, PairwiseLearner
from nearer.pairwise._scales import columns_of, moved, scales_of
from tests.refusals import refused

RNG = np.random.default_rng(0)
Z = RNG.normal(size=(600, 4))
UNITS = np.array([1.0, 1e-3, 1e4, 20.0])
X = Z * UNITS
Y = (Z @ [1.0, 1.0, 0.0, -1.0] + 0.3 * RNG.normal(size=600) > 0.5).astype(int)


def sparse_rows(units):
    """Mostly zeros, as sparse and as dense rows."""
    rows = Z * (np.random.default_rng(1).random(Z.shape) < 0.3) * units
    return sparse.csr_matrix(rows), rows


class TestColumns:
    def test_sizes_are_distances_from_the_median_of_those_that_differ_from_it(self):
        column = np.array([5.0, 5.0, 5.0, 8.0, 1.0])
        columns = columns_of(np.stack([column, 0 * column, column / 3], axis=1))
        assert columns.usual == pytest.approx([5, 0, 5 / 3])
        assert columns.sizes == pytest.approx([np.sqrt(25 / 2), 0, np.sqrt(25 / 2) / 3])
        assert columns.spreads == pytest.approx([np.sqrt(25 / 5), 0, np.sqrt(25 / 5) / 3])
        assert columns.filled == pytest.approx((0.4 + 0 + 0.4) / 3)

    @pytest.mark.parametrize("n_rows", [600, 3000])
    def test_of_sparse_rows_are_those_of_the_same_dense_ones(self, n_rows):
        rng = np.random.default_rng(2)
        shares = [0.0, 0.0005, 0.01, 0.3, 0.5, 0.7, 1.0]
        dense = rng.normal(size=(n_rows, 7)) * (rng.random((n_rows, 7)) < shares) + [0, 0, 0, 0, 9, 0, 7]
        one, other = columns_of(sparse.csr_matrix(dense)), columns_of(dense)
        for name in ("usual", "sizes", "spreads", "filled"):
            assert getattr(one, name) == pytest.approx(getattr(other, name))

    def test_stored_zeros_are_zeros(self):
        rows = sparse.csr_matrix((np.array([3.0, 0.0]), np.array([0, 0]), np.array([0, 1, 2])), shape=(2, 1))
        assert columns_of(rows).sizes == pytest.approx([3.0])
        assert columns_of(rows).filled == 0.5

    @pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
    def test_a_column_that_varies_beyond_the_sample_has_a_size(self, kind):
        rows = np.zeros((5000, 3))
        rows[:, 0] = np.arange(5000) % 2
        rows[1234, 1:] = 7.0
        rows[:, 2] += 1e6
        assert columns_of(kind(rows)).sizes == pytest.approx([1.0, 7.0, 7.0])

    @pytest.mark.parametrize("offset", [0, -3.0, 1e6, 1.7e12])
    def test_do_not_depend_on_an_offset(self, offset):
        one, other = columns_of(Z), columns_of(np.round(Z, 3) + offset)
        assert other.sizes == pytest.approx(one.sizes, rel=2e-3)
        assert other.filled == pytest.approx(one.filled, abs=0.01)


class TestMoved:
    SHIFT = np.array([3.0, 0.0, -1e6, 0.0])

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    @pytest.mark.parametrize("shift", [None, SHIFT])
    @pytest.mark.parametrize("scales", [None, UNITS])
    def test_sparse_rows_are_the_same_dense_ones(self, dtype, shift, scales):
        rows = sparse_rows(UNITS)[1].astype(dtype)
        expected = (rows - (0 if shift is None else shift)) / (1 if scales is None else scales)
        for kind in (np.asarray, sparse.csr_matrix):
            found = moved(kind(rows), shift, scales)
            assert found.dtype == dtype
            found = found if kind is np.asarray else found.toarray()
            np.testing.assert_allclose(found, expected, rtol=3e-7 if dtype == np.float32 else 1e-15)

    def test_usual_numbers_are_no_longer_stored(self):
        """Columns of which most is stored get sparser where they are flags, and at most twice as full otherwise."""
        rng = np.random.default_rng(3)
        flags = (rng.random((500, 20)) < np.linspace(0.05, 0.95, 20)).astype(float)
        rows = sparse.csr_matrix(flags)
        assert moved(rows, columns_of(rows).usual, None).nnz < rows.nnz
        full = sparse.csr_matrix(flags * rng.normal(size=flags.shape))
        assert moved(full, columns_of(full).usual, None).nnz <= 2 * full.nnz


class TestAuto:
    @pytest.mark.parametrize("units", [UNITS, [1e20, 1, 1, 1], [1, 1, 1, 1e-20], [1e-3, 1, 1e3, 1e6]])
    def test_divides_columns_that_are_apart(self, units):
        for rows in (Z * units, sparse_rows(units)[0]):
            assert scales_of(columns_of(rows), "auto") == pytest.approx(columns_of(rows).sizes)

    @pytest.mark.parametrize("units", [np.ones(4), np.full(4, 1e20), [1, 2, 4, 10], [0, 0, 0, 1e20]])
    def test_divides_all_columns_of_a_table_and_leaves_alike_ones_of_other_rows_alone(self, units):
        sizes = columns_of(Z * units).sizes
        rows = np.hstack([Z, Z]) * np.tile(units, 2)
        if np.count_nonzero(units) == 4:
            assert scales_of(columns_of(rows), "auto") == pytest.approx(np.tile(sizes, 2))
        assert scales_of(columns_of(Z * units), "auto", one_unit=True) is None
        assert scales_of(columns_of(sparse_rows(units)[0]), "auto") is None

    def test_leaves_rare_flags_alone_scaled_or_not(self):
        flags = (RNG.random((2000, 5)) < [0.5, 0.3, 0.1, 0.01, 0.001]).astype(float)
        assert scales_of(columns_of(flags), "auto") is None
        assert scales_of(columns_of(StandardScaler().fit_transform(flags)), "auto") is None

    def test_constant_columns_are_not_divided(self):
        rows = np.column_stack([X, np.full(600, 1e9)])
        assert scales_of(columns_of(rows), "auto")[-1] == 1
        assert scales_of(columns_of(np.zeros((3, 2))), True) == pytest.approx([1, 1])


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
    columns = columns_of(rows)
    scales, length = columns.sizes, 1.0
    by_hand = rows / scales if kind == "dense" else sparse.csr_matrix(rows.multiply(1 / scales))
    if kind == "sparse":  # weights are measured in the length of rows
        length = np.sqrt(np.mean(by_hand.multiply(by_hand).sum(axis=1)))
    one = AUCClassifier(solver=solver, random_state=0).fit(rows, Y)
    settings = {"solver": solver, "regularization": 0.01 * length**2, "random_state": 0}
    other = AUCClassifier(scale=False, **settings).fit(by_hand, Y)
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
    points = X @ learner.components_.T
    np.testing.assert_allclose(learner.transform(X), points - points.mean(axis=0), atol=1e-9)


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
    with refused('"auto"', repr(scale), parameter="scale"):
        AUCClassifier(scale=scale).fit(X, Y)


def test_transformers_see_to_it_themselves():
    with refused("scale=True", "'linear'", "'rff'"):
        AUCClassifier(model=MaxAbsScaler(), scale=True).fit(X, Y)
    own = AUCClassifier(model=MaxAbsScaler(), random_state=0).fit(X, Y)
    by_hand = AUCClassifier(scale=False, random_state=0).fit(MaxAbsScaler().fit_transform(X), Y)
    np.testing.assert_allclose(own.coef_, by_hand.coef_)
