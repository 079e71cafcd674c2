"""Sparse matrices that users give: refused where their index arrays would lead outside the matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from nearer.errors import InputError

_REMEDY = "build it again, and change its index arrays by scipy's own methods only"
_COMPRESSED = ("csr", "csc", "bsr")


def well_formed(X: Any) -> Any:
    """X if its indices are all within it; compiled loops and scipy's own conversions rely on that.

    Repeated and unsorted columns are fine.

    >>> broken = sparse.csr_matrix(np.eye(2))
    >>> broken.indices[1] = 7
    >>> well_formed(broken)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    nearer.errors.InputError: the sparse matrix X has an entry in column 7, but its columns are 0 to 1: ...
    """
    if not sparse.issparse(X) or X.ndim != 2:
        return X
    if X.format in _COMPRESSED:
        _check_compressed(X)
    elif X.format == "coo":
        for axis, what in enumerate(("row", "column")):
            _check_indices(
                X.coords[axis] if hasattr(X, "coords") else (X.row, X.col)[axis], X.shape[axis], what
            )
        _need(len(X.data) == len(X.row) == len(X.col), "index arrays of different lengths")
    return X


def _check_compressed(X: Any) -> None:
    block = X.blocksize if X.format == "bsr" else (1, 1)
    lengths = [length // size for length, size in zip(X.shape, block, strict=True)]
    major, minor = lengths if X.format != "csc" else lengths[::-1]
    indptr, indices = np.asarray(X.indptr), np.asarray(X.indices)
    for array, name in ((indptr, "indptr"), (indices, "indices")):
        _need(
            array.ndim == 1 and array.dtype.kind in "iu", f"an array {name} that does not hold whole numbers"
        )
    _need(len(indptr) == major + 1, f"{len(indptr)} entries in indptr, not {major + 1}")
    entries = min(len(indices), len(X.data))
    _need(int(indptr[0]) == 0, f"an indptr that begins with {indptr[0]}, not 0")
    _need(bool((indptr[1:] >= indptr[:-1]).all()), "an indptr that falls from one entry to the next")
    _need(int(indptr[-1]) <= entries, f"an indptr that ends with {indptr[-1]}, beyond its {entries} entries")
    _check_indices(indices[: int(indptr[-1])], minor, "row" if X.format == "csc" else "column")


def _check_indices(indices: np.ndarray, length: int, what: str) -> None:
    _need(indices.dtype.kind in "iu", f"{what}s that are not whole numbers")
    if not len(indices):
        return
    worst = int(indices.min()) if indices.min() < 0 else int(indices.max())
    _need(0 <= worst < length, f"an entry in {what} {worst}, but its {what}s are 0 to {length - 1}")


def _need(holds: bool, fault: str) -> None:
    if not holds:
        raise InputError(f"the sparse matrix X has {fault}: {_REMEDY}")
