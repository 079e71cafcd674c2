"""From settings and data to two towers, their objective and their first parameters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor, nn

from nearer.errors import InputError
from nearer.losses.margins import MarginLoss
from nearer.objectives.least_squares import LinearPathObjective
from nearer.objectives.observed import ObservedPairs
from nearer.objectives.similarity_sums import Weights
from nearer.objectives.tower import Tower
from nearer.objectives.tower_inputs import Ids
from nearer.objectives.towers import TowerObjective
from nearer.towers.inputs import History, blocks_of
from nearer.towers.networks import drawn, layers


@dataclass(frozen=True)
class Side:
    """One side of the data: how many entities, what is known of them, and how much their unobserved pairs count."""

    n_rows: int
    kinds: tuple[str, ...]
    features: Any = None
    seen: sparse.csr_matrix | None = None
    weights: np.ndarray | None = None
    imputed: np.ndarray | None = None


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
            given = torch.arange(side.n_rows, device=device)
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


def objective_of(
    pairs: sparse.csr_matrix,
    towers: tuple[Tower, Tower],
    sides: tuple[Side, Side],
    loss: MarginLoss,
    *,
    omega: float,
    missing: float,
    penalty: Penalty,
    chunk_rows: int,
    dropout: float,
    dtype: torch.dtype,
    device: Any,
) -> TowerObjective:
    """Return the objective of two towers on observed pairs with weights."""
    observed = observed_pairs(pairs, dtype, device)
    weights = _weights(sides, omega, missing, dtype, device)
    scales = _scales(towers, observed, weights, penalty.frequency)
    linear = all(tower.linear and isinstance(tower.blocks[0], Ids) for tower in towers)
    kind = LinearPathObjective if linear else TowerObjective
    return kind(
        observed,
        *towers,
        loss,
        weights,
        l2=penalty.l2,
        scales=scales,
        chunk_rows=chunk_rows,
        dropout=dropout,
        noisy=[block for tower in towers for block in tower.blocks if isinstance(block, History)],
    )


def observed_pairs(pairs: sparse.csr_matrix, dtype: torch.dtype, device: Any) -> ObservedPairs:
    """Return the pairs of a sparse matrix; its values are their weights."""
    starts, columns = (torch.from_numpy(a.astype(np.int64)).to(device) for a in (pairs.indptr, pairs.indices))
    counts = None if (pairs.data == 1).all() else torch.as_tensor(pairs.data, dtype=dtype, device=device)
    return ObservedPairs(starts, columns, pairs.shape[1], weights=counts)


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
    towers: tuple[Tower, Tower], pairs: ObservedPairs, weights: Weights, frequency: float
) -> Tensor | None:
    """Return the factor on the L2 term of each parameter: the power of how much data it sees.

    An entity sees its pairs and, by their weight, all others. A column sees what its entities see, times the squares
    of its entries. The parameters of a network count as an average entity.
    """
    if not frequency:
        return None
    found = []
    counts = (pairs.left_counts, pairs.right_counts)
    own, other = (weights.left, weights.right), (weights.right, weights.left)
    for tower, count, a, b in zip(towers, counts, own, other, strict=True):
        sees = count.to(a) + weights.omega * a * b.sum()
        scales = torch.full(
            (tower.n_parameters,), float(sees.mean()) ** frequency, dtype=a.dtype, device=a.device
        )
        for k, block in enumerate(tower.blocks):
            seen: Tensor = block.column_squares(sees)
            tower.views(scales)[f"input{k}"][:] = (seen.clamp(min=1e-12) ** frequency)[:, None]
        found.append(scales)
    return torch.cat(found)
