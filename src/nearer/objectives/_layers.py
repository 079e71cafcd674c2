"""Which samples make pairs: labels and groups split into two-sided problems."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class Layer:
    """Blocks of samples, each with an upper and a lower side: every upper sample pairs with every lower one.

    Attributes
    ----------
    rows : (m,) int array
        Rows of the samples, no row twice: all upper ones by block, then all lower ones by block.
    n_upper : int
    blocks : (m,) int array
        The block of each of them; no block lacks a side.
    n_blocks : int
    weights : (m,) float array
        The weight of a pair is the product of those of its two samples.
    """

    rows: np.ndarray
    n_upper: int
    blocks: np.ndarray
    n_blocks: int
    weights: np.ndarray

    def sides(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the values of the upper and of the lower samples."""
        return values[: self.n_upper], values[self.n_upper :]

    def block_sums(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sum of the values in every block, of its upper and of its lower side."""
        upper, lower = (
            np.bincount(blocks, side, self.n_blocks)
            for blocks, side in zip(self.sides(self.blocks), self.sides(values), strict=True)
        )
        return upper, lower

    def by_row(self, upper: np.ndarray, lower: np.ndarray) -> np.ndarray:
        """A number for each sample, from one for the upper and one for the lower side of each block."""
        over, under = self.sides(self.blocks)
        return np.concatenate([upper[over], lower[under]])

    @cached_property
    def side_weights(self) -> tuple[np.ndarray, np.ndarray]:
        """Weight of the upper and of the lower side of every block."""
        return self.block_sums(self.weights)

    @cached_property
    def weight(self) -> float:
        """Weight of all pairs together."""
        upper, lower = self.side_weights
        return float(upper @ lower)

    @cached_property
    def n_pairs(self) -> int:
        """Number of pairs."""
        upper, lower = self.block_sums(np.ones(len(self.rows)))
        return int(upper @ lower)

    @cached_property
    def edges(self) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """First and last place of every block, and the block of every place, in an order by block; None for one block.

        What runs over all places in order starts again there.
        """
        if self.n_blocks == 1:
            return None
        sizes = np.bincount(self.blocks, minlength=self.n_blocks)
        ends = np.cumsum(sizes)
        return ends - sizes, ends - 1, np.repeat(np.arange(self.n_blocks), sizes)


def pair_layers(ranks: np.ndarray, groups: np.ndarray, weights: np.ndarray) -> list[Layer]:
    """Layers that hold every pair of one group with different ranks exactly once.

    Of two ranks, written in binary, the higher has a 1 at the first digit in which they differ. So the layer of a digit
    has a block for each group and each beginning before that digit, and the digit tells the sides: as many layers as
    digits, a single one for two classes. Samples of weight zero and samples without a partner are left out.
    """
    digits = int(ranks.max()).bit_length()
    found = (
        _layer(groups * (1 << digits) + (ranks >> digit + 1), (ranks >> digit & 1).astype(bool), weights)
        for digit in range(digits)
    )
    return [layer for layer in found if layer.n_blocks]


def _layer(keys: np.ndarray, upper: np.ndarray, weights: np.ndarray) -> Layer:
    """Samples of one key are one block, if it has both sides."""
    _, blocks = np.unique(keys, return_inverse=True)
    counted = weights > 0
    complete = (np.bincount(blocks, counted & upper) > 0) & (np.bincount(blocks, counted & ~upper) > 0)
    counted &= complete[blocks]
    blocks = (np.cumsum(complete) - 1)[blocks]
    sides = [np.flatnonzero(counted & side) for side in (upper, ~upper)]
    rows = np.concatenate([side[np.argsort(blocks[side], kind="stable")] for side in sides])
    return Layer(rows, len(sides[0]), blocks[rows], int(complete.sum()), weights[rows])
