"""Exact top lists from embeddings, some rows at a time."""

from __future__ import annotations

import numpy as np
import torch
from scipy import sparse

from nearer.interactions.lists import Excluded, Recommended, top_lists


def top_k(
    P: np.ndarray, Q: np.ndarray, k: int, seen: sparse.csr_matrix | None = None, device: str = "cpu"
) -> Recommended:
    """Return the k columns of P Q' with the largest entries per row, without those that `seen` has.

    >>> top_k(np.eye(2), np.array([[1.0, 3.0], [2.0, 1.0], [0.0, 2.0]]), 2).items
    array([[1, 0],
           [0, 2]])
    """
    right = torch.as_tensor(Q, device=device).T

    def best(at: slice, excluded: Excluded, k: int) -> tuple[np.ndarray, np.ndarray]:
        found = torch.as_tensor(P[at], device=device) @ right
        if len(excluded[0]):
            found[torch.from_numpy(excluded[0]), torch.from_numpy(excluded[1])] = -torch.inf
        chosen = found.topk(k, dim=1)
        return chosen.indices.cpu().numpy(), chosen.values.cpu().numpy()

    return top_lists(best, (len(P), len(Q)), k, seen, P.dtype)


def unit_rows(X: np.ndarray) -> np.ndarray:
    """Return rows divided by their lengths; a row of zeros stays."""
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(lengths > 0, lengths, 1)
