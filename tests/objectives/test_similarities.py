"""Target similarities under a metric: the definition, derivatives, planes; and planes of other objectives."""

import numpy as np
import pytest
from scipy import sparse

from nearer import losses
from nearer.errors import InputError
from nearer.objectives import GramObjective, SimilarityObjective
from nearer.objectives.planes import factor_plane
from tests.registries import planted


def problem(rows, width, seed=0):
    rng = np.random.default_rng(seed)
    X, T = rng.normal(size=(rows, width)), rng.normal(size=(rows, rows))
    return SimilarityObjective(X, T, trace_penalty=0.3), X, (T + T.T) / 2


WIDE_AND_TALL = pytest.mark.parametrize(("rows", "width"), [(20, 6), (6, 20)], ids=["tall", "wide"])


@WIDE_AND_TALL
def test_the_definition(rows, width):
    f, X, T = problem(rows, width)
    Q = np.random.default_rng(1).normal(size=(width, 3))
    expected = np.mean((T - X @ Q @ Q.T @ X.T) ** 2) + 0.3 * np.sum(Q**2)
    assert f.value(Q) == pytest.approx(expected, rel=1e-12)
    assert f.value_and_factor_gradient(Q)[0] == pytest.approx(expected, rel=1e-12)
    assert f.value(Q[:, :0]) == pytest.approx(np.mean(T**2))


@WIDE_AND_TALL
def test_the_gradient_by_the_factor(rows, width):
    f, _, _ = problem(rows, width)
    rng = np.random.default_rng(1)
    Q, D = rng.normal(size=(2, width, 3))
    h = 1e-6
    numeric = (f.value(Q + h * D) - f.value(Q - h * D)) / (2 * h)
    assert np.vdot(f.value_and_factor_gradient(Q)[1], D) == pytest.approx(numeric, rel=1e-6)


@WIDE_AND_TALL
def test_descent_in_other_coordinates_is_that_of_the_objective(rows, width):
    f, _, _ = problem(rows, width)
    rng = np.random.default_rng(1)
    Q = rng.normal(size=(width, 3))
    descent = f.rescaled(Q)
    first = descent.factor(descent.start)
    kept = Q if width < rows else f._decomposed[1] @ f._decomposed[1].T @ Q  # what no row has is left out
    np.testing.assert_allclose(first @ first.T, kept @ kept.T, atol=1e-9)
    value, gradient = descent.value_and_gradient(descent.start)
    assert value == pytest.approx(f.value(first), rel=1e-12)
    D, h = rng.normal(size=descent.start.shape), 1e-6
    numeric = (
        f.value(descent.factor(descent.start + h * D)) - f.value(descent.factor(descent.start - h * D))
    ) / (2 * h)
    assert np.vdot(gradient, D) == pytest.approx(numeric, rel=1e-5)


def test_rows_without_rank_have_other_coordinates_too():
    X = np.outer(np.arange(5.0), [1.0, 2.0, 0.0])
    f = SimilarityObjective(X, X @ X.T, trace_penalty=0.1)
    descent = f.rescaled(np.eye(3))
    value, gradient = descent.value_and_gradient(descent.start)
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()
    assert value == pytest.approx(f.value(descent.factor(descent.start)))


def test_sparse_rows_are_never_decomposed():
    X = sparse.csr_matrix(np.eye(4))
    assert "rescaled" not in SimilarityObjective(X, np.eye(4)).provides
    assert "rescaled" in SimilarityObjective(np.eye(4), np.eye(4)).provides


def gram():
    return GramObjective(planted(weights=True), losses.STE(), trace_penalty=0.02)


@pytest.mark.parametrize("f", [problem(20, 6)[0], problem(6, 20)[0], gram()], ids=["tall", "wide", "gram"])
def test_products_with_the_gradient_by_the_matrix(f):
    rng = np.random.default_rng(2)
    Q, D = rng.normal(size=(2, f.shape[0], 3)) * 0.3
    product = f.gradient_at(Q)
    h = 1e-6
    bent = np.hstack([Q, np.sqrt(h) * D])  # C + h D Dᵀ
    numeric = (f.value(bent) - f.value(Q)) / h
    assert np.vdot(product(D), D) == pytest.approx(numeric, rel=1e-3, abs=1e-6)
    np.testing.assert_allclose(2 * product(Q), f.value_and_factor_gradient(Q)[1], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(product(D)[:, 1], product(D[:, 1]), atol=1e-12)


@pytest.mark.parametrize("f", [problem(20, 6)[0], problem(6, 20)[0], gram()], ids=["tall", "wide", "gram"])
@pytest.mark.parametrize(("a", "b"), [(1.0, 0.0), (0.0, 0.4), (0.7, 0.4)])
def test_planes(f, a, b):
    """The fast plane is the one by products of factors; its derivatives are those of the value."""
    rng = np.random.default_rng(3)
    Q, U = rng.normal(size=(2, f.shape[0], 2)) * 0.3
    value, by_a, by_b = f.plane(Q, U)(a, b)
    np.testing.assert_allclose((value, by_a, by_b), factor_plane(f, Q, U)(a, b), rtol=1e-9)
    assert value == pytest.approx(f.value(np.hstack([np.sqrt(a) * Q, np.sqrt(b) * U])))
    h = 1e-6
    plane = f.plane(Q, U)
    assert by_a == pytest.approx((plane(a + h, b)[0] - plane(a - h, b)[0]) / (2 * h), rel=1e-5)
    assert by_b == pytest.approx((plane(a, b + h)[0] - plane(a, b - h)[0]) / (2 * h), rel=1e-5)


def test_wrong_shapes_are_refused():
    X = np.ones((3, 2))
    with pytest.raises(InputError) as refused:
        SimilarityObjective(X, np.ones((3, 2)))
    assert refused.value.parameter == "target"
    with pytest.raises(InputError, match="2 rows"):
        SimilarityObjective(X, np.ones((3, 3))).start(np.ones((3, 1)))
