"""The map's uncertainty, and what an answer tells, against plain computations."""

from __future__ import annotations

import numpy as np
import pytest

import nearer
from nearer import Comparisons
from nearer.active._belief import Belief
from nearer.active._crowd import information, places_of
from nearer.active._entropy import entropy, information_of_normal_odds
from nearer.losses.formulas import sigmoid


def belief_of(points: np.ndarray, variance: float = 1.0) -> Belief:
    points = np.asarray(points, dtype=float)
    n, p = points.shape
    belief = Belief(p)
    belief.points, belief.variance = points, variance
    belief.covariances = np.repeat(variance * np.eye(p)[None], n, axis=0)
    return belief


def log_posterior(points: np.ndarray, answers: np.ndarray, variance: float) -> float:
    near = ((points[answers[:, 0]] - points[answers[:, 1]]) ** 2).sum(axis=1)
    far = ((points[answers[:, 0]] - points[answers[:, 2]]) ** 2).sum(axis=1)
    return float(-np.logaddexp(0, near - far).sum() - (points**2).sum() / (2 * variance))


def test_entropy_of_certain_and_open_answers():
    np.testing.assert_allclose(
        entropy(np.array([0.0, 0.2, 0.5, 1.0, 1.0 + 1e-16])),
        [0, -0.2 * np.log(0.2) - 0.8 * np.log(0.8), np.log(2), 0, 0],
        atol=1e-12,
    )


@pytest.mark.parametrize(("mean", "variance"), [(0, 0.01), (0, 1), (1, 4), (-3, 4), (0, 10), (6, 9), (0, 25)])
def test_information_of_normal_odds_by_a_fine_sum(mean, variance):
    steps = np.linspace(-10, 10, 40_001)
    share = np.exp(-(steps**2) / 2) / np.exp(-(steps**2) / 2).sum()
    probability = sigmoid(mean + np.sqrt(variance) * steps)
    exact = entropy(np.array([share @ probability]))[0] - share @ entropy(probability)
    found = information_of_normal_odds(np.array([float(mean)]), np.array([float(variance)]))[0]
    assert found == pytest.approx(exact, rel=0.03)


def test_slopes_are_the_derivatives_of_the_log_odds():
    rng = np.random.default_rng(0)
    belief = belief_of(rng.normal(size=(3, 2)))
    question = np.array([[1, 0, 2]])
    slopes = belief._slopes(question)
    for column, slope in zip(question[0], slopes, strict=True):
        for axis in range(2):
            odds = []
            for step in (1e-6, -1e-6):
                moved = belief_of(belief.points.copy())
                moved.points[column, axis] += step
                odds.append(moved.log_odds(question)[0])
            assert slope[0, axis] == pytest.approx((odds[0] - odds[1]) / 2e-6, rel=1e-5)


def test_covariances_are_those_of_one_object_given_the_others():
    """Expected curvature: the mean over both answers of the second derivative, object by object."""
    rng = np.random.default_rng(1)
    points, answers = rng.normal(size=(6, 2)), nearer.datasets.planted(6, 2, 30, random_state=1).comparisons
    belief = belief_of(points, 0.7)
    belief._renew(answers, np.empty((0, 3), np.int32))
    precision = np.eye(2) / 0.7
    for head, a, b in answers.indices:
        h, x, y = points[[head, a, b]]
        p = sigmoid(np.array([((h - y) ** 2).sum() - ((h - x) ** 2).sum()]))[0]
        slope = {head: 2 * (x - y), a: 2 * (h - x), b: 2 * (y - h)}.get(0)
        if slope is not None:
            precision += p * (1 - p) * np.outer(slope, slope)
    np.testing.assert_allclose(belief.covariances[0], np.linalg.inv(precision))


def test_expecting_answers_is_the_same_as_having_them():
    rng = np.random.default_rng(2)
    points, rows = (
        rng.normal(size=(6, 2)),
        nearer.datasets.planted(6, 2, 20, random_state=1).comparisons.indices,
    )
    early, late = belief_of(points), belief_of(points)
    early.expect(rows)
    late._renew(Comparisons(rows[:12], 6), rows[12:])
    np.testing.assert_allclose(early.covariances, late.covariances, atol=1e-12)


def test_gain_by_drawing_places():
    """The answer's information about all three places, by brute force, where the log odds are nearly linear in them."""
    rng = np.random.default_rng(3)
    belief = belief_of(4 * rng.normal(size=(3, 2)), 0.01)
    question = np.array([[0, 1, 2]])
    places = belief.points + 0.1 * rng.normal(size=(200_000, 3, 2))
    near = ((places[:, 0] - places[:, 1]) ** 2).sum(axis=1)
    far = ((places[:, 0] - places[:, 2]) ** 2).sum(axis=1)
    probability = sigmoid(far - near)
    exact = entropy(np.array([probability.mean()]))[0] - entropy(probability).mean()
    assert belief.gain(question)[0] == pytest.approx(exact, rel=0.05)


