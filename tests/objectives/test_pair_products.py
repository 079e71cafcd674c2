"""Products over the entries of a sparse matrix: compiled loops against torch, on any number of threads."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from nearer.objectives import pair_products  # noqa: E402
from nearer.objectives.pair_products import (  # noqa: E402
    Pattern,
    RowMatrices,
    add_moves,
    add_sums,
    scores,
    solve,
    sums,
)

M, N, K = 40, 30, 9


@pytest.fixture
def threads():
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def draw(*shape, dtype=torch.float64, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed + sum(shape)), dtype=dtype)


def pattern(whole=torch.int32):
    observed = draw(M, N) > 0
    observed[3], observed[:, 5] = False, False
    rows, columns = observed.nonzero(as_tuple=True)
    starts = torch.zeros(M + 1, dtype=torch.int64)
    starts[1:] = torch.bincount(rows, minlength=M).cumsum(0)
    return Pattern(starts.to(whole), columns.to(whole), N)


def results(dtype=torch.float64):
    """Everything that the module computes, by name."""
    by_row, found = pattern(), {}
    by_column, count = by_row.transposed, len(by_row.columns)
    P, Q, W, H = (draw(n, K, dtype=dtype, seed=s) for s in (0, 1) for n in (M, N))
    values = draw(count, dtype=dtype)
    found["scores"] = scores(by_row, P, Q)
    found["sums"] = sums(by_row, values, Q)
    found["transposed sums"] = sums(by_column, values, P)
    found["added sums"] = add_sums(by_column, values, P, draw(N, K, dtype=dtype, seed=5))
    found["sums into columns of a wider matrix"] = add_sums(
        by_row, values, Q, draw(M, 2 * K, dtype=dtype, seed=5)[:, K:]
    )
    into = draw(M, K, dtype=dtype, seed=6)
    found["moves"], found["sums of moves"] = (
        add_moves(by_row, values, (P, Q), (W, H), into),
        into,
    )
    for name, where, own, other in (("left", by_row, P, Q), ("right", by_column, Q, P)):
        scales, strengths = draw(len(own), dtype=dtype).abs(), 1 + draw(len(own), dtype=dtype, seed=2).abs()
        matrices = RowMatrices(where, values.abs(), other, other.T @ other, scales)
        found[f"products, {name}"] = matrices.times(own)
        found[f"solutions, {name}"] = solve(matrices, strengths, own.clone(), 0 * own, 3)
    return found


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_compiled_equals_torch(dtype, monkeypatch):
    compiled = results(dtype)
    monkeypatch.setattr(pair_products, "_compiled", lambda *tensors: False)
    for name, wanted in results(dtype).items():
        error = float((compiled[name] - wanted).norm() / wanted.norm())
        assert error < (1e-12 if dtype == torch.float64 else 1e-5), name
        assert compiled[name].dtype == wanted.dtype == dtype


def test_threads_do_not_change_results(threads, monkeypatch):
    monkeypatch.setattr(pair_products, "_BLOCK_PRODUCTS", 500)  # many blocks
    found = []
    for count in (1, 2, 3):
        threads(count)
        found.append(results())
    for name, one in found[0].items():
        assert torch.equal(one, found[1][name]), name
        assert torch.equal(one, found[2][name]), name


@pytest.mark.parametrize("whole", [torch.int32, torch.int64])
def test_transposed_on_another_device_is_the_same(whole, monkeypatch):
    here = pattern(whole).transposed
    monkeypatch.setattr(pair_products, "_in_main_memory", lambda tensor: False)
    there = pattern(whole).transposed
    for name in ("starts", "columns", "order"):
        assert torch.equal(getattr(here, name), getattr(there, name))
        assert getattr(here, name).dtype == whole


def test_solutions_solve():
    by_row = pattern()
    Q, target = draw(N, K), draw(M, K)
    matrices = RowMatrices(
        by_row, torch.ones(len(by_row.columns)).double(), Q, Q.T @ Q, torch.ones(M).double()
    )
    strengths = torch.full((M,), 0.1).double()
    x = solve(matrices, strengths, target.clone(), torch.zeros_like(target), 3 * K)
    assert float((matrices.times(x) + 0.1 * x - target).norm()) < 1e-6 * float(target.norm())


def test_rows_that_do_not_fit_are_refused():
    by_row = pattern()
    with pytest.raises(ValueError, match="got 40 and 29 rows"):
        scores(by_row, draw(M, K), draw(N - 1, K))
    with pytest.raises(ValueError, match="got 39 and 30 rows"):
        add_sums(by_row, draw(len(by_row.columns)), draw(N, K), draw(M - 1, K))


def test_no_entries_at_all():
    empty = Pattern(torch.zeros(M + 1, dtype=torch.int32), torch.zeros(0, dtype=torch.int32), N)
    assert scores(empty, draw(M, K), draw(N, K)).shape == (0,)
    assert not sums(empty, torch.zeros(0).double(), draw(N, K)).any()
    assert not sums(empty.transposed, torch.zeros(0).double(), draw(M, K)).any()
