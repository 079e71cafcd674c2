"""Losses of rows against all labels: definitions, derivatives, compiled loops against numpy."""

from dataclasses import dataclass

import numpy as np
import pytest

from nearer._compiled import label_curvature_loops_for, label_loop_for
from nearer._compiled.label_sets import FACTORS, REACH, SEARCHED
from nearer._compiled.label_sets_reference import replace_by_curvatures, replace_by_products
from nearer._compiled.label_sets_reference import replace_by_slopes as plain
from nearer.losses import (
    MARGIN_LOSSES,
    LogisticLoss,
    MarginLoss,
    RankingLoss,
    SmoothHingeLoss,
    SoftMaxLoss,
)

KINDS = {"soft-max": SoftMaxLoss, "ranking": RankingLoss}
LOSSES = pytest.mark.parametrize(
    "margin", [loss() for loss in MARGIN_LOSSES.values()], ids=list(MARGIN_LOSSES)
)
EVERY = pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))


def rows(seed=0, n=40, m=7, size=2.0):
    """Affinities, labels of every row (none, some or all) and shares."""
    rng = np.random.default_rng(seed)
    own = rng.random((n, m)) < rng.choice([0.0, 0.3, 0.6, 1.0], size=n)[:, None]
    starts = np.append(0, np.cumsum(own.sum(axis=1)))
    return rng.normal(scale=size, size=(n, m)), starts, np.nonzero(own)[1], rng.uniform(0.1, 2, size=n), own


def definition(kind, margin, affinities, own, shares):
    """One row at a time, from the formula."""
    total = 0.0
    for row, mine, share in zip(affinities, own, shares, strict=True):
        if kind is RankingLoss:
            total += share * sum(margin.value(s - t) for s in row[mine] for t in row[~mine])
        else:
            for values in (margin.value(row[mine]), margin.value(-row[~mine])):
                total += share * np.log(np.exp(values).sum()) if len(values) else 0.0
    return float(total)


@EVERY
@LOSSES
def test_the_value_is_the_definition(kind, margin):
    affinities, starts, labels, shares, own = rows()
    expected = definition(kind, margin, affinities, own, shares)
    found = label_loop_for(kind(margin))(starts, labels, shares, affinities)
    assert found == pytest.approx(expected, rel=1e-12)


@EVERY
@LOSSES
def test_the_slopes_are_finite_differences(kind, margin):
    affinities, starts, labels, shares, own = rows()
    direction, h = np.random.default_rng(1).normal(size=affinities.shape), 1e-6
    ends = [definition(kind, margin, affinities + step * direction, own, shares) for step in (h, -h)]
    label_loop_for(kind(margin))(starts, labels, shares, affinities)
    assert np.vdot(affinities, direction) == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-6)


@EVERY
@LOSSES
@pytest.mark.parametrize("size", [0.01, 3.0, 1e4])
def test_compiled_loops_agree_with_numpy(kind, margin, size):
    affinities, starts, labels, shares, _ = rows(seed=2, size=size)
    other = affinities.copy()
    expected = plain(kind(margin), starts, labels, shares, other)
    assert label_loop_for(kind(margin))(starts, labels, shares, affinities) == pytest.approx(
        expected, rel=1e-11
    )
    np.testing.assert_allclose(affinities, other, rtol=1e-9, atol=1e-11)


@EVERY
def test_ties_of_affinities(kind):
    """Margins of exactly 0, 1 and 2, where formulas change."""
    affinities, starts, labels, shares, _ = rows(seed=3)
    affinities = np.round(affinities)
    for margin in (loss() for loss in MARGIN_LOSSES.values() if np.isfinite(loss().curvature)):
        found, other = affinities.copy(), affinities.copy()
        expected = plain(kind(margin), starts, labels, shares, other)
        assert label_loop_for(kind(margin))(starts, labels, shares, found) == pytest.approx(
            expected, rel=1e-12
        )
        np.testing.assert_allclose(found, other, atol=1e-12)


@dataclass(frozen=True)
class Quartic(MarginLoss):
    """A loss of a user's own, without a compiled version."""

    name = "quartic"
    curvature = 12.0

    def value(self, margin):
        return (margin - 1) ** 4

    def slope(self, margin):
        return 4 * (margin - 1) ** 3


@EVERY
@pytest.mark.parametrize("margin", [Quartic(), SmoothHingeLoss(width=0.5)], ids=["own", "other width"])
def test_losses_without_a_compiled_version(kind, margin):
    affinities, starts, labels, shares, own = rows(size=0.5)
    expected = definition(kind, margin, affinities, own, shares)
    assert label_loop_for(kind(margin))(starts, labels, shares, affinities) == pytest.approx(
        expected, rel=1e-12
    )


def test_rows_with_all_labels_or_none_have_one_side_only():
    affinities, nothing = np.zeros((2, 3)), np.empty(0, int)
    value = label_loop_for(SoftMaxLoss())(np.zeros(3, int), nothing, np.ones(2), affinities)
    assert value == pytest.approx(2 * (1 + np.log(3)))
    assert (affinities > 0).all()
    assert label_loop_for(RankingLoss())(np.zeros(3, int), nothing, np.ones(2), affinities) == 0
    assert not affinities.any()


