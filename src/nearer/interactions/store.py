"""The frozen store beneath `Interactions`: attributes, indexing, equality, copies and a repr."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Self, overload

import numpy as np
from numpy.typing import ArrayLike

from nearer._utils.text import counted
from nearer.interactions.content import Duplicates, PairContent

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


#: fields that say what the pairs are; the others say what they were read from
_N_COMPARED = PairContent._fields.index("ignored_columns")


class PairStore:
    """Distinct pairs with what belongs to them; `Interactions` adds the ways in and out."""

    __slots__ = ("_fields",)
    __hash__: ClassVar[None]  # type: ignore[assignment]
    _fields: PairContent

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

    @classmethod
    def _of(cls, fields: PairContent) -> Self:
        """Return a container of fields that are known to be valid."""
        new = cls.__new__(cls)
        new._freeze(fields)
        return new

    def _freeze(self, fields: PairContent) -> None:
        for value in fields:
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
        object.__setattr__(self, "_fields", fields)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"interactions are frozen: build new ones instead of setting {name!r}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"interactions are frozen: build new ones instead of deleting {name!r}")

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

    @property
    def ignored_columns(self) -> tuple[str, ...]:
        """The columns of the file or frame that were not used when the object was built from it."""
        return self._fields.ignored_columns

    @property
    def n_dropped(self) -> int:
        """How many invalid rows were left out when the object was built."""
        return self._fields.n_dropped

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

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PairStore):
            return NotImplemented
        return all(map(_same, self._fields[:_N_COMPARED], other._fields[:_N_COMPARED]))

    __hash__ = None

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

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self)._of, (self._fields,)


def _one_dimensional(key: Any) -> np.ndarray:
    array = np.asarray(key)
    if not array.size and array.dtype.kind == "f":  # the empty list
        array = array.astype(np.intp)
    if array.ndim != 1:
        raise IndexError(f"pairs are chosen by a one-dimensional index, got the shape {array.shape}")
    return array


def _same(mine: Any, theirs: Any) -> bool:
    arrays = isinstance(mine, np.ndarray) or isinstance(theirs, np.ndarray)
    return np.array_equal(mine, theirs) if arrays else bool(mine == theirs)
