"""Towers with a linear part per entity: the least squares problem of one side, all its entities at once.

If every entity has a vector of its own that is added to its embedding, and the loss is square, the embeddings of one
side are the solutions of small least squares problems, given those of the other side. All are solved together by
conjugate gradients, row by row: a step costs two passes over the observed pairs, and no k x k matrix per entity.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from nearer._utils.group import Group
from nearer.errors import InputError
from nearer.losses.margins import MarginLoss
from nearer.objectives.similarity_sums import ScoredPairs, SimilaritySums
from nearer.objectives.tower import Tower
from nearer.objectives.tower_inputs import Block
from nearer.objectives.towers import Embedded, TowerObjective


class LinearPathObjective(TowerObjective):
    """Two towers whose first input are ids with a linear path: embeddings are ids' own vectors plus the rest.

    The first block of each tower must be `Ids`.
    """

    provides: ClassVar[frozenset[str]] = TowerObjective.provides | {"loss", "least_squares"}

    @property
    def loss(self) -> MarginLoss:
        """The loss of an observed pair."""
        return self.sums.loss

    def least_squares(self, x: Tensor, side: int, products: int) -> Tensor:
        """Return the parameters after solving for the linear part of one side, by this many products.

        First for the vectors of the entities, then for the weights of all other linear inputs, to which the L2 term
        pulls these vectors. What a network adds to the embeddings stays as it is.
        """
        tower = (self.left, self.right)[side]
        at = self._at(x).scored
        x = x.clone()
        theta = self.split(x)[side]
        own = tower.linear_part(theta, 0)
        strengths = self.l2 * self._scales_of(side, 0)
        found = solved_rows(self.sums, at, side, own, strengths, products)
        target = found + _others(tower, theta)
        for k in range(1, len(tower.blocks)):
            self._refit(theta, side, k, target, strengths)
        own.copy_(target - _others(tower, theta))
        # the next step, and the value, need only what changed
        found = tower.embed(theta, slice(0, tower.n_rows))
        self._latest = x, x._version, Embedded(self.sums.replaced(at, side, found), (None, None))
        return x

    def _refit(self, theta: Tensor, side: int, k: int, target: Tensor, strengths: Tensor) -> None:
        """Set the weights of one linear input to those that leave the least L2 term for a sum of all."""
        tower = (self.left, self.right)[side]
        weights, block = tower.linear_part(theta, k), tower.blocks[k]
        wanted = target - _others(tower, theta) + block.times(weights, slice(0, tower.n_rows))
        weights.copy_(_ridge(block, wanted, strengths, self.l2 * self._scales_of(side, k), self.group))

    def _scales_of(self, side: int, block: int) -> Tensor:
        """Return the factor on the L2 term of each row of the weights of a block."""
        tower = (self.left, self.right)[side]
        if self.scales is None:
            return torch.ones(tower.blocks[block].n_columns, dtype=self.dtype, device=self.device)
        return tower.linear_part(self.split(self.scales)[side], block)[:, 0]


def solved_rows(
    sums: SimilaritySums, at: ScoredPairs, side: int, own: Tensor, strengths: Tensor, products: int
) -> Tensor:
    """Return the vectors that minimise the sum plus half of `strengths` times their squares, one row per entity.

    `own` is the current part of the embeddings in `at` that the vectors replace; conjugate gradients start from it.
    """
    residuals = sums.slopes_of(at, side).addcmul_(strengths[:, None], own).neg_()
    return sums.solve(at, side, strengths, residuals, own.clone(), products)


def _ridge(block: Block, target: Tensor, weights: Tensor, penalty: Tensor, group: Group) -> Tensor:
    """Return the weighted ridge regression of target on the columns of a block, by its normal equations.

    The rows are those of all processes.
    """
    if block.n_columns > 4096:
        raise InputError(
            f"alternating least squares cannot solve for {block.n_columns} feature columns (4096 at most): use "
            'solver="full-adam"',
            parameter="solver",
        )
    eye = torch.eye(block.n_columns, dtype=target.dtype, device=target.device)
    X = block.times(eye, slice(0, block.n_rows)).double()
    weighted = X * weights[:, None].double()
    squares, mixed = group.sums_of(X.T @ weighted, weighted.T @ target.double())
    return torch.linalg.solve(squares + torch.diag(penalty.double()), mixed).to(target.dtype)


def _others(tower: Tower, theta: Tensor) -> Tensor:
    """Return the linear part of all inputs but ids."""
    rows = slice(0, tower.n_rows)
    parts = [tower.blocks[k].times(tower.linear_part(theta, k), rows) for k in range(1, len(tower.blocks))]
    return sum(parts, torch.zeros_like(tower.linear_part(theta, 0)))
