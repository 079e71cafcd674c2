"""The model of the extreme similarity paper (section 6.1.2) on real and on drawn pairs, from the parts of nearer."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import Tensor, nn

from benchmarks._data import load
from nearer.losses import LogisticLoss
from nearer.objectives.observed import ObservedPairs
from nearer.objectives.similarity_sums import Weights
from nearer.objectives.tower import Tower
from nearer.objectives.tower_inputs import Ids
from nearer.objectives.towers import TowerObjective


class Split(NamedTuple):
    """Pairs to learn from and pairs to be found, as matrices of zeros and ones."""

    train: csr_matrix
    test: csr_matrix


def ml_1m(seed: int) -> Split:
    """Return ratings of at least 4 of MovieLens 1M; a tenth of them, drawn at random, is to be found."""
    arrays = load("ml_1m")
    liked = arrays["rating"] >= 4
    return split(arrays["user"][liked], arrays["item"][liked], seed)


def wikispeedia(seed: int) -> Split:
    """Return the links between the articles of Wikispeedia; a tenth is to be found."""
    arrays = load("wikispeedia_links")
    return split(arrays["src"], arrays["dst"], seed)


SETS = {"ml-1m": ml_1m, "wikispeedia": wikispeedia}


def split(left: np.ndarray, right: np.ndarray, seed: int) -> Split:
    """Return nine tenths and one tenth of the pairs; entities without any pair are left out.

    >>> both = split(np.repeat(np.arange(5), 4), np.tile([0, 2, 4, 6], 5), seed=0)
    >>> both.train.shape, both.train.nnz, both.test.nnz
    ((5, 4), 18, 2)
    """
    rows, columns = (np.unique(ends, return_inverse=True)[1] for ends in (left, right))
    order = np.random.default_rng(seed).permutation(len(rows))
    held_out = len(rows) // 10
    shape = (rows.max() + 1, columns.max() + 1)

    def matrix(chosen: np.ndarray) -> csr_matrix:
        return csr_matrix((np.ones(len(chosen), np.float32), (rows[chosen], columns[chosen])), shape)

    return Split(matrix(order[held_out:]), matrix(order[:held_out]))


class _Shift(nn.Module):
    """The bias of the first layer."""

    def __init__(self, size: int):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(size))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.bias


def network(hidden: int, outputs: int, last: float) -> nn.Module:
    """Return ELU layers above the first one; the last bias starts where the imputed score -1 is met."""
    layers = [_Shift(hidden), nn.ELU(), nn.Linear(hidden, hidden), nn.ELU(), nn.Linear(hidden, outputs)]
    for layer in layers:
        if isinstance(layer, nn.Linear):
            nn.init.xavier_normal_(layer.weight)
            nn.init.zeros_(layer.bias)
    nn.init.constant_(layers[-1].bias, last)  # type: ignore[arg-type]
    return nn.Sequential(*layers)


def objective(
    pairs: csr_matrix, settings: dict[str, Any], seed: int, *, chunk_rows: int = 65536
) -> tuple[TowerObjective, Tensor]:
    """Return the paper's objective over one-hot ids, and where to start."""
    hidden, outputs = settings["hidden"], settings["n_components"]
    pairs.sort_indices()
    observed = ObservedPairs(
        torch.from_numpy(pairs.indptr.astype(np.int64)),
        torch.from_numpy(pairs.indices.astype(np.int64)),
        pairs.shape[1],
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        towers, starts = [], []
        for n_rows, sign in zip(pairs.shape, (-1, 1), strict=True):
            above = network(hidden, outputs, sign / outputs**0.5)
            towers.append(Tower([Ids(n_rows)], hidden, above))
            starts.append((torch.randn(n_rows, hidden) * (2 / (n_rows + hidden)) ** 0.5).ravel())
            starts += [parameter.detach().ravel() for parameter in above.parameters()]
    weights = Weights.constant(settings["omega"], *pairs.shape, -1.0, torch.zeros(1))
    f = TowerObjective(
        observed, towers[0], towers[1], LogisticLoss(), weights, l2=settings["l2"], chunk_rows=chunk_rows
    )
    return f, torch.cat(starts)


def best_five(f: TowerObjective, x: Tensor, seen: csr_matrix) -> np.ndarray:
    """Return the five columns of the highest scores for every row, best first, without those seen."""
    P, Q = (side.numpy() for side in f.embeddings(x))
    scores = P @ Q.T
    scores[seen.nonzero()] = -np.inf
    top = np.argpartition(-scores, 5, axis=1)[:, :5]
    return np.take_along_axis(top, np.take_along_axis(-scores, top, 1).argsort(axis=1), 1)
