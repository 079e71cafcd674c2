"""The processes that share a fit: sums over all of them, and rows that are spread over them.

A program that runs alone is a group of one, `ALONE`: every sum over processes is then the number itself, and nothing of
torch.distributed is imported. Under `torchrun`, or where `torch.distributed` has been initialised, all processes call
the same methods in the same order, and each gets the same numbers back. A process that died or hangs raises
`LostProcessError` in the others.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from nearer.errors import InputError, LostProcessError

#: seconds after which a process that does not answer counts as lost
PATIENCE = 300
_LOOK = "look for its own message above"
#: errors of torch.distributed about messages, and what gloo writes into those of no class of their own
_OF_ENGINES = ("DistBackendError", "DistNetworkError", "DistStoreError")
_SIGNS = ("gloo", "connect", "timed out", "timeout", "socket", "closed by peer", "nccl")
_VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


class Group:
    """One process alone.

    Attributes
    ----------
    rank, size : int
        The number of this process, from 0, and the number of processes.
    sent : int
        Bytes that this process has sent to others, by the algorithms of rings that gloo and NCCL use for large tensors.

    Examples
    --------
    >>> ALONE.rank, ALONE.size, ALONE.total(3.0), ALONE.same_as_first("seed")
    (0, 1, 3.0, 'seed')
    """

    rank, size, sent = 0, 1, 0

    @property
    def alone(self) -> bool:
        """Whether there are no other processes to talk to."""
        return self.size == 1

    @property
    def is_first(self) -> bool:
        """Whether this is the process that prints and writes files."""
        return self.rank == 0

    def sum_of(self, values: Any) -> Any:
        """Return the sum of a tensor over all processes; the tensor may be overwritten."""
        return values

    def sums_of(self, *values: Any) -> tuple[Any, ...]:
        """Return the sums of several tensors of one precision, by one message."""
        return values

    def total(self, value: float) -> float:
        """Return the sum of a number over all processes."""
        return value

    def largest(self, value: float) -> float:
        """Return the largest number that a process has."""
        return value

    def joined(self, part: Any, bounds: Sequence[int]) -> Any:
        """Return all rows of a matrix from the part that each process has."""
        return part

    def own_sums(self, whole: Any, bounds: Sequence[int]) -> Any:
        """Return this process's part of the rows of a sum over all processes."""
        return whole

    def same_as_first(self, thing: Any) -> Any:
        """Return what process 0 has."""
        return thing

    def all_of(self, thing: Any) -> list[Any]:
        """Return what every process has, by their numbers."""
        return [thing]

    def to_first(self, thing: Any) -> list[Any] | None:
        """Return what every process has, by their numbers, in process 0 and None in others."""
        return [thing]

    def device(self, device: str) -> str:
        """Return the device of this process for the one that a user named."""
        return device


ALONE = Group()


