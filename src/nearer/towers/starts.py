"""Where towers start: at the least squares solution of towers that see ids alone.

With ids, linear towers and the square loss, alternating least squares needs ten rounds for embeddings that rank almost
as well as the final ones. Adam from random parameters needs some hundred steps to get there. So the linear paths
begin as the best approximation of these embeddings by what the towers see: for features the ridge regression on
their columns, for histories a multiple of the other side's embeddings, and for ids what is left. Networks beside the
paths begin at zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from nearer._utils.group import Group
from nearer.losses.margins import MarginLoss, SquareLoss
from nearer.objectives.tower import Tower
from nearer.objectives.tower_inputs import Block, Ids
from nearer.objectives.towers import TowerObjective
from nearer.solvers import AlternatingLeastSquares, Run, minimise
from nearer.towers.assembly import objective_and_start
from nearer.towers.inputs import History

if TYPE_CHECKING:
    from nearer.towers.fitting import Data, TowerSettings

#: rounds of least squares, and the share of the time that they may take
_ROUNDS, _SHARE = 10, 0.25
#: columns of features from which a regression would take longer than the descent gains by it
_MOST_COLUMNS = 2000
#: penalty of the regressions, as a share of the mean square of their columns
_RIDGE = 1e-3
#: lengths of the embeddings to try: those of the square loss suit other losses but for their scale
_LENGTHS = (0.5, 0.7, 1.0, 1.4, 2.0, 2.8)


def can_start(objective: TowerObjective) -> bool:
    """Return whether both towers have linear paths that a least squares solution can be written into."""
    return all(tower.linear and tower.blocks for tower in (objective.left, objective.right))


def least_squares_start(
    objective: TowerObjective,
    x: Tensor,
    data: Data,
    settings: TowerSettings,
    run: Run,
    rng: np.random.Generator,
) -> tuple[Tensor, str | None]:
    """Return parameters whose linear paths follow a least squares solution, and why a user stopped it, if so.

    Parameters
    ----------
    objective : TowerObjective
        What is to be minimised.
    x : Tensor
        Random parameters: those of networks are kept.
    data, settings : Data, TowerSettings
        What the objective was made of.
    run : Run
        The fit; this takes a part of its time.
    rng : numpy Generator
        For the random start of least squares.
    """
    (P, Q), stopped = _embeddings(data, settings, run, rng, objective.group)
    x = objective.start(x)
    left, right = objective.split(x)
    _write(objective, objective.left, left, P, lambda: objective.parts.right.joined(Q))
    _write(objective, objective.right, right, Q, lambda: objective.parts.left.joined(P))
    return _at_best_length(objective, x), stopped


def _embeddings(
    data: Data, settings: TowerSettings, run: Run, rng: np.random.Generator, group: Group
) -> tuple[tuple[Tensor, Tensor], str | None]:
    """Return the least squares solution of towers of ids, for the entities of this process."""
    sides = tuple(replace(side, kinds=("ids",), features=None, seen=None) for side in data.sides)
    linear = replace(settings.architecture, hidden=(), linear=True)
    times = _times_as_curved(settings.loss)
    penalty = replace(settings.penalty, l2=settings.penalty.l2 * math.sqrt(times))
    terms = replace(settings, loss=SquareLoss(), omega=settings.omega * times, penalty=penalty, dropout=0.0)
    squares, theta = objective_and_start(linear, data.pairs, (sides[0], sides[1]), terms, rng, group)
    budget = replace(run.budget.part(_SHARE), max_epochs=_ROUNDS, tol=0.0)
    theta, result = minimise(AlternatingLeastSquares(), squares, theta, budget=budget, rng=rng, run=run)
    stopped = result.stop_reason if result.stop_reason in ("interrupted", "callback") else None
    return squares.own_embeddings(theta), stopped


def _times_as_curved(loss: MarginLoss) -> float:
    """Return how many times as curved the square loss is at a margin of zero: 8 for the logistic loss.

    Unobserved pairs must count so much more beside it.
    """
    zero = torch.zeros(1, dtype=torch.float64)
    return float(SquareLoss().second_derivative(zero) / loss.second_derivative(zero).clamp(min=0.01))


def _write(
    objective: TowerObjective, tower: Tower, theta: Tensor, target: Tensor, other: Callable[[], Tensor]
) -> None:
    """Set the linear path of a tower so that its embeddings are as close to the target as they can be.

    `other` returns the embeddings of all entities of the other side.
    """
    found = {k: _basis(block, other, target) for k, block in enumerate(tower.blocks)}
    bases = {k: basis for k, basis in found.items() if basis is not None}
    weights = _regression(objective, tower, bases, target)
    for k in range(len(tower.blocks)):
        tower.linear_part(theta, k).zero_()
    for k, basis in bases.items():
        tower.linear_part(theta, k).copy_(basis @ weights[k])
    for k, block in enumerate(tower.blocks):
        if isinstance(block, Ids):
            reached = [
                tower.blocks[j].times(tower.linear_part(theta, j), slice(0, tower.n_rows)) for j in bases
            ]
            tower.linear_part(theta, k).copy_(target - sum(reached))


def _basis(block: Block, other: Callable[[], Tensor], like: Tensor) -> Tensor | None:
    """Return matrices of weights to combine: one per column of features, or the embeddings of the other side."""
    if isinstance(block, Ids) or (not isinstance(block, History) and block.n_columns > _MOST_COLUMNS):
        return None
    return other() if isinstance(block, History) else torch.eye(block.n_columns).to(like)


def _regression(
    objective: TowerObjective, tower: Tower, bases: dict[int, Tensor], target: Tensor
) -> dict[int, Tensor]:
    """Return the ridge regression of the target on the rows of all blocks, each times its basis."""
    if not bases:
        return {}
    sizes = [basis.shape[1] for basis in bases.values()]
    normal = torch.zeros(sum(sizes), sum(sizes), dtype=torch.float64, device=target.device)
    mixed = torch.zeros(sum(sizes), target.shape[1], dtype=torch.float64, device=target.device)
    for rows in objective.chunks(tower):
        X = torch.cat([tower.blocks[k].times(basis, rows) for k, basis in bases.items()], dim=1).double()
        normal += X.T @ X
        mixed += X.T @ target[rows].double()
    normal, mixed = objective.group.sums_of(normal, mixed)
    normal.diagonal().add_(_RIDGE * normal.diagonal().mean() + 1e-12)
    found = torch.linalg.solve(normal, mixed).to(target.dtype)
    return dict(zip(bases, found.split(sizes), strict=True))


def _at_best_length(objective: TowerObjective, x: Tensor) -> Tensor:
    """Return the parameters with the linear paths at the length for which the objective is lowest."""
    found = [_stretched(objective, x, length) for length in _LENGTHS]
    return min(found, key=objective.value)


def _stretched(objective: TowerObjective, x: Tensor, length: float) -> Tensor:
    x = x.clone()
    for tower, theta in zip((objective.left, objective.right), objective.split(x), strict=True):
        for k in range(len(tower.blocks)):
            tower.linear_part(theta, k).mul_(length)
    return x
