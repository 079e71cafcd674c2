"""Sums over processes and rows that are spread over them: alone, and in three real processes with unequal parts."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from nearer._utils.group import (  # noqa: E402
    ALONE,
    Shares,
    TorchGroup,
    checked_same,
    processes,
    started_together,
)
from nearer.errors import InputError, LostProcessError  # noqa: E402
from tests.refusals import refused  # noqa: E402
from tests.towers.distributed import in_processes  # noqa: E402

SCRIPT = """
import numpy as np, torch
from nearer._utils.group import Shares, checked_same, processes
from nearer.errors import InputError
group = processes()
rank, size = group.rank, group.size
whole = torch.arange(14.0, dtype=torch.float64).view(7, 2)
shares = Shares(group, (0, 1, 5, 7))
assert shares.joined(whole[shares.own]).equal(whole)
assert group.sent == 2 * 4 * 2 * 8, group.sent  # two others, the longest part has four rows of two numbers
assert shares.own_sums((rank + 1) * whole).equal(6 * whole[shares.own])
assert group.sum_of(torch.full((3,), rank)).tolist() == [3, 3, 3]
a, b = group.sums_of(torch.ones(2, 2), torch.full((1,), float(rank)))
assert a.tolist() == [[3, 3], [3, 3]] and b.tolist() == [3]
assert (group.total(rank + 0.5), group.largest(-rank)) == (4.5, 0)
assert group.same_as_first({"rank": rank}) == {"rank": 0}
assert group.all_of("abc"[rank]) == ["a", "b", "c"]
assert group.to_first(rank) == ([0, 1, 2] if rank == 0 else None)
chosen = torch.tensor([1, 2, 6])
assert shares.of(chosen).bounds == (0, 0, 2, 3)
assert shares.own_of(chosen).tolist() == [[], [0, 1], [1]][rank]
empty = shares.of(chosen)
assert empty.joined(whole[chosen][empty.own]).equal(whole[chosen])
assert empty.own_sums(whole[chosen]).equal(3 * whole[chosen][empty.own])
checked_same(group, "data", "same")
try:
    checked_same(group, "data", "other" if rank == 2 else "same")
except InputError as error:
    print(error.problem)
"""


def test_three_processes_have_the_same_numbers(tmp_path):
    said = in_processes(SCRIPT, tmp_path, 3)
    assert all("process 2 has other data" in line for line in said)


def test_a_process_alone_sums_itself_and_imports_nothing():
    assert processes() is ALONE
    assert not started_together()
    rows = np.ones((3, 2))
    shares = Shares.equal(ALONE, 3)
    assert shares.joined(rows) is rows
    assert shares.own_sums(rows) is rows
    assert ALONE.sums_of(rows, rows) == (rows, rows)
    checked_same(ALONE, "data", 1)
    with refused("process 1"):
        checked_same(_Others([1, 2]), "data", 1)


@pytest.mark.parametrize(
    ("error", "lost"),
    [
        (
            RuntimeError(
                "[/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:547] Connection closed by peer"
            ),
            True,
        ),
        (RuntimeError("Timed out waiting 300000ms for recv operation to complete"), True),
        (torch.distributed.DistBackendError("NCCL error: remote process exited"), True),
        (torch.distributed.DistBackendError("NCCL error: Cuda failure 'out of memory'"), False),
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"), False),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"), False),
        (RuntimeError("The size of tensor a (3) must match the size of tensor b (4)"), False),
        (InputError("the rows hold NaN"), False),
        (TypeError("cannot pickle"), False),
    ],
)
def test_only_errors_of_communication_are_about_another_process(error, lost):
    group = object.__new__(TorchGroup)
    group.sent = 0
    with pytest.raises(LostProcessError if lost else type(error)) as caught, group._asking(8):
        raise error
    assert group.sent == 8
    assert caught.value.__cause__ is error if lost else caught.value is error


class _Others(type(ALONE)):
    """A group whose processes have these things."""

    def __init__(self, things):
        self.things = things

    def all_of(self, thing):
        return self.things


@pytest.mark.parametrize(("count", "size"), [(7, 3), (3, 3), (100, 8)])
def test_equal_parts_differ_by_one_row_at_most(count, size):
    group = _Others([])
    group.size = size
    lengths = np.diff(Shares.equal(group, count).bounds)
    assert lengths.sum() == count
    assert np.ptp(lengths) <= 1
