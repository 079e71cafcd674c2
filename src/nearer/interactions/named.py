"""Pairs as a sparse matrix with names, and how they are matched with what a model knows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from nearer.errors import InputError
from nearer.interactions.interactions import Interactions

NamesOfBoth = tuple[tuple[str, ...] | None, tuple[str, ...] | None]


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


def _strange(given: np.ndarray, count: int) -> str:
    """Return the first number that is not an index, as the end of a sentence.

    >>> _strange(np.array([0, 7, 9]), 3), _strange(np.array([0.5]), 3)
    (', not 7', ', not 0.5')
    """
    outside = [number for number in given.tolist() if number not in range(count)]
    return f", not {outside[0]!r}" if outside else ""


def numbers_of(
    rows: ArrayLike, names: tuple[str, ...] | None, count: int, side: str, parameter: str = "rows"
) -> np.ndarray:
    """Return indices of entities of a side, given by index or name."""
    given = np.asarray(rows).ravel()
    if given.dtype.kind in "US":
        known = {} if names is None else {text: k for k, text in enumerate(names)}
        strange = [text for text in given.tolist() if text not in known]
        if strange:
            raise InputError(
                f"must hold {side} entities of the fit: the model does not know {strange[0]!r}",
                parameter=parameter,
            )
        return np.array([known[text] for text in given.tolist()], dtype=np.int64)
    if given.dtype.kind not in "iu" or (len(given) and not 0 <= given.min() <= given.max() < count):
        raise InputError(
            f"must hold indices of {side} entities from 0 to {count - 1}, or names{_strange(given, count)}",
            parameter=parameter,
        )
    return given.astype(np.int64)
