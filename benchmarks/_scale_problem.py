"""Pairs of two large sets that follow power laws, and the paper's towers over their ids, made where they are needed."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from benchmarks._paper_towers import network
from nearer.losses import LogisticLoss
from nearer.objectives.observed import ObservedPairs
from nearer.objectives.similarity_sums import Weights
from nearer.objectives.streamed import StreamedPairs
from nearer.objectives.tower import Tower
from nearer.objectives.tower_inputs import Ids
from nearer.objectives.towers import TowerObjective
from nearer.towers.memory import Need, plan_for

#: groups of right entities; a left entity draws this share of its pairs from one of them
_GROUPS, _FROM_GROUP = 32, 0.7


def drawn_pairs(n_left: int, n_right: int, count: int, seed: int, device: str) -> tuple[Tensor, Tensor]:
    """Return so many distinct pairs in compressed rows: where the pairs of each left entity start, and the columns.

    How often entities occur falls as a power of their rank, -0.8 on the left and -1 on the right.

    >>> starts, columns = drawn_pairs(60, 64, 500, seed=0, device="cpu")
    >>> len(starts), int(starts[-1]), len(columns)
    (61, 500, 500)
    """
    generator = torch.Generator(device).manual_seed(seed)

    def uniform(size: int) -> Tensor:
        return torch.rand(size, generator=generator, device=device, dtype=torch.float64)

    lefts = torch.randperm(n_left, generator=generator, device=device)
    rights = torch.randperm(n_right, generator=generator, device=device)
    keys = torch.empty(0, dtype=torch.int64, device=device)
    while len(keys) < count:
        size = int(1.25 * (count - len(keys))) + 1000
        low, high = 0.001**0.2, 1.001**0.2
        rank = (
            ((low + uniform(size) * (high - low)) ** 5 - 0.001)
            .clamp_(0)
            .mul_(n_left)
            .long()
            .clamp_(max=n_left - 1)
        )
        right = (0.002 * ((1 + 1 / 0.002) ** uniform(size) - 1)).clamp_(0)
        from_group = uniform(size) < _FROM_GROUP
        in_group = (
            right.mul(n_right // _GROUPS).long().clamp_(max=n_right // _GROUPS - 1) * _GROUPS + rank % _GROUPS
        )
        right = torch.where(from_group, in_group, right.mul_(n_right).long().clamp_(max=n_right - 1))
        keys = torch.unique(torch.cat([keys, lefts[rank] * n_right + rights[right]]))
    surplus = len(keys) - count
    if surplus:
        kept = torch.ones(len(keys), dtype=torch.bool, device=device)
        kept[torch.randperm(len(keys), generator=generator, device=device)[:surplus]] = False
        keys = keys[kept]
    rows = keys // n_right
    counts = torch.bincount(rows, minlength=n_left)
    return torch.cat([counts.new_zeros(1), counts.cumsum(0)]), (keys % n_right).to(torch.int32)


def objective(
    pairs: tuple[Tensor, Tensor],
    n_right: int,
    settings: dict[str, Any],
    *,
    dtype: torch.dtype = torch.float32,
    streamed: bool = False,
    chunk_rows: int | None = None,
) -> tuple[TowerObjective, Tensor]:
    """Return the objective of the paper's towers over the ids of these pairs, on their device, and where to start.

    Streamed pairs stay in main memory.
    """
    device, hidden, outputs = pairs[1].device, settings["hidden"], settings["n_components"]
    sizes = len(pairs[0]) - 1, n_right
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        towers, starts = [], []
        for n_rows, sign in zip(sizes, (-1, 1), strict=True):
            above = network(hidden, outputs, sign / outputs**0.5)
            starts.append((torch.randn(n_rows, hidden) * (2 / (n_rows + hidden)) ** 0.5).ravel())
            starts += [parameter.detach().ravel() for parameter in above.parameters()]
            towers.append(Tower([Ids(n_rows)], hidden, above.to(device, dtype)))
    weights = Weights.constant(settings["omega"], *sizes, -1.0, torch.zeros(1, dtype=dtype, device=device))
    plan = plan_for(Need.of(towers, len(pairs[1]), outputs, dtype.itemsize), chunk_rows, device)
    observed = (
        StreamedPairs(*(part.cpu() for part in pairs), n_right, device=device)
        if streamed
        else ObservedPairs(*pairs, n_right)
    )
    f = TowerObjective(
        observed, *towers, LogisticLoss(), weights, l2=settings["l2"], chunk_rows=plan.chunk_rows
    )
    f.memory = plan
    return f, f.start(torch.cat(starts))
