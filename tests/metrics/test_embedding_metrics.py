from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.spatial import procrustes
from scipy.special import expit
from scipy.stats import special_ortho_group
from sklearn.metrics import average_precision_score
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier

from nearer import datasets, metrics
from nearer._utils.arrays import compared_distances
from nearer.comparisons import Comparisons
from nearer.metrics.embeddings import _calibrated_loss, error_and_loss
from tests.refusals import refused
from tests.registries import planted


def plain_ranking(query, database):
    """Indices by distance, ties by index, in the plainest way."""
    distances = [float(((query - point) ** 2).sum()) for point in database]
    return sorted(range(len(database)), key=lambda place: (distances[place], place))


def plain_relevance(queries, database, query_labels, database_labels):
    """For each query, relevance by rank; leave-one-out where there is no database."""
    lists = []
    for number, (query, label) in enumerate(zip(queries, query_labels, strict=True)):
        points, labels = (queries, query_labels) if database is None else (database, database_labels)
        ranking = [place for place in plain_ranking(query, points) if database is not None or place != number]
        lists.append([labels[place] == label for place in ranking])
    return lists


def plain_average_precision(relevance, k):
    found, total = 0, 0.0
    for rank, relevant in enumerate(relevance[:k], start=1):
        if relevant:
            found += 1
            total += found / rank
    return total / min(sum(relevance), k)


def random_search(seed, leave_one_out, rounded):
    rng = np.random.default_rng(seed)
    queries, database = rng.normal(size=(23, 2)), rng.normal(size=(31, 2))
    if rounded:  # a coarse grid makes many ties
        queries, database = queries.round(), database.round()
    labels = rng.choice(["a", "b", "c"], 23), rng.choice(["a", "b", "c", "d"], 31)
    return (queries, None, labels[0], None) if leave_one_out else (queries, database, *labels)


searches = pytest.mark.parametrize(
    "search",
    [
        random_search(seed, loo, rounded)
        for seed in range(2)
        for loo in (False, True)
        for rounded in (False, True)
    ],
)


class TestTripletError:
    @pytest.mark.parametrize("width", [3, 4])
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_equals_a_plain_loop(self, width, weighted, dtype):
        rng = np.random.default_rng(0)
        points = rng.normal(size=(12, 3)).astype(dtype)
        indices = np.array([rng.permutation(12)[:width] for _ in range(200)])
        weights = rng.uniform(0.1, 2, 200) if weighted else None
        wrong = []
        for row in indices:
            i, j, k, anchor = row[0], row[1], row[-1], row[2] if width == 4 else row[0]
            wrong.append(
                not np.linalg.norm(points[i] - points[j]) < np.linalg.norm(points[anchor] - points[k])
            )
        expected = np.average(wrong, weights=weights)
        got = metrics.triplet_error(points, Comparisons(indices, 12, weights=weights))
        assert got == pytest.approx(expected, rel=1e-12)
        assert 0.2 < got < 0.8

    def test_a_tie_is_an_error(self):
        assert metrics.triplet_error([[0.0], [1.0], [-1.0]], [(0, 1, 2), (1, 0, 2)]) == 0.5

    def test_whole_numbers_are_points_too(self):
        assert metrics.triplet_error([[0], [1], [3]], [(0, 1, 2)]) == 0

    def test_more_points_than_objects_are_fine(self):
        points = np.arange(5.0)[:, None]
        assert metrics.triplet_error(points, Comparisons([(0, 1, 2)], 3)) == 0

    @pytest.mark.parametrize(
        ("points", "comparisons", "facts"),
        [
            (np.zeros((3, 1)), Comparisons([(0, 1, 8)]), ["9 objects", "3 points"]),
            (
                np.zeros((3, 1)),
                Comparisons([(0, 1, 2)], 3, weights=[0.0]),
                ["no comparisons", "weight above 0"],
            ),
            (np.zeros((3, 1)), Comparisons([(0, 1, 2)], 3)[:0], ["no comparisons", "at least one"]),
            ([[0.0], [np.nan], [1.0]], [(0, 1, 2)], ["embedding", "NaN", "row 1"]),
        ],
    )
    def test_refusals(self, points, comparisons, facts):
        with refused(*facts):
            metrics.triplet_error(points, comparisons)

    def test_memory_stays_small(self):
        comparisons, points = datasets.planted(1000, 20, 300_000, random_state=0)
        tracemalloc.start()
        metrics.triplet_error(points, comparisons)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 40e6  # one temporary for all rows would take 48 MB, and there are several


