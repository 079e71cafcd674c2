"""The supply of questions: nothing twice, everything once."""

from __future__ import annotations

import numpy as np
import pytest

from nearer.active._candidates import MOST_OBJECTS, AllQuestions, ListedQuestions, keys_of


def everything(n: int) -> np.ndarray:
    return np.array(
        [[h, a, b] for h in range(n) for a in range(n) for b in range(a + 1, n) if h not in (a, b)],
        dtype=np.int32,
    )


SUPPLIES = {
    "all": lambda: AllQuestions(6),
    "listed": lambda: ListedQuestions(everything(6)[np.random.default_rng(0).permutation(60)], 6),
}


@pytest.fixture(params=SUPPLIES, ids=str)
def supply(request):
    return SUPPLIES[request.param]()


def test_keys_hold_the_largest_objects():
    last = MOST_OBJECTS - 1
    keys = keys_of(
        np.array([[last, last - 1, last - 2], [last, last - 2, last - 1], [last - 1, last, last - 2]])
    )
    assert keys[0] == keys[1]
    assert keys[0] != keys[2]
    assert (keys > 0).all()


def test_questions_drawn_are_different_and_left(supply):
    rng = np.random.default_rng(0)
    supply.take(everything(6)[:20])
    for count in (1, 10, 1000):
        drawn = supply.draw(count, rng)
        assert 1 <= len(drawn) <= count
        assert len(np.unique(keys_of(drawn))) == len(drawn)
        assert not np.isin(keys_of(drawn), keys_of(everything(6)[:20])).any()
    assert len(supply.draw(1000, rng)) == supply.n_left == 40


def test_questions_about_a_head(supply):
    rng = np.random.default_rng(0)
    supply.take(np.array([[2, 0, 1], [2, 4, 3]]))
    for count in (1, 3, 50):
        drawn = supply.about(2, count, rng)
        assert (drawn[:, 0] == 2).all()
        assert 1 <= len(drawn) <= count
        assert supply.is_left(drawn).all()
    assert len(supply.about(2, 50, rng)) == 8


def test_taking_is_once_and_can_be_undone(supply):
    question = np.array([[3, 0, 5]])
    supply.take(question)
    supply.take(question[:, [0, 2, 1]])
    assert supply.n_left == 59
    assert not supply.is_left(question)[0]
    supply.give_back(question[:, [0, 2, 1]])
    supply.give_back(question)
    assert supply.n_left == 60
    assert supply.is_left(question)[0]


def test_a_head_is_used_up_with_its_last_question(supply):
    supply.take(everything(6)[everything(6)[:, 0] == 4])
    assert supply.heads().tolist() == [True, True, True, True, False, True]
    assert len(supply.about(4, 5, np.random.default_rng(0))) == 0


def test_the_last_questions_are_found(supply):
    rng = np.random.default_rng(0)
    order = everything(6)[rng.permutation(60)]
    supply.take(order[:-2])
    assert set(keys_of(supply.draw(1, rng))) <= set(keys_of(order[-2:]))
    assert set(keys_of(supply.draw(5, rng))) == set(keys_of(order[-2:]))
    supply.take(order)
    assert supply.n_left == 0
    assert supply.draw(3, rng).shape == (0, 3)


def test_a_list_ignores_strange_questions_and_repetitions():
    supply = ListedQuestions(np.array([[0, 1, 2], [0, 2, 1], [3, 1, 2]]), 5)
    assert supply.n_left == 2
    supply.take(np.array([[4, 1, 2], [2, 0, 1]]))
    assert supply.n_left == 2
    assert supply.is_left(np.array([[4, 1, 2], [0, 2, 1]])).tolist() == [False, True]
    assert supply.heads().tolist() == [True, False, False, True, False]


def test_growth_keeps_what_was_taken():
    supply = AllQuestions(4)
    supply.take(everything(4))
    assert supply.n_left == 0
    supply.grow(5)
    assert supply.n_left == 30 - 12
    assert not supply.is_left(everything(4)).any()
    drawn = supply.draw(100, np.random.default_rng(0))
    assert (drawn == 4).any(axis=1).all()
