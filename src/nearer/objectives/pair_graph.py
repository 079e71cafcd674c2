"""Pairs of objects: their squared distances, and the Laplacian that turns slopes by these into a gradient."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class PairGraph:
    """A graph over n objects whose edges are the m pairs that a loss acts through.

    Parameters
    ----------
    pairs : int array (m, 2)
        Two different objects of each pair, each pair once.
    n_objects : int
        How many objects there are.

    Examples
    --------
    >>> graph = PairGraph(np.array([[0, 1]]), 3)
    >>> graph.distances(np.array([[0.0], [2.0], [5.0]])), graph.laplacian(np.array([1.0])).toarray()[0]
    (array([4.]), array([ 1., -1.,  0.]))
    """

    def __init__(self, pairs: np.ndarray, n_objects: int):
        self.pairs = np.ascontiguousarray(pairs, dtype=np.int32)
        self.n_objects = n_objects

    @classmethod
    def of(cls, *ends: np.ndarray, n_objects: int) -> tuple[PairGraph, list[np.ndarray]]:
        """Return the graph of all pairs in some arrays (k, 2), and for each array the places of its pairs.

        >>> graph, (place,) = PairGraph.of(np.array([[2, 0], [1, 2], [0, 2]]), n_objects=3)
        >>> graph.pairs.tolist(), place
        ([[0, 2], [1, 2]], array([0, 1, 0]))
        """
        flat = np.concatenate([np.sort(pairs.astype(np.int64), axis=1) for pairs in ends]) @ [n_objects, 1]
        found, place = np.unique(flat, return_inverse=True)
        graph = cls(np.stack([found // n_objects, found % n_objects], axis=1), n_objects)
        return graph, np.split(place, np.cumsum([len(pairs) for pairs in ends])[:-1])

    def __len__(self) -> int:
        return len(self.pairs)

    def distances(self, X: np.ndarray) -> np.ndarray:
        """Return the squared distances of the pairs, between rows of X."""
        from nearer._compiled.points import pair_distances

        found = np.empty(len(self.pairs))
        pair_distances(np.ascontiguousarray(X), self.pairs, found)
        return found

    def laplacian(self, slopes: np.ndarray) -> csr_array:
        """Return the sum of `slope * (e_i - e_j)(e_i - e_j)ᵀ` over the pairs: sparse, its rows sum to zero."""
        from scipy.sparse import csr_array

        n = self.n_objects
        entries, columns, starts = self._pattern
        values = np.concatenate([-slopes, self.sums(slopes)])[entries]
        return csr_array((values, columns, starts), shape=(n, n))

    def sums(self, numbers: np.ndarray) -> np.ndarray:
        """Return, for every object, the sum of the numbers of its pairs."""
        i, j = self.pairs.T
        return np.bincount(i, numbers, self.n_objects) + np.bincount(j, numbers, self.n_objects)

    @cached_property
    def _pattern(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return where slopes (one per pair, twice) and row sums go in a CSR matrix: the same at every step."""
        from scipy.sparse import csr_array

        n, m = self.n_objects, len(self.pairs)
        i, j = self.pairs.T
        number, diagonal = np.arange(1, m + 1), np.arange(n)  # from 1, to tell entries from stored zeros
        values = np.concatenate([number, number, m + 1 + diagonal])
        rows, columns = np.concatenate([i, j, diagonal]), np.concatenate([j, i, diagonal])
        pattern = csr_array((values, (rows, columns)), shape=(n, n))
        return pattern.data - 1, pattern.indices, pattern.indptr