@pytest.mark.parametrize("n_own", [SEARCHED, SEARCHED + 1, 150, 199, 200])
@pytest.mark.parametrize("step", [None, 0.5], ids=["any", "ties"])
def test_searching_is_the_same_as_all_pairs(n_own, step):
    """From `SEARCHED` labels on, the smooth hinge needs no pairs; with a step, margins of 0 and 2 occur exactly."""
    rng = np.random.default_rng(n_own)
    affinities = rng.normal(scale=2, size=(5, 200)) + 100
    if step is not None:
        affinities = np.round(affinities / step) * step
    labels = np.concatenate([rng.choice(200, n_own, replace=False) for _ in range(5)])
    starts, shares, loss = np.arange(6) * n_own, rng.uniform(0.1, 2, size=5), RankingLoss(SmoothHingeLoss())
    other = affinities.copy()
    expected = plain(loss, starts, labels, shares, other)
    assert label_loop_for(loss)(starts, labels, shares, affinities) == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(affinities, other, rtol=1e-10, atol=1e-9)


def test_searching_leaves_divergence_visible():
    affinities = np.zeros((1, 200))
    affinities[0, 150] = np.nan
    loss = RankingLoss(SmoothHingeLoss())
    assert np.isnan(label_loop_for(loss)(np.array([0, 60]), np.arange(60), np.ones(1), affinities))


@EVERY
@LOSSES
def test_no_row_has_less_than_the_least_loss_and_some_come_close(kind, margin):
    affinities, _, _, _, own = rows()
    n_own, loss = own.sum(axis=1), kind(margin)
    least = loss.least(n_own, own.shape[1] - n_own)
    found = np.array([loss.of_row(row, mine)[0] for row, mine in zip(affinities, own, strict=True)])
    assert (found >= least).all()
    perfect = [
        min(loss.of_row(np.where(mine, size, -size), mine)[0] for size in (0.5, 1.0, 100.0)) for mine in own
    ]
    np.testing.assert_allclose(perfect, least, atol=1e-9)


@pytest.mark.parametrize("m", [7, FACTORS, FACTORS + 1, 3 * FACTORS - 2])
@pytest.mark.parametrize("apart", [1.0, 30.0, 0.45 * REACH, 0.6 * REACH])
def test_the_logistic_loss_by_products_of_exponentials(m, apart):
    """Affinities from very near to further apart than exponentials reach."""
    rng = np.random.default_rng(m)
    affinities = rng.uniform(-apart, apart, size=(4, m)) + 50
    affinities[:, 0], affinities[:, -1] = 50 - apart, 50 + apart
    own = rng.random((4, m)) < 0.3
    own[:2, [0, -1]] = [[True, False], [False, True]]
    labels, starts = np.nonzero(own)[1], np.append(0, np.cumsum(own.sum(axis=1)))
    shares, other = rng.uniform(0.1, 2, size=4), affinities.copy()
    expected = plain(RankingLoss(), starts, labels, shares, other)
    assert label_loop_for(RankingLoss())(starts, labels, shares, affinities) == pytest.approx(
        expected, rel=1e-13
    )
    np.testing.assert_allclose(affinities, other, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("broken", [np.nan, np.inf])
def test_the_logistic_loss_leaves_divergence_visible(broken):
    affinities = np.zeros((1, 9))
    affinities[0, 5] = broken
    assert not np.isfinite(
        label_loop_for(RankingLoss())(np.array([0, 2]), np.arange(2), np.ones(1), affinities)
    )


@pytest.mark.parametrize(
    "margin",
    [loss() for loss in MARGIN_LOSSES.values() if np.isfinite(loss().curvature)],
    ids=lambda m: m.name,
)
def test_curvatures_are_finite_differences_of_slopes(margin):
    affinities, starts, labels, shares, _ = rows(seed=4)
    loss, h = RankingLoss(margin), 1e-5
    found, other = affinities.copy(), affinities.copy()
    label_curvature_loops_for(loss)[0](starts, labels, shares, found)
    replace_by_curvatures(loss, starts, labels, shares, other)
    np.testing.assert_allclose(found, other, rtol=1e-9, atol=1e-12)
    for y in range(affinities.shape[1]):
        ends = [affinities.copy() for _ in range(2)]
        for step, end in zip((h, -h), ends, strict=True):
            end[:, y] += step
            plain(loss, starts, labels, shares, end)
        np.testing.assert_allclose(found[:, y], (ends[0] - ends[1])[:, y] / (2 * h), rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize(
    "margin",
    [loss() for loss in MARGIN_LOSSES.values() if np.isfinite(loss().curvature)],
    ids=lambda m: m.name,
)
@pytest.mark.parametrize("apart", [1.0, 0.3 * REACH, 0.6 * REACH])
def test_products_are_changes_of_slopes(margin, apart):
    affinities, starts, labels, shares, _ = rows(seed=4)
    affinities[:, 0] += apart
    changes = np.random.default_rng(1).normal(size=affinities.shape)
    loss, h = RankingLoss(margin), 1e-6
    found, expected = changes.copy(), changes.copy()
    label_curvature_loops_for(loss)[1](starts, labels, shares, affinities, found)
    replace_by_products(loss, starts, labels, shares, affinities, expected)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    ends = [affinities + step * changes for step in (h, -h)]
    for end in ends:
        plain(loss, starts, labels, shares, end)
    np.testing.assert_allclose(found, (ends[0] - ends[1]) / (2 * h), rtol=1e-3, atol=1e-5)


def test_only_rankings_have_curvatures():
    assert label_curvature_loops_for(SoftMaxLoss()) is None
    assert label_curvature_loops_for(RankingLoss(Quartic())) is None
    assert label_curvature_loops_for(RankingLoss(LogisticLoss())) is not None
