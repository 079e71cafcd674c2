"""One tower: a network from what is known of an entity to its embedding, with both directions of its derivative.

All parameters are one vector. Its first layer multiplies the inputs, which may be one-hot or sparse, so its derivatives
are written here; those of the layers above come from torch. Rows are worked on in parts, whose activations are all
that a pass keeps in memory.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.func import functional_call, jvp

from nearer.objectives.tower_inputs import Block, Ids, Rows


class TowerPass(NamedTuple):
    """What went through a tower, with the graph that leads back."""

    output: Tensor
    leaves: tuple[Tensor, ...]
    rows: Rows


class Tower:
    """A network over the sum of input blocks, each multiplied with its weights, and a linear path beside it.

    Parameters
    ----------
    blocks : sequence of Block
        What is known of the entities; each has a matrix of weights in the first layer.
    width : int
        Columns of the first layer that the network gets.
    network : torch.nn.Module, optional
        Turns the rows of the first layer into embeddings. It is used in evaluation mode.
    linear : int
        Further columns of the first layer, which are added to the output of the network: 0, or all of its columns.
    direct : collection of int
        Numbers of the blocks that lead to the linear path alone.
    given : Tensor, optional
        Input of the network instead of blocks: one row per entity.

    Examples
    --------
    >>> from nearer.objectives.tower_inputs import Ids
    >>> tower = Tower([Ids(3)], linear=2)
    >>> tower.embed(torch.arange(6.0), slice(1, 3))
    tensor([[2., 3.],
            [4., 5.]])
    """

    def __init__(
        self,
        blocks: Sequence[Block],
        width: int = 0,
        network: nn.Module | None = None,
        linear: int = 0,
        direct: Collection[int] = (),
        given: Tensor | None = None,
    ):
        self.blocks, self.width, self.linear, self.given = list(blocks), width, linear, given
        self.network = None if network is None else network.eval()
        #: first columns of the first layer that each block leads to
        self._from = [width if k in direct else 0 for k in range(len(self.blocks))]
        self.n_rows = len(given) if given is not None else self.blocks[0].n_rows
        learned = {} if network is None else dict(network.named_parameters())
        self._names = [name for name, parameter in learned.items() if parameter.requires_grad]
        self._shapes = [
            *(
                (f"input{k}", (block.n_columns, width + linear - first))
                for k, (block, first) in enumerate(zip(self.blocks, self._from, strict=True))
            ),
            *((name, tuple(learned[name].shape)) for name in self._names),
        ]
        self.n_parameters = sum(torch.Size(shape).numel() for _, shape in self._shapes)
        self.n_network_parameters = sum(learned[name].numel() for name in self._names)
        #: numbers that a pass keeps per row: before and after each layer
        outputs = sum(2 * parameter.shape[0] for parameter in learned.values() if parameter.ndim > 1)
        self.n_activations = 2 * width + linear + outputs

    def parts(self) -> list[tuple[tuple[int, ...], bool]]:
        """Return the shapes of the parts of the parameter vector, and whether each has one row per entity."""
        of_ids = {f"input{k}" for k, block in enumerate(self.blocks) if isinstance(block, Ids)}
        return [(shape, name in of_ids) for name, shape in self._shapes]

    def views(self, x: Tensor) -> dict[str, Tensor]:
        """Return the parts of the parameter vector by name."""
        parts, at = {}, 0
        for name, shape in self._shapes:
            size = torch.Size(shape).numel()
            parts[name] = x[at : at + size].view(shape)
            at += size
        return parts

    def embed(self, x: Tensor, rows: Rows) -> Tensor:
        """Return the embeddings of some entities, without a graph."""
        with torch.no_grad():
            weights = self.views(x)
            return self._above(weights, self._first(weights, rows))

    @property
    def n_components(self) -> int:
        """The columns of the embeddings."""
        if self.linear or self.network is None:
            return self.linear
        return list(self.network.parameters())[-1].shape[0]

    def linear_part(self, x: Tensor, block: int) -> Tensor:
        """Return a view of the weights that lead from a block straight to the embedding."""
        return self.views(x)[f"input{block}"][:, self.width - self._from[block] :]

    def forward(self, x: Tensor, rows: Rows) -> TowerPass:
        """Return the embeddings of some entities with what `add_gradient` needs."""
        weights = self.views(x.detach())
        leaves = (self._first(weights, rows), *(weights[name] for name in self._names))
        leaves = tuple(leaf.detach().requires_grad_(leaf.is_floating_point()) for leaf in leaves)
        with torch.enable_grad():
            output = self._above(dict(zip(self._names, leaves[1:], strict=True)), leaves[0])
        return TowerPass(output, leaves, rows)

    def add_gradient(self, into: Tensor, passed: TowerPass, slopes: Tensor) -> None:
        """Add the product of the transposed Jacobian with `slopes` to a vector of parameters."""
        wanted = [leaf for leaf in passed.leaves if leaf.requires_grad]
        found = torch.autograd.grad(
            passed.output, wanted, slopes, retain_graph=True, allow_unused=True, materialize_grads=True
        )
        # a user's module may look entities up: its input has no gradient
        gradients = list(found) if passed.leaves[0].requires_grad else [passed.leaves[0], *found]
        views = self.views(into)
        for k, (block, first) in enumerate(zip(self.blocks, self._from, strict=True)):
            block.add_gradient(views[f"input{k}"], passed.rows, gradients[0][:, first:].contiguous())
        for name, gradient in zip(self._names, gradients[1:], strict=True):
            views[name] += gradient

    def push(self, x: Tensor, direction: Tensor, rows: Rows) -> Tensor:
        """Return the product of the Jacobian of the embeddings with a direction in parameter space."""
        _prepare_jvp()
        weights, moves = self.views(x), self.views(direction)
        first = self._first(weights, rows)
        moved = self._first(moves, rows) if self.blocks else torch.zeros_like(first)
        parts = {name: weights[name] for name in self._names}
        shifts = {name: moves[name] for name in self._names}
        if not first.is_floating_point():  # a user's module that looks entities up
            return jvp(lambda p: self._above(p, first), (parts,), (shifts,))[1]
        return jvp(lambda h, p: self._above(p, h), (first, parts), (moved, shifts))[1]

    def _first(self, weights: dict[str, Tensor], rows: Rows) -> Tensor:
        if self.given is not None:
            return self.given[rows]
        like = weights["input0"]
        n_rows = len(range(self.n_rows)[rows]) if isinstance(rows, slice) else len(rows)
        if len(self.blocks) == 1 and self.network is not None and self._from[0] == 0:
            # of ids, a view: without a network, embeddings would change with the parameters
            return self.blocks[0].times(weights["input0"], rows)
        hidden = like.new_zeros(n_rows, self.width + self.linear)
        for k, (block, first) in enumerate(zip(self.blocks, self._from, strict=True)):
            hidden[:, first:] += block.times(weights[f"input{k}"], rows)
        return hidden

    def _above(self, weights: dict[str, Tensor], hidden: Tensor) -> Tensor:
        """Return what the layers above the first make of it."""
        if self.network is None:
            return hidden
        weights = {name: weights[name] for name in self._names}
        output = functional_call(self.network, weights, (hidden[:, : self.width] if self.blocks else hidden,))
        return output + hidden[:, self.width :] if self.linear else output


@lru_cache
def _prepare_jvp() -> None:
    """Let torch load its rules for forward derivatives: this warns of a deprecated function inside torch."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        jvp(lambda x: x, (torch.zeros(1),), (torch.zeros(1),))
