"""The loop of `links.py` in numpy, for any loss of a margin."""

from __future__ import annotations

import numpy as np

from nearer.losses.links import LinkLoss


def link_losses(
    loss: LinkLoss,
    offset: float,
    n_links: int,
    shares: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
    distances: np.ndarray,
    slopes: np.ndarray,
) -> float:
    """Return the sum of losses of pairs, times their shares; add the derivatives by the distances to `slopes`."""
    k, m = n_links, len(shares)
    a, b = (distances[place] - distances[:m] + offset for place in (first, second))
    parts = loss.of_links(a[:k], b[:k]), loss.of_others(a[k:], b[k:])
    values, by_first, by_second = (np.concatenate(both) for both in zip(*parts, strict=True))
    by_first *= shares
    by_second *= shares
    slopes += np.bincount(first, by_first, len(slopes)) + np.bincount(second, by_second, len(slopes))
    slopes[:m] -= by_first + by_second
    return float(shares @ values)
