"""The compiled loss of links and other pairs; in numpy in `links_reference.py`.

Conventions: distances hold those of the pairs, links first, and after them those of the objects from their thresholds.
`first` and `second` (int32) are the places of the latter for the left and the right object of each pair. `offset` is
added to all margins.
"""

from __future__ import annotations

from nearer._compiled.decorators import loop
from nearer._compiled.margin_losses import loss_and_descent
from nearer._compiled.scalar_losses import logistic


@loop
def link_losses(code, offset, n_links, shares, first, second, distances, slopes):
    """Return the sum of losses of pairs, times their shares; add the derivatives by the distances to `slopes`."""
    total = 0.0
    for t in range(n_links):
        near = distances[t] - offset
        margin, margin2 = distances[first[t]] - near, distances[second[t]] - near
        one, falling = loss_and_descent(code, margin, 0.0)
        other, falling2 = loss_and_descent(code, margin2, 0.0)
        above, part, _ = logistic(one - other)  # ln(exp one + exp other) = other + ln(1 + exp(one - other))
        total += shares[t] * (other + above)
        by_first, by_second = shares[t] * part * falling, shares[t] * (1.0 - part) * falling2
        slopes[first[t]] -= by_first
        slopes[second[t]] -= by_second
        slopes[t] += by_first + by_second
    for t in range(n_links, shares.shape[0]):
        near = distances[t] - offset
        margin, margin2 = near - distances[first[t]], near - distances[second[t]]
        one, falling = loss_and_descent(code, margin, 0.0)
        other, falling2 = loss_and_descent(code, margin2, 0.0)
        total += shares[t] * (one + other)
        by_first, by_second = shares[t] * falling, shares[t] * falling2
        slopes[first[t]] += by_first
        slopes[second[t]] += by_second
        slopes[t] -= by_first + by_second
    return total