class TestProcrustes:
    def test_equals_scipy(self):
        rng = np.random.default_rng(0)
        X, Y = rng.normal(size=(2, 10, 3))
        assert metrics.procrustes_distance(X, Y) == pytest.approx(procrustes(X, Y)[2])
        assert metrics.procrustes_distance(X, Y) == pytest.approx(metrics.procrustes_distance(Y, X))

    @settings(max_examples=20, deadline=None)
    @given(seed=st.integers(0, 1000), scale=st.floats(1e-3, 1e3), mirrored=st.booleans())
    def test_ignores_similarity_transforms(self, seed, scale, mirrored):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(8, 3))
        rotation = special_ortho_group.rvs(3, random_state=np.random.RandomState(seed))
        Y = scale * X @ rotation + rng.normal(size=3)
        if mirrored:
            Y[:, 0] *= -1
        assert metrics.procrustes_distance(X, Y) == pytest.approx(0, abs=1e-9)
        np.testing.assert_allclose(metrics.procrustes_align(Y, onto=X), X, atol=1e-6)

    def test_alignment_leaves_the_distance(self):
        X, Y = np.random.default_rng(1).normal(size=(2, 15, 2))
        aligned = metrics.procrustes_align(X, onto=Y)
        left = ((aligned - Y) ** 2).sum() / ((Y - Y.mean(axis=0)) ** 2).sum()
        assert left == pytest.approx(metrics.procrustes_distance(X, Y))
        for angle in (0.01, -0.01):  # no small rotation does better
            turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
            moved = (aligned - aligned.mean(axis=0)) @ turn + aligned.mean(axis=0)
            assert ((moved - Y) ** 2).sum() > ((aligned - Y) ** 2).sum()

    def test_columns_are_padded(self):
        X = np.random.default_rng(2).normal(size=(9, 2))
        flat = np.hstack([X, np.zeros((9, 1))])
        assert metrics.procrustes_distance(X, flat) == pytest.approx(0, abs=1e-12)
        assert metrics.procrustes_align(X, onto=flat).shape == (9, 3)

    @pytest.mark.parametrize(
        ("X", "Y", "facts"),
        [
            (np.zeros((3, 2)), np.eye(3), ["coincide", "undefined"]),
            (np.eye(3), np.eye(4), ["3 and 4 points", "same objects"]),
            (np.eye(3), np.full((3, 3), np.inf), ["infinity", "row 0"]),
        ],
    )
    @pytest.mark.parametrize("metric", [metrics.procrustes_distance, metrics.procrustes_align])
    def test_refusals(self, metric, X, Y, facts):
        with refused(*facts):
            metric(X, Y)


