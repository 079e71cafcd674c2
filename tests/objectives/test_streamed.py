"""Pairs in blocks: sums, products and solutions equal those of all pairs at once; on a card if there is one."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from nearer.losses import LogisticLoss  # noqa: E402
from nearer.objectives.observed import ObservedPairs  # noqa: E402
from nearer.objectives.similarity_sums import SimilaritySums, Weights  # noqa: E402
from nearer.objectives.streamed import StreamedPairs  # noqa: E402

M, N, K = 40, 23, 5
DEVICES = [
    "cpu",
    pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")),
]


def draw(*shape, seed=0):
    return torch.randn(
        *shape, generator=torch.Generator().manual_seed(seed + sum(shape)), dtype=torch.float64
    )


def lists():
    """Pairs of which some left entities, the last among them, have none."""
    observed = draw(M, N) > 0.5
    observed[3], observed[10:20], observed[-1] = False, False, False
    starts = torch.cat([torch.zeros(1, dtype=torch.int64), observed.sum(dim=1).cumsum(0)])
    columns = observed.nonzero()[:, 1]
    return starts, columns, N, draw(len(columns)).sign(), draw(len(columns), seed=1).abs()


def sums(device, block_pairs=None):
    starts, columns, n_right, labels, weights = lists()
    if block_pairs is None:
        told = (x.to(device) for x in (labels, weights))
        pairs = ObservedPairs(starts.to(device), columns.to(device), n_right, *told)
    else:
        pairs = StreamedPairs(*lists(), device=torch.device(device), block_pairs=block_pairs)
    others = Weights(0.3, draw(M).abs(), draw(N).abs(), draw(M, 2), draw(N, 2))
    return SimilaritySums(pairs, LogisticLoss(), others.to(device))


@pytest.fixture(params=DEVICES)
def both(request):
    return request.param, (draw(M, K).to(request.param), draw(N, K).to(request.param))


@pytest.mark.parametrize("block_pairs", [1, 30, 10**6])
def test_blocks_change_nothing(block_pairs, both):
    device, (P, Q) = both
    whole, blocks = sums(device), sums(device, block_pairs)
    assert (blocks.pairs.n_blocks > 1) == (block_pairs < 10**6)
    at, found = whole.at(P, Q), blocks.at(P, Q)
    assert blocks.value(found) == pytest.approx(whole.value(at), rel=1e-12)
    for one, other in (
        (blocks.slopes(found), whole.slopes(at)),
        (blocks.turned(found)(P, Q), whole.turned(at)(P, Q)),
        [[s.slopes_of(a, side) for side in (0, 1)] for s, a in ((blocks, found), (whole, at))],
        [
            [s.solve(a, side, torch.ones_like(X[:, 0]), X.clone(), 0 * X, 3) for side, X in enumerate((P, Q))]
            for s, a in ((blocks, found), (whole, at))
        ],
    ):
        for mine, wanted in zip(one, other, strict=True):
            torch.testing.assert_close(mine, wanted, rtol=1e-10, atol=1e-10)


def test_samples_of_pairs_come_from_main_memory(both):
    device, (P, Q) = both
    whole, blocks = sums(device), sums(device, 30)
    left, right = (torch.tensor(chosen, device=device) for chosen in ([1, 5, 30], [0, 4, 7, 22]))
    values = [
        s.value(s.at(P[left], Q[right])) for s in (whole.within(left, right), blocks.within(left, right))
    ]
    assert values[0] == pytest.approx(values[1], rel=1e-12)
    chosen = torch.tensor([7, 2, 2, 40], device=device)
    assert torch.equal(blocks.pairs.right_of(chosen), whole.pairs.right_of(chosen))
    assert torch.equal(blocks.pairs.left_of(chosen), whole.pairs.left_of(chosen))
    for counts in ("left_counts", "right_counts"):
        assert torch.equal(getattr(blocks.pairs, counts), getattr(whole.pairs, counts))


def test_blocks_hold_whole_left_entities_and_about_so_many_pairs():
    pairs = StreamedPairs(*lists(), device=torch.device("cpu"), block_pairs=30)
    starts, *_ = lists()
    blocks = list(pairs.blocks())
    assert [block.lefts.stop for block in blocks[:-1]] == [block.lefts.start for block in blocks[1:]]
    assert (blocks[0].lefts.start, blocks[-1].lefts.stop) == (0, M)
    for block in blocks:
        assert (block.pairs.start, block.pairs.stop) == (starts[block.lefts.start], starts[block.lefts.stop])
        assert block.pairs.stop - block.pairs.start <= 30


def test_no_pairs_at_all():
    pairs = StreamedPairs(torch.zeros(4, dtype=torch.int64), torch.zeros(0), N, device=torch.device("cpu"))
    assert pairs.scores(draw(3, K), draw(N, K)).shape == (0,)
