"""Probabilities of many labels from their affinities: a sigmoid per label, drawn towards one that all labels share.

Affinities of one label are often higher than those of another at the same probability. A sigmoid per label puts them on
one scale. A label with many rows has a sigmoid of its own, a rare one nearly the common one: deviations from it are
penalised by a constant, which counts the less, the more rows there are.
"""

from __future__ import annotations

import numpy as np

from nearer.pairwise.thresholds import Scored, calibrate

#: strength of the penalty on the squared deviations of a label's slope, in those of the common one, and of its log-odds
_OF_SLOPE, _OF_OFFSET = 5.0, 0.1
#: the least slope of a label, in those of the common one: higher affinities are never less likely
_LEAST = 0.1
#: numbers that the common sigmoid is found from
_MOST = 50_000
#: numbers that exist several times while sigmoids are found
_BLOCK = 2**15
_MOST_STEPS, _MOST_HALVINGS, _TOL = 50, 20, 1e-9


def label_sigmoids(affinities: np.ndarray, own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return slope and offset of the log-odds of each label, and those that all labels share last.

    Parameters
    ----------
    affinities : array (n, m)
    own : bool array (n, m)
        Which labels each row has.

    Examples
    --------
    >>> from scipy.special import expit
    >>> rng = np.random.default_rng(0)
    >>> affinities = rng.normal(size=(2000, 2))
    >>> own = rng.uniform(size=(2000, 2)) < expit(affinities + [1, -1])
    >>> slopes, offsets = label_sigmoids(affinities, own)
    >>> bool(np.all(abs(slopes - 1) < 0.2)), bool(np.all(abs(offsets - [1, -1, 0]) < 0.2))
    (True, True)
    """
    every = np.linspace(0, affinities.size - 1, min(affinities.size, _MOST)).astype(int)
    scores, right = (array[every // array.shape[1], every % array.shape[1]] for array in (affinities, own))
    common = calibrate(Scored(scores, right, np.ones(len(every))), "sigmoid")
    n, m = affinities.shape
    found = np.tile([[1.0], [0.0]], m + 1)
    step = max(_BLOCK // max(n, 1), 1)
    for start in range(0, m, step):
        some = slice(start, min(start + step, m))
        found[:, some] = _deviations(common.slope * affinities[:, some] + common.offset, own[:, some])
    return common.slope * found[0], common.offset * found[0] + found[1]


def log_loss(affinities: np.ndarray, own: np.ndarray) -> float:
    """Return the mean log-loss of the probabilities of these sigmoids, for the rows that they are found from.

    >>> round(log_loss(np.array([[0.0], [0.0]]), np.array([[True], [False]])), 4)
    0.6931
    """
    slopes, offsets = label_sigmoids(affinities, own)
    odds = affinities * slopes[:-1] + offsets[:-1]
    np.negative(odds, out=odds, where=own)
    return float(np.mean(np.logaddexp(0, odds, out=odds)))


def _deviations(z: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Return a and b (2, m) such that a z + b are the log-odds of each column, by Newton's method for all at once."""
    targets = own.astype(float)
    a, b = np.ones(z.shape[1]), np.zeros(z.shape[1])
    value, guesses = _value(z, targets, a, b)
    for _ in range(_MOST_STEPS):
        residuals, weights = guesses - targets, guesses * (1 - guesses)
        by_a = np.einsum("ij,ij->j", residuals, z) + _OF_SLOPE * (a - 1)
        by_b = residuals.sum(axis=0) + _OF_OFFSET * b
        ab, bb = np.einsum("ij,ij->j", weights, z), weights.sum(axis=0) + _OF_OFFSET
        weights *= z
        aa = np.einsum("ij,ij->j", weights, z) + _OF_SLOPE
        bound = (a <= _LEAST) & (by_a > 0)
        by_a, ab = np.where(bound, 0.0, by_a), np.where(bound, 0.0, ab)
        determinant = aa * bb - ab**2
        step_a, step_b = (bb * by_a - ab * by_b) / determinant, (aa * by_b - ab * by_a) / determinant
        size = np.ones_like(a)
        for _ in range(_MOST_HALVINGS):
            tried = np.maximum(a - size * step_a, _LEAST), b - size * step_b
            new, guesses = _value(z, targets, *tried)
            worse = new > value
            if not worse.any():
                break
            size[worse] /= 2
        a, b = np.where(worse, a, tried[0]), np.where(worse, b, tried[1])
        gain, value = np.maximum(value - new, 0.0), np.minimum(value, new)
        if gain.max() <= _TOL * len(z):
            break
    return np.stack([a, b])


def _value(z: np.ndarray, targets: np.ndarray, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the penalised log-loss of every column, and the probabilities."""
    odds = a * z + b
    small = np.exp(-np.abs(odds))
    penalty = _OF_SLOPE * (a - 1) ** 2 + _OF_OFFSET * b**2
    losses = np.maximum(odds, 0).sum(axis=0) + np.log(1 + small).sum(axis=0)
    guesses = np.where(odds < 0, small, 1.0) / (1 + small)
    return losses - np.einsum("ij,ij->j", targets, odds) + penalty / 2, guesses
