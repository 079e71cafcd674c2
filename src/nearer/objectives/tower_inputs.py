"""What a tower knows of its entities: the columns of its first layer. One-hot ids and sparse rows are never dense."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from nearer.objectives.pair_products import Pattern, add_sums, sums

#: entities of a tower: a range of them, or their indices
Rows = slice | Tensor


class Block(Protocol):
    """Some columns of the input of a tower, one row per entity."""

    n_rows: int
    n_columns: int

    def times(self, weights: Tensor, rows: Rows) -> Tensor:
        """Return the product of these rows with a matrix that has one row per column."""

    def add_gradient(self, into: Tensor, rows: Rows, slopes: Tensor) -> None:
        """Add the transposed product of these rows with `slopes` to a matrix with one row per column."""

    def squared_lengths(self) -> Tensor:
        """Return the squared length of every row."""

    def column_squares(self, weights: Tensor) -> Tensor:
        """Return the weighted sum of squares of every column; one weight per row."""


class NoisyBlock(Block, Protocol):
    """A block of which some entries can be left out at random."""

    def redraw(self, dropout: float, rng: np.random.Generator | None) -> None:
        """Leave out this share of the entries, others than before; without a generator, none."""


class Ids:
    """One column per entity: the product is a look-up.

    >>> Ids(3).times(torch.eye(3), torch.tensor([2, 0]))
    tensor([[0., 0., 1.],
            [1., 0., 0.]])
    """

    def __init__(self, n_rows: int):
        self.n_rows = self.n_columns = n_rows

    def times(self, weights: Tensor, rows: Rows) -> Tensor:
        """Return the rows of the matrix."""
        return weights[rows]

    def add_gradient(self, into: Tensor, rows: Rows, slopes: Tensor) -> None:
        """Add slopes to the rows that were looked up."""
        if isinstance(rows, slice):
            into[rows] += slopes
        else:
            into.index_add_(0, rows, slopes)

    def squared_lengths(self) -> Tensor:
        """Return ones."""
        return torch.ones(self.n_rows)

    def column_squares(self, weights: Tensor) -> Tensor:
        """Return the weights."""
        return weights


class Dense:
    """Numbers, one row per entity."""

    def __init__(self, X: Tensor):
        self.X = X
        self.n_rows, self.n_columns = X.shape

    def times(self, weights: Tensor, rows: Rows) -> Tensor:
        """Return the product."""
        return self.X[rows] @ weights

    def add_gradient(self, into: Tensor, rows: Rows, slopes: Tensor) -> None:
        """Add the transposed product."""
        into.addmm_(self.X[rows].T, slopes)

    def squared_lengths(self) -> Tensor:
        """Return the squared length of every row."""
        return (self.X**2).sum(dim=1)

    def column_squares(self, weights: Tensor) -> Tensor:
        """Return weighted sums of squares."""
        return weights @ self.X**2


class Sparse:
    """A sparse matrix in compressed rows. The parts that a fit walks are kept in both orders.

    Parameters
    ----------
    starts, columns, values : Tensor
        Where each row starts and the end of the last, the column of each entry, and its value.
    n_columns : int
        Columns of the matrix.
    """

    def __init__(self, starts: Tensor, columns: Tensor, values: Tensor, n_columns: int):
        whole = index_type(max(len(columns), len(starts), n_columns))
        self.starts, self.columns, self.values = starts.to(whole), columns.to(whole), values
        self.n_rows, self.n_columns = len(starts) - 1, n_columns
        self._parts: dict[tuple[int, int], Pattern] = {}

    def set_values(self, values: Tensor) -> None:
        """Replace the values of all entries."""
        self.values = values

    def times(self, weights: Tensor, rows: Rows) -> Tensor:
        """Return the product."""
        pattern, values = self._part(rows)
        return sums(pattern, values, weights)

    def add_gradient(self, into: Tensor, rows: Rows, slopes: Tensor) -> None:
        """Add the transposed product."""
        pattern, values = self._part(rows)
        add_sums(pattern.transposed, values, slopes, into)

    def squared_lengths(self) -> Tensor:
        """Return the squared length of every row."""
        return torch.zeros(self.n_rows).to(self.values).index_add_(0, self._row_of_entries(), self.values**2)

    def column_squares(self, weights: Tensor) -> Tensor:
        """Return weighted sums of squares."""
        entries = self.values**2 * weights[self._row_of_entries()]
        return torch.zeros(self.n_columns).to(self.values).index_add_(0, self.columns, entries)

    def _row_of_entries(self) -> Tensor:
        return Pattern(self.starts, self.columns, self.n_columns).row_of_entries()

    def _part(self, rows: Rows) -> tuple[Pattern, Tensor]:
        """Return the pattern of some rows, and their values."""
        if not isinstance(rows, slice):
            starts, at = selected_entries(self.starts, rows)
            columns = self.columns[at]
            return Pattern(starts.to(columns.dtype), columns, self.n_columns), self.values[at]
        start, stop, _ = rows.indices(self.n_rows)
        first, last = int(self.starts[start]), int(self.starts[stop])
        if (start, stop) not in self._parts:
            starts = self.starts[start : stop + 1] - first
            self._parts[start, stop] = Pattern(starts, self.columns[first:last], self.n_columns)
        return self._parts[start, stop], self.values[first:last]


def index_type(most: int) -> torch.dtype:
    """Return the shortest type of whole numbers for indices: half the memory, and what sparse products want.

    >>> index_type(10), index_type(2**31)
    (torch.int32, torch.int64)
    """
    return torch.int32 if most < 2**31 else torch.int64


def selected_entries(starts: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
    """Return the starts of some rows of a matrix in compressed rows by themselves, and where their entries are.

    >>> selected_entries(torch.tensor([0, 2, 2, 5]), torch.tensor([2, 0]))
    (tensor([0, 3, 5]), tensor([2, 3, 4, 0, 1]))
    """
    counts = starts.diff()[rows]
    new = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    within = torch.arange(int(new[-1]), device=starts.device) - torch.repeat_interleave(new[:-1], counts)
    return new, torch.repeat_interleave(starts[rows], counts) + within
