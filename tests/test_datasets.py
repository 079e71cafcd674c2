from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import chisquare

from nearer import datasets, losses, metrics
from nearer.datasets import _sampling
from tests.refusals import refused


class TestPlanted:
    @pytest.mark.parametrize("kind", ["triplets", "quadruplets"])
    def test_answers_hold_without_noise(self, kind):
        comparisons, points = datasets.planted(20, 3, 2000, kind=kind, random_state=0)
        assert comparisons.shape == (2000, 3 if kind == "triplets" else 4)
        assert comparisons.n_objects == 20
        assert metrics.triplet_error(points, comparisons) == 0
        assert all(len(set(row)) == len(row) for row in comparisons.indices.tolist())

    @pytest.mark.parametrize("noise", [0.05, 0.25, 0.5])
    def test_exactly_the_share_is_flipped(self, noise):
        comparisons, points = datasets.planted(30, 2, 1000, noise, kind="quadruplets", random_state=1)
        assert metrics.triplet_error(points, comparisons) == noise

    @pytest.mark.parametrize("noise", ["ste", losses.STE(), losses.TSTE(alpha=3), "tste", "ckl"])
    def test_a_model_gives_as_much_noise_as_it_says(self, noise):
        comparisons, points = datasets.planted(40, 2, 50_000, noise, scale=1.0, random_state=2)
        i, j, k = comparisons.indices.T
        near, far = (((points[i] - points[other]) ** 2).sum(axis=1) for other in (j, k))
        model = losses.find(noise).resolved(2)
        doubt = model.probability(np.maximum(near, far), np.minimum(near, far))  # of the wrong answer
        expected, deviation = doubt.mean(), np.sqrt((doubt * (1 - doubt)).sum()) / len(doubt)
        assert abs((near > far).mean() - expected) < 4 * deviation
        close = doubt > 0.3
        assert (near > far)[close].mean() > (near > far)[~close].mean() + 0.1

    def test_scale_sets_the_spread(self):
        small = datasets.planted(2000, 2, 1, random_state=0).embedding
        large = datasets.planted(2000, 2, 1, scale=3.0, random_state=0).embedding
        assert small.std() == pytest.approx(np.sqrt(1 / 20), rel=0.05)
        np.testing.assert_allclose(large, small * 3 / np.sqrt(1 / 20))

    def test_one_seed_repeats_and_two_differ(self):
        first, again, other = (datasets.planted(10, 2, 100, 0.1, random_state=seed) for seed in (0, 0, 1))
        np.testing.assert_array_equal(first.comparisons.indices, again.comparisons.indices)
        np.testing.assert_array_equal(first.embedding, again.embedding)
        assert (first.comparisons.indices != other.comparisons.indices).any()
        assert (first.embedding != other.embedding).all()

    def test_points_do_not_depend_on_the_number_of_comparisons(self):
        few, many = (datasets.planted(10, 2, number, random_state=0).embedding for number in (1, 1000))
        np.testing.assert_array_equal(few, many)

    @pytest.mark.parametrize(("kind", "n_objects", "total"), [("triplets", 6, 60), ("quadruplets", 6, 45)])
    def test_questions_are_uniform_and_without_repeat_all_different(self, kind, n_objects, total):
        def questions(comparisons):
            rows = comparisons.quadruplets().tolist()
            return [frozenset([frozenset(row[:2]), frozenset(row[2:])]) for row in rows]

        everything = datasets.planted(
            n_objects, 2, total, kind=kind, repeat=False, random_state=0
        ).comparisons
        assert len(set(questions(everything))) == total
        # nearly all are chosen from a list, fewer are drawn until they differ: either way in any order
        for number in (total - 1, int(0.8 * total)):
            some = datasets.planted(n_objects, 2, number, kind=kind, repeat=False, random_state=1).comparisons
            assert len(set(questions(some))) == number
            assert not (np.diff(some.indices[:, 0]) >= 0).all()
            assert len(set((some.indices[:, -1] > some.indices[:, -2]).tolist())) == 2
        drawn = questions(datasets.planted(n_objects, 2, 100 * total, kind=kind, random_state=0).comparisons)
        counts = [drawn.count(question) for question in questions(everything)]
        assert chisquare(counts).pvalue > 1e-3
        # of a sample without repetition every question is equally likely to be part
        halves = [
            questions(
                datasets.planted(n_objects, 2, total // 2, kind=kind, repeat=False, random_state=seed)[0]
            )
            for seed in range(100)
        ]
        members = [sum(question in half for half in halves) for question in questions(everything)]
        assert min(members) > 25
        assert max(members) < 75

    def test_nearly_all_questions_need_no_luck(self, monkeypatch):
        drawn = []
        plain = _sampling._uniform_rows
        monkeypatch.setattr(
            _sampling, "_uniform_rows", lambda *given: drawn.append(given[1]) or plain(*given)
        )
        answers = datasets.planted(40, 2, 29_640, repeat=False, random_state=0).comparisons
        distances = np.random.default_rng(0).integers(5, size=(12, 12)).astype(float)
        everything = datasets.triplets_from_distances(distances + distances.T, "all")
        settled = datasets.triplets_from_distances(
            distances + distances.T, len(everything), repeat=False, random_state=0
        )
        assert not drawn
        assert len(set(map(tuple, answers.indices.tolist()))) == 29_640
        assert set(map(tuple, settled.indices.tolist())) == set(map(tuple, everything.indices.tolist()))
        datasets.planted(40, 2, 20_000, repeat=False, random_state=0)
        assert drawn

    @pytest.mark.parametrize(
        ("changes", "facts"),
        [
            ({"n_objects": 2}, ["n_objects", "3 or more", "not 2"]),
            ({"n_objects": 3, "kind": "quadruplets"}, ["n_objects", "4 or more", "not 3"]),
            ({"n_components": 0}, ["n_components", "1 or more", "not 0"]),
            ({"n_comparisons": 0}, ["n_comparisons", "1 or more", "not 0"]),
            ({"n_comparisons": 2.5}, ["n_comparisons", "1 or more", "not 2.5"]),
            ({"noise": 0.6}, ["noise", "0 to 0.5", "not 0.6"]),
            ({"noise": float("nan")}, ["noise", "0 to 0.5", "not nan"]),
            ({"noise": "gnmds"}, ["noise", "probability", "ste", "'gnmds'"]),
            ({"noise": "gauss"}, ["noise", "0 to 0.5", "ste", "'gauss'"]),
            ({"kind": "pairs"}, ["kind", "'triplets'", "'quadruplets'", "'pairs'"]),
            ({"scale": 0}, ["scale", "above 0", "not 0"]),
            (
                {"n_comparisons": 361, "repeat": False},
                [None, "360 different", "not 361", "fewer", "repeat=True"],
            ),
        ],
    )
    def test_refusals(self, changes, facts):
        with refused(*facts[1:], parameter=facts[0]):
            datasets.planted(**({"n_objects": 10, "n_components": 2, "n_comparisons": 10} | changes))


class TestFromDistances:
    def distances(self, n=9, seed=0):
        points = np.random.default_rng(seed).normal(size=(n, 2))
        return np.linalg.norm(points[:, None] - points, axis=2)

    def test_all_is_every_triplet_once(self):
        distances = self.distances()
        expected = set()
        for i in range(9):
            for j, k in combinations([other for other in range(9) if other != i], 2):
                expected.add((i, j, k) if distances[i, j] < distances[i, k] else (i, k, j))
        got = datasets.triplets_from_distances(distances).indices.tolist()
        assert len(got) == len(expected)
        assert set(map(tuple, got)) == expected

    def test_ties_are_left_out(self):
        grid = np.array([0.0, 1.0, 2.0, 3.0])
        distances = abs(grid[:, None] - grid)
        got = datasets.triplets_from_distances(distances).indices
        assert len(got) == 4 * 3 - 2  # 1 lies between 0 and 2, and 2 between 1 and 3
        some = datasets.triplets_from_distances(distances, 10, repeat=False, random_state=0).indices
        assert set(map(tuple, some.tolist())) == set(map(tuple, got.tolist()))
        many = datasets.triplets_from_distances(distances, 500, random_state=0).indices
        assert (distances[many[:, 0], many[:, 1]] < distances[many[:, 0], many[:, 2]]).all()

    def test_noise_names_and_seed(self):
        distances, names = self.distances(), list("abcdefghi")
        first, again, other = (
            datasets.triplets_from_distances(distances, 200, 0.1, names=names, random_state=seed)
            for seed in (0, 0, 1)
        )
        i, j, k = first.indices.T
        assert (distances[i, j] > distances[i, k]).mean() == 0.1
        assert first.names == tuple(names)
        np.testing.assert_array_equal(first.indices, again.indices)
        assert (first.indices != other.indices).any()

    def test_rows_of_an_asymmetric_matrix_answer_for_themselves(self):
        distances = [[0, 1, 2], [5, 0, 3], [1, 4, 0]]
        got = datasets.triplets_from_distances(distances).indices.tolist()
        assert got == [[0, 1, 2], [1, 2, 0], [2, 0, 1]]

    @pytest.mark.parametrize(
        ("distances", "number", "facts"),
        [
            (np.ones((4, 4)), 5, ["distances", "no question"]),
            (np.ones((4, 4)), "all", ["distances", "no question"]),
            (np.ones((3, 4)), 5, ["distances", "square", "(3, 4)"]),
            ([[0, 1, 2], [1, 0, np.nan], [2, 3, 0]], 5, [None, "distances[1, 2] is nan", "finite"]),
            ([[0, 1, -2], [1, 0, 3], [2, 3, 0]], 5, [None, "distances[0, 2] is -2.0", "at least 0"]),
            ([[0, 1, 2], [1, 0, 3], [2, 3, 0]], "some", ["n_comparisons", "1 or more", "'some'"]),
            ([[0, 1, 2], [1, 0, 3], [2, 3, 0]], 4, [None, "3 different", "not 4", "fewer", "repeat=True"]),
        ],
    )
    def test_refusals(self, distances, number, facts):
        with refused(*facts[1:], parameter=facts[0]):
            datasets.triplets_from_distances(distances, number, repeat=False)


class TestFromLabels:
    labels = np.array(["x", "y", "x", "z", "y", "y", "only"])

    def test_like_before_unlike(self):
        indices = datasets.triplets_from_labels(self.labels, 5000, random_state=0).indices
        i, j, k = indices.T
        assert (i != j).all()
        assert (self.labels[i] == self.labels[j]).all()
        assert (self.labels[i] != self.labels[k]).all()

    def test_every_possible_triplet_is_equally_likely_given_its_anchor(self):
        indices = datasets.triplets_from_labels(self.labels, 30_000, random_state=0).indices
        anchors, counts = np.unique(indices[:, 0], return_counts=True)
        assert anchors.tolist() == [0, 1, 2, 4, 5]
        assert chisquare(counts).pvalue > 1e-3
        of_one = indices[indices[:, 0] == 1]
        pairs, counts = np.unique(of_one[:, 1:], axis=0, return_counts=True)
        assert len(pairs) == 2 * 4
        assert chisquare(counts).pvalue > 1e-3

    def test_flips_exactly_the_share(self):
        i, j, _ = datasets.triplets_from_labels(self.labels, 1000, flip=0.15, random_state=0).indices.T
        assert (self.labels[i] != self.labels[j]).mean() == 0.15

    def test_one_seed_repeats_and_two_differ(self):
        first, again, other = (
            datasets.triplets_from_labels(self.labels, 50, random_state=seed).indices for seed in (0, 0, 1)
        )
        np.testing.assert_array_equal(first, again)
        assert (first != other).any()

    @pytest.mark.parametrize(
        ("labels", "flip", "facts"),
        [
            ([1, 1, 1], 0, ["labels", "two different"]),
            ([1, 2, 3], 0, ["labels", "twice"]),
            ([[1, 2], [1, 2]], 0, ["labels", "every object", "(2, 2)"]),
            ([1, 1, 2], 1.5, ["flip", "0 to 1", "1.5"]),
        ],
    )
    def test_refusals(self, labels, flip, facts):
        with refused(*facts[1:], parameter=facts[0]):
            datasets.triplets_from_labels(labels, 5, flip=flip)


class TestCities:
    europe = datasets.cities()

    def place(self, name):
        return self.europe.names.index(name)

    @pytest.mark.parametrize(
        ("one", "other", "km"),
        # as atlases give them, to about 1 %: the earth is no sphere and cities are no points
        [
            ("London", "Paris", 344),
            ("Berlin", "Rome", 1184),
            ("Lisbon", "Helsinki", 3365),
            ("Madrid", "Kyiv", 2860),
            ("Oslo", "Stockholm", 416),
            ("Vienna", "Budapest", 214),
        ],
    )
    def test_known_distances(self, one, other, km):
        assert self.europe.great_circle_km()[self.place(one), self.place(other)] == pytest.approx(
            km, rel=0.012
        )

    def test_distances_equal_angles_between_directions(self):
        latitude, longitude = np.radians(self.europe.latitude), np.radians(self.europe.longitude)
        east = np.cos(latitude) * np.sin(longitude)
        directions = np.stack([np.cos(latitude) * np.cos(longitude), east, np.sin(latitude)], axis=1)
        angles = np.arccos(np.clip(directions @ directions.T, -1, 1))
        np.testing.assert_allclose(self.europe.great_circle_km(), 6371.0088 * angles, atol=1e-3)

    def test_matrix_is_a_metric(self):
        km = self.europe.great_circle_km()
        np.testing.assert_allclose(km, km.T)
        assert (np.diag(km) == 0).all()
        assert (km[:, :, None] + km[None] + 1e-9 >= km[:, None, :]).all()

    def test_names_are_sorted_and_unique(self):
        assert list(self.europe.names) == sorted(set(self.europe.names))
        assert 20 <= len(self.europe.names) <= 30

    def test_map_keeps_distances_and_directions(self):
        xy = self.europe.map_xy()
        flat = np.linalg.norm(xy[:, None] - xy, axis=2)
        np.testing.assert_allclose(flat, self.europe.great_circle_km(), rtol=0.06)
        assert xy[self.place("Oslo"), 1] > xy[self.place("Rome"), 1] + 1500
        assert xy[self.place("Kyiv"), 0] > xy[self.place("Dublin"), 0] + 2000

    def test_map_distances_from_the_centre_are_true(self):
        # a city added at the centre of symmetric ones is the centre of the map
        around = datasets.Cities(
            tuple("nesw0"), np.array([10.0, 0, -10, 0, 0]), np.array([0.0, 10, 0, -10, 0])
        )
        np.testing.assert_allclose(
            np.linalg.norm(around.map_xy(), axis=1), around.great_circle_km()[-1], atol=1e-6, rtol=1e-9
        )

    def test_frozen(self):
        with pytest.raises(AttributeError):
            self.europe.names = ()


def test_the_seed_of_the_data_does_not_start_a_fit_at_the_answer():
    """The same seed for data and fit is what people write; the two must not share their draws."""
    from nearer._utils.validation import generator

    points = datasets.planted(20, 5, 100, random_state=7).embedding
    start = generator(7).normal(size=points.shape)
    assert abs(np.corrcoef(points.ravel(), start.ravel())[0, 1]) < 0.4
