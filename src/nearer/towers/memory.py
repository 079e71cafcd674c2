"""What a fit of towers needs of a card's memory, and how to live with less."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from nearer._utils.text import warn
from nearer.errors import InputError, Suggestion
from nearer.objectives.tower import Tower

#: entities whose activations are in memory at a time, on a CPU
CHUNK_ROWS = 65536
#: vectors of all parameters: them, the best so far, gradient, two moments or directions, scales of the L2 term, and
#: temporaries
_VECTORS = 9
#: matrices of embeddings: both sides, slopes, moves and temporaries
_EMBEDDINGS = 5
#: Gramians of both sides, in double precision, and their copies in the precision of the fit
_GRAMIANS = 6
#: numbers per number of activations: the graph, and temporaries on the way back
_ACTIVATIONS = 1.6
#: bytes per pair in the order of both sides, beside the numbers of scores, slopes and curvatures
_ORDERS, _NUMBERS = 13, 4
#: share of a card that a plan fills; blocks of streamed pairs and what torch keeps for itself take the rest
_FILLED = 0.9
_GB = 1e9


@dataclass(frozen=True)
class Need:
    """What a fit holds in memory, in bytes.

    Attributes
    ----------
    fixed : float
        Parameters, embeddings and Gramians.
    per_row : float
        Activations per entity in memory at a time.
    rows : int
        Entities of the larger tower.
    per_pair : float
        Numbers per pair.
    orders : float
        The lists of pairs, which can stay in main memory.
    """

    fixed: float
    per_row: float
    rows: int
    per_pair: float
    orders: float

    @classmethod
    def of(cls, towers: Sequence[Tower], n_pairs: int, n_components: int, item_size: int) -> Need:
        """Return what towers need beside their features and histories, which are on the card already."""
        rows = [tower.n_rows for tower in towers]
        parameters = sum(tower.n_parameters for tower in towers)
        activations = max(tower.n_activations for tower in towers)
        return cls(
            fixed=item_size * (_VECTORS * parameters + _EMBEDDINGS * sum(rows) * n_components)
            + 8 * _GRAMIANS * n_components**2,
            per_row=item_size * _ACTIVATIONS * activations,
            rows=max(rows),
            per_pair=item_size * _NUMBERS * n_pairs,
            orders=_ORDERS * n_pairs,
        )


@dataclass(frozen=True)
class MemoryPlan:
    """How a fit uses memory.

    Attributes
    ----------
    chunk_rows : int
        Entities whose activations are in memory at a time.
    streamed : bool
        Whether pairs stay in main memory and are copied to the card for each product.
    needed, there : float
        Bytes that it needs, and that the card has; infinite for a CPU.
    """

    chunk_rows: int
    streamed: bool
    needed: float
    there: float

    @classmethod
    def of(cls, need: Need, chunk_rows: int | None, there: float) -> MemoryPlan:
        """Return the plan for a card of this memory: all in one chunk, then in chunks, then with streamed pairs.

        >>> need = Need(fixed=4e9, per_row=1e4, rows=500_000, per_pair=1e9, orders=2e9)
        >>> for there in (20e9, 11e9, 9e9, 7e9):
        ...     plan = MemoryPlan.of(need, None, there)
        ...     plan.chunk_rows, plan.streamed, round(plan.needed / 1e9, 1)
        (500000, False, 12.0)
        (250000, False, 9.5)
        (65536, False, 7.7)
        (65536, True, 5.7)
        """
        sizes = _chunk_sizes(need.rows) if chunk_rows is None else [chunk_rows]
        choices = [*((size, False) for size in sizes), (sizes[-1], True)]
        for rows, streamed in choices:
            needed = need.fixed + need.per_row * min(rows, need.rows) + need.per_pair
            needed += 0 if streamed else need.orders
            plan = cls(rows, streamed, needed, there)
            if plan.fits:
                return plan
        return plan

    @property
    def fits(self) -> bool:
        """Whether the card has room for it."""
        return self.needed <= _FILLED * self.there

    def __str__(self) -> str:
        """Say what is needed and what is there; nothing of main memory.

        >>> str(MemoryPlan(65536, True, 12.3e9, 139e9))
        'needs about 12 GB, the card has 139; pairs are streamed from main memory'
        """
        if math.isinf(self.there):
            return ""
        needed, there = (
            f"{size / _GB:.{0 if size >= 10 * _GB else 1}f}" for size in (self.needed, self.there)
        )
        streamed = "; pairs are streamed from main memory" if self.streamed else ""
        return f"needs about {needed} GB, the card has {there}{streamed}"


def _chunk_sizes(rows: int) -> list[int]:
    """Return the sizes of chunks to try: all rows, half of them and so on.

    >>> _chunk_sizes(300_000), _chunk_sizes(50)
    ([300000, 150000, 75000, 65536], [50])
    """
    sizes = []
    while rows > CHUNK_ROWS:
        sizes.append(rows)
        rows = -(-rows // 2)
    return [*sizes, CHUNK_ROWS if sizes else rows]


def plan_for(need: Need, chunk_rows: int | None, device: torch.device | str) -> MemoryPlan:
    """Return how to use the memory of a device; a CPU always takes the same chunks."""
    device = torch.device(device)
    if device.type != "cuda":
        return MemoryPlan(chunk_rows or CHUNK_ROWS, False, math.nan, math.inf)
    free, _ = torch.cuda.mem_get_info(device)
    # what torch has kept from earlier work is free as well
    kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    plan = MemoryPlan.of(need, chunk_rows, free + kept)
    if not plan.fits:
        warn(f"the fit {plan}: it will probably run out of memory; {_remedies()}")
    return plan


def _remedies() -> str:
    return "narrower hidden layers, fewer n_components or more processes (torchrun) need less"


@contextmanager
def out_of_memory_in_words(plan: object) -> Iterator[None]:
    """Say what a fit needed if the memory of its card was not enough."""
    try:
        yield
    except torch.cuda.OutOfMemoryError as error:
        raise InputError(
            f"the memory of the card was not enough (the fit {plan}): {_remedies()}",
            remedy=[Suggestion("device", "cpu", "if main memory is larger")],
        ) from error


def told_on_stderr(sentence: str) -> None:
    """Show a sentence above the progress bar."""
    print(sentence, file=sys.stderr)
