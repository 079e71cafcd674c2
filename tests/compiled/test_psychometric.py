"""The compiled sums of a psychometric function against the same in plain numpy."""

import numpy as np
import pytest

from nearer._compiled import psychometric, psychometric_reference


@pytest.mark.parametrize(("slope", "lapse"), [(1.0, 0.05), (0.01, 0.0), (100.0, 0.9), (100.0, 0.0)])
@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-10), (np.float32, 1e-4)])
def test_compiled_and_plain_sums_agree(slope, lapse, dtype, rtol):
    rng = np.random.default_rng(0)
    margins, weights = rng.normal(size=(2, 500))
    margins, weights = np.append(margins, 0.0).astype(dtype), np.append(weights**2, 1.0)
    found = psychometric.sums(margins, weights, slope, lapse, 1e-12)
    expected = psychometric_reference.sums(margins.astype(np.float64), weights, slope, lapse, 1e-12)
    np.testing.assert_allclose(found, expected, rtol=rtol)


def test_the_derivatives_are_those_of_the_log_likelihood():
    rng = np.random.default_rng(1)
    margins, weights = rng.normal(size=50), rng.uniform(size=50)

    def likelihood(slope, lapse):
        return weights @ np.log(lapse / 2 + (1 - lapse) / (1 + np.exp(-slope * margins)))

    step = 1e-6
    by_slope = (likelihood(0.7 + step, 0.2) - likelihood(0.7 - step, 0.2)) / (2 * step)
    by_lapse = (likelihood(0.7, 0.2 + step) - likelihood(0.7, 0.2 - step)) / (2 * step)
    assert psychometric.sums(margins, weights, 0.7, 0.2, 1e-12)[:2] == pytest.approx(
        (by_slope, by_lapse), rel=1e-6
    )
