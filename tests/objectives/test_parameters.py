"""Parameters of every kind have the same sums, means and largest numbers as one numpy array."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from nearer._utils.group import ALONE, Shares  # noqa: E402
from nearer.objectives.parameters import OneArray, OneTensor, Tensors  # noqa: E402
from nearer.objectives.spread import SpreadParts, SpreadTensor  # noqa: E402
from nearer.objectives.tower import Tower  # noqa: E402
from nearer.objectives.tower_inputs import Dense, Ids  # noqa: E402

RANDOM = np.random.default_rng(0)
TOWERS = [Tower([Ids(n), Dense(torch.ones(n, 1))], linear=2) for n in (4, 3)]
X, Y = RANDOM.normal(size=(2, sum(tower.n_parameters for tower in TOWERS)))


def cut(x):
    return {"a": torch.from_numpy(x[:5]), "b": torch.from_numpy(x[5:]).view(-1, 1)}


KINDS = {
    "array": (OneArray(), lambda x: x),
    "tensor": (OneTensor(dtype=torch.float64), torch.from_numpy),
    "tensors": (Tensors(), cut),
    "spread": (SpreadTensor(TOWERS, SpreadParts.alone(4, 3, 0), "cpu", torch.float64), torch.from_numpy),
}


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_are_those_of_one_array(kind):
    space, turned = KINDS[kind]
    x, y = turned(X), turned(Y)
    assert space.inner(x, y) == pytest.approx(X @ Y)
    assert space.mean(x) == pytest.approx(X.mean())
    assert space.largest(x) == X.max()
    assert space.is_finite(x)


class _First(type(ALONE)):
    """The first of two processes, of which the second has nothing to add."""

    def __init__(self, rank):
        self.rank, self.size = rank, 2


@pytest.mark.parametrize("rank", [0, 1])
def test_a_part_has_its_rows_of_ids_and_all_common_numbers(rank):
    group = _First(rank)
    parts = SpreadParts(*(Shares(group, bounds) for bounds in ((0, 1, 4), (0, 2, 3), (0, 0, 0))))
    sizes = [np.diff(shares.bounds)[rank] for shares in parts[:2]]
    towers = [Tower([Ids(n), Dense(torch.ones(n, 1))], linear=2) for n in sizes]
    space = SpreadTensor(towers, parts, "cpu", torch.float64)
    own = space.own(torch.from_numpy(X))
    left, right = X[:10], X[10:]
    cuts = [slice(0, 2), slice(0, 4)] if rank == 0 else [slice(2, 8), slice(4, 6)]
    expected = np.concatenate([left[cuts[0]], left[8:], right[cuts[1]], right[6:]])
    assert own.numpy() == pytest.approx(expected)
    assert space.count == len(X)
    # sums count what is common once: in the first process
    counted = np.concatenate([left[cuts[0]], right[cuts[1]]])
    common = 0 if rank else (left[8:] ** 2).sum() + (right[6:] ** 2).sum()
    assert space.own_inner(own, own) == pytest.approx((counted**2).sum() + common)
    once = space.once(own.clone())
    assert float((once**2).sum()) == pytest.approx((counted**2).sum() + common)
