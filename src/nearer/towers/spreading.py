"""From the data of a fit to the part of one process: consecutive entities, and the pairs of left ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from nearer._utils.group import Group, Shares
from nearer.errors import InputError
from nearer.objectives.spread import SpreadParts


@dataclass(frozen=True)
class Within:
    """Where the rows and entries of a process are among those of all: random draws are made for all, and cut."""

    n_rows: int
    n_entries: int
    first_row: int
    first_entry: int


@dataclass(frozen=True)
class Side:
    """One side of the data: how many entities, what is known of them, and how much their unobserved pairs count.

    Of the side of one process, `first` is its first entity, and `within` says where its histories are among all.
    """

    n_rows: int
    kinds: tuple[str, ...]
    features: Any = None
    seen: sparse.csr_matrix | None = None
    weights: np.ndarray | None = None
    imputed: np.ndarray | None = None
    first: int = 0
    within: Within | None = None

    def part(self, rows: slice) -> Side:
        """Return some consecutive entities."""
        of_rows = (
            None if table is None else table[rows]
            for table in (self.features, self.seen, self.weights, self.imputed)
        )
        within = None
        if self.seen is not None:
            within = Within(self.n_rows, self.seen.nnz, rows.start, int(self.seen.indptr[rows.start]))
        features, seen, weights, imputed = of_rows
        return replace(
            self,
            n_rows=rows.stop - rows.start,
            features=features,
            seen=seen,
            weights=weights,
            imputed=imputed,
            first=rows.start,
            within=within,
        )


def parts_of(pairs: sparse.csr_matrix, group: Group) -> SpreadParts:
    """Return how entities and pairs are spread: left ones so that rows and pairs are balanced, right ones evenly."""
    n_left, n_right = pairs.shape
    if min(n_left, n_right) < group.size:
        side = "left" if n_left < group.size else "right"
        raise InputError(
            f"there are {min(n_left, n_right)} {side} entities for {group.size} processes: start fewer processes"
        )
    starts = pairs.indptr.astype(np.int64)
    work = starts + np.arange(n_left + 1) * max(pairs.nnz // n_left, 1)
    inner = np.searchsorted(work, work[-1] * np.arange(1, group.size) // group.size)
    # a part has one entity at least
    inner = np.maximum(inner, np.arange(1, group.size))
    inner = np.minimum(np.maximum.accumulate(inner), n_left - np.arange(group.size - 1, 0, -1))
    bounds = [0, *(int(bound) for bound in _rising(inner)), n_left]
    return SpreadParts(
        Shares(group, tuple(bounds)),
        Shares.equal(group, n_right),
        Shares(group, tuple(int(starts[bound]) for bound in bounds)),
    )


def _rising(bounds: np.ndarray) -> np.ndarray:
    """Return bounds of which each is above the one before.

    >>> _rising(np.array([3, 3, 4]))
    array([3, 4, 5])
    """
    steps = np.arange(len(bounds))
    return np.maximum.accumulate(bounds - steps) + steps
