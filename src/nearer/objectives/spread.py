"""Two sets, their pairs and the parameters of their towers, spread over the processes of a fit.

A process has some consecutive entities of either side, the pairs of its left entities, and the weights of the ids of
its entities. All other parameters are common: every process has them, and all change them alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from nearer._utils.group import ALONE, Group, Shares
from nearer.objectives.parameters import OneTensor
from nearer.objectives.tower import Tower

#: rows or columns of a matrix beyond which its products with itself are not formed
_LARGE = 1024


class SpreadParts(NamedTuple):
    """How left entities, right entities and observed pairs are spread.

    >>> SpreadParts.alone(3, 2, 4).pairs.own
    slice(0, 4, None)
    """

    left: Shares
    right: Shares
    pairs: Shares

    @classmethod
    def alone(cls, n_left: int, n_right: int, n_pairs: int) -> SpreadParts:
        """Return the only part of a process without others."""
        left, right, pairs = (Shares(ALONE, (0, count)) for count in (n_left, n_right, n_pairs))
        return cls(left, right, pairs)

    @property
    def group(self) -> Group:
        """The processes."""
        return self.left.group


class _Piece(NamedTuple):
    """Consecutive parameters: where this process has them, and how the rows of ids are spread; None if common."""

    own: slice
    shape: tuple[int, ...]
    shares: Shares | None


class SpreadTensor(OneTensor):
    """One torch tensor of which each process has a part: sums run over all parts, and over common numbers once.

    Parameters
    ----------
    towers : pair of Tower
        The towers of this process's entities.
    parts : SpreadParts
        How these are spread.
    device, dtype : torch.device, torch.dtype
        Where `restored` puts it, and in which precision.
    """

    def __init__(self, towers: Sequence[Tower], parts: SpreadParts, device: Any, dtype: Any):
        super().__init__(device, dtype)
        self.group, self._pieces, at = parts.group, list[_Piece](), 0
        for tower, shares in zip(towers, (parts.left, parts.right), strict=True):
            for shape, has_row_per_entity in tower.parts():
                size = 1
                for length in shape:
                    size *= length
                self._pieces.append(
                    _Piece(slice(at, at + size), shape, shares if has_row_per_entity else None)
                )
                at += size
        self.n_own, self.count = at, sum(self._n_all(piece) for piece in self._pieces)

    def inner(self, x: Tensor, y: Tensor) -> float:
        """Return the sum of products over all processes."""
        return self.group.total(self.own_inner(x, y))

    def own_inner(self, x: Tensor, y: Tensor) -> float:
        """Return this process's share of the sum of products; process 0 has that of the common numbers."""
        return sum(super(SpreadTensor, self).inner(x[at], y[at]) for at in self._counted())

    def mean(self, x: Tensor) -> float:
        """Return the mean of all numbers."""
        return self.group.total(sum(float(x[at].double().sum()) for at in self._counted())) / self.count

    def largest(self, x: Tensor) -> float:
        """Return the largest number."""
        return self.group.largest(super().largest(x))

    def is_finite(self, x: Tensor) -> bool:
        """Return whether every number of every process is finite."""
        return self.group.largest(0.0 if super().is_finite(x) else 1.0) == 0

    def once(self, x: Tensor) -> Tensor:
        """Set the common numbers to zero in all processes but one, so that a sum counts them once."""
        if not self.group.is_first:
            for piece in self._common():
                x[piece.own] = 0
        return x

    def summed(self, x: Tensor) -> Tensor:
        """Replace the common numbers by their sums over all processes."""
        common = self._common()
        if common:
            sums = self.group.sums_of(*(x[piece.own] for piece in common))
            for piece, total in zip(common, sums, strict=True):
                x[piece.own] = total
        return x

    def matrices(self, x: Tensor) -> list[Tensor]:
        """Return views of the matrices among the parameters: rows of ids, of this process's entities, and layers."""
        return [x[piece.own].view(piece.shape) for piece in self._matrices()]

    def products_of_matrices(self, x: Tensor) -> list[tuple[Tensor | None, Tensor | None]]:
        """Return MM' and M'M for each matrix, the latter over the rows of all processes; None for large ones."""
        found: list[tuple[Tensor | None, Tensor | None]] = []
        for piece, matrix in zip(self._matrices(), self.matrices(x), strict=True):
            rows, columns = matrix.shape
            by_columns = matrix.T @ matrix if columns <= _LARGE else None
            if piece.shares is not None and by_columns is not None:
                by_columns = self.group.sum_of(by_columns)
            # entities are alike: what they have in common is in the columns
            by_rows = matrix @ matrix.T if piece.shares is None and rows <= _LARGE else None
            found.append((by_rows, by_columns))
        return found

    def own(self, whole: Tensor) -> Tensor:
        """Return this process's part of all parameters."""
        found, at = whole.new_empty(self.n_own), 0
        for piece in self._pieces:
            numbers = whole[at : at + self._n_all(piece)]
            if piece.shares is not None:
                numbers = numbers.view(-1, piece.shape[1])[piece.shares.own].reshape(-1)
            found[piece.own] = numbers
            at += self._n_all(piece)
        return found

    def whole(self, own: Tensor) -> Tensor:
        """Return all parameters from the parts of the processes."""
        found, at = own.new_empty(self.count), 0
        for piece in self._pieces:
            numbers = own[piece.own]
            if piece.shares is not None:
                numbers = piece.shares.joined(numbers.view(piece.shape)).reshape(-1)
            found[at : at + self._n_all(piece)] = numbers
            at += self._n_all(piece)
        return found

    def own_state(self, state: Any) -> Any:
        """Return this process's part of a state: arrays of one number per parameter are cut."""
        return self._turned(state, self.count, self.own)

    def whole_state(self, state: Any) -> Any:
        """Return the state of all processes from the parts."""
        return self._turned(state, self.n_own, self.whole)

    def _turned(self, state: Any, count: int, turn: Callable[[Tensor], Tensor]) -> Any:
        if state is None or self.group.alone:
            return state
        arrays = {
            name: turn(torch.from_numpy(array)).numpy() if array.shape == (count,) else array
            for name, array in state.arrays.items()
        }
        return replace(state, arrays=arrays)

    def _n_all(self, piece: _Piece) -> int:
        """Return the numbers of a piece in all processes together."""
        if piece.shares is None:
            return piece.own.stop - piece.own.start
        return piece.shares.count * piece.shape[1]

    def _matrices(self) -> list[_Piece]:
        return [piece for piece in self._pieces if len(piece.shape) == 2 and min(self._sizes(piece)) > 1]

    def _sizes(self, piece: _Piece) -> tuple[int, int]:
        """Return the rows of a matrix in all processes, and its columns."""
        return self._n_all(piece) // piece.shape[1], piece.shape[1]

    def _common(self) -> list[_Piece]:
        return [piece for piece in self._pieces if piece.shares is None and piece.own.stop > piece.own.start]

    def _counted(self) -> list[slice]:
        """Return the numbers that this process counts in sums."""
        return [piece.own for piece in self._pieces if piece.shares is not None or self.group.is_first]
