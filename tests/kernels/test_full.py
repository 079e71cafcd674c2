"""The whole kernel and its projections: against the plain method, and positive semidefinite at every step."""

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from nearer.kernels import _full, _smallest_eigenpair
from nearer.kernels._full import FullKernel, Slack
from nearer.kernels._rules import direction_of, draw, objects_of
from nearer.kernels._symmetric import Symmetric, inverse

TRIPLET = (0, 1, 2)


def random_psd(n, rank, random):
    factor = random.normal(size=(n, rank))
    return factor @ factor.T / rank


def stepped(plain, rows, block):
    """The plain method: the kernel after a step and its projection, and its eigenvalues before the projection."""
    plain = plain.copy()
    plain[np.ix_(rows, rows)] -= block
    values, vectors = np.linalg.eigh(plain)
    return (vectors * np.maximum(values, 0)) @ vectors.T, values


def test_symmetric_equals_the_dense_matrix_through_many_changes():
    random = np.random.default_rng(0)
    dense = random_psd(30, 30, random)
    matrix = Symmetric(dense.copy())
    for _ in range(80):
        columns, middle = random.normal(size=(30, 3)), random.normal(size=(3, 3))
        middle += middle.T
        matrix.add(columns, middle)
        dense += columns @ middle @ columns.T
        rows, block = random.choice(30, 3, replace=False), random.normal(size=(3, 3))
        matrix.change(rows, block + block.T)
        dense[np.ix_(rows, rows)] += block + block.T
        vector = random.normal(size=30)
        np.testing.assert_allclose(matrix.times(vector), dense @ vector, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(matrix.column(rows), dense[:, rows], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(matrix.block(rows), dense[np.ix_(rows, rows)], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(matrix.times(np.eye(30)), dense, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(matrix.dense(), dense, rtol=1e-9, atol=1e-9)


def test_inverse():
    kernel = random_psd(20, 5, np.random.default_rng(1))
    np.testing.assert_allclose(inverse(kernel, 0.1) @ (kernel + 0.1 * np.eye(20)), np.eye(20), atol=1e-10)


@given(st.integers(0, 10**6))
@settings(max_examples=50, deadline=None)
def test_a_step_that_the_slack_covers_keeps_the_kernel_above_the_new_slack(seed):
    random = np.random.default_rng(seed)
    n = 8
    slack = Slack(random.uniform(0, 1, n))
    kernel = np.diag(slack.values) + random_psd(n, 2, random)
    for _ in range(6):
        rows = random.choice(n, 3, replace=False)
        step = direction_of(TRIPLET, random.choice(["paper", "minimal"]))
        length = random.uniform(0, 0.3)
        before = slack.values.copy()
        if slack.covers(rows, length * step.block, length * step.norm):
            kernel[np.ix_(rows, rows)] -= length * step.block
            assert np.linalg.eigvalsh(kernel - np.diag(slack.values))[0] > -1e-12
            assert (slack.values >= 0).all()
        else:
            np.testing.assert_array_equal(slack.values, before)


def steps(n, count, random, scale=0.1):
    for _ in range(count):
        rows = random.choice(n, 3, replace=False)
        step = direction_of(TRIPLET, "paper")
        yield rows, scale * random.uniform() * step.block


@pytest.mark.parametrize("few", [0, 300])
@pytest.mark.parametrize("skip", ["local", "bound", "never"])
@pytest.mark.parametrize("n", [3, 40, 80])
def test_every_step_is_the_plain_projection(n, skip, few, monkeypatch):
    """A basis that does not hold all directions (n = 80) as well as one that does; and LAPACK for few objects."""
    monkeypatch.setattr(_full, "_FEW", few)
    monkeypatch.setattr(_smallest_eigenpair, "_KEPT", 20)
    monkeypatch.setattr(_smallest_eigenpair, "_BETWEEN", 20)
    random = np.random.default_rng(n)
    plain = np.eye(n)
    held = FullKernel.start(np.eye(n), skip)
    needed = 0
    for count in range(2 * n + 40):
        rows = random.choice(n, 3, replace=False)
        length = 0.3 * random.uniform()
        step = direction_of(TRIPLET, "paper")
        held.subtract(rows, length * step.block, length * step.norm)
        plain, values = stepped(plain, rows, length * step.block)
        needed += values[0] < 0
        assert np.sum(values < -1e-12) <= 1
        if count % 10 == 0 or n < 50:
            assert np.linalg.eigvalsh(held.dense())[0] >= -1e-10 * max(1, values[-1])
    np.testing.assert_allclose(held.dense(), plain, atol=1e-8)
    assert held.n_negative >= 0.99 * needed > 0
    assert held.n_skipped + held.n_projections == 2 * n + 40
    assert (held.n_skipped > 0) == (skip != "never")


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    n=st.integers(3, 60),
    nullity=st.integers(0, 60),
    few=st.sampled_from([0, 300]),
    most_null=st.sampled_from([0, 5, 30]),
    scale=st.sampled_from([1e-8, 0.01, 0.3, 10.0]),
    seed=st.integers(0, 2**16),
)
# more null directions than the low space has seen
@example(n=45, nullity=23, few=0, most_null=30, scale=0.3, seed=61771)
@example(n=31, nullity=49, few=0, most_null=30, scale=0.01, seed=5346)
# a small first step: its shift is far below the eigenvalues removed later
@example(n=59, nullity=6, few=0, most_null=30, scale=0.3, seed=5102)
def test_psd_at_every_step_from_any_start(n, nullity, few, most_null, scale, seed, monkeypatch):
    """Starts of any rank, including full rank, and steps of any size."""
    monkeypatch.setattr(_full, "_FEW", few)
    monkeypatch.setattr(_full, "_MOST_NULL", most_null)
    monkeypatch.setattr(_smallest_eigenpair, "_KEPT", 12)
    monkeypatch.setattr(_smallest_eigenpair, "_BETWEEN", 12)
    random = np.random.default_rng(seed)
    plain = random_psd(n, max(n - nullity, 1), random) if nullity else np.eye(n)
    held = FullKernel.start(plain.copy(), "local")
    for _ in range(60):
        rows = random.choice(n, 3, replace=False)
        length = scale * random.uniform()
        step = direction_of(TRIPLET, "paper")
        held.subtract(rows, length * step.block, length * step.norm)
        plain, values = stepped(plain, rows, length * step.block)
        assert np.linalg.eigvalsh(held.dense())[0] >= -1e-10 * max(1, values[-1])
    np.testing.assert_allclose(held.dense(), plain, atol=1e-8 * max(1, scale))


def test_a_null_space_that_answers_fill_is_left_to_the_low_space(monkeypatch):
    """From rank 2 to nearly full: LAPACK at first, the low space in the end, and the plain kernel all along."""
    monkeypatch.setattr(_full, "_FEW", 0)
    monkeypatch.setattr(_full, "_CHECK_EVERY", 25)
    random = np.random.default_rng(0)
    plain = random_psd(60, 2, random)
    held = FullKernel.start(plain.copy(), "local")
    assert held.low.crowded
    for rows, block in steps(60, 300, random, scale=0.4):
        held.subtract(rows, block, 3.0 * abs(block).max())
        plain = stepped(plain, rows, block)[0]
    assert not held.low.crowded
    assert held.n_products > 0
    np.testing.assert_allclose(held.dense(), plain, atol=1e-8)


def test_the_local_certificates_skip_more_than_the_bound():
    counts = {}
    for skip in ("local", "bound"):
        random = np.random.default_rng(0)
        held = FullKernel.start(np.eye(150), skip)
        for _ in range(150):
            rows = random.choice(150, 3, replace=False)
            step = direction_of(TRIPLET, "paper")
            held.subtract(rows, 0.1 * step.block, 0.1 * step.norm)
        counts[skip] = held.n_skipped
    assert counts["local"] > 2 * counts["bound"]


def test_a_certificate_ends_with_the_first_projection():
    """A kernel that is nearly singular: what it had to spare is gone once it was projected."""
    held = FullKernel.start(np.diag([1e-6, 1.0, 1.0]), "local")
    step = direction_of(TRIPLET, "paper")
    for length in (0.4, 1e-7):
        held.subtract(np.arange(3), length * step.block, length * step.norm)
    assert held.n_projections == 2
    assert np.linalg.eigvalsh(held.dense())[0] > -1e-12


def test_a_kernel_may_outgrow_the_eigenproblems_of_few_objects(monkeypatch):
    monkeypatch.setattr(_full, "_FEW", 40)
    random = np.random.default_rng(5)
    held, plain = FullKernel.start(np.eye(30), "local"), np.eye(30)
    for part in (1, 2):
        for rows, block in steps(len(plain), 150, random, scale=0.4):
            held.subtract(rows, block, 1.0)
            plain = stepped(plain, rows, block)[0]
        np.testing.assert_allclose(held.dense(), plain, atol=1e-8)
        if part == 1:
            assert held.n_negative > 10
            assert held.n_products == 0
            held.grow(20, 1.0)
            plain = np.block([[plain, np.zeros((30, 20))], [np.zeros((20, 30)), np.eye(20)]])
    assert held.n_products > 0


def test_a_resolvent_with_rounding_errors_is_recomputed(monkeypatch):
    monkeypatch.setattr(_full, "_FEW", 0)
    monkeypatch.setattr(_full, "_CHECK_EVERY", 5)
    random = np.random.default_rng(3)
    held = FullKernel.start(random_psd(30, 6, random), "never")
    for count, (rows, block) in enumerate(steps(30, 60, random)):
        held.subtract(rows, block, 1.0)
        if count == 20:
            held.resolvent.base += 1e-4  # what rounding might do in a very long run
    assert np.linalg.eigvalsh(held.dense())[0] > -1e-10
    kernel = held.dense()
    resolvent = held._ready_resolvent().dense()
    np.testing.assert_allclose(resolvent @ (kernel + held.shift * np.eye(30)), np.eye(30), atol=1e-7)


def test_the_low_space_is_what_it_says(monkeypatch):
    monkeypatch.setattr(_full, "_FEW", 0)
    monkeypatch.setattr(_smallest_eigenpair, "_KEPT", 10)
    monkeypatch.setattr(_smallest_eigenpair, "_BETWEEN", 12)
    random = np.random.default_rng(4)
    held = FullKernel.start(np.eye(60), "never")
    for rows, block in steps(60, 150, random, scale=0.3):
        held.subtract(rows, block, 1.0)
        low, kernel = held.low, held.dense()
        basis = low.basis[:, : low.size]
        np.testing.assert_allclose(basis.T @ basis, np.eye(low.size), atol=1e-10)
        np.testing.assert_allclose(kernel @ basis, low.image[:, : low.size], atol=1e-8)
        np.testing.assert_allclose(basis.T @ kernel @ basis, low.gram[: low.size, : low.size], atol=1e-8)
    assert held.n_negative > 20


def test_growing_and_multiplying_keep_everything_in_step():
    random = np.random.default_rng(5)
    held = FullKernel.start(np.eye(20), "local")
    plain = np.eye(20)

    def go(count):
        nonlocal plain
        for rows, block in steps(len(plain), count, random, scale=0.4):
            held.subtract(rows, block, float(np.linalg.eigvalsh(block)[-1]))
            plain = stepped(plain, rows, block)[0]

    go(5)
    held.grow(4, 0.7)
    plain = np.block([[plain, np.zeros((20, 4))], [np.zeros((4, 20)), 0.7 * np.eye(4)]])
    go(60)
    held.multiply(0.5)
    plain *= 0.5
    go(10)
    held.grow(30, 0.2)
    plain = np.block([[plain, np.zeros((24, 30))], [np.zeros((30, 24)), 0.2 * np.eye(30)]])
    go(60)
    np.testing.assert_allclose(held.dense(), plain, atol=1e-8)
    assert held.n_negative > 0


def test_directions_by_finite_differences():
    random = np.random.default_rng(6)
    for answer in [(4, 2, 7), (4, 2, 7, 1), (4, 2, 2, 7), (4, 2, 7, 2), (4, 2, 7, 4), (4, 2, 4, 7)]:
        rows, pattern = objects_of(answer)
        step = direction_of(pattern, "minimal")
        kernel = random_psd(9, 9, random)
        change = random_psd(9, 3, random) - random_psd(9, 3, random)

        def excess(kernel, answer=answer):
            i, j, k = answer[0], answer[1], answer[-1]
            l = answer[2] if len(answer) == 4 else i
            d = lambda a, b: kernel[a, a] - 2 * kernel[a, b] + kernel[b, b]  # noqa: E731
            return d(i, j) - d(l, k)

        slope = (excess(kernel + 1e-6 * change) - excess(kernel - 1e-6 * change)) / 2e-6
        np.testing.assert_allclose(np.sum(step.slopes * change[np.ix_(rows, rows)]), slope, rtol=1e-6)
        np.testing.assert_allclose(
            np.sum(step.slopes * kernel[np.ix_(rows, rows)]), excess(kernel), rtol=1e-9
        )
        moved = kernel.copy()
        moved[np.ix_(rows, rows)] -= 0.1 * step.block
        np.testing.assert_allclose(excess(kernel) - excess(moved), 0.1 * step.gain, rtol=1e-9)
        assert np.sum(np.linalg.eigvalsh(step.block) > 1e-9) == 1


def test_draws_are_those_of_the_compiled_loop():
    from numba import njit

    from nearer._compiled import factors

    compiled = njit(lambda seed, number, repeat, below: factors.draw(seed, number, repeat, below))
    for number in range(1, 60):
        for repeat in (1, 2, 9):
            assert draw(12345, number, repeat, number) == compiled(np.uint64(12345), number, repeat, number)
    drawn = [draw(9, number, 1, 100) for number in range(5000)]
    assert set(drawn) == set(range(100))
