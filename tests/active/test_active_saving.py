"""A selector keeps who answered what, and continues from a file as if it had never been away."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import nearer
from nearer import Comparisons
from nearer.active import PlantedOracle, Random, Selector
from tests.refusals import refused
from tests.registries import STRATEGIES

NAMES = ["cat", "dog", "sun", "sea"]


def answered(selector: Selector, n_answers: int) -> Selector:
    sitting = PlantedOracle(selector.n_objects, 2, n_held_out=50).begin(np.random.default_rng(0))
    rng = np.random.default_rng(1)
    while selector.n_answers < n_answers:
        selector.tell(sitting.answer(selector.next(5), rng))
    return selector


class TestLabels:
    def test_annotators_stay(self):
        selector = Selector(4, "random")
        selector.tell(Comparisons([[0, 1, 2], [1, 2, 3]], annotators=[7, 8]))
        selector.tell(Comparisons([[2, 1, 0]], annotators=[7]))
        assert selector.answers.annotators.tolist() == [7, 8, 7]

    def test_annotators_of_some(self):
        selector = Selector(4, "random")
        selector.tell([[3, 1, 2], [3, 0, 2]])
        assert selector.answers.annotators is None
        selector.tell(Comparisons([[0, 1, 2]], annotators=["Ann"]))
        selector.tell(Comparisons([[1, 0, 2]], annotators=[12]))
        assert selector.answers.annotators.tolist() == ["unknown", "unknown", "Ann", "12"]

    def test_annotators_by_name_and_without_rows_of_weight_zero(self):
        selector = Selector(names=NAMES)
        told = Comparisons(
            [("sun", "sea", "cat"), ("cat", "dog", "sun")], weights=[0.0, 1.0], annotators=["Ann", "Bo"]
        )
        selector.tell(told)
        assert selector.answers.annotators.tolist() == ["Bo"]

    def test_groups_of_different_tells_differ(self):
        selector = Selector(5, "random")
        selector.tell(Comparisons([[0, 1, 2], [0, 1, 3], [1, 2, 3]], groups=[4, 4, 9]))
        selector.tell([[2, 3, 4]])
        selector.tell(Comparisons([[0, 2, 4], [3, 2, 4]], groups=[4, 4]))
        first, same, other, alone, later, too = selector.answers.groups.tolist()
        assert first == same
        assert later == too
        assert len({first, other, alone, later}) == 4

    def test_answers_can_be_split_by_annotator(self):
        selector = answered(Selector(6, "random", random_state=0), 20)
        selector.tell(Comparisons([[0, 1, 2]] * 10, annotators=["Ann"] * 10))
        train, test = selector.answers.split(test_size=0.4, by="annotator", random_state=0)
        assert not set(train.annotators) & set(test.annotators)


class TestObjects:
    def test_names_are_enough(self):
        selector = Selector(names=iter(NAMES))
        assert (selector.n_objects, selector.names) == (4, tuple(NAMES))
        assert nearer.active.selector("random", names=NAMES).n_objects == 4


def again(selector: Selector, folder) -> Selector:
    return nearer.load(nearer.save(selector, folder / "study.nearer"))


class TestSaving:
    @pytest.mark.parametrize("n_answers", [0, 10, 60])
    @pytest.mark.parametrize("name", [*STRATEGIES])
    def test_continues_as_if_uninterrupted(self, name, n_answers, tmp_path):
        selector = answered(Selector(12, STRATEGIES[name], random_share=0.2, random_state=3), n_answers)
        selector.next(7)
        selector.forget(selector.pending[2:4])
        loaded = again(selector, tmp_path)
        assert repr(loaded) == repr(selector)
        for one in (selector, loaded):
            one.tell(one.pending[:3])
            answered(one, n_answers + 40)
        np.testing.assert_array_equal(loaded.next(20), selector.next(20))
        np.testing.assert_array_equal(loaded.pending, selector.pending)
        assert loaded.answers == selector.answers

    def test_everything_is_there_again(self, tmp_path):
        selector = Selector(names=NAMES, n_components=1, random_share=0.25, random_state=0)
        selector.tell(
            Comparisons(
                [("sun", "sea", "cat"), ("cat", "dog", "sun")], weights=[2.0, 1.0], annotators=["Ann", "Bo"]
            )
        )
        selector.tell(Comparisons([[0, 1, 3], [0, 2, 3]], groups=[1, 1]))
        selector.refit()
        loaded = again(selector, tmp_path)
        assert loaded.answers == selector.answers
        assert (loaded.names, loaded.n_components, loaded.random_share) == (tuple(NAMES), 1, 0.25)
        np.testing.assert_array_equal(loaded.points, selector.points)
        loaded.grow(names=["moon"])
        assert loaded.n_objects == 5

    def test_listed_questions(self, tmp_path):
        listed = np.array([[0, 1, 2], [0, 2, 3], [3, 1, 2], [1, 0, 3], [2, 0, 1]])
        selector = Selector(4, "arr", questions=listed, random_state=0)
        selector.next(2)
        loaded = again(selector, tmp_path)
        np.testing.assert_array_equal(loaded.next(10), selector.next(10))
        assert len(loaded.pending) == 5

    def test_a_strategy_of_ones_own(self, tmp_path):
        @dataclass(frozen=True)
        class Own(Random):
            """A user's."""

        selector = answered(Selector(6, Own(), random_state=0), 10)
        with refused("Own", "selector.answers", "write"):
            nearer.save(selector, tmp_path / "study.nearer")
        selector.answers.write(tmp_path / "answers.csv")  # the remedy works
        resumed = Selector(6, Own(), random_state=1)
        resumed.tell(Comparisons.read(tmp_path / "answers.csv"))
        assert resumed.n_answers == 10
        assert len(resumed.next(100)) == 6 * 10 - 10

    def test_a_generator_that_a_file_cannot_hold(self, tmp_path):
        selector = Selector(6, random_state=np.random.Generator(np.random.MT19937(0)))
        with refused("MT19937"):
            nearer.save(selector, tmp_path / "study.nearer")
