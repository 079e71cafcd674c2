"""Data sets with two classes for the experiments on AUC: their rows, splits and scaling.

Of sets that come with a test part, the training part is taken, as in the paper. Sets of many classes become two random
groups of classes, others in every trial. rcv1 and real-sim are not to be had: documents are drawn at their shapes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks._data import load

TRAIN_SHARE = 0.75

Rows = Any  # an array or a CSR matrix


def matrix(arrays: dict[str, np.ndarray], name: str) -> sparse.csr_matrix:
    """A sparse matrix that is stored as four arrays."""
    parts = (arrays[f"{name}_data"].astype(np.float64), arrays[f"{name}_indices"], arrays[f"{name}_indptr"])
    return sparse.csr_matrix(parts, shape=tuple(arrays[f"{name}_shape"].tolist()))


def _a9a() -> tuple[Rows, np.ndarray]:
    arrays = load("a9a")
    return matrix(arrays, "X_train"), arrays["y_train"]


def _ijcnn1() -> tuple[Rows, np.ndarray]:
    arrays = load("ijcnn1")  # more than half of its entries are there: quicker as an array
    return matrix(arrays, "X_train").toarray(), arrays["y_train"]


def _phishing() -> tuple[Rows, np.ndarray]:
    arrays = load("phishing")
    return matrix(arrays, "X"), arrays["y"]


def _usps() -> tuple[Rows, np.ndarray]:
    arrays = load("usps")
    return arrays["X_train"].astype(np.float64), arrays["y_train"]


def _mnist() -> tuple[Rows, np.ndarray]:
    arrays = load("mnist")
    return arrays["X_train"].astype(np.float64), arrays["y_train"]


def _covtype() -> tuple[Rows, np.ndarray]:
    arrays = load("covtype_20k")
    return arrays["X"].astype(np.float64), arrays["y"]


def _w8a() -> tuple[Rows, np.ndarray]:
    arrays = load("w8a_train")
    return matrix(arrays, "X"), arrays["y"]


def _sector() -> tuple[Rows, np.ndarray]:
    arrays = load("sector")
    return matrix(arrays, "X_train"), arrays["y_train"]


def documents(
    n_rows: int, n_words: int, entries: float, positive: float, seed: int
) -> tuple[sparse.csr_matrix, np.ndarray]:
    """Bags of words of unit length and labels of -1 and 1.

    Words are as frequent as in texts (Zipf), and each is more frequent in one of the classes, by a factor of its own.
    43 words in a hundred follow their document's class, the others do not: linear models then get about 97 % of the
    labels right, as is known of rcv1 and real-sim. `entries` is the number of different words of a document, on
    average, and `positive` the share of that class.
    """
    rng = np.random.default_rng(seed)
    frequencies = 1 / (np.arange(n_words) + 20.0)
    tilt = np.exp(rng.normal(size=n_words))
    y = np.where(rng.uniform(size=n_rows) < positive, 1, -1)
    lengths = rng.poisson(rng.gamma(2.0, 1.02 * entries / 2, size=n_rows)) + 2
    owner = np.repeat(np.arange(n_rows), lengths)
    topical = np.where(rng.uniform(size=len(owner)) < 0.43, y[owner], 0)
    words = np.empty(len(owner), np.int64)
    for side in (-1, 0, 1):
        ends = np.cumsum(frequencies * tilt**side)
        mine = topical == side
        words[mine] = np.searchsorted(ends, rng.uniform(0, ends[-1], mine.sum()))
    counts = sparse.csr_matrix((np.ones(len(owner)), (owner, words)), shape=(n_rows, n_words))
    return _weighted(counts), y


def _weighted(counts: sparse.csr_matrix) -> sparse.csr_matrix:
    """Logarithms of counts times those of inverse document frequencies, rows of unit length."""
    counts.sum_duplicates()
    seen_in = np.bincount(counts.indices, minlength=counts.shape[1])
    counts.data = (1 + np.log(counts.data)) * np.log(counts.shape[0] / np.maximum(seen_in, 1))[counts.indices]
    lengths = np.sqrt(np.asarray(counts.multiply(counts).sum(axis=1)).ravel())
    return sparse.csr_matrix(sparse.diags(1 / np.maximum(lengths, 1e-12)) @ counts)


def _like_rcv1() -> tuple[Rows, np.ndarray]:
    return documents(20_242, 47_236, 74, 0.52, seed=1)


def _like_real_sim() -> tuple[Rows, np.ndarray]:
    return documents(72_309, 20_958, 51, 0.31, seed=2)


#: gives the rows, as they come, and their labels, of two classes or more
SETS: dict[str, Callable[[], tuple[Rows, np.ndarray]]] = {
    "a9a": cache(_a9a),
    "ijcnn1": cache(_ijcnn1),
    "phishing": cache(_phishing),
    "usps": cache(_usps),
    "mnist": cache(_mnist),
    "covtype": cache(_covtype),
    "w8a": cache(_w8a),
    "sector": cache(_sector),
    "like rcv1": cache(_like_rcv1),
    "like real-sim": cache(_like_real_sim),
}
#: rows of unit length whose features carry weights: they stay as they are
TEXTS = ("sector", "like rcv1", "like real-sim")


def split(name: str, trial: int) -> tuple[Rows, np.ndarray, Rows, np.ndarray]:
    """Three quarters of the rows to learn from, a quarter to be judged by, scaled; labels are -1 and 1.

    Returns
    -------
    X_train, y_train, X_test, y_test
    """
    X, labels = SETS[name]()
    y = two_groups(labels, trial)
    order = np.random.default_rng([trial, 0]).permutation(X.shape[0])
    cut = int(TRAIN_SHARE * X.shape[0])
    train, test = order[:cut], order[cut:]
    X_train, X_test = (X[train], X[test]) if name in TEXTS else scaled(X[train], X[test])
    if sparse.issparse(X):
        X_train.sum_duplicates()  # columns in order: what all solvers want, and would do at every fit
    return X_train, y[train], X_test, y[test]


def two_groups(labels: np.ndarray, trial: int) -> np.ndarray:
    """-1 and 1: the two labels in their order, or a random half of more labels against the others.

    >>> two_groups(np.array([0, 1, 1]), 5)
    array([-1,  1,  1])
    """
    kinds = np.unique(labels)
    if len(kinds) > 2:
        kinds = np.random.default_rng([trial, 1]).permutation(kinds)
    return np.where(np.isin(labels, kinds[len(kinds) // 2 :]), 1, -1)


def scaled(train: Rows, test: Rows) -> tuple[Rows, Rows]:
    """Features of equal size, by what the training rows say: arrays to mean 0 and deviation 1, CSR to at most 1."""
    if not sparse.issparse(train):
        mean, deviation = train.mean(axis=0), train.std(axis=0)
        deviation[deviation == 0] = 1.0
        return (train - mean) / deviation, (test - mean) / deviation
    largest = abs(train).max(axis=0).toarray().ravel()
    factors = sparse.diags(1 / np.where(largest > 0, largest, 1.0))
    return sparse.csr_matrix(train @ factors), sparse.csr_matrix(test @ factors)
