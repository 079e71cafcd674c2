"""Observed pairs that stay in main memory, for cards that cannot hold them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from nearer.objectives.observed import ObservedPairs, PairBlock
from nearer.objectives.pair_products import Pattern
from nearer.objectives.tower_inputs import index_type

#: pairs per block: a copy then takes milliseconds, and three blocks some hundred megabytes
BLOCK_PAIRS = 2**24
#: blocks on the card: one in use, one whose products may not have ended, one on its way
_ON_CARD = 3


class _OnItsWay(NamedTuple):
    """A block whose copy to the card ends with an event."""

    block: PairBlock
    copied: torch.cuda.Event


class StreamedPairs(ObservedPairs):
    """Observed pairs of which each product copies block after block to a card.

    A block is copied while products with the one before are computed. Labels and weights are on the card, as are
    vectors with a number per pair.

    Parameters
    ----------
    starts, columns, n_right, labels, weights
        As for `ObservedPairs`, in main memory.
    device : torch.device
        Where products are computed.
    block_pairs : int
        Pairs per block, unless a left entity has more.

    Examples
    --------
    >>> starts, columns = torch.tensor([0, 1, 3, 4]), torch.tensor([1, 0, 1, 0])
    >>> pairs = StreamedPairs(starts, columns, 2, device=torch.device("cpu"), block_pairs=3)
    >>> [(block.lefts, block.pairs) for block in pairs.blocks()]
    [(slice(0, 2, None), slice(0, 3, None)), (slice(2, 3, None), slice(3, 4, None))]
    >>> pairs.scores(torch.eye(3, 2), torch.eye(2))
    tensor([0., 0., 1., 0.])
    """

    def __init__(
        self,
        starts: Tensor,
        columns: Tensor,
        n_right: int,
        labels: Tensor | None = None,
        weights: Tensor | None = None,
        *,
        device: torch.device,
        block_pairs: int = BLOCK_PAIRS,
    ):
        whole = index_type(max(len(columns), len(starts), n_right))
        self.device, self.n_right, self.n_left, self.count = device, n_right, len(starts) - 1, len(columns)
        self.columns, self.starts = columns.to(whole), starts.to(device, whole)
        self.labels, self.weights = (None if x is None else x.to(device) for x in (labels, weights))
        self._kept = list(
            _cut(starts.to(whole), self.columns, n_right, block_pairs, pinned=device.type == "cuda")
        )
        self.left_counts = self.starts.diff()
        self.right_counts = torch.bincount(self.columns, minlength=n_right).to(device, whole)

    @property
    def n_blocks(self) -> int:  # type: ignore[override]
        """The blocks that pairs are in."""
        return len(self._kept)

    def right_of(self, chosen: Tensor) -> Tensor:
        """Return the right entities of some pairs."""
        return self.columns[chosen.cpu()].to(chosen.device)

    def blocks(self) -> Iterator[PairBlock]:
        """Yield the blocks, each on the card when it is its turn."""
        if self.device.type != "cuda":
            yield from self._kept
            return
        now, copies = torch.cuda.current_stream(self.device), torch.cuda.Stream(self.device)
        used: deque[torch.cuda.Event] = deque()
        following = self._sent(0, copies)
        for number in range(self.n_blocks):
            block, copied = following
            if number + 1 < self.n_blocks:
                if len(used) > _ON_CARD - 2:  # or else the program would send all blocks at once
                    used.popleft().synchronize()
                following = self._sent(number + 1, copies)
            now.wait_event(copied)
            for tensor in (*block.by_left.tensors(), *block.by_right.tensors()):
                tensor.record_stream(now)
            yield block
            used.append(now.record_event())

    def _sent(self, number: int, stream: torch.cuda.Stream) -> _OnItsWay:
        """Begin to copy a block."""
        pairs, lefts, *patterns = self._kept[number]
        with torch.cuda.stream(stream):
            by_left, by_right = (pattern.to(self.device) for pattern in patterns)
            return _OnItsWay(PairBlock(pairs, lefts, by_left, by_right), stream.record_event())


def _cut(
    starts: Tensor, columns: Tensor, n_right: int, block_pairs: int, *, pinned: bool
) -> Iterator[PairBlock]:
    """Yield consecutive left entities with about this many pairs; copies from pinned memory run beside other work."""
    first = 0
    while first < len(starts) - 1 or first == 0:
        begin = int(starts[first])
        most = int(torch.searchsorted(starts, begin + block_pairs, right=True)) - 1
        last = min(max(most, first + 1), len(starts) - 1)
        end = int(starts[last])
        by_left = Pattern(starts[first : last + 1] - begin, columns[begin:end], n_right)
        patterns = by_left, by_left.transposed
        if pinned:
            patterns = _pinned(patterns[0]), _pinned(patterns[1])
        yield PairBlock(slice(begin, end), slice(first, last), *patterns)
        first = max(last, 1)


def _pinned(pattern: Pattern) -> Pattern:
    order = None if pattern.order is None else pattern.order.pin_memory()
    return Pattern(pattern.starts.pin_memory(), pattern.columns.pin_memory(), pattern.n_columns, order)
