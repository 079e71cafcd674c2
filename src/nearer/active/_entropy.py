"""Measure the information in an answer with two outcomes, in nats."""

from __future__ import annotations

import numpy as np

from nearer.losses.formulas import sigmoid

# Gauss-Hermite quadrature: the mean over a normal variable from a few values
_NODES, _SHARES = np.polynomial.hermite_e.hermegauss(21)
_SHARES /= _SHARES.sum()


def entropy(probability: np.ndarray) -> np.ndarray:
    """Return the entropy of an answer with this probability.

    >>> entropy(np.array([0.0, 0.5, 1.0])).round(4)
    array([0.    , 0.6931, 0.    ])
    """
    tiny = np.finfo(float).tiny
    return entropy_of_odds(np.log(np.maximum(probability, tiny)) - np.log(np.maximum(1 - probability, tiny)))


def entropy_of_odds(log_odds: np.ndarray) -> np.ndarray:
    """Return the entropy of an answer with these log odds."""
    size = np.abs(log_odds)
    small = np.exp(-size)
    return np.log1p(small) + size * small / (1 + small)


def information_of_normal_odds(mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Return the mutual information between an answer and its log odds, which are normally distributed.

    >>> known, unknown = information_of_normal_odds(np.zeros(2), np.array([0.0, 4.0]))
    >>> bool(abs(known) < 1e-12), round(float(unknown), 2)
    (True, 0.23)
    """
    odds = mean[:, None] + np.sqrt(variance)[:, None] * _NODES
    return entropy(sigmoid(odds) @ _SHARES) - entropy_of_odds(odds) @ _SHARES
