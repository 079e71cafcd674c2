"""The frozen store beneath `Interactions`: attributes, indexing, equality, copies and a repr."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self, overload

import numpy as np
from numpy.typing import ArrayLike

from nearer._utils.text import counted
from nearer.interactions._frozen import Frozen
from nearer.interactions.content import Duplicates, PairContent

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


class PairStore(Frozen):
    """Distinct pairs with what belongs to them; `Interactions` adds the ways in and out."""

    __slots__ = ()
    _fields: PairContent
    _noun = "interactions"

    def __init__(
        self,
        left: ArrayLike,
        right: ArrayLike,
        weights: ArrayLike | None = None,
        times: ArrayLike | None = None,
        *,
        n_left: int | None = None,
        n_right: int | None = None,
        left_names: Iterable[str] | None = None,
        right_names: Iterable[str] | None = None,
        duplicates: Duplicates = "sum",
    ) -> None:
        from nearer.interactions.arrays import checked_pairs

        self._freeze(
            checked_pairs(
                left,
                right,
                weights,
                times,
                n_left=n_left,
                n_right=n_right,
                left_names=left_names,
                right_names=right_names,
                duplicates=duplicates,
            )
        )

    @property
    def left(self) -> np.ndarray:
        """The left index of every pair, int32 and read-only, ascending."""
        return self._fields.left

    @property
    def right(self) -> np.ndarray:
        """The right index of every pair, int32 and read-only, ascending for the same left."""
        return self._fields.right

    @property
    def weights(self) -> np.ndarray | None:
        """One float64 weight per pair, or None if all weigh 1."""
        return self._fields.weights

    @property
    def times(self) -> np.ndarray | None:
        """The time of every pair (int64 or float64), or None."""
        return self._fields.times

    @property
    def n_left(self) -> int:
        """The number of lefts, with pairs or without; indices run from 0 to `n_left - 1`."""
        return self._fields.n_left

    @property
    def n_right(self) -> int:
        """The number of rights, with pairs or without."""
        return self._fields.n_right

    @property
    def shape(self) -> tuple[int, int]:
        """`(n_left, n_right)`."""
        return self.n_left, self.n_right

    @property
    def left_names(self) -> tuple[str, ...] | None:
        """The name of every left, or None."""
        return self._fields.left_names

    @property
    def right_names(self) -> tuple[str, ...] | None:
        """The name of every right, or None."""
        return self._fields.right_names

    def csr(self) -> csr_matrix:
        """Return a scipy CSR matrix of shape `(n_left, n_right)` with the weights, or ones; a copy.

        >>> from nearer import Interactions
        >>> Interactions([0, 2], [1, 0], weights=[3, 1]).csr().toarray()
        array([[0., 3.],
               [0., 0.],
               [1., 0.]])
        """
        from scipy.sparse import csr_matrix

        data = np.ones(len(self)) if self.weights is None else self.weights.copy()
        matrix = csr_matrix((data, self.right.copy(), self._fields.starts()), shape=self.shape, copy=False)
        matrix.has_sorted_indices = matrix.has_canonical_format = True
        return matrix

    def __len__(self) -> int:
        return len(self.left)

    @overload
    def __getitem__(self, key: int) -> tuple[int, int]: ...

    @overload
    def __getitem__(self, key: Any) -> Self: ...

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, (int, np.integer)) and not isinstance(key, bool):
            return int(self.left[key]), int(self.right[key])
        rows = np.arange(len(self))[key if isinstance(key, slice) else _one_dimensional(key)]
        ordered = np.sort(rows)
        if (ordered[1:] == ordered[:-1]).any():
            raise IndexError("a pair was chosen twice: every pair occurs once in interactions")
        return self._of(self._fields.take(ordered))

    def __repr__(self) -> str:
        cells = self.n_left * self.n_right
        parts = [counted(len(self), "pair"), f"{self.n_left:,} left, {self.n_right:,} right"]
        parts.append(f"density {100 * len(self) / cells if cells else 0:.3g}%")
        names = [side for side in ("left", "right") if getattr(self, f"{side}_names") is not None]
        if names:
            parts.append("names" if len(names) == 2 else f"{names[0]} names")
        parts += [part for part in ("weights", "times") if getattr(self, part) is not None]
        if self.n_dropped:
            parts.append(f"{self.n_dropped:,} dropped")
        if self.ignored_columns:
            parts.append(f"ignored columns: {', '.join(self.ignored_columns)}")
        return f"Interactions({', '.join(parts)})"


def _one_dimensional(key: Any) -> np.ndarray:
    array = np.asarray(key)
    if not array.size and array.dtype.kind == "f":  # the empty list
        array = array.astype(np.intp)
    if array.ndim != 1:
        raise IndexError(f"pairs are chosen by a one-dimensional index, got the shape {array.shape}")
    return array
