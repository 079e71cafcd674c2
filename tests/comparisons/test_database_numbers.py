"""Comparisons whose indices are numbers of a database: cheap to hold, and refused where a model needs room for all."""

import tracemalloc

import numpy as np
import pytest

import nearer
from nearer import Comparisons, OnlineKernel, OrdinalEmbedding, RelativeKernel
from nearer.errors import InputError
from nearer.kernels import _starts

IDS = np.array([2_000_000_001, 2_000_000_007, 2_000_000_003, 2_000_000_005])
ROWS = IDS[[[0, 1, 2], [1, 2, 3], [2, 0, 1], [3, 0, 2], [0, 1, 2]]]


@pytest.fixture
def answers():
    return Comparisons(ROWS)


@pytest.mark.parametrize(
    "operation",
    [
        repr,
        lambda c: c.unique(),
        lambda c: c.conflicts(),
        lambda c: c.split(0.4, random_state=0),
        lambda c: c.folds(2, random_state=0),
        lambda c: c.shuffled(random_state=0),
        lambda c: c.with_noise(0.5, random_state=0),
        lambda c: c.subset(IDS[:3]),
        lambda c: c.quadruplets(),
        lambda c: c == c[:],
        lambda c: c.to_cblearn("list-count"),
        lambda c: c.to_frame(),
    ],
)
def test_operations_take_no_memory_per_object(answers, operation):
    tracemalloc.start()
    try:
        operation(answers)
        assert tracemalloc.get_traced_memory()[1] < 50e6
    finally:
        tracemalloc.stop()


def test_repr_counts_and_names_what_is_missing(answers):
    assert "2,000,000,008 objects, 2,000,000,004 objects in no comparison (0, 1, 2, ...)" in repr(answers)
    assert "2 objects in no comparison (1, 2)" in repr(Comparisons([[0, 3, 4]], 5))
    assert "4 objects in no comparison (1, 3, 5, ...)" in repr(Comparisons([[0, 2, 4]], 7))
    assert "no comparison" not in repr(Comparisons([[0, 1, 2]]))
    sparse = Comparisons([[1, 40, 99]], 100)  # more objects than cells
    assert repr(sparse).endswith("97 objects in no comparison (0, 2, 3, ...))")
    assert sparse.uncompared().tolist() == [at for at in range(100) if at not in (1, 40, 99)]


def test_subset_renumbers_in_the_order_given(answers):
    part = answers.subset([2_000_000_003, 2_000_000_001, 2_000_000_007])
    assert part.n_objects == 3
    assert list(part) == [(1, 2, 0), (0, 1, 2), (1, 2, 0)]
    assert len(answers.subset([5, 6])) == 0
    assert len(answers.subset([])) == 0


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet", "npz"])
def test_files_keep_the_numbers(answers, suffix, tmp_path):
    path = tmp_path / f"answers.{suffix}"
    answers.write(path)
    np.testing.assert_array_equal(Comparisons.read(path).indices, ROWS)


@pytest.mark.parametrize(
    "ask",
    [
        lambda c: OrdinalEmbedding().fit(c),
        lambda c: RelativeKernel().fit(c),
        lambda c: OnlineKernel().fit(c),
        lambda c: OnlineKernel(rank=3).fit(c),
        lambda c: OnlineKernel(5, rank=3).fit([[0, 1, 2]]).partial_fit(c),
        lambda c: OrdinalEmbedding(max_epochs=1, random_state=0).fit([[0, 1, 2]]).score(c),
        lambda c: nearer.choose_dimension(c, (1, 2), n_splits=2),
        lambda c: nearer.active.RecordedOracle(c),
        lambda c: c.uncompared(),
    ],
)
def test_one_explanation_with_one_remedy(answers, ask):
    with pytest.raises(
        InputError, match=r"2,000,000,008 objects are too many.*names.*astype\(str\)"
    ) as caught:
        ask(answers)
    assert "\n" not in str(caught.value)


def test_the_remedy_works_for_arrays(answers):
    for model in (OrdinalEmbedding(random_state=0), RelativeKernel(), OnlineKernel(), OnlineKernel(rank=2)):
        assert model.fit(answers.indices.astype(str)).names_ == tuple(sorted(IDS.astype(str)))


def test_kernels_that_no_memory_holds_are_refused(monkeypatch):
    monkeypatch.setattr(_starts, "machine_memory", lambda: 8 * 50**2)
    many = Comparisons([[0, 1, 2]], 51)
    with pytest.raises(InputError, match=r"whole kernel over 51 objects.*OnlineKernel\(rank=10\)"):
        RelativeKernel().fit(many)
    with pytest.raises(InputError, match=r"whole kernel over 51 objects.*set rank=10"):
        OnlineKernel().fit(many)
    OnlineKernel(rank=10).fit(many)  # the remedy
    with pytest.raises(InputError, match="rank 60 over 51 objects"):
        OnlineKernel(rank=60).fit(many)
    online = OnlineKernel(50).fit([[0, 1, 2]])
    with pytest.raises(InputError, match="51 objects"):
        online.add_objects(1)
    assert online.kernel_.shape == (50, 50)


def test_memory_is_known_or_unlimited(monkeypatch):
    assert _starts.machine_memory() > 2**20
    monkeypatch.delattr(_starts.os, "sysconf", raising=False)
    assert _starts.machine_memory() >= 2**60
