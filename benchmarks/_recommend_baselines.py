"""Simple rivals in numpy: popularity, EASE, ridge regression on features and chance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import lapack

from benchmarks._recommend_data import Problem
from benchmarks._recommend_metrics import Scores

Array = np.ndarray


def popularity(of: Problem, setting: dict[str, Any]) -> Scores:
    """Rank movies by their number of pairs."""
    return same_for_all(np.asarray(of.train.sum(axis=0)).ravel())


def same_for_all(scores: Array) -> Scores:
    """Return the same scores for every question."""
    return lambda rows: np.tile(scores, (rows.stop - rows.start, 1))


def ease(of: Problem, setting: dict[str, Any]) -> Scores:
    """Weigh the movies of a history: Steck's closed form, `B = I - P / diag(P)` with `P` inverse of `X'X + l2 I`."""
    gram = (of.train.T @ of.train).toarray()
    gram[np.diag_indices_from(gram)] += setting["l2"]
    weights = -inverse(gram)
    weights /= -np.diag(weights)
    np.fill_diagonal(weights, 0.0)
    history = of.train if of.history is None else of.history
    return lambda rows: history[rows] @ weights


def inverse(matrix: Array) -> Array:
    """Return the inverse of a positive definite matrix, by Cholesky.

    >>> inverse(np.array([[2.0, 1.0], [1.0, 2.0]])).round(3).tolist()
    [[0.667, -0.333], [-0.333, 0.667]]
    """
    factor, failed = lapack.dpotrf(matrix, lower=1)
    half, wrong = lapack.dpotri(factor, lower=1, overwrite_c=1)
    if failed or wrong:
        raise np.linalg.LinAlgError("the matrix is not positive definite")
    lower = np.tril(half)
    return lower + np.tril(half, -1).T


def ridge_users(of: Problem, setting: dict[str, Any]) -> Scores:
    """Predict the row of a new user from the features of users."""
    weights = _ridge(of.users, of.train, setting["l2"])
    assert of.new_users is not None
    predicted = _with_ones(of.new_users) @ weights
    return lambda rows: predicted[rows]


def ridge_movies(of: Problem, setting: dict[str, Any]) -> Scores:
    """Predict the column of a new movie from the features of movies: a regression for each user."""
    predicted = _new_columns(of, setting)
    return lambda rows: predicted[:, rows].T


def ridge_mean(of: Problem, setting: dict[str, Any]) -> Scores:
    """Predict the columns of new movies and average them over users: the unpersonalised order."""
    return same_for_all(_new_columns(of, setting).mean(axis=1))


def chance(of: Problem, setting: dict[str, Any]) -> Scores:
    """Rank at random."""
    random = np.random.default_rng(0)
    return lambda rows: random.random((rows.stop - rows.start, of.test.shape[1]))


def _new_columns(of: Problem, setting: dict[str, Any]) -> Array:
    weights = _ridge(of.movies, of.train.T.tocsr(), setting["l2"])
    assert of.new_movies is not None
    return _with_ones(of.new_movies) @ weights


def _ridge(features: Array, targets: sparse.csr_matrix, l2: float) -> Array:
    """Return the weights of all targets; the intercept is not penalised."""
    design = _with_ones(features)
    penalty = np.full(design.shape[1], l2)
    penalty[0] = 1e-9
    return np.linalg.solve(design.T @ design + np.diag(penalty), (targets.T @ design).T)


def _with_ones(features: Array) -> Array:
    return np.column_stack([np.ones(len(features)), features])


FITS: dict[str, Callable[[Problem, dict[str, Any]], Scores]] = {
    "popularity": popularity,
    "EASE": ease,
    "ridge": ridge_users,
    "ridge per user": ridge_movies,
    "ridge, mean of users": ridge_mean,
    "random": chance,
}
