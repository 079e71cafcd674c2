"""NamedPairs as a sparse matrix with names: what `TwoTower` accepts, and how it is matched with what a model knows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from nearer.errors import InputError
from nearer.interactions import Interactions
from nearer.metrics import mean_precision

NamesOfBoth = tuple[tuple[str, ...] | None, tuple[str, ...] | None]
#: weights of unobserved pairs and factors of imputed scores, per side
SideWeights = tuple[np.ndarray | None, np.ndarray | None]


class NamedPairs(NamedTuple):
    """A sparse matrix of weights with sorted rows, and the names of rows and columns."""

    matrix: sparse.csr_matrix
    names: NamesOfBoth

    def matched(self, names: NamesOfBoth, shape: tuple[int, int]) -> sparse.csr_matrix:
        """Return the matrix by the rows and columns of a model."""
        matrix = self.with_columns(names[1], shape[1])
        if self.names[0] is not None and names[0] is not None and self.names[0] != names[0]:
            at = _positions(self.names[0], names[0], "left")
            move = sparse.csr_matrix((np.ones(len(at)), (at, np.arange(len(at)))), shape=(shape[0], len(at)))
            matrix = sparse.csr_matrix(move @ matrix)
        if matrix.shape[0] != shape[0]:
            raise InputError(
                f"has {matrix.shape[0]} rows, but the model knows {shape[0]} left entities"
                + (": it looks transposed" if matrix.shape[::-1] == shape else ""),
                parameter="R",
            )
        return matrix

    def with_columns(self, names: tuple[str, ...] | None, count: int) -> sparse.csr_matrix:
        """Return the matrix by the columns of a model."""
        matrix = self.matrix
        if self.names[1] is not None and names is not None and self.names[1] != names:
            at = _positions(self.names[1], names, "right")
            move = sparse.csr_matrix((np.ones(len(at)), (np.arange(len(at)), at)), shape=(len(at), count))
            matrix = sparse.csr_matrix(matrix @ move)
            matrix.sort_indices()
        if matrix.shape[1] != count:
            raise InputError(
                f"has {matrix.shape[1]} columns, but the model knows {count} entities there", parameter="R"
            )
        return matrix


def as_pairs(R: Any, left: Any = None, right: Any = None) -> NamedPairs:
    """Return interactions or a sparse matrix as pairs; features help to see that a matrix is transposed."""
    if sparse.issparse(R):
        R = Interactions.from_sparse(R)
    if not isinstance(R, Interactions):
        raise InputError(
            f"must be nearer.Interactions or a scipy.sparse matrix, not {type(R).__name__}", parameter="R"
        )
    sizes = tuple(None if X is None else np.shape(X)[0] for X in (left, right))
    wrong = [size for size, true in zip(sizes, R.shape, strict=True) if size not in (None, true)]
    turned = all(size in (None, true) for size, true in zip(sizes, R.shape[::-1], strict=True))
    if wrong and turned:
        raise InputError(
            f"has {R.shape[0]} rows and {R.shape[1]} columns, but there are features of "
            f"{' and '.join(str(size) for size in sizes if size is not None)} entities: it looks transposed; rows are "
            "left entities",
            parameter="R",
        )
    return NamedPairs(R.csr(), (R.left_names, R.right_names))


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


def _positions(names: tuple[str, ...], known: tuple[str, ...], side: str) -> np.ndarray:
    place = {name: k for k, name in enumerate(known)}
    strange = next((name for name in names if name not in place), None)
    if strange is not None:
        raise InputError(
            f"names the {side} entity {strange!r}, which the model does not know: leave it out, or embed it by its "
            "features or history",
            parameter="R",
        )
    return np.array([place[name] for name in names], dtype=np.int64)
