"""What every selector keeps, whatever its strategy."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import nearer
from nearer import Comparisons
from nearer.active import PlantedOracle, Selector
from nearer.active._belief import Belief
from nearer.active._candidates import AllQuestions, keys_of
from nearer.errors import InputError
from tests.refusals import refused
from tests.registries import STRATEGIES

ALL = [pytest.param(strategy, id=name) for name, strategy in STRATEGIES.items()]
WITH_MAP = [pytest.param(strategy, id=name) for name, strategy in STRATEGIES.items() if strategy.uses_map]


def sitting(n_objects: int = 12, seed: int = 0):
    return PlantedOracle(n_objects, 2, n_held_out=100).begin(np.random.default_rng(seed))


def play(selector: Selector, n_answers: int, batch: int = 5, seed: int = 0) -> np.ndarray:
    """Let a planted oracle answer; gives all questions in the order they were asked."""
    oracle, rng = sitting(selector.n_objects, seed), np.random.default_rng(seed)
    asked = []
    while selector.n_answers < n_answers:
        asked.append(selector.next(min(batch, n_answers - selector.n_answers)))
        selector.tell(oracle.answer(asked[-1], rng))
    return np.concatenate(asked)


def test_the_registry_holds_every_strategy():
    assert {type(strategy) for strategy in STRATEGIES.values()} == set(nearer.active.STRATEGIES.values())
    assert all(kind.name == name for name, kind in nearer.active.STRATEGIES.items())


@pytest.mark.parametrize("strategy", ALL)
class TestEveryStrategy:
    def test_asks_about_three_different_objects_and_never_twice(self, strategy):
        asked = play(Selector(12, strategy, random_state=0), 120)
        assert asked.shape == (120, 3)
        assert all(len(set(row)) == 3 for row in asked.tolist())
        assert asked.min() >= 0
        assert asked.max() < 12
        assert len(np.unique(keys_of(asked))) == 120

    def test_same_seed_and_answers_same_questions(self, strategy):
        first, second, other = (play(Selector(12, strategy, random_state=seed), 90) for seed in (3, 3, 4))
        np.testing.assert_array_equal(first, second)
        assert not np.array_equal(first, other)

    def test_asks_every_question_once_and_then_none(self, strategy):
        selector = Selector(5, strategy, random_state=0)
        asked = play(selector, 30, batch=4)
        assert len(np.unique(keys_of(asked))) == 30  # 5 heads, 6 pairs each
        assert selector.next(3).shape == (0, 3)

    def test_gives_fewer_questions_where_fewer_are_left(self, strategy):
        selector = Selector(4, strategy, random_state=0)
        assert selector.next(100).shape == (12, 3)

    def test_does_not_ask_what_was_answered_without_having_been_asked(self, strategy):
        every = np.array(
            [[h, a, b] for h in range(5) for a in range(5) for b in range(a) if len({h, a, b}) == 3]
        )
        told, left = every[:25], every[25:]
        selector = Selector(5, strategy, random_state=0)
        selector.tell(told[:, [0, 2, 1]])
        assert set(keys_of(selector.next(30))) == set(keys_of(left))

    def test_questions_of_a_batch_and_pending_ones_differ(self, strategy):
        selector = Selector(12, strategy, random_state=0)
        play(selector, 60)
        waiting = np.concatenate([selector.next(20), selector.next(1), selector.next(20)])
        assert len(np.unique(keys_of(waiting))) == 41
        np.testing.assert_array_equal(selector.pending, waiting)

    def test_a_batch_is_spread_over_the_objects(self, strategy):
        selector = Selector(12, strategy, random_state=0)
        play(selector, 60)
        assert len(np.unique(selector.next(12))) >= 8

    def test_keeps_to_a_list_of_questions(self, strategy):
        rng = np.random.default_rng(0)
        listed = np.array([rng.permutation(10)[:3] for _ in range(80)])
        selector = Selector(10, strategy, questions=listed, random_state=0)
        asked = play(selector, 40)
        assert np.isin(keys_of(asked), keys_of(listed)).all()
        rest = selector.next(100)
        assert len(rest) == len(np.unique(keys_of(listed))) - 40

    def test_new_objects_are_asked_about(self, strategy):
        selector = Selector(12, strategy, random_state=0)
        play(selector, 60)
        selector.grow(14)
        asked = selector.next(60)
        assert {12, 13} <= set(asked.ravel().tolist())
        selector.tell(asked)
        assert selector.next(5).max() < 14
        assert selector.answers.n_objects == 14

    def test_a_share_of_random_questions_changes_the_choice(self, strategy):
        some, none = (
            play(Selector(12, strategy, random_share=share, random_state=0), 90) for share in (0.5, 0.0)
        )
        assert len(np.unique(keys_of(some))) == 90
        assert not np.array_equal(some, none)

    def test_a_copy_by_pickle_goes_on_alike(self, strategy):
        selector = Selector(12, strategy, random_state=0)
        play(selector, 60)
        copy = pickle.loads(pickle.dumps(selector))
        np.testing.assert_array_equal(copy.next(10), selector.next(10))

    def test_what_is_looked_at_does_not_grow_with_the_objects(self, strategy, monkeypatch):
        few, many = (candidates_looked_at(strategy, n, monkeypatch) for n in (200, 2000))
        assert many <= 1.1 * few


def candidates_looked_at(strategy, n: int, monkeypatch) -> int:
    """How many questions are drawn to choose 20 of them."""
    rows: list[int] = []
    with monkeypatch.context() as patch:
        for name in ("draw", "about"):
            plain = getattr(AllQuestions, name)
            patch.setattr(
                AllQuestions, name, lambda *given, plain=plain: rows.append(len(out := plain(*given))) or out
            )
        selector = Selector(n, strategy, random_state=0)
        selector.tell(nearer.datasets.planted(n, 2, 6 * n, random_state=0).comparisons)
        selector.next(20)
    return sum(rows)


@pytest.mark.parametrize("strategy", WITH_MAP)
class TestEveryMap:
    def test_begins_with_objects_seen_equally_often(self, strategy):
        asked = Selector(30, strategy, n_components=3, random_state=0).next(40)  # 4 = 3 + 1 times 30 / 3
        assert np.bincount(asked.ravel(), minlength=30).min() >= 3
        assert np.bincount(asked.ravel(), minlength=30).max() <= 6

    def test_the_map_comes_with_enough_answers(self, strategy):
        selector = Selector(12, strategy, random_state=0)
        assert selector.points is None
        play(selector, 11)
        selector.next()
        assert selector.points is None
        play(selector, 12)
        selector.next()
        assert selector.points.shape == (12, 2)

    def test_learns_the_map(self, strategy):
        selector = Selector(15, strategy, random_state=0)
        play(selector, 400, batch=10)
        selector.refit()
        assert nearer.metrics.triplet_error(selector.points, sitting(15).held_out) < 0.2

    def test_a_new_object_starts_like_the_first_ones(self, strategy):
        selector = Selector(12, strategy, random_state=0)
        play(selector, 100)
        selector.grow(13)
        asked = selector.next(3)
        assert (asked[:, 0] == 12).all()

    def test_fits_are_rare(self, strategy, monkeypatch):
        fitted_to = []
        plain = Belief.fit
        monkeypatch.setattr(Belief, "fit", lambda *given: fitted_to.append(len(given[1])) or plain(*given))
        play(Selector(12, strategy, random_state=0), 200, batch=1)
        late = [count for count in fitted_to if count >= 100]
        assert 10 < len(late) < 16  # 1.05 ** 14 is about 2
        assert min(np.diff(late)) >= 5


def test_told_with_responses_is_the_same_as_winner_first():
    first, second = (Selector(10, "adaptive", random_state=0) for _ in range(2))
    asked = first.next(4)
    np.testing.assert_array_equal(second.next(4), asked)
    first.tell(asked, y=[True, False, True, False])
    second.tell(np.array([asked[0], asked[1][[0, 2, 1]], asked[2], asked[3][[0, 2, 1]]]))
    assert first.answers == second.answers


def test_answers_keep_weights_and_names():
    selector = Selector(3, "random", names=["cat", "dog", "sun"])
    selector.tell(Comparisons([("sun", "dog", "cat")], weights=[2.0]))
    selector.tell([("cat", "dog", "sun")])
    selector.tell([[0, 1, 2]])
    assert selector.answers.names == ("cat", "dog", "sun")
    assert selector.answers.indices.tolist() == [[2, 1, 0], [0, 1, 2], [0, 1, 2]]
    assert selector.answers.weights.tolist() == [2.0, 1.0, 1.0]


def test_answers_of_weight_zero_do_not_count():
    selector = Selector(5, "random")
    selector.tell(Comparisons([[0, 1, 2], [0, 3, 4]], weights=[0.0, 1.0]))
    assert selector.n_answers == 1


def test_a_forgotten_question_may_come_again():
    selector = Selector(4, "random", random_state=0)
    asked = selector.next(12)
    assert len(selector.next()) == 0
    selector.forget(asked[:1, [0, 2, 1]])
    assert len(selector.pending) == 11
    assert keys_of(selector.next(5)).tolist() == keys_of(asked[:1]).tolist()
    selector.forget()
    assert len(selector.pending) == 0
    assert len(selector.next(20)) == 12


def test_when_the_map_is_fitted_does_not_change_what_is_drawn():
    first, second = (Selector(12, "arr", random_state=0) for _ in range(2))
    for selector in (first, second):
        play(selector, 60)
    second.refit()
    np.testing.assert_array_equal(first._rng.random(5), second._rng.random(5))


def test_random_share_one_is_random():
    asked = play(Selector(12, "adaptive", random_share=1.0, random_state=0), 60)
    np.testing.assert_array_equal(asked, play(Selector(12, "adaptive", random_share=1.0, random_state=0), 60))
    assert len(np.unique(asked[:, 0])) > 8


def test_selector_shares_settings_between_strategy_and_selector():
    made = nearer.active.selector("information-gain", 9, pool=7, places=11, n_components=3, random_share=0.2)
    assert made.strategy == nearer.active.InformationGain(pool=7, places=11)
    assert (made.n_components, made.random_share) == (3, 0.2)
    assert repr(made) == "Selector(9 objects, 0 answers, 0 pending, InformationGain(pool=7, places=11))"


@pytest.mark.parametrize(
    ("make", "facts"),
    [
        (lambda: Selector(), ["n_objects", "names"]),
        (lambda: Selector(2), ["n_objects", "3", "not 2"]),
        (lambda: Selector(1 << 22), ["n_objects", "2,097,152"]),
        (lambda: Selector(9, "best"), ["strategy", "round-robin", "'best'"]),
        (lambda: Selector(9, n_components=0), ["n_components", "1", "not 0"]),
        (lambda: Selector(9, random_share=1.5), ["random_share", "0 to 1", "1.5"]),
        (lambda: Selector(3, names=["a", "b"]), ["2 names", "3 objects"]),
        (lambda: Selector(3, names=["a", "b", "a"]), ["names", "'a'", "twice"]),
        (lambda: Selector(3, questions=[[0, 1]]), ["questions", "(m, 3)", "(1, 2)"]),
        (lambda: Selector(3, questions=np.empty((0, 3), int)), ["questions", "at least one"]),
        (
            lambda: Selector(3, questions=[[0, 1, 2], [0, 1, 3]]),
            ["questions", "row 1", "[0, 1, 3]", "0 to 2"],
        ),
        (lambda: Selector(3, questions=[[0, 1, 1]]), ["questions", "row 0", "[0, 1, 1]", "different"]),
        (lambda: nearer.active.selector("arr", 9, pool=0), ["pool", "1", "not 0"]),
        (lambda: nearer.active.InformationGain(places=1), ["places", "2", "not 1"]),
        (lambda: Selector(9).next(0), ["k ", "1", "not 0"]),
        (lambda: Selector(9).tell([[0, 1, 9]]), ["object 9", "there are 9", "grow"]),
        (lambda: Selector(9).tell([[0, 1, 2, 3]]), ["triplets", "(head, nearer, farther)"]),
        (lambda: Selector(9).tell([("a", "b", "c")]), ["'a'", "names="]),
        (lambda: Selector(3, names=["a", "b", "c"]).tell([("a", "b", "z")]), ["'z'", "grow(names=...)"]),
        (lambda: Selector(9).grow(8), ["n_objects", "9", "not 8"]),
        (lambda: Selector(9).grow(names=["a"]), ["grow", "names", "number"]),
        (lambda: Selector(3, names=["a", "b", "c"]).grow(4), ["grow", "names", "number"]),
        (lambda: Selector(3, names=["a", "b", "c"]).grow(names=["a"]), ["names", "'a'", "twice"]),
        (lambda: Selector(3, questions=[[0, 1, 2]]).grow(4), ["list", "new selector"]),
        (lambda: Selector(9).refit(), ["answers", "tell"]),
        (lambda: Selector(9).named([[0, 1, 2]]), ["names="]),
    ],
)
def test_bad_input_is_refused(make, facts):
    with refused(*facts):
        make()


def test_a_refused_answer_leaves_everything_as_it_was():
    selector = Selector(9, "random", random_state=0)
    asked = selector.next(2)
    with pytest.raises(InputError):
        selector.tell([[0, 1, 2], [0, 1, 9]])
    assert selector.n_answers == 0
    np.testing.assert_array_equal(selector.pending, asked)


def test_a_refused_growth_leaves_everything_as_it_was():
    selector = Selector(3, names=["a", "b", "c"])
    with pytest.raises(InputError):
        selector.grow(names=["d", "d"])
    assert (selector.n_objects, selector.names) == (3, ("a", "b", "c"))
