"""Kernels for GPUs: run by Triton's interpreter on the CPU, against torch; on a card if there is one."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")

from nearer.losses import LogisticLoss, SquareLoss  # noqa: E402
from nearer.objectives import pair_losses, pair_products  # noqa: E402
from nearer.objectives.pair_losses import ExcessLoss, PairLoss, Unobserved  # noqa: E402
from tests.objectives.test_pair_products import K, M, N, draw, pattern, results  # noqa: E402

TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5}


@pytest.fixture
def kernels(monkeypatch):
    """The kernels, used for tensors in main memory; pieces are short, so that rows have several."""
    if not triton.knobs.runtime.interpret:
        pytest.skip("kernels are compiled for a GPU here")
    from nearer.objectives import pair_kernels

    monkeypatch.setattr(pair_kernels, "PIECE", 7)
    monkeypatch.setattr(pair_kernels, "_TILE_NUMBERS", 64)  # four rows of 9 columns, which take up 16
    for module in (pair_products, pair_losses):
        monkeypatch.setattr(module, "on_card", lambda *tensors: True)
    return pair_kernels


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_kernels_equal_torch(dtype, kernels, monkeypatch):
    found = results(dtype)
    monkeypatch.setattr(pair_products, "on_card", lambda *tensors: False)
    monkeypatch.setattr(pair_products, "_compiled", lambda *tensors: False)
    for name, wanted in results(dtype).items():
        assert float((found[name] - wanted).norm() / wanted.norm()) < TOLERANCE[dtype], name
        assert found[name].dtype == dtype


KNOWN = {
    "nothing": (LogisticLoss(), None, None, (-1.0, 1.0)),
    "all, logistic": (LogisticLoss(), "signs", True, None),
    "all, square": (SquareLoss(), "numbers", True, None),
    "square": (SquareLoss(), None, None, (0.5, 2.0)),
}


def losses(loss, labels, weighted, numbers, dtype, scores, at=slice(None)):
    """Values, slopes and curvatures of some pairs by their scores."""
    n = len(scores)
    told = {None: None, "signs": draw(n, dtype=dtype).sign(), "numbers": draw(n, dtype=dtype)}[labels]
    per_pair = numbers or (draw(n, dtype=dtype, seed=1), draw(n, dtype=dtype, seed=2).abs())
    weights = draw(n, dtype=dtype, seed=3).abs() if weighted else None
    excess = ExcessLoss(PairLoss(loss, told, weights, dtype), Unobserved(0.3, *per_pair))
    scores = scores[at]
    return torch.tensor([excess.value(scores, at)]), excess.slopes(scores, at), excess.curvatures(scores, at)


@pytest.mark.parametrize("known", KNOWN.values(), ids=KNOWN)
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("at", [slice(None), slice(20, 83)], ids=["all pairs", "some pairs"])
def test_kernels_of_losses_equal_torch(dtype, known, at, kernels, monkeypatch):
    from nearer.objectives import pair_loss_kernels

    monkeypatch.setattr(pair_loss_kernels, "_BLOCK", 32)
    scores = draw(100, dtype=dtype)
    scores[:40] *= torch.logspace(0, 2.5, 40, dtype=dtype)  # up to where exp overflows or vanishes
    found = losses(*known, dtype, scores, at)
    monkeypatch.setattr(pair_losses, "on_card", lambda *tensors: False)
    for one, wanted in zip(found, losses(*known, dtype, scores, at), strict=True):
        torch.testing.assert_close(one, wanted, rtol=10 * TOLERANCE[dtype], atol=TOLERANCE[dtype])
        assert one.dtype == wanted.dtype


def test_losses_of_users_have_no_kernel(kernels, monkeypatch):
    class Own(LogisticLoss):
        name = "own"

    monkeypatch.setattr(ExcessLoss, "_by_kernel", lambda *given: pytest.fail("the kernel is of another loss"))
    assert losses(Own(), None, None, (0.0, 1.0), torch.float64, draw(5))[1].shape == (5,)


def test_every_entry_is_in_one_piece(kernels, monkeypatch):
    monkeypatch.setattr(kernels, "_NEAR_BYTES", 64)  # eight rows of Q: pieces are started in another order
    by_row = pattern()
    pieces = kernels.Pieces.of(by_row.starts, by_row.columns, 8)
    entries = torch.cat([torch.arange(a, b) for a, b in zip(pieces.firsts, pieces.stops, strict=True)])
    assert torch.equal(entries.sort().values, torch.arange(len(by_row.columns)))
    assert int((pieces.stops - pieces.firsts).max()) == 7
    of_entries = torch.repeat_interleave(pieces.rows, pieces.stops - pieces.firsts)
    assert torch.equal(of_entries, by_row.row_of_entries().long()[entries])
    near = by_row.columns[pieces.firsts] // 8
    assert torch.equal(near, near.sort().values)
    several = torch.bincount(pieces.rows, minlength=M) > 1
    assert torch.equal(pieces.long_rows, several.nonzero()[:, 0])
    assert torch.equal(
        pieces.slots[pieces.slots >= 0].sort().values, torch.arange(int(pieces.long_starts[-1]))
    )


def test_the_order_of_pieces_does_not_change_results(kernels, monkeypatch):
    by_row, values = pattern(), draw(len(pattern().columns))
    one = pair_products.sums(by_row, values, draw(N, K))
    monkeypatch.setattr(kernels, "_NEAR_BYTES", 300)
    assert torch.equal(pair_products.sums(pattern(), values, draw(N, K)), one)


@pytest.mark.parametrize("whole", [torch.int32, torch.int64])
def test_no_entries_at_all(whole, kernels):
    empty = pair_products.Pattern(torch.zeros(M + 1, dtype=whole), torch.zeros(0, dtype=whole), N)
    assert pair_products.scores(empty, draw(M, K), draw(N, K)).shape == (0,)
    assert not pair_products.sums(empty, torch.zeros(0).double(), draw(N, K)).any()


def test_kernels_compile_for_a_card():
    """Without a card, and apart from the interpreter; matrices of 128 columns are read 16 bytes at a time."""
    environment = {**os.environ, "TRITON_INTERPRET": "0", "TRITON_DEFAULT_FP_FUSION": "1"}
    command = [sys.executable, "-m", "tests.objectives.compiled_kernels"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["_scores", "_sums", "_moves", "_join", "_excess"]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_a_card_equals_main_memory(dtype):
    by_row, (P, Q) = pattern(), (draw(n, K, dtype=dtype) for n in (M, N))
    there = pair_products.Pattern(by_row.starts.cuda(), by_row.columns.cuda(), N)
    values = draw(len(by_row.columns), dtype=dtype)
    pairs = [
        (pair_products.scores(by_row, P, Q), pair_products.scores(there, P.cuda(), Q.cuda())),
        (pair_products.sums(by_row, values, Q), pair_products.sums(there, values.cuda(), Q.cuda())),
        (
            pair_products.sums(by_row.transposed, values, P),
            pair_products.sums(there.transposed, values.cuda(), P.cuda()),
        ),
    ]
    for here, found in pairs:
        assert float((here - found.cpu()).norm() / here.norm()) < TOLERANCE[dtype]