class TestRetrieval:
    @searches
    @pytest.mark.parametrize("k", [1, 4, 22])
    def test_equal_plain_loops(self, search, k):
        lists = plain_relevance(*search)
        precision = np.mean([sum(relevance[:k]) / k for relevance in lists])
        answerable = [relevance for relevance in lists if any(relevance)]
        recall = np.mean([sum(relevance[:k]) / sum(relevance) for relevance in answerable])
        mean = np.mean([plain_average_precision(relevance, k) for relevance in answerable])
        assert metrics.precision_at_k(*search, k=k) == pytest.approx(precision)
        assert metrics.recall_at_k(*search, k=k) == pytest.approx(recall)
        assert metrics.mean_average_precision(*search, k=k) == pytest.approx(mean)

    def test_average_precision_equals_scikit_learn(self):
        queries, database, query_labels, database_labels = random_search(
            5, leave_one_out=False, rounded=False
        )
        expected = [
            average_precision_score(database_labels == label, -np.linalg.norm(database - query, axis=1))
            for query, label in zip(queries, query_labels, strict=True)
        ]
        got = metrics.mean_average_precision(queries, database, query_labels, database_labels)
        assert got == pytest.approx(np.mean(expected))

    def test_blocks_make_no_difference(self, monkeypatch):
        search = random_search(3, leave_one_out=True, rounded=True)
        whole = (
            metrics.mean_average_precision(*search, k=7),
            metrics.neighbour_agreement(search[0], search[2]),
        )
        monkeypatch.setattr("nearer._utils.arrays.BLOCK_NUMBERS", 50)  # two queries at a time
        parts = (
            metrics.mean_average_precision(*search, k=7),
            metrics.neighbour_agreement(search[0], search[2]),
        )
        assert whole == parts

    def test_duplicates_of_the_query_count_when_left_out(self):
        points, labels = np.zeros((4, 2)), ["a", "b", "b", "b"]
        # everything ties: by index, query 0 finds object 1, the others find object 0
        assert metrics.precision_at_k(points, None, labels, k=1) == 0
        assert metrics.precision_at_k(points, None, labels, k=2) == pytest.approx(3 * 0.5 / 4)

    def test_queries_without_an_answer_are_left_out(self):
        found = metrics.recall_at_k([[0.0], [0.0]], [[0.0], [1.0]], ["a", "z"], ["a", "b"], k=1)
        assert found == 1
        with refused("no query", "labels match"):
            metrics.mean_average_precision([[0.0]], [[0.0]], ["a"], ["b"])

    @pytest.mark.parametrize(
        ("arguments", "k", "facts"),
        [
            (([[0.0]], [[0.0]], ["a"], None), 1, ["database and database_labels together"]),
            (([[0.0]], None, ["a"], ["a"]), 1, ["database and database_labels together"]),
            (([[0.0]], [[0.0]], ["a"], ["a"]), 2, ["k is 2", "1 points"]),
            (([[0.0], [1.0]], None, ["a", "a"], None), 2, ["k is 2", "1 points"]),
            (([[0.0]], [[0.0]], ["a"], ["a"]), 0, ["k must be", "1 or more", "not 0"]),
            (([[0.0, 1.0]], [[0.0]], ["a"], ["a"]), 1, ["2 columns", "database has 1", "one embedding"]),
            (([[0.0]], [[0.0]], ["a"], ["a", "b"]), 1, ["database", "1 points", "2 labels"]),
            (([[0.0], [1.0]], None, ["a", None], None), 1, ["labels[1] is missing"]),
            (([[0.0], [1.0]], None, [1.0, np.nan], None), 1, ["labels[1] is missing"]),
            (([0.0, 1.0], None, ["a", "a"], None), 1, ["queries must be", "(2,)"]),
        ],
    )
    def test_refusals(self, arguments, k, facts):
        with refused(*facts):
            metrics.precision_at_k(*arguments, k=k)


class TestNeighbourAgreement:
    @pytest.mark.parametrize("k", [1, 3, 7])
    def test_equals_scikit_learn(self, k):
        rng = np.random.default_rng(0)
        points, labels = rng.normal(size=(60, 3)), rng.choice([4, 9], 60)  # two labels, odd k: no tied votes
        votes = cross_val_predict(KNeighborsClassifier(k), points, labels, cv=LeaveOneOut())
        assert metrics.neighbour_agreement(points, labels, k=k) == pytest.approx((votes == labels).mean())

    def test_tied_votes_go_to_the_nearest_voter(self):
        # nearest first, the votes are b a, a a, b a; then a b, a a, b a
        assert metrics.neighbour_agreement([[0.0], [1.0], [2.1]], ["a", "b", "a"], k=2) == 0
        assert metrics.neighbour_agreement([[0.0], [3.1], [2.1]], ["a", "b", "a"], k=2) == pytest.approx(
            1 / 3
        )


