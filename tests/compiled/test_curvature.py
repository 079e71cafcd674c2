"""The compiled part of an L-BFGS iteration against the same in plain numpy."""

import numpy as np
import pytest

from nearer._compiled import curvature, curvature_reference
from nearer.solvers.lbfgs import CurvaturePairs


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-12), (np.float32, 2e-5)])
@pytest.mark.parametrize("size", [3, curvature.PIECE + 1, 2000])
def test_compiled_and_plain_iterations_agree(size, dtype, rtol):
    rng = np.random.default_rng(0)
    curved = np.linspace(1, 9, size)

    def gradient(x):
        return (curved * x).astype(dtype)

    memories = [CurvaturePairs(3, np.empty(size, dtype)).memory for _ in range(2)]
    counts, x = [0, 0], rng.normal(size=size).astype(dtype)
    for k in range(6):  # more than the memory holds
        # the third step has no curvature, and is not kept
        new_x = x + rng.normal(size=size).astype(dtype)
        new_gradient = gradient(new_x) if k != 2 else gradient(x) - (new_x - x)
        found = []
        for side, loops in enumerate((curvature, curvature_reference)):
            out, trial = np.empty((2, size), dtype)
            counts[side], length, slope = loops.advance(
                x, gradient(x), new_x, new_gradient, *memories[side], counts[side], 1e-16, out, trial
            )
            found.append((length, slope, out, trial))
        assert counts[0] == counts[1] == min(k + (k < 2), 3)
        for compiled, plain in zip(*found, strict=True):
            np.testing.assert_allclose(compiled, plain, rtol=rtol, atol=rtol * np.abs(plain).max())
        for compiled, plain in zip(*memories, strict=True):
            used = memories[1][4][: counts[1]]
            compiled, plain = (
                a if a is m[4] else a[used] for a, m in ((compiled, memories[0]), (plain, memories[1]))
            )
            np.testing.assert_allclose(compiled, plain, rtol=rtol, atol=rtol * np.abs(plain).max())
        x = new_x


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_products_and_moves_agree(dtype):
    x, y = np.random.default_rng(0).normal(size=(2, 700)).astype(dtype)
    assert curvature.inner(x, y) == pytest.approx(
        curvature_reference.inner(x, y), rel=1e3 * float(np.finfo(dtype).eps)
    )
    found, expected = np.empty((2, 700), dtype)
    curvature.moved(x, y, 0.3, found)
    curvature_reference.moved(x, y, 0.3, expected)
    np.testing.assert_allclose(found, expected, rtol=10 * np.finfo(dtype).eps, atol=np.finfo(dtype).eps)
