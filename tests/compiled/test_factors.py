"""Compiled updates of a factored kernel against the same in plain numpy."""

import math

import numpy as np
import pytest

from nearer._compiled import draws, draws_reference, factors, factors_reference
from nearer.datasets import planted

RULES = [factors.PASSIVE_AGGRESSIVE, factors.STE, factors.GNMDS]
SCHEDULES = [factors.CONSTANT, factors.INVERSE, factors.INVERSE_ROOT]


def drawn(columns):
    answers = planted(10, 3, 150, random_state=0)[0]
    Q = (
        answers.indices
        if columns == 3
        else np.unique(np.random.default_rng(1).integers(10, size=(400, 4)), axis=0)
    )
    if columns == 4:
        same = (Q[:, 0] == Q[:, 1]) | (Q[:, 2] == Q[:, 3])
        Q = np.random.default_rng(2).permutation(Q[~same])[:150]
    points = np.random.default_rng(3).normal(size=(10, 4)) / 2
    return np.ascontiguousarray(Q, np.int32), points


@pytest.mark.parametrize("columns", [3, 4])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("kind", SCHEDULES)
@pytest.mark.parametrize(
    ("passes", "most", "soft", "shrink", "weighted"),
    [(1, math.inf, False, 0.0, False), (3, 0.02, False, 0.0, True), (2, 0.05, True, 0.3, True)],
)
def test_compiled_and_plain_updates_agree(columns, rule, kind, passes, most, soft, shrink, weighted):
    Q, points = drawn(columns)
    W = np.linspace(0.2, 1.5, len(Q)) if weighted else np.empty(0)
    size = 0.5 if rule == factors.PASSIVE_AGGRESSIVE else 0.05
    plain, plain_steps, plain_losses = factors_reference.learn(
        points,
        Q,
        W,
        passes=passes,
        seed=7,
        rule=rule,
        kind=kind,
        size=size,
        margin=1.0,
        most=most,
        soft=soft,
        shrink=shrink,
    )
    Z = points.copy()
    settings = (rule, kind, size, 1.0, most, soft, shrink, 1e100)
    log_scale, steps, learned, losses, measured = factors.learn_and_measure(
        Z, Q, W, 0, 0, len(Q), passes, np.uint64(7), *settings, 0.0
    )
    assert learned == len(Q)
    assert steps == plain_steps > 0
    assert losses == pytest.approx(plain_losses, rel=1e-9)
    assert losses > 0
    assert measured == -(-len(Q) // 8)
    np.testing.assert_allclose(math.exp(log_scale) * Z, plain, rtol=1e-9, atol=1e-12)
    assert not np.allclose(plain, points, rtol=1e-3)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("most", "soft"), [(math.inf, False), (0.3, False), (0.3, True)])
def test_compiled_and_plain_step_lengths_agree(rule, most, soft):
    from numba import njit

    length = njit(lambda excess, weight: factors.step_length(rule, excess, 4.0, weight, 1.0, most, soft))
    for excess in (-800.0, -30.0, -1.0, -0.5, 0.0, 1e-9, 2.0, 50.0, 800.0):
        for weight in (0.0, 0.7, 2.0):
            plain = factors_reference.step_length(rule, excess, 4.0, weight, 1.0, most, soft)
            assert length(excess, weight) == pytest.approx(plain, rel=1e-14, abs=1e-300)


def test_compiled_and_plain_draws_agree():
    from numba import njit

    compiled = njit(lambda seed, number, repeat, below: draws.draw(seed, number, repeat, below))
    for seed in (0, 7, 2**63 + 5):
        for number in (0, 1, 10**6):
            for repeat in (0, 3):
                plain = draws_reference.draw(seed, number, repeat, number + 5)
                assert compiled(np.uint64(seed), number, repeat, number + 5) == plain
