"""Splits, folds, noise, duplicates, contradictions, parts; scikit-learn; the real data."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, train_test_split
from sklearn.utils import _safe_indexing

from nearer.comparisons import Comparisons
from tests.refusals import refused


def random_comparisons(q=60, n=8, seed=0, **fields):
    rng = np.random.default_rng(seed)
    return Comparisons(np.argsort(rng.random((q, n)), axis=1)[:, :3], n, **fields)


@pytest.fixture
def grouped():
    return random_comparisons(groups=np.repeat(np.arange(20), 3), annotators=np.repeat(np.arange(6), 10))


class TestSplit:
    def test_sizes(self):
        c = random_comparisons(100)
        train, test = c.split(test_size=0.25, random_state=0)
        assert (len(train), len(test)) == (75, 25)
        train, test = c.split(test_size=7, random_state=0)
        assert (len(train), len(test)) == (93, 7)

    def test_rows_keep_their_order_and_none_is_lost(self):
        c = random_comparisons(50, weights=np.arange(50))
        train, test = c.split(random_state=0)
        assert sorted([*train.weights, *test.weights]) == list(range(50))
        assert np.all(np.diff(train.weights) > 0)

    def test_groups_stay_together(self, grouped):
        train, test = grouped.split(random_state=0)
        assert len(test) == 12
        assert not set(train.groups) & set(test.groups)

    def test_annotators_stay_together_and_so_do_groups(self, grouped):
        train, test = grouped.split(test_size=0.5, random_state=0, by="annotator")
        assert not set(train.annotators) & set(test.annotators)
        assert not set(train.groups) & set(test.groups)
        plain = random_comparisons(annotators=np.repeat(["a", "b", "c"], 20))
        train, test = plain.split(random_state=0, by="annotator")
        assert len(set(test.annotators)) == 1

    def test_chance(self):
        c = random_comparisons(100)
        assert c.split(random_state=3)[1] == c.split(random_state=3)[1]
        assert c.split(random_state=3)[1] != c.split(random_state=4)[1]
        assert c.split(random_state=np.random.default_rng(1))[1] == c.split(random_state=1)[1]

    def test_both_sides_have_rows(self):
        c = random_comparisons(10, groups=[0] * 9 + [1])
        for seed in range(4):
            assert {len(part) for part in c.split(test_size=0.01, random_state=seed)} == {9, 1}
            assert {len(part) for part in c.split(test_size=0.99, random_state=seed)} == {9, 1}

    @pytest.mark.parametrize("size", [0, 1, 1.0, -0.5, 60, 0.0, 100])
    def test_bad_sizes(self, size):
        c = random_comparisons(60)
        if size == 1:
            assert len(c.split(test_size=1)[1]) == 1 or isinstance(size, float)
        if size != 1 or isinstance(size, float):
            with refused(size, parameter="test_size"):
                c.split(test_size=size)

    def test_refusals(self):
        with refused("'annotator'", parameter="by"):
            random_comparisons().split(by="annotator")
        with refused("'group'", parameter="by"):
            random_comparisons().split(by="group")
        with refused("1 group"):
            random_comparisons(5, groups=[1] * 5).split()


class TestFolds:
    def test_every_row_is_tested_once(self, grouped):
        for c in (grouped, random_comparisons()):
            folds = c.folds(4, random_state=0)
            assert sorted(np.concatenate([test for _, test in folds])) == list(range(60))
            for train, test in folds:
                assert sorted([*train, *test]) == list(range(60))
                assert len(test) == 15

    def test_groups_stay_together(self, grouped):
        for train, test in grouped.folds(random_state=0):
            assert not set(grouped.groups[train]) & set(grouped.groups[test])
        for train, test in grouped.folds(2, random_state=0, by="annotator"):
            assert not set(grouped.annotators[train]) & set(grouped.annotators[test])

    def test_chance(self):
        c = random_comparisons()
        assert c.folds(random_state=0)[0][1].tolist() == c.folds(random_state=0)[0][1].tolist()
        assert c.folds(random_state=0)[0][1].tolist() != c.folds(random_state=1)[0][1].tolist()

    @pytest.mark.parametrize("n_splits", [21, 1, "5"])
    def test_refusals(self, grouped, n_splits):
        with refused(repr(n_splits), parameter="n_splits"):
            grouped.folds(n_splits)


class TestVariants:
    def test_shuffled(self):
        c = random_comparisons(weights=np.arange(60))
        mixed = c.shuffled(random_state=0)
        assert mixed != c
        assert mixed == c.shuffled(random_state=0)
        assert mixed[np.argsort(mixed.weights)] == c

    def test_noise_turns_the_share_asked_for(self):
        c = random_comparisons(100)
        noisy = c.with_noise(0.25, random_state=0)
        turned = (noisy.indices != c.indices).any(axis=1)
        assert turned.sum() == 25
        assert noisy.indices[turned].tolist() == c.indices[turned][:, [0, 2, 1]].tolist()
        assert c.with_noise(0.0) == c
        assert list(Comparisons([[0, 1, 2, 3]]).with_noise(1)) == [(2, 3, 0, 1)]
        assert noisy != c.with_noise(0.25, random_state=1)

    @pytest.mark.parametrize("flip", [-0.1, 1.1, np.nan, "a"])
    def test_bad_noise(self, flip):
        with refused(flip, parameter="flip"):
            random_comparisons().with_noise(flip)

    def test_unique(self):
        c = Comparisons(
            [[2, 1, 0], [0, 1, 2], [2, 1, 0]], weights=[1, 2, 4], groups=[5, 6, 7], annotators=[1, 2, 3]
        ).unique()
        assert list(c) == [(2, 1, 0), (0, 1, 2)]
        assert c.weights.tolist() == [5, 2]
        assert c.groups.tolist() == [5, 6]
        assert c.annotators is None

    def test_unique_quadruplets_are_equal_either_way_round(self):
        c = Comparisons([[0, 1, 2, 3], [1, 0, 3, 2], [2, 3, 0, 1]]).unique()
        assert list(c) == [(0, 1, 2, 3), (2, 3, 0, 1)]
        assert c.weights.tolist() == [2, 1]

    def test_unique_of_nothing(self):
        assert len(Comparisons([]).unique()) == 0
        assert Comparisons([]).conflicts().share == 0

    def test_conflicts(self):
        c = Comparisons([[0, 1, 2], [0, 2, 1], [0, 1, 2], [1, 0, 2], [1, 0, 3]])
        result = c.conflicts()
        assert (result.n_rows, result.n_questions, result.share) == (3, 1, 0.6)
        assert repr(result) == "Conflicts(3 rows in conflict (60.0%), on 1 question)"
        with pytest.raises(AttributeError):
            result.n_rows = 0

    def test_conflicts_of_quadruplets(self):
        assert Comparisons([[0, 1, 2, 3], [3, 2, 1, 0], [0, 2, 1, 3]]).conflicts().n_rows == 2

    def test_huge_indices_do_not_overflow(self):
        n = 2**31 - 1
        rows = [[n - 1, n - 2, n - 3], [n - 1, n - 3, n - 2], [0, n - 2, n - 1], [n - 1, n - 2, n - 3]]
        c = Comparisons(rows, n)
        assert c.conflicts().n_rows == 3
        assert c.unique().weights.tolist() == [2, 1, 1]

    def test_subset(self):
        c = Comparisons(
            [[0, 1, 2], [1, 2, 3], [3, 0, 1]], weights=[1, 2, 3], names=["a", "b", "c", "d"], groups=[0, 1, 2]
        )
        expected = [(1, 2, 0)]
        for objects in ([2, 0, 1], ["c", "a", "b"], ("c", "a", "b"), np.array([2, 0, 1])):
            part = c.subset(objects)
            assert list(part) == expected
            assert part.names == ("c", "a", "b")
            assert part.weights.tolist() == [1]
            assert part.n_objects == 3
        masked = c.subset([True, True, False, True])
        assert list(masked) == [(2, 0, 1)]
        assert masked.names == ("a", "b", "d")
        assert c.subset({0, 1, 2}).shape == (1, 3)
        assert c.subset([]).shape == (0, 3)

    @pytest.mark.parametrize(
        ("objects", "shown"),
        [
            ([0, 9], "9"),
            ([0, -1], "-1"),
            (["a", "x"], "'x'"),
            ([0, 0], "twice"),
            ([True, False], "2 entries"),
            ([[0]], (1, 1)),
            (0, ()),
        ],
    )
    def test_bad_subsets(self, objects, shown):
        with refused(shown, parameter="objects"):
            Comparisons([[0, 1, 2]], names=list("abcd")).subset(objects)


class Share(BaseEstimator):
    """Scores the share of rows whose middle object has a small index; checks what scikit-learn hands it."""

    def __init__(self, limit=2):
        self.limit = limit

    def fit(self, X, y=None):
        assert isinstance(X, Comparisons)
        self.n_rows_ = len(X)
        return self

    def score(self, X, y=None):
        assert isinstance(X, Comparisons)
        return float(np.mean(X.indices[:, 1] < self.limit))


class TestScikitLearn:
    def test_indexing(self):
        c = random_comparisons(10)
        assert _safe_indexing(c, [1, 2]) == c[[1, 2]]
        assert _safe_indexing(c, np.arange(10) < 3) == c[:3]
        assert _safe_indexing(c, slice(2, 4)) == c[2:4]

    def test_splitters(self, grouped):
        assert sum(len(test) for _, test in KFold(4).split(grouped)) == 60
        train, test = train_test_split(grouped, test_size=0.25, random_state=0)
        assert isinstance(train, Comparisons)
        assert len(test) == 15

    def test_cross_validation(self, grouped):
        assert cross_val_score(Share(), grouped, cv=3).shape == (3,)
        scores = cross_val_score(Share(), grouped, cv=grouped.folds(4, random_state=0))
        assert np.mean(scores) == pytest.approx(Share().score(grouped))

    def test_grid_search(self, grouped):
        search = GridSearchCV(Share(), {"limit": [1, 5]}, cv=grouped.folds(3, random_state=0)).fit(grouped)
        assert search.best_params_ == {"limit": 5}
        assert search.best_estimator_.n_rows_ == 60


def real(name):
    folder = os.environ.get("NEARER_DATA")
    if not folder or not (Path(folder) / name).is_dir():
        pytest.skip(f"needs {name} in the folder named by NEARER_DATA")
    return Path(folder) / name / f"{name}.npz"


@pytest.mark.data
class TestRealData:
    def test_music_has_degenerate_rows(self):
        path = real("music_artists")
        with np.load(path) as file:
            triplets, names = file["triplets"], file["artist_names"].tolist()
        with refused("17 invalid rows among 9107", row=5031):
            Comparisons(triplets)
        with refused(file=str(path), row=5031):
            Comparisons.read(path)
        c = Comparisons.read(path, names=names, invalid="drop")
        assert (len(c), c.n_dropped, c.n_objects) == (9090, 17, 412)
        assert c.conflicts().n_rows == 0

    def test_food_contradicts_itself(self):
        with np.load(real("food100")) as file:
            c = Comparisons(file["triplets"], groups=file["screen"], annotators=file["worker_id"])
        assert c.conflicts().n_rows == 21938
        assert len(c.unique()) == 190376
        train, test = c.split(random_state=0)
        assert not set(train.groups) & set(test.groups)

    def test_votes_on_materials(self):
        with np.load(real("material_appearance")) as file:
            c = Comparisons.from_responses(file["train_triplets"], file["train_votes"])
        assert c.weights.sum() == 92892

    def test_strange_fruit(self):
        with np.load(real("strange_fruit30")) as file:
            assert Comparisons(file["triplets"]).conflicts().n_rows == 8517
