"""The mean over all pairs as one writes it down, and small problems to try it on."""

import numpy as np

from nearer.losses import find_margin_loss


def pairs_of(y, groups=None):
    """All (i, j) of one group with y_i > y_j."""
    y = np.asarray(y)
    together = True if groups is None else np.equal.outer(groups, groups)
    return np.nonzero(np.greater.outer(y, y) & together)


def value_and_gradient(X, y, loss, l2, w, groups=None, sample_weight=None):
    """A sum over pairs, one by one."""
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, np.float64)
    loss = find_margin_loss(loss)
    i, j = pairs_of(y, groups)
    weights = np.ones(len(i)) if sample_weight is None else sample_weight[i] * sample_weight[j]
    weights = weights / weights.sum()
    margins = (X @ w)[i] - (X @ w)[j]
    gradient = (weights * loss.slope(margins)) @ (X[i] - X[j]) + l2 * w
    return weights @ loss.value(margins) + l2 / 2 * w @ w, gradient


def drawn(n=60, d=4, levels=2, seed=0):
    """Samples whose labels have to do with their features."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    hidden = X @ rng.normal(size=d) + rng.normal(size=n)
    y = np.digitize(hidden, np.quantile(hidden, np.arange(1, levels) / levels + 0.2 / levels))
    return X, y, rng


def neighbours(y, groups, rng, count):
    """Rows whose places in order are a tenth of all rows apart."""
    gap = len(y) // 10
    lower = rng.integers(0, len(y) - gap, count)
    order = np.argsort(y, kind="stable")
    return np.stack([order[lower + gap], order[lower]], axis=1)
