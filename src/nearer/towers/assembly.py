"""From settings and data to two towers, their objective and their first parameters."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor, nn

from nearer._utils.group import ALONE, Group
from nearer._utils.namespaces import as_like
from nearer.errors import InputError
from nearer.losses.margins import MarginLoss
from nearer.objectives.least_squares import LinearPathObjective
from nearer.objectives.observed import ObservedPairs
from nearer.objectives.similarity_sums import Weights
from nearer.objectives.streamed import StreamedPairs
from nearer.objectives.tower import Tower
from nearer.objectives.tower_inputs import Ids
from nearer.objectives.towers import TowerObjective
from nearer.towers.inputs import History, blocks_of
from nearer.towers.memory import Need, plan_for
from nearer.towers.networks import drawn, layers
from nearer.towers.spreading import Side, parts_of


@dataclass(frozen=True)
class Architecture:
    """The layers of both towers.

    Attributes
    ----------
    n_components : int
        Columns of the embeddings.
    hidden : tuple of int
        Widths of the hidden layers; none for linear towers.
    linear : bool
        Whether there is a linear path beside the hidden layers.
    modules : pair of torch.nn.Module, optional
        Networks of the user's own.
    offset : bool
        Whether towers of ids alone have a constant vector, to which the L2 term then pulls the vectors of ids. It is of
        use if unobserved pairs should have another score than 0.
    """

    n_components: int
    hidden: tuple[int, ...]
    linear: bool
    modules: tuple[nn.Module, nn.Module] | None = None
    offset: bool = True

    def ids_alone(self, kinds: tuple[str, ...]) -> bool:
        """Return whether a tower is a table of vectors, one per id."""
        return kinds == ("ids",) and (self.linear or not self.hidden) and not self.offset

    def tower(self, side: Side, number: int, dtype: torch.dtype, device: Any, *, ids: bool = True) -> Tower:
        """Return the tower of a side; without `ids`, that of entities which the fit did not know."""
        if self.modules is not None:
            return self._users_tower(side, number, dtype, device)
        constant = not self.ids_alone(side.kinds)
        blocks = blocks_of(
            side.kinds,
            side.n_rows,
            side.features,
            side.seen,
            ids=ids,
            constant=constant,
            within=side.within,
            dtype=dtype,
            device=device,
        )
        k = self.n_components
        if not self.hidden or (self.linear and side.kinds == ("ids",)):
            return Tower(blocks, linear=k)
        # an id has nothing in common with others that a network could learn: it leads to the linear path alone
        direct = [n for n, block in enumerate(blocks) if isinstance(block, Ids)] if self.linear else []
        network = layers(self.hidden, k).to(device, dtype)
        return Tower(blocks, self.hidden[0], network, k if self.linear else 0, direct)

    def n_parameters(
        self, kinds: tuple[str, ...], n_rows: int, n_features: int, n_others: int
    ) -> tuple[int, int]:
        """Return the number of parameters of a tower, and how many of them are the weights of ids, which come first.

        >>> Architecture(2, (), True).n_parameters(("ids", "features"), 10, 3, 7)
        (28, 20)
        >>> Architecture(2, (), True, offset=False).n_parameters(("ids",), 10, 3, 7)
        (20, 20)
        """
        k, columns = self.n_components, {"ids": n_rows, "features": n_features, "history": n_others}
        if not self.hidden or (self.linear and kinds == ("ids",)):
            constant = not self.ids_alone(kinds)
            return (sum(columns[kind] for kind in kinds) + constant) * k, n_rows * k * ("ids" in kinds)
        width = self.hidden[0] + k * self.linear
        ids = n_rows * (k if self.linear else width) * ("ids" in kinds)
        others = (sum(columns[kind] for kind in kinds if kind != "ids") + 1) * width
        sizes = (*self.hidden, k)
        layers = sum((before + 1) * after for before, after in pairwise(sizes))
        return ids + others + self.hidden[0] + layers, ids

    def _users_tower(self, side: Side, number: int, dtype: torch.dtype, device: Any) -> Tower:
        assert self.modules is not None
        if side.features is None:
            given = torch.arange(side.first, side.first + side.n_rows, device=device)
        else:
            dense = side.features.toarray() if sparse.issparse(side.features) else side.features
            given = torch.as_tensor(dense, dtype=dtype, device=device)
        module = self.modules[number].to(device, dtype)
        name = ("left", "right")[number]
        try:
            with torch.no_grad():
                shape = tuple(module(given[:2]).shape)
        except (RuntimeError, IndexError, TypeError) as error:
            raise InputError(f"the {name} module fails on its input: {error}", parameter="modules") from error
        if shape != (min(2, len(given)), self.n_components):
            raise InputError(
                f"the {name} module returns shape {shape} for two entities, but n_components is {self.n_components}",
                parameter="modules",
            )
        return Tower([], 0, module, given=given)


@dataclass(frozen=True)
class Penalty:
    """The L2 term: its strength, and the power of the frequency that scales it."""

    l2: float
    frequency: float


@dataclass(frozen=True)
class TowerTerms:
    """What is minimised, and where.

    Attributes
    ----------
    loss : MarginLoss
        The loss of an observed pair.
    omega, missing : float
        Weight and score of an unobserved pair.
    penalty : Penalty
        The L2 term.
    chunk_rows : int, optional
        Entities whose activations are in memory at a time; by default what fits.
    dropout : float
        Share of each history that is left out in a step of training.
    dtype, device
        Precision and device.
    tf32 : bool
        Whether a GPU may round the factors of products of float32 matrices to 10 bits.
    """

    loss: MarginLoss
    omega: float
    missing: float
    penalty: Penalty
    chunk_rows: int | None
    dropout: float
    dtype: torch.dtype
    device: str
    tf32: bool = field(default=False, kw_only=True)


def objective_and_start(
    architecture: Architecture,
    pairs: sparse.csr_matrix,
    sides: tuple[Side, Side],
    terms: TowerTerms,
    rng: np.random.Generator,
    group: Group = ALONE,
) -> tuple[TowerObjective, Tensor]:
    """Return the objective of two towers on observed pairs with weights, and random parameters.

    In several processes, both are the part of this process. Parameters are drawn, and the L2 term is scaled, as for a
    fit in one process.
    """
    dtype, device = terms.dtype, terms.device
    at_first = device if group.alone else "cpu"  # a card may hold the part of this process alone
    towers = _towers(architecture, sides, dtype, at_first)
    start = first_parameters(towers, architecture.n_components, terms.missing, rng)
    weights = _weights(sides, terms.omega, terms.missing, dtype, at_first)
    scales = _scales(towers, pairs, weights, terms.penalty.frequency)
    parts = None
    if not group.alone:
        parts = parts_of(pairs, group)
        pairs, own = pairs[parts.left.own], parts.left.own
        weights = replace(weights, left=weights.left[own], imputed_left=weights.imputed_left[own]).to(device)
        sides = sides[0].part(own), sides[1].part(parts.right.own)
        towers = _towers(architecture, sides, dtype, device)
    need = Need.of(towers, pairs.nnz, architecture.n_components, dtype.itemsize)
    plan = plan_for(need, terms.chunk_rows, device)
    linear = all(tower.linear and isinstance(tower.blocks[0], Ids) for tower in towers)
    kind = LinearPathObjective if linear else TowerObjective
    objective = kind(
        observed_pairs(pairs, dtype, device, streamed=plan.streamed),
        *towers,
        terms.loss,
        weights,
        l2=terms.penalty.l2,
        chunk_rows=plan.chunk_rows,
        dropout=terms.dropout,
        noisy=[block for tower in towers for block in tower.blocks if isinstance(block, History)],
        parts=parts,
    )
    objective.memory = plan
    own_part = objective.spread.own
    objective.scales = None if scales is None else own_part(scales).to(device)
    # networks of the user's own begin as in process 0
    return objective, objective.spread.summed(objective.spread.once(own_part(start)))


def _towers(
    architecture: Architecture, sides: tuple[Side, Side], dtype: torch.dtype, device: Any
) -> tuple[Tower, Tower]:
    left, right = (architecture.tower(side, k, dtype, device) for k, side in enumerate(sides))
    return left, right


def observed_pairs(
    pairs: sparse.csr_matrix, dtype: torch.dtype, device: Any, *, streamed: bool = False
) -> ObservedPairs:
    """Return the pairs of a sparse matrix; its values are their weights. Streamed ones stay in main memory."""
    starts, columns = (torch.from_numpy(np.array(a)) for a in (pairs.indptr, pairs.indices))
    counts = None if (pairs.data == 1).all() else torch.as_tensor(pairs.data, dtype=dtype, device=device)
    if streamed:
        return StreamedPairs(starts, columns, pairs.shape[1], weights=counts, device=torch.device(device))
    return ObservedPairs(starts.to(device), columns.to(device), pairs.shape[1], weights=counts)


def first_parameters(
    towers: tuple[Tower, Tower], n_components: int, missing: float, rng: np.random.Generator
) -> Tensor:
    """Return random parameters; networks without a linear path begin near the imputed score."""
    generator = torch.Generator().manual_seed(int(rng.integers(2**62)))
    parts = []
    size = math.sqrt(abs(missing) / n_components)
    for tower, sign in zip(towers, (math.copysign(1.0, missing), 1.0), strict=True):
        parts.append(drawn(tower, generator, sign * size))
    return torch.cat(parts)


def _weights(
    sides: tuple[Side, Side], omega: float, missing: float, dtype: torch.dtype, device: Any
) -> Weights:
    def tensor(values: np.ndarray) -> Tensor:
        return torch.as_tensor(values, dtype=dtype, device=device)

    left, right = sides
    constant = np.full((left.n_rows, 1), missing), np.ones((right.n_rows, 1))
    imputed = constant
    if left.imputed is not None and right.imputed is not None:
        imputed = left.imputed, right.imputed
    of_sides = [np.ones(side.n_rows) if side.weights is None else side.weights for side in sides]
    return Weights(omega, tensor(of_sides[0]), tensor(of_sides[1]), tensor(imputed[0]), tensor(imputed[1]))


def _scales(
    towers: tuple[Tower, Tower], pairs: sparse.csr_matrix, weights: Weights, frequency: float
) -> Tensor | None:
    """Return the factor on the L2 term of each parameter: the power of how much data it sees.

    An entity sees its pairs and, by their weight, all others. A column sees what its entities see, times the squares
    of its entries. The parameters of a network count as an average entity.
    """
    if not frequency:
        return None
    found = []
    counts = np.diff(pairs.indptr), np.bincount(pairs.indices, minlength=pairs.shape[1])
    own, other = (weights.left, weights.right), (weights.right, weights.left)
    for tower, count, a, b in zip(towers, counts, own, other, strict=True):
        sees = as_like(count, a) + weights.omega * a * b.sum()
        scales = torch.full(
            (tower.n_parameters,), float(sees.mean()) ** frequency, dtype=a.dtype, device=a.device
        )
        for k, block in enumerate(tower.blocks):
            seen: Tensor = block.column_squares(sees)
            tower.views(scales)[f"input{k}"][:] = (seen.clamp(min=1e-12) ** frequency)[:, None]
        found.append(scales)
    return torch.cat(found)