class TestNumbersWhoseSquaresOverflowOrVanish:
    """Every metric depends on the order of distances alone, so that a factor must change nothing."""

    SCALES = (1e-170, 2.0**-600, 1e160, 2.0**600, 1e307, 1e-305)
    points = np.random.default_rng(0).normal(size=(12, 2))
    labels = np.random.default_rng(1).choice(["a", "b"], 12)

    @pytest.mark.parametrize("scale", SCALES)
    def test_procrustes(self, scale):
        other = self.points[:, ::-1] + 0.3 * np.random.default_rng(2).normal(size=(12, 2))
        expected = metrics.procrustes_distance(self.points, other)
        assert 0.01 < expected < 0.5
        for pair in ((scale * self.points, other), (self.points, scale * other)):
            assert metrics.procrustes_distance(*pair) == pytest.approx(expected, rel=1e-9)
        aligned = metrics.procrustes_align(other, onto=scale * self.points)
        np.testing.assert_allclose(
            aligned / scale, metrics.procrustes_align(other, onto=self.points), rtol=1e-9, atol=1e-12
        )
        aligned = metrics.procrustes_align(scale * other, onto=self.points)
        np.testing.assert_allclose(aligned, metrics.procrustes_align(other, onto=self.points), rtol=1e-9)

    def test_procrustes_of_tiny_shapes_beside_a_large_constant(self):
        flat = np.column_stack([1e-200 * self.points, np.full(12, 1e200)])
        assert metrics.procrustes_distance(flat, self.points) == pytest.approx(0, abs=1e-12)
        with refused("coincide"):
            metrics.procrustes_distance(np.full((3, 2), 0.1), self.points[:3])

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    @pytest.mark.parametrize("power", [-600, -100, 64, 100, 600, 1000])
    def test_triplet_error(self, power, dtype):
        power = int(np.clip(power, -110, 110)) if dtype == np.float32 else power
        answers = datasets.planted(12, 2, 300, noise=0.2, random_state=0).comparisons
        points = self.points.astype(dtype)
        expected = metrics.triplet_error(points, answers)
        assert 0.2 < expected < 0.8
        assert metrics.triplet_error(np.ldexp(points, power), answers) == expected
        quadruplets = Comparisons(answers.quadruplets(), 12)
        assert metrics.triplet_error(np.ldexp(points, power), quadruplets) == expected

    def test_triplet_error_of_a_tiny_cluster_in_a_wide_map(self):
        points = np.array([[0.0], [1e-200], [3e-200], [1.0], [1e200]])
        right = [(0, 1, 2), (2, 1, 0), (0, 2, 3), (3, 0, 4), (4, 3, 2)]
        assert metrics.triplet_error(points, right[:-1]) == 0.0
        assert metrics.triplet_error(points, [(0, 2, 1), (0, 4, 3)]) == 1.0
        assert metrics.triplet_error(np.zeros((3, 2)), [(0, 1, 2)]) == 1.0  # a tie does not hold

    @pytest.mark.parametrize("scale", [2.0**-600, 2.0**600, 2.0**1000])
    def test_searches(self, scale):
        plain, scaled = self.points, scale * self.points
        for metric in (metrics.precision_at_k, metrics.recall_at_k, metrics.mean_average_precision):
            expected = metric(plain, None, self.labels, k=3)
            assert metric(scaled, None, self.labels, k=3) == expected
            expected = metric(plain[:4], plain, self.labels[:4], self.labels, k=3)
            assert metric(scaled[:4], scaled, self.labels[:4], self.labels, k=3) == expected
        expected = metrics.neighbour_agreement(plain, self.labels, k=3)
        assert metrics.neighbour_agreement(scaled, self.labels, k=3) == expected
        beside = np.column_stack([scaled, np.full(12, 1e300)])
        assert metrics.neighbour_agreement(beside, self.labels, k=3) == expected

    def test_weights_whose_sum_overflows(self):
        answers = datasets.planted(12, 2, 300, noise=0.2, random_state=0).comparisons
        heavy = Comparisons(answers.indices, 12, weights=np.full(300, np.finfo(float).max))
        assert metrics.triplet_error(self.points, heavy) == pytest.approx(
            metrics.triplet_error(self.points, answers)
        )


