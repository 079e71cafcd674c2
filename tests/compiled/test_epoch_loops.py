"""Stochastic epochs equal their plain numpy versions, whichever columns and batches their vector instructions meet."""

import os
import subprocess
import sys
from itertools import product

import numpy as np
import pytest

from nearer._compiled import StagedLoops, loops_for
from tests.compiled.test_point_loops import EVERY_LOSS, KINDS, TYPES, tolerance
from tests.registries import LOSSES

#: one column; two, which have their own loop; every sum of the widths 8, 4, 2 and 1
COLUMNS = [1, 2, 3, 7, 10, 15, 50]
N = 15


def problem(kind, p, weighted, dtype, seed=0):
    rng = np.random.default_rng(seed)
    width = 3 if kind == "triplets" else 4
    Q = np.stack([rng.permutation(N)[:width] for _ in range(73)]).astype(
        np.int32
    )  # the last batch is not full
    X = (rng.normal(size=(N, p)) / np.sqrt(p)).astype(dtype)
    W = rng.uniform(0.5, 2.0, len(Q) if weighted else 0).astype(dtype)
    return X, Q, W


def both_sgd(loss, X, Q, W, batch_size, shrink):
    """Return the sum of losses and the points of both loops."""
    steps = np.linspace(0.05, 0.01, -(-len(Q) // batch_size)) * batch_size
    log_kept = np.concatenate([[0.0], np.cumsum(np.full(len(steps), np.log1p(-shrink)))])
    found = []
    for loops in (loops_for(loss), StagedLoops(loss)):
        end = X.copy()
        total = loops.sgd(end, Q, W, steps, batch_size, log_kept if shrink else np.empty(0))
        found.append((total, end))
    return found


def both_svrg(loss, X, Q, W, batch_size, shrink):
    """Return the points of both loops, which start away from the snapshot."""
    G, C = np.zeros_like(X), np.empty((len(Q), 2), X.dtype)
    StagedLoops(loss).gradient(X, Q, W, G, C)
    found = []
    for loops in (loops_for(loss), StagedLoops(loss)):
        end = X * X.dtype.type(1.1)
        loops.svrg(end, X, G / X.dtype.type(len(Q)), Q, W, C, 0.03 * batch_size, batch_size, shrink)
        found.append(end)
    return found


@EVERY_LOSS
@KINDS
@TYPES
@pytest.mark.parametrize("batch_size", [1, 10])
def test_every_number_of_columns(loss, kind, dtype, batch_size):
    for p, weighted, shrink in product(COLUMNS, [False, True], [0.0, 1e-2]):
        X, Q, W = problem(kind, p, weighted, dtype)
        (total, end), (plain_total, plain_end) = both_sgd(loss, X, Q, W, batch_size, shrink)
        assert np.abs(end - X).max() > 1e-3  # it went somewhere
        assert total == pytest.approx(plain_total, rel=1e-9 if dtype == np.float64 else 1e-4)
        np.testing.assert_allclose(end, plain_end, **tolerance(dtype))
        end, plain_end = both_svrg(loss, X, Q, W, batch_size, shrink)
        np.testing.assert_allclose(end, plain_end, **tolerance(dtype))


@TYPES
@pytest.mark.parametrize("batch_size", [1, 10])
def test_strong_shrinking(dtype, batch_size):
    """The factor of all points would underflow if it were not multiplied out on the way."""
    X, Q, W = problem("triplets", 2, True, dtype)
    Q = np.tile(Q, (60, 1))
    W = np.tile(W, 60)
    (total, end), (plain_total, plain_end) = both_sgd(LOSSES["ste"], X, Q, W, batch_size, 0.5)
    assert total == pytest.approx(plain_total, rel=1e-9 if dtype == np.float64 else 1e-4)
    np.testing.assert_allclose(end, plain_end, **tolerance(dtype))
    end, plain_end = both_svrg(LOSSES["ste"], X, Q, W, batch_size, 0.5)
    assert np.isfinite(end).all()
    np.testing.assert_allclose(end, plain_end, **tolerance(dtype))


@pytest.mark.parametrize("batch_size", [1, 10])
def test_nan_stays_visible(batch_size):
    X, Q, W = problem("triplets", 3, False, np.float64)
    X[Q[0, 0], 1] = np.nan
    for total, end in both_sgd(LOSSES["ste"], X, Q, W, batch_size, 0.0):
        assert np.isnan(total)
        assert np.isnan(end).any()


def test_epochs_without_compilation():
    """NUMBA_DISABLE_JIT runs the same code in Python, where vectors are small arrays."""
    code = """
import numpy as np
from tests.compiled import test_epoch_loops as t
for p in (2, 7):
    X, Q, W = t.problem("triplets", p, True, np.float64)
    for batch_size in (1, 10):
        (a, x), (b, y) = t.both_sgd(t.LOSSES["ste"], X, Q, W, batch_size, 0.01)
        np.testing.assert_allclose(x, y)
        np.testing.assert_allclose(*t.both_svrg(t.LOSSES["ste"], X, Q, W, batch_size, 0.01))
"""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
