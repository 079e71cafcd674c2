"""Exact top lists from embeddings, some rows at a time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from scipy import sparse

#: scores in memory at a time
_SCORES = 20_000_000


class Recommended(NamedTuple):
    """The best right entities per row, the best first.

    Attributes
    ----------
    items : array of shape (rows, k)
        Their indices, or their names. Rows with fewer than k candidates end with -1, or with empty names.
    scores : array of shape (rows, k)
        Their similarities; -inf if there is no candidate left.
    """

    items: np.ndarray
    scores: np.ndarray


def top_k(
    P: np.ndarray, Q: np.ndarray, k: int, seen: sparse.csr_matrix | None = None, device: str = "cpu"
) -> Recommended:
    """Return the k columns of P Q' with the largest entries per row, without those that `seen` has.

    >>> top_k(np.eye(2), np.array([[1.0, 3.0], [2.0, 1.0], [0.0, 2.0]]), 2).items
    array([[1, 0],
           [0, 2]])
    """
    k = min(k, len(Q))
    items, scores = np.empty((len(P), k), np.int64), np.empty((len(P), k), P.dtype)
    right = torch.as_tensor(Q, device=device).T
    step = max(_SCORES // max(len(Q), 1), 1)
    for start in range(0, len(P), step):
        at = slice(start, min(start + step, len(P)))
        found = torch.as_tensor(P[at], device=device) @ right
        if seen is not None:
            part = seen[at]
            rows = torch.from_numpy(np.repeat(np.arange(part.shape[0]), np.diff(part.indptr)))
            found[rows, torch.from_numpy(part.indices.astype(np.int64))] = -torch.inf
        best = found.topk(k, dim=1)
        scores[at] = best.values.cpu().numpy()
        items[at] = best.indices.cpu().numpy()
    items[np.isneginf(scores)] = -1
    return Recommended(items, scores)


def unit_rows(X: np.ndarray) -> np.ndarray:
    """Return rows divided by their lengths; a row of zeros stays."""
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(lengths > 0, lengths, 1)
