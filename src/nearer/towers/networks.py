"""The networks of towers: fully connected layers with ELU, and how all parameters of a tower are drawn."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from nearer.objectives.tower import Tower


class Shift(nn.Module):
    """Add a vector: the bias of the first layer, whose weights belong to the inputs."""

    def __init__(self, width: int):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, rows: Tensor) -> Tensor:
        """Return the rows plus the vector."""
        return rows + self.bias


def layers(hidden: tuple[int, ...], n_components: int) -> nn.Sequential:
    """Return the layers above the first one, whose outputs have hidden[0] columns.

    >>> layers((4, 3), 2)
    Sequential(
      (0): Shift()
      (1): ELU(alpha=1.0)
      (2): Linear(in_features=4, out_features=3, bias=True)
      (3): ELU(alpha=1.0)
      (4): Linear(in_features=3, out_features=2, bias=True)
    )
    """
    parts: list[nn.Module] = [Shift(hidden[0]), nn.ELU()]
    for before, after in zip(hidden, (*hidden[1:], n_components), strict=True):
        parts += [nn.Linear(before, after), nn.ELU()]
    return nn.Sequential(*parts[:-1])


def drawn(tower: Tower, generator: torch.Generator, output_bias: float) -> Tensor:
    """Return random parameters of a tower.

    Weights have the variance of Glorot and Bengio. With a linear path, the last layer of the network is zero, so that
    it begins as a correction to the path. Without one, the last bias makes a constant of the imputed score.

    Parameters
    ----------
    tower : Tower
        The tower, with the layers of `layers`, a user's network or none.
    generator : torch.Generator
        For the draws.
    output_bias : float
        The last bias of a network without a linear path.
    """
    x = torch.zeros(tower.n_parameters)
    views = tower.views(x)
    users = {} if tower.network is None else dict(tower.network.named_parameters())
    if tower.given is not None:  # a user's module brings its own
        for name, view in views.items():
            view.copy_(users[name].detach())
        return x
    last = [name for name in views if name not in _inputs(tower)][-2:]
    for name, view in views.items():
        if name in _inputs(tower):
            block = tower.blocks[_inputs(tower).index(name)]
            lengths = math.sqrt(float(block.squared_lengths().mean()) or 1.0)
            path = tower.linear_part(x, _inputs(tower).index(name))
            network = view[:, : view.shape[1] - path.shape[1]]
            network.normal_(0, 1 / math.sqrt(max(tower.width, 1)) / lengths, generator=generator)
            path.normal_(0, _PATH / math.sqrt(max(tower.linear, 1)) / lengths, generator=generator)
        elif view.ndim == 2 and not (tower.linear and name in last):
            view.normal_(0, math.sqrt(2 / sum(view.shape)), generator=generator)
        elif name in last and not tower.linear and view.ndim == 1:
            view.fill_(output_bias)
    return x


#: length of the vectors of a linear path at the start
_PATH = 0.5


def _inputs(tower: Tower) -> list[str]:
    return [f"input{k}" for k in range(len(tower.blocks))]
