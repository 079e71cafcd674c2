"""Exponential and logarithm without branches or calls, so that loops around them become vector code.

The functions of the C library take 5 ns each and are called one at a time; these take about 1 ns in a loop. Their
relative error is a few units in the last place on the ranges that the losses need.
"""

from __future__ import annotations

import numpy as np

from nearer._compiled.decorators import merged


@merged
def exp_of_negative(x):
    """Return exp(x) for x <= 0; below -708, the smallest normal number."""
    x = max(x, -708.0)
    # x = k log 2 + r with |r| <= log(2) / 2; log 2 in two parts, so that k times the first is exact
    k = np.rint(x * 1.4426950408889634)
    r = x - k * 0.6931471803691238 - k * 1.9082149292705877e-10
    # the polynomial of degree 11 through Chebyshev's points, error 2e-17. In pairs: a chain of products would make a
    # single step wait
    r2 = r * r
    r4 = r2 * r2
    low = (1.0 + r) + r2 * (0.5 + r * 0.16666666666666669)
    middle = (0.04166666666662413 + r * 0.008333333333330062) + r2 * (
        0.0013888888917213717 + r * 0.00019841269863053618
    )
    high = (2.4801521295954376e-05 + r * 2.7557268459997064e-06) + r2 * (
        2.7620088445409746e-07 + r * 2.510038549551032e-08
    )
    p = low + r4 * (middle + r4 * high)
    power_of_two = np.int64((np.int64(k) + 1023) << 52).view(np.float64)
    return p * power_of_two


@merged
def log1p_of_share(e):
    """Return log(1 + e) for 0 <= e <= 1, by 2 artanh(e / (2 + e))."""
    # artanh(s) / s by the polynomial in s^2 through Chebyshev's points, error 5e-18
    s = e / (2.0 + e)
    z = s * s
    z2 = z * z
    z4 = z2 * z2
    low = (1.0 + z * 0.3333333333333333) + z2 * (0.20000000000007292 + z * 0.1428571428355438)
    middle = (0.11111111358713932 + z * 0.09090894718066429) + z2 * (
        0.07692785032479312 + z * 0.06657072104827468
    )
    high = (0.06000536404795356 + z * 0.04400369243072337) + z2 * 0.08082022805971766
    p = low + z4 * (middle + z4 * high)
    return 2 * s * p
