"""What models of two sides share: indices and names, the pairs of the fit, and recommendations."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from nearer._utils.schema import Array, Names, need, optional
from nearer._utils.validation import whole
from nearer.interactions.lists import Recommended
from nearer.interactions.named import NamedPairs, as_pairs, numbers_of

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

SIDES = ("left", "right")
#: what a model file holds of them, in the words of `_utils/schema`
FITTED = {
    "left_names_": optional(Names("m")),
    "right_names_": optional(Names("n")),
    "seen_starts_": Array("m1", kinds="i", at_least=0),
    "seen_columns_": Array("q", kinds="i", at_least=0, below="n"),
}


class Recommending:
    """Recommendations of right entities to left ones, given by index or name."""

    left_embedding_: np.ndarray
    right_embedding_: np.ndarray
    left_names_: tuple[str, ...] | None
    right_names_: tuple[str, ...] | None
    seen_starts_: np.ndarray
    seen_columns_: np.ndarray

    def recommend(
        self, rows: ArrayLike | None = None, k: int = 10, exclude_seen: bool = True, names: bool = False
    ) -> Recommended:
        """Return the right entities with the highest similarity to each left entity.

        Parameters
        ----------
        rows : array, optional
            Left entities, by index or name; all by default.
        k : int
            Length of each list.
        exclude_seen : bool
            Leave out the pairs of the fit.
        names : bool
            Return names instead of indices.
        """
        check_is_fitted(self)
        whole("k", k)
        at = np.arange(len(self.left_embedding_)) if rows is None else self._rows(rows, 0)
        return self._named(self._top(at, k, self._excluded(at) if exclude_seen else None), names)

    @abstractmethod
    def _top(self, rows: np.ndarray, k: int, seen: csr_matrix | None) -> Recommended:
        """Return the best right entities of some left ones, without those that `seen` has."""

    def _excluded(self, rows: np.ndarray) -> csr_matrix:
        """Return what is not recommended to some left entities."""
        return self._seen_matrix()[rows]

    def _keep_pairs(self, pairs: NamedPairs) -> None:
        self.left_names_, self.right_names_ = pairs.names
        self.seen_starts_ = pairs.matrix.indptr.astype(np.int64)
        self.seen_columns_ = pairs.matrix.indices.astype(np.int64)

    def _seen_matrix(self) -> csr_matrix:
        """Return the pairs of the fit."""
        from scipy.sparse import csr_matrix

        ones = np.ones(len(self.seen_columns_))
        return csr_matrix((ones, self.seen_columns_, self.seen_starts_), shape=self._shape)

    def _known_pairs(self, R: Any) -> csr_matrix:
        """Return held-out pairs by the indices of this model."""
        return as_pairs(R).matched((self.left_names_, self.right_names_), self._shape)

    def _rows(self, rows: ArrayLike, side: int, parameter: str = "rows") -> np.ndarray:
        """Return indices of entities given by index or name."""
        names = (self.left_names_, self.right_names_)[side]
        return numbers_of(rows, names, self._shape[side], SIDES[side], parameter)

    def _named(self, found: Recommended, names: bool) -> Recommended:
        return found.named(self.right_names_, self._shape[1]) if names else found

    @property
    def _shape(self) -> tuple[int, int]:
        return len(self.left_embedding_), len(self.right_embedding_)

    def _check_seen(self) -> None:
        """Refuse pairs of a loaded model that do not fit together."""
        starts = self.seen_starts_
        need(len(starts) == len(self.left_embedding_) + 1, "seen_starts_ must have a row per left entity")
        need(int(starts[0]) == 0 and bool((np.diff(starts) >= 0).all()), "seen_starts_ must rise from 0")
        need(int(starts[-1]) == len(self.seen_columns_), "seen_starts_ must end with the pairs")