class TorchGroup(Group):
    """The processes of a group of torch.distributed, which must be initialised.

    Parameters
    ----------
    group : torch.distributed.ProcessGroup, optional
        All processes by default.
    """

    def __init__(self, group: Any = None):
        import torch.distributed as dist

        self._dist, self._group, self.sent = dist, group, 0
        self.rank, self.size = dist.get_rank(group), dist.get_world_size(group)
        self._first = 0 if group is None else dist.get_global_rank(group, 0)
        engines = str(dist.get_backend_config(group))
        self._from_memory, self._from_cards = "gloo" in engines, "nccl" in engines
        place = "cpu" if self._from_memory else "cuda"
        self._number = {"dtype": self._torch.float64, "device": place}

    @property
    def _torch(self) -> Any:
        return sys.modules["torch"]

    @property
    def alone(self) -> bool:
        """Whether there are no other processes to talk to; a group of one talks to itself, as a test of its engine."""
        return False

    def sum_of(self, values: Any) -> Any:
        """Return the sum of a tensor over all processes; the tensor may be overwritten."""
        return self._reduced(values, self._dist.ReduceOp.SUM)

    def sums_of(self, *values: Any) -> tuple[Any, ...]:
        """Return the sums of several tensors of one precision, by one message."""
        flat = self.sum_of(self._torch.cat([value.reshape(-1) for value in values]))
        parts = flat.split([value.numel() for value in values])
        return tuple(part.view(value.shape) for part, value in zip(parts, values, strict=True))

    def total(self, value: float) -> float:
        """Return the sum of a number over all processes, in double precision."""
        return float(self.sum_of(self._torch.tensor([value], **self._number)))

    def largest(self, value: float) -> float:
        """Return the largest number that a process has."""
        return float(self._reduced(self._torch.tensor([value], **self._number), self._dist.ReduceOp.MAX))

    def joined(self, part: Any, bounds: Sequence[int]) -> Any:
        """Return all rows of a matrix from the part that each process has."""
        counts, rest = np.diff(bounds).tolist(), part.shape[1:]
        most = max(counts)
        mine = self._sendable(_padded(part, most))
        found = mine.new_empty(self.size * most, *rest)
        gather = getattr(self._dist, "all_gather_single", None) or self._dist.all_gather_into_tensor
        with self._asking((self.size - 1) * _size(mine)):
            gather(found, mine, group=self._group)
        return self._torch.cat([found[k * most : k * most + count] for k, count in enumerate(counts)]).to(
            part.device
        )

    def own_sums(self, whole: Any, bounds: Sequence[int]) -> Any:
        """Return this process's part of the rows of a sum over all processes."""
        counts = np.diff(bounds).tolist()
        n_own, most = counts[self.rank], max(counts)
        parts, rest = self._sendable(whole), whole.shape[1:]
        if not parts.is_cuda:  # gloo's own way would send twice as much
            found = parts.new_empty(self.size * n_own, *rest)
            with self._asking(_size(parts) - _size(parts[:n_own])):
                self._dist.all_to_all_single(found, parts, [n_own] * self.size, counts, group=self._group)
            return found.view(self.size, n_own, *rest).sum(dim=0).to(whole.device)
        parts = self._torch.cat([_padded(part, most) for part in parts.split(counts)])
        found = parts.new_empty(most, *rest)
        scatter = getattr(self._dist, "reduce_scatter_single", None) or self._dist.reduce_scatter_tensor
        with self._asking((self.size - 1) * _size(found)):
            scatter(found, parts, group=self._group)
        return found[:n_own].to(whole.device)

    def same_as_first(self, thing: Any) -> Any:
        """Return what process 0 has: anything that can be pickled."""
        things = [thing]
        with self._asking(0):
            self._dist.broadcast_object_list(things, src=self._first, group=self._group)
        return things[0]

    def all_of(self, thing: Any) -> list[Any]:
        """Return what every process has, by their numbers: anything that can be pickled."""
        things = [None] * self.size
        with self._asking(0):
            self._dist.all_gather_object(things, thing, group=self._group)
        return things

    def to_first(self, thing: Any) -> list[Any] | None:
        """Return what every process has, by their numbers, in process 0 and None in others."""
        things = [None] * self.size if self.is_first else None
        with self._asking(0):
            self._dist.gather_object(thing, things, dst=self._first, group=self._group)
        return things

    def device(self, device: str) -> str:
        """Return the device of this process: of several cards, the one with its number on this machine."""
        return f"cuda:{_card()}" if device == "cuda" else device

    def _reduced(self, values: Any, operation: Any) -> Any:
        sendable = self._sendable(values)
        with self._asking(2 * (self.size - 1) * _size(sendable) // self.size):
            self._dist.all_reduce(sendable, op=operation, group=self._group)
        return sendable.to(values.device)

    def _sendable(self, values: Any) -> Any:
        """Return a contiguous tensor where an engine can read it: gloo in main memory, NCCL on a card."""
        if values.is_cuda and not self._from_cards:
            values = values.cpu()
        elif not values.is_cuda and not self._from_memory:
            values = values.cuda()
        return values.contiguous()

    @contextmanager
    def _asking(self, n_bytes: int) -> Iterator[None]:
        """Count bytes; turn what torch raises about another process into one sentence; others keep their words."""
        self.sent += n_bytes
        try:
            yield
        except RuntimeError as error:
            if not _is_about_others(error):
                raise
            raise LostProcessError("another process has ended or does not answer", _LOOK) from error


@dataclass(frozen=True)
class Shares:
    """Rows that are spread over the processes of a group: one contiguous part for each.

    Attributes
    ----------
    group : Group
        The processes.
    bounds : tuple of int
        Where the part of each process begins, and the end of the last.

    Examples
    --------
    >>> Shares(ALONE, (0, 5)).own, Shares(ALONE, (0, 5)).of(np.array([1, 4])).bounds
    (slice(0, 5, None), (0, 2))
    """

    group: Group
    bounds: tuple[int, ...]

    @classmethod
    def equal(cls, group: Group, count: int) -> Shares:
        """Return parts with about the same number of rows."""
        return cls(group, tuple(count * k // group.size for k in range(group.size + 1)))

    @property
    def count(self) -> int:
        """The rows of all processes."""
        return self.bounds[-1]

    @property
    def own(self) -> slice:
        """The rows of this process."""
        return slice(self.bounds[self.group.rank], self.bounds[self.group.rank + 1])

    def of(self, chosen: Any) -> Shares:
        """Return how some of the rows are spread; they are ascending unless a process is alone."""
        if self.group.alone:
            return Shares(self.group, (0, len(chosen)))
        import torch

        inner = torch.tensor(self.bounds, dtype=chosen.dtype, device=chosen.device)
        return Shares(self.group, tuple(torch.searchsorted(chosen, inner).tolist()))

    def own_of(self, chosen: Any) -> Any:
        """Return which of some ascending rows are of this process, counted within its part."""
        return chosen if self.group.alone else chosen[self.of(chosen).own] - self.own.start

    def joined(self, part: Any) -> Any:
        """Return all rows from the parts."""
        return self.group.joined(part, self.bounds)

    def own_sums(self, whole: Any) -> Any:
        """Return the own part of the sum of matrices that have all rows."""
        return self.group.own_sums(whole, self.bounds)


@contextmanager
def ending_in_words(group: Group) -> Iterator[None]:
    """Raise `LostProcessError` in the block if the process is asked to end: `torchrun` does so if another one died."""
    handler, main = signal.getsignal(signal.SIGTERM), threading.main_thread()
    if group.alone or handler is not signal.SIG_DFL or threading.current_thread() is not main:
        yield
        return

    def end(number: int, frame: Any) -> None:
        raise LostProcessError("this process was asked to end, as if another one had ended", _LOOK)

    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, handler)


def processes() -> Group:
    """Return the processes that share a fit: those of torch.distributed if it is initialised, or of `torchrun`."""
    dist = sys.modules.get("torch.distributed")
    if dist is not None and dist.is_available() and dist.is_initialized():
        return TorchGroup()
    if not started_together():
        return ALONE
    _initialise()
    return TorchGroup()


def started_together() -> bool:
    """Return whether `torchrun` has started this process."""
    return all(name in os.environ for name in _VARIABLES)


def own_rank() -> int:
    """Return the number of this process among those that `torchrun` has started."""
    return int(os.environ["RANK"]) if started_together() else 0


def _initialise() -> None:
    """Join the processes that `torchrun` has started: over gloo, and over NCCL for tensors on cards."""
    from datetime import timedelta

    import torch
    import torch.distributed as dist

    engines, n_cards = "gloo", torch.cuda.device_count()
    if n_cards:
        torch.cuda.set_device(_card())
        # NCCL refuses two processes on one card
        if n_cards >= int(os.environ.get("LOCAL_WORLD_SIZE", "1")):
            engines = "cpu:gloo,cuda:nccl"
    try:
        dist.init_process_group(engines, timeout=timedelta(seconds=PATIENCE))
    except (RuntimeError, ValueError) as error:
        raise LostProcessError(
            f"the processes did not meet at {os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}",
            "check that all of them were started",
        ) from error
    atexit.register(_leave)


def _is_about_others(error: RuntimeError) -> bool:
    """Return whether an engine could not reach another process, by its class or, for gloo, by its words."""
    import torch.distributed as dist

    words = str(error).lower()
    if any(other in words for other in ("does not support", "out of memory", "allocate")):
        return False
    classes = tuple(getattr(dist, name) for name in _OF_ENGINES if hasattr(dist, name))
    return isinstance(error, classes) or any(sign in words for sign in _SIGNS)


def _leave() -> None:
    """Leave the group before the interpreter ends: NCCL warns otherwise."""
    dist = sys.modules["torch.distributed"]
    with suppress(Exception):
        dist.destroy_process_group()


def _card() -> int:
    import torch

    return int(os.environ.get("LOCAL_RANK", "0")) % max(torch.cuda.device_count(), 1)


def _size(values: Any) -> int:
    return int(values.numel() * values.element_size())


def _padded(part: Any, count: int) -> Any:
    """Return a matrix with rows of zeros below up to this count."""
    if len(part) == count:
        return part
    whole = part.new_zeros(count, *part.shape[1:])
    whole[: len(part)] = part
    return whole


def checked_same(group: Group, what: str, value: Any) -> None:
    """Refuse to begin if processes have other data or settings than process 0."""
    found = group.all_of(value)
    other = next((rank for rank, one in enumerate(found) if one != found[0]), None)
    if other is not None:
        raise InputError(
            f"process {other} has other {what} than process 0: every process must call fit with the same data and "
            "settings"
        )
