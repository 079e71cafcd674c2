"""The positive part of a matrix: Lanczos finds what a whole decomposition finds, and misses nothing."""

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from nearer.solvers import spectrum
from nearer.solvers.spectrum import LowRankPlusSparse, PositivePart, lanczos_is_quicker


def a_matrix(n=400, rank=8, seed=0, scale=-0.5):
    rng = np.random.default_rng(seed)
    sparse = random_array((n, n), density=0.01, rng=rng, format="csr")
    sparse = csr_array(sparse + sparse.T)
    X, Z = rng.normal(size=(2, n, rank))
    return LowRankPlusSparse(((1.5, X), (-0.5, 0.3 * Z)), sparse, scale)


def test_products_are_those_of_the_dense_matrix():
    matrix = a_matrix(60)
    V = np.random.default_rng(1).normal(size=60)
    np.testing.assert_allclose(matrix.times(V), matrix.dense() @ V, atol=1e-10)


@pytest.mark.parametrize("threshold", [5.0, 2.5])
def test_lanczos_equals_lapack(threshold, monkeypatch):
    matrix = a_matrix()
    part = PositivePart()
    values, vectors = part(matrix, threshold)
    assert (part.n_lanczos > 0, part.n_whole) == (True, 0)
    monkeypatch.setattr(spectrum, "lanczos_is_quicker", lambda n, count: False)
    whole = PositivePart()
    expected, basis = whole(matrix, threshold)
    assert (whole.n_lanczos, whole.n_whole) == (0, 1)
    np.testing.assert_allclose(np.sort(values), np.sort(expected), rtol=1e-9)
    np.testing.assert_allclose((vectors * values) @ vectors.T, (basis * expected) @ basis.T, atol=1e-6)


def test_a_guess_that_is_too_low_is_found_out():
    matrix = a_matrix(rank=20)
    part = PositivePart(guess=1)
    values, _ = part(matrix, 3.0)
    assert len(values) == np.sum(np.linalg.eigvalsh(matrix.dense()) > 3.0) == 20
    assert part.n_lanczos > 1  # it had to ask for more
    assert part.guess == 20


def test_beyond_the_reach_of_lanczos_the_whole_spectrum_is_taken():
    matrix = a_matrix()
    part = PositivePart()
    values, _ = part(matrix, -0.1)
    np.testing.assert_allclose(
        np.sort(values), (lambda w: w[w > -0.1])(np.linalg.eigvalsh(matrix.dense())), atol=1e-8
    )
    assert part.n_whole == 1


@pytest.mark.parametrize("n", [100, 400])
@pytest.mark.parametrize("guess", [5, 90])
def test_at_most_so_many(n, guess):
    matrix = a_matrix(n)
    values, vectors = PositivePart(guess)(matrix, 0.0, most=3)
    np.testing.assert_allclose(np.sort(values), np.linalg.eigvalsh(matrix.dense())[-3:], rtol=1e-9)
    assert vectors.shape == (n, 3)


@pytest.mark.parametrize("n", [100, 400])
def test_nothing_above_the_threshold(n):
    matrix = LowRankPlusSparse(((1.0, np.zeros((n, 1))),), csr_array(np.diag(np.linspace(1, 2, n))), -1.0)
    values, vectors = PositivePart()(matrix, 0.0)
    assert values.shape == (0,)
    assert vectors.shape == (n, 0)


def test_equal_calls_give_equal_bits():
    one, two = (PositivePart()(a_matrix(), 3.0)[1] for _ in range(2))
    np.testing.assert_array_equal(one, two)


def test_where_lanczos_is_used():
    assert not lanczos_is_quicker(100, 1)
    assert lanczos_is_quicker(2000, 100)
    assert not lanczos_is_quicker(2000, 500)
