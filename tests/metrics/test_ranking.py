"""Measures of rankings: against known answers, a plain loop, and ranx."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from nearer import Interactions
from nearer.metrics import hit_rate, mean_precision, ndcg, ranking_scores, recall
from tests.refusals import refused

RANKED = np.array([[3, 0, 1], [0, 1, 2], [1, 0, 2], [2, -1, -1]])
HELD_OUT = sparse.csr_matrix(np.array([[0, 1, 0, 1], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 1, 1]]))


def plain_scores(ranked, relevant, k):
    """One row by the book."""
    hits = [column in relevant for column in ranked[:k]]
    hits += [False] * (k - len(hits))
    gains = [1 / math.log2(rank + 2) for rank in range(k)]
    return {
        f"map@{k}": sum(sum(hits[:rank]) / rank for rank in range(1, k + 1)) / k,
        f"recall@{k}": sum(hits) / len(relevant),
        f"ndcg@{k}": sum(g for g, hit in zip(gains, hits, strict=True) if hit)
        / sum(gains[: min(k, len(relevant))]),
        f"hr@{k}": float(any(hits)),
    }


def test_known_answers():
    # rows 0, 1 and 3 have held-out pairs; hits: 1 0 1, 0 0 1, 1 0 0
    assert mean_precision(RANKED, HELD_OUT, k=3) == pytest.approx(
        np.mean([(1 + 1 / 2 + 2 / 3) / 3, (1 / 3) / 3, (1 + 1 / 2 + 1 / 3) / 3])
    )
    assert recall(RANKED, HELD_OUT, k=3) == pytest.approx((1 + 1 + 0.5) / 3)
    assert recall(RANKED, HELD_OUT, k=1) == pytest.approx((0.5 + 0 + 0.5) / 3)
    assert hit_rate(RANKED, HELD_OUT, k=2) == pytest.approx(2 / 3)
    ideal = 1 + 1 / math.log2(3)
    assert ndcg(RANKED, HELD_OUT, k=3) == pytest.approx(((1 + 0.5) / ideal + 0.5 + 1 / ideal) / 3)


def test_map_at_5_is_the_default_and_counts_unfilled_ranks():
    perfect = np.arange(5)[None]
    assert mean_precision(perfect, sparse.csr_matrix(np.ones((1, 5)))) == 1
    # one hit at rank 1 of one: precision 1, 1/2, 1/3, 1/4, 1/5
    assert mean_precision([[0]], sparse.csr_matrix([[1.0, 0]])) == pytest.approx(
        (1 + 1 / 2 + 1 / 3 + 1 / 4 + 1 / 5) / 5
    )


def random_rankings(n_left, n_right, k, seed):
    rng = np.random.default_rng(seed)
    ranked = np.argsort(rng.random((n_left, n_right)), axis=1)[:, :k]
    ranked[rng.random(ranked.shape) < 0.05] = -1
    held_out = sparse.random(n_left, n_right, density=0.1, random_state=seed, format="lil")
    held_out[0, 0] = 1
    return ranked, sparse.csr_matrix(held_out)


@given(
    n_left=st.integers(1, 12),
    n_right=st.integers(1, 12),
    ranks=st.integers(1, 12),
    k=st.integers(1, 15),
    seed=st.integers(0, 99),
)
def test_every_measure_is_that_of_a_plain_loop(n_left, n_right, ranks, k, seed):
    ranked, held_out = random_rankings(n_left, n_right, min(ranks, n_right), seed)
    rows = [row for row in range(n_left) if held_out[row].nnz]
    expected = [plain_scores(ranked[row], set(held_out[row].indices), k) for row in rows]
    names = [f"{name}@{k}" for name in ("map", "recall", "ndcg", "hr")]
    found = ranking_scores(ranked, held_out, names, per_row=True)
    for at, scores in enumerate(expected):
        assert {name: found[name][at] for name in names} == pytest.approx(scores)
    means = ranking_scores(ranked, held_out, names)
    single = [measure(ranked, held_out, k) for measure in (mean_precision, recall, ndcg, hit_rate)]
    assert list(means.values()) == pytest.approx(single) == [found[name].mean() for name in names]
    assert all(0 <= value <= 1 for value in single)


def test_blocks_do_not_matter(monkeypatch):
    ranked, held_out = random_rankings(300, 40, 20, 0)
    whole = ranking_scores(ranked, held_out, per_row=True)
    monkeypatch.setattr("nearer._utils.arrays.BLOCK_NUMBERS", 100)
    for name, values in ranking_scores(ranked, held_out, per_row=True).items():
        assert np.array_equal(values, whole[name])


def test_interactions_zeros_and_unsorted_matrices_are_the_same():
    expected = ranking_scores(RANKED, HELD_OUT)
    assert set(expected) == {"map@5", "recall@20", "ndcg@10", "hr@10"}
    assert ranking_scores(RANKED, Interactions.from_sparse(HELD_OUT)) == expected
    messy = sparse.csr_matrix(([1.0, 1, 1, 1, 1, 0], [3, 1, 2, 3, 2, 0], [0, 2, 3, 3, 6]), shape=(4, 4))
    before = messy.copy()
    assert ranking_scores(RANKED, messy) == expected
    assert np.array_equal(messy.indices, before.indices)
    assert ranking_scores(RANKED, sparse.coo_array(HELD_OUT)) == expected
    assert ranking_scores(RANKED, HELD_OUT, "hr@1") == {"hr@1": pytest.approx(2 / 3)}


@pytest.mark.parametrize(
    ("ranked", "held_out", "names", "shown", "fields"),
    [
        (RANKED[:2], HELD_OUT, ["hr@1"], ["2 rows", "4"], {"parameter": "ranked"}),
        (RANKED[0], HELD_OUT, ["hr@1"], ["(3,)"], {"parameter": "ranked"}),
        (RANKED * 1.0, HELD_OUT, ["hr@1"], ["float64"], {"parameter": "ranked"}),
        (RANKED[:, :0], HELD_OUT, ["hr@1"], ["(4, 0)"], {"parameter": "ranked"}),
        (RANKED * 3, HELD_OUT, ["hr@1"], ["9", "0 to 3"], {"parameter": "ranked", "row": 0}),
        (RANKED * 0, HELD_OUT, ["hr@1"], ["column 0 twice"], {"parameter": "ranked", "row": 0}),
        (RANKED, HELD_OUT.toarray(), ["hr@1"], ["ndarray"], {"parameter": "held_out"}),
        (RANKED, HELD_OUT * 0, ["hr@1"], ["no pair"], {"parameter": "held_out"}),
        (RANKED, HELD_OUT, ["mrr@1"], ["'mrr@1'", "ndcg"], {"parameter": "names"}),
        (RANKED, HELD_OUT, ["hr"], ["'hr'"], {"parameter": "names"}),
        (RANKED, HELD_OUT, ["hr@0"], ["'hr@0'"], {"parameter": "names"}),
        (RANKED, HELD_OUT, [5], ["5"], {"parameter": "names"}),
    ],
)
def test_what_cannot_be_measured_is_refused(ranked, held_out, names, shown, fields):
    with refused(*shown, **fields):
        ranking_scores(ranked, held_out, names)


def test_a_bad_number_of_ranks_is_refused():
    for measure in (mean_precision, recall, ndcg, hit_rate):
        with refused("0", parameter="k"):
            measure(RANKED, HELD_OUT, k=0)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # those of ranx, while numba compiles it
def test_measures_are_those_of_ranx():
    ranx = pytest.importorskip("ranx", reason="needs ranx: pip install ranx")
    ranked, held_out = random_rankings(40, 30, 15, 1)
    ranked = np.argsort(np.random.default_rng(1).random((40, 30)), axis=1)[:, :15]
    rows = [row for row in range(40) if held_out[row].nnz]
    relevant = {f"{row:03}": {str(column): 1 for column in held_out[row].indices} for row in rows}
    scores = {f"{row:03}": {str(column): 15.0 - at for at, column in enumerate(ranked[row])} for row in rows}
    names = [*(f"precision@{k}" for k in range(1, 6)), "recall@10", "ndcg@10", "hit_rate@10"]
    theirs = ranx.evaluate(ranx.Qrels(relevant), ranx.Run(scores), names, return_mean=False)
    ours = ranking_scores(ranked, held_out, ["map@5", "recall@10", "ndcg@10", "hr@10"], per_row=True)
    assert ours["map@5"] == pytest.approx(np.mean([theirs[name] for name in names[:5]], axis=0))
    assert ours["recall@10"] == pytest.approx(theirs["recall@10"])
    assert ours["ndcg@10"] == pytest.approx(theirs["ndcg@10"])
    assert ours["hr@10"] == pytest.approx(theirs["hit_rate@10"])