def test_the_fit_finds_the_most_probable_points():
    answers = nearer.datasets.planted(8, 2, 150, noise="ste", scale=1.0, random_state=0).comparisons
    belief = Belief(2)
    belief.fit(answers, np.empty((0, 3), np.int32), np.random.default_rng(0))
    variance = 1.0  # that of the first fit
    best = log_posterior(belief.points, answers.indices, variance)
    rng = np.random.default_rng(0)
    for _ in range(50):
        assert log_posterior(belief.points + 0.05 * rng.normal(size=(8, 2)), answers.indices, variance) < best


def test_the_prior_learns_how_noisy_the_answers_are():
    variances = []
    for scale in (0.5, 2.0):
        answers = nearer.datasets.planted(30, 2, 3000, noise="ste", scale=scale, random_state=0).comparisons
        belief = Belief(2)
        for _ in range(5):
            belief.fit(answers, np.empty((0, 3), np.int32), np.random.default_rng(0))
        variances.append(belief.variance)
    assert 0.1 < variances[0] < 0.6  # 0.25
    assert 2.0 < variances[1] < 8.0  # 4


def test_weights_count():
    answers = nearer.datasets.planted(8, 2, 60, random_state=0).comparisons
    heavy = Comparisons(answers.indices, 8, weights=np.where(np.arange(60) < 30, 1.0, 5.0))
    plain, weighted = (belief_of(np.random.default_rng(0).normal(size=(8, 2))) for _ in range(2))
    plain._renew(answers, np.empty((0, 3), np.int32))
    weighted._renew(heavy, np.empty((0, 3), np.int32))
    assert not np.allclose(plain.covariances, weighted.covariances)


def grid_posterior(
    belief: Belief, answers: np.ndarray, head: int, side: int = 400
) -> tuple[np.ndarray, np.ndarray]:
    """The head's posterior on a fine grid, answer by answer."""
    grid = np.linspace(-6, 6, side)[:, None]
    log_weight = -(grid[:, 0] ** 2) / (2 * belief.variance)
    for row in answers:
        for at, place in enumerate(grid):
            points = belief.points.copy()
            points[head] = place
            i, j, k = points[row]
            log_weight[at] -= np.logaddexp(0, ((i - j) ** 2).sum() - ((i - k) ** 2).sum())
    weight = np.exp(log_weight - log_weight.max())
    return grid, weight / weight.sum()


def test_information_gain_by_a_fine_grid():
    """Brute force on a line: posterior of the head and information of each question about it."""
    belief = belief_of(np.array([[0.3], [-1.5], [-0.5], [0.8], [2.0]]), 1.5)
    answers = np.array(
        [[0, 2, 4], [3, 0, 1], [4, 3, 0], [1, 2, 3]], dtype=np.int32
    )  # head, near, far, absent
    belief._renew(Comparisons(answers, 5), np.empty((0, 3), np.int32))
    belief.variance = 1.5
    questions = np.array([[0, a, b] for a in range(1, 5) for b in range(a + 1, 5)], dtype=np.int32)
    grid, weight = grid_posterior(belief, answers, head=0)
    exact = []
    for _, a, b in questions:
        p = sigmoid(((grid - belief.points[b]) ** 2 - (grid - belief.points[a]) ** 2)[:, 0])
        exact.append(entropy(np.array([weight @ p]))[0] - weight @ entropy(p))
    places, shares = places_of(
        0, belief, answers, np.empty((0, 3), np.int32), 20_000, np.random.default_rng(0)
    )
    assert shares @ places[:, 0] == pytest.approx(weight @ grid[:, 0], abs=0.02)
    found = information(places, shares, belief.points, questions)
    np.testing.assert_allclose(found, exact, atol=0.01)
    assert np.argmax(found) == np.argmax(exact)


def test_pending_questions_narrow_the_posterior_without_moving_it_to_one_side():
    belief = belief_of(np.array([[0.0], [-1.0], [1.0], [3.0]]), 2.0)
    nothing, pending = np.empty((0, 3), np.int32), np.array([[0, 1, 2]] * 3, dtype=np.int32)
    spreads = []
    for waiting in (nothing, pending):
        places, shares = places_of(0, belief, nothing, waiting, 20_000, np.random.default_rng(0))
        mean = shares @ places[:, 0]
        assert mean == pytest.approx(0, abs=0.05)
        spreads.append(shares @ (places[:, 0] - mean) ** 2)
    assert spreads[1] < 0.5 * spreads[0]


def test_growth_keeps_the_known_places():
    belief = belief_of(np.random.default_rng(0).normal(size=(5, 2)), 2.0)
    before = belief.points.copy()
    belief.grow(7, np.random.default_rng(0))
    np.testing.assert_array_equal(belief.points[:5], before)
    np.testing.assert_allclose(belief.covariances[5:], np.repeat(2.0 * np.eye(2)[None], 2, axis=0))
