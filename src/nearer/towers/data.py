"""What `TwoTower` learns from: pairs, weights of unobserved ones, and a part that is held out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from nearer._utils.text import warn
from nearer.errors import InputError
from nearer.interactions.named import NamedPairs
from nearer.metrics import mean_precision

#: weights of unobserved pairs and factors of imputed scores, per side
SideWeights = tuple[np.ndarray | None, np.ndarray | None]


def check_learnable(pairs: NamedPairs) -> None:
    """Refuse data from which nothing can be learned."""
    if pairs.matrix.nnz == 0:
        raise InputError("holds no pairs: there is nothing to learn from", parameter="R")
    if pairs.matrix.shape[1] < 2 or pairs.matrix.shape[0] < 2:
        side = "right" if pairs.matrix.shape[1] < 2 else "left"
        raise InputError(
            f"has a single {side} entity: similarities need two or more on either side", parameter="R"
        )


def checked_weights(
    pairs: NamedPairs,
    left: ArrayLike | None,
    right: ArrayLike | None,
    imputed: tuple[ArrayLike, ArrayLike] | None,
) -> tuple[SideWeights, SideWeights]:
    """Return weights and imputed factors of both sides as arrays."""
    found = []
    factors: list[Any] = [None, None]
    if imputed is not None:
        factors = [np.asarray(part, dtype=float) for part in imputed]
    if imputed is not None and (len(factors) != 2 or factors[0].shape[1:] != factors[1].shape[1:]):
        raise InputError("must be two arrays with the same number of columns", parameter="imputed")
    sides = zip((left, right), factors, pairs.matrix.shape, ("left", "right"), strict=True)
    for weights, factor, count, name in sides:
        if weights is not None:
            weights = np.asarray(weights, dtype=float)
            if weights.shape != (count,) or not np.isfinite(weights).all() or (weights < 0).any():
                raise InputError(f"must hold {count} numbers of 0 or more", parameter=f"{name}_weights")
        if factor is not None and (factor.ndim != 2 or len(factor) != count or not np.isfinite(factor).all()):
            raise InputError(f"needs {count} finite rows for the {name} side", parameter="imputed")
        found.append((weights, factor))
    return found[0], found[1]


def held_out_part(
    matrix: sparse.csr_matrix, share: float, rng: np.random.Generator, most_rows: int
) -> tuple[sparse.csr_matrix, Callable[[np.ndarray, np.ndarray], float]]:
    """Return the pairs to train on, and a function from embeddings to MAP@5 on the others.

    It judges at most `most_rows` left entities.
    """
    from nearer.towers.ranking import top_k

    test = rng.random(matrix.nnz) < share
    parts = []
    for chosen in (~test, test):
        part = matrix.copy()
        part.data = np.where(chosen, part.data, 0.0)
        part.eliminate_zeros()
        parts.append(part)
    train, held_out = parts
    rows = np.flatnonzero(np.diff(held_out.indptr))
    rows = np.sort(rng.choice(rows, min(most_rows, len(rows)), replace=False))
    if not len(rows) or not train.nnz:
        raise InputError(f"holds out too few of {matrix.nnz} pairs: leave it out", parameter="validation")
    wanted, seen = held_out[rows], train[rows]

    def score(P: np.ndarray, Q: np.ndarray) -> float:
        return mean_precision(top_k(P[rows], Q, 5, seen).items, wanted, k=5)

    return train, score


def warn_if_below_popularity(
    score: Callable[[np.ndarray, np.ndarray], float],
    embeddings: tuple[np.ndarray, np.ndarray],
    train: sparse.csr_matrix,
) -> None:
    """Say so if the same list for everybody ranks held-out pairs better; `score` is that of `held_out_part`."""
    counts = np.bincount(train.indices, minlength=train.shape[1]).astype(float)
    ours, popular = score(*embeddings), score(np.ones((train.shape[0], 1)), counts[:, None])
    if ours < popular:
        warn(
            f"on held-out pairs the towers have MAP@5 {ours:.4f}, and the most popular right objects for everybody "
            f"{popular:.4f}: fit longer, try other settings, or recommend what is popular"
        )
