"""The loops of `blocks.py` in numpy."""

from __future__ import annotations

import numpy as np


def times(blocks: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the product of the lower triangle of every block with its row."""
    return np.einsum("eij,ej->ei", np.tril(blocks), rows)


def transposed_times(blocks: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the product of the transposed lower triangle of every block with its row."""
    return np.einsum("eij,ei->ej", np.tril(blocks), rows)


def without(directions: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the product of `I - Zᵀ Z` with every row, for its directions Z."""
    along = np.einsum("ekd,ed->ek", directions, rows)
    return rows - np.einsum("ekd,ek->ed", directions, along)
