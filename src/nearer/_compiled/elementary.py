"""Exponential and logarithm without branches or calls, so that loops around them become vector code.

The functions of the C library take 5 ns each and are called one at a time; these take about 1 ns in a loop. Their
relative error is a few units in the last place on the ranges that the losses need.
"""

from __future__ import annotations

import math

import numpy as np

from nearer._compiled.decorators import inline


@inline
def exp_of_negative(x):
    """Return exp(x) for x <= 0; below -708, the smallest normal number."""
    x = max(x, -708.0)
    # x = k log 2 + r with |r| <= log(2) / 2; log 2 in two parts, so that k times the first is exact
    k = math.floor(x * 1.4426950408889634 + 0.5)
    r = x - k * 0.6931471803691238 - k * 1.9082149292705877e-10
    # the Taylor series to the 13th power, in pairs: a chain of products would make a single step wait
    r2 = r * r
    r4 = r2 * r2
    low = (1.0 + r) + r2 * (0.5 + r * 0.16666666666666666)
    middle = (0.041666666666666664 + r * 0.008333333333333333) + r2 * (
        0.001388888888888889 + r * 0.0001984126984126984
    )
    high = (2.48015873015873e-05 + r * 2.7557319223985893e-06) + r2 * (
        2.755731922398589e-07 + r * 2.505210838544172e-08
    )
    highest = 2.08767569878681e-09 + r * 1.6059043836821613e-10
    p = (low + r4 * middle) + (r4 * r4) * (high + r4 * highest)
    power_of_two = np.int64((np.int64(k) + 1023) << 52).view(np.float64)
    return p * power_of_two


@inline
def log1p_of_share(e):
    """Return log(1 + e) for 0 <= e <= 1, by 2 artanh(e / (2 + e))."""
    s = e / (2.0 + e)
    z = s * s
    z2 = z * z
    z4 = z2 * z2
    low = (1.0 + z * (1 / 3)) + z2 * (1 / 5 + z * (1 / 7))
    middle = (1 / 9 + z * (1 / 11)) + z2 * (1 / 13 + z * (1 / 15))
    high = (1 / 17 + z * (1 / 19)) + z2 * (1 / 21 + z * (1 / 23))
    highest = (1 / 25 + z * (1 / 27)) + z2 * ((1 / 29 + z * (1 / 31)) + z2 * (1 / 33))
    p = (low + z4 * middle) + (z4 * z4) * (high + z4 * highest)
    return 2 * s * p
