"""The sums over comparisons from which `nearer.metrics` fits a psychometric function; the margins may be float32."""

from __future__ import annotations

import math

from nearer._compiled.decorators import loop


@loop
def sums(margins, weights, slope, lapse, tiny):
    """Return the two derivatives of the log likelihood, and the three entries of Fisher's information."""
    g0 = g1 = a = b = c = 0.0
    for t in range(margins.shape[0]):
        e = math.exp(-abs(slope * margins[t]))
        right = (1.0 if margins[t] >= 0 else e) / (1 + e)
        p = lapse / 2 + (1 - lapse) * right
        by_slope = (1 - lapse) * (e / ((1 + e) * (1 + e))) * margins[t]
        by_lapse = 0.5 - right
        spread = weights[t] / max(p * (1 - p), tiny)
        g0 += weights[t] * by_slope / p
        g1 += weights[t] * by_lapse / p
        a += by_slope * by_slope * spread
        b += by_slope * by_lapse * spread
        c += by_lapse * by_lapse * spread
    return g0, g1, a, b, c
