"""The loops of `label_sets.py` in numpy, for any loss of a row."""

from __future__ import annotations

import numpy as np

from nearer.losses.label_sets import LabelSetLoss, RankingLoss


def replace_by_slopes(
    loss: LabelSetLoss, starts: np.ndarray, labels: np.ndarray, shares: np.ndarray, affinities: np.ndarray
) -> float:
    """Return the sum of `share * loss` over rows, and put the derivatives in place of the affinities."""
    total = 0.0
    for i, share in enumerate(shares):
        own = np.zeros(affinities.shape[1], bool)
        own[labels[starts[i] : starts[i + 1]]] = True
        value, slopes = loss.of_row(affinities[i], own)
        total += share * value
        affinities[i] = share * slopes
    return float(total)


def replace_by_curvatures(
    loss: RankingLoss, starts: np.ndarray, labels: np.ndarray, shares: np.ndarray, affinities: np.ndarray
) -> None:
    """Put the second derivatives by each affinity, times the share of the row, in place of the affinities."""
    for i, share in enumerate(shares):
        own = np.zeros(affinities.shape[1], bool)
        own[labels[starts[i] : starts[i + 1]]] = True
        pairs = loss.margin.second_derivative(affinities[i][own][:, None] - affinities[i][~own][None, :])
        affinities[i][own], affinities[i][~own] = share * pairs.sum(axis=1), share * pairs.sum(axis=0)


def replace_by_products(
    loss: RankingLoss,
    starts: np.ndarray,
    labels: np.ndarray,
    shares: np.ndarray,
    affinities: np.ndarray,
    changes: np.ndarray,
) -> None:
    """Put the changes of the derivatives in place of small changes of the affinities."""
    for i, share in enumerate(shares):
        own = np.zeros(affinities.shape[1], bool)
        own[labels[starts[i] : starts[i + 1]]] = True
        pairs = loss.margin.second_derivative(affinities[i][own][:, None] - affinities[i][~own][None, :])
        pairs *= share * (changes[i][own][:, None] - changes[i][~own][None, :])
        changes[i][own], changes[i][~own] = pairs.sum(axis=1), -pairs.sum(axis=0)