class TestCalibratedLoss:
    def answers(self, noise, n=40, count=4000):
        answers, truth = datasets.planted(n, 2, count, noise=noise, random_state=0)
        return answers, truth

    @pytest.mark.parametrize("noise", [0.0, 0.1, 0.3])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_slope_and_lapse_rate_are_the_most_likely(self, noise, weighted):
        answers, truth = self.answers(noise)
        points = truth + np.random.default_rng(1).normal(size=truth.shape) * 0.3 * truth.std()
        weights = np.random.default_rng(2).uniform(0.5, 2, size=len(answers)) if weighted else None
        answers = Comparisons(answers.indices, answers.n_objects, weights=weights)
        near, far = (np.sqrt(each) for each in compared_distances(points, answers.indices))
        margins = (far - near) / np.abs(far - near).mean()

        def loss(parameters):
            slope, lapse = np.exp(np.minimum(parameters[0], 4.6)), expit(parameters[1])
            p = lapse / 2 + (1 - lapse) * expit(slope * margins)
            return -np.average(np.log(p), weights=weights)

        found = min(minimize(loss, [0.0, start], method="Nelder-Mead").fun for start in (-6.0, -1.0))
        assert metrics.calibrated_loss(points, answers) <= found + 2e-5

    def test_scale_does_not_matter_and_better_maps_score_better(self):
        answers, truth = self.answers(0.1)
        rough = truth + np.random.default_rng(1).normal(size=truth.shape) * 0.5 * truth.std()
        scores = [metrics.calibrated_loss(points, answers) for points in (truth, 1e6 * truth, rough)]
        assert scores[0] == pytest.approx(scores[1])
        assert scores[0] < scores[2] < np.log(2)

    def test_guessing_scores_log_2_at_most(self):
        answers, truth = self.answers(0.0)
        reversed_answers = Comparisons(answers.indices[:, [0, 2, 1]], answers.n_objects)
        for points, some in ((np.zeros_like(truth), answers), (truth, reversed_answers)):
            assert metrics.calibrated_loss(points, some) == pytest.approx(np.log(2))

    def test_a_map_without_any_error_scores_almost_nothing(self):
        answers, truth = self.answers(0.0)
        assert metrics.calibrated_loss(truth, answers) < 0.05

    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("kind", ["triplets", "quadruplets"])
    def test_it_comes_with_the_error(self, kind, weighted):
        answers = planted(kind, weights=weighted)
        points = np.random.default_rng(0).normal(size=(answers.n_objects, 3)).astype(np.float32)
        points[3] = points[4]
        error, loss = error_and_loss(points, answers)
        assert error == metrics.triplet_error(points, answers)
        near, far = np.sqrt(compared_distances(points.astype(float), answers.indices))
        assert loss == pytest.approx(_calibrated_loss(far - near, answers.weights), rel=1e-5)

    def test_many_comparisons_are_calibrated_on_some(self):
        answers, truth = self.answers(0.1, count=20_000)
        assert metrics.calibrated_loss(truth, answers) == pytest.approx(
            metrics.calibrated_loss(truth, answers[:4000]), abs=0.03
        )

    def test_no_answers_are_refused(self):
        with refused("no comparisons"):
            metrics.calibrated_loss(np.ones((3, 1)), np.empty((0, 3), int))
