"""Strategies on problems whose best question is known."""

from __future__ import annotations

from itertools import combinations, islice
from pathlib import Path

import numpy as np
import pytest

from nearer.active import (
    STRATEGIES,
    Adaptive,
    AdaptiveRoundRobin,
    InformationGain,
    Random,
    RoundRobin,
    Selector,
    Uncertainty,
    _belief,
)
from nearer.active._belief import Belief
from nearer.active._book import Book
from nearer.active._candidates import AllQuestions, keys_of
from nearer.active.strategies import Board


def board(points: np.ndarray, variance: float = 0.01) -> Board:
    """A board on which the map is known and every object is about as well placed as the others."""
    points = np.asarray(points, dtype=float)
    n, p = points.shape
    belief = Belief(p)
    belief.points = points
    belief.covariances = np.repeat(variance * np.eye(p)[None], n, axis=0)
    return Board(AllQuestions(n), Book(n), belief)


def chosen(strategy, on: Board, k: int = 1, seed: int = 0) -> list[list[int]]:
    """The first questions, noted on the board as a selector does."""
    asked = []
    for question in islice(strategy.questions(on, np.random.default_rng(seed)), k):
        on.book.ask(question)
        on.supply.take(question[None])
        if len(on.belief.points):
            on.belief.expect(question[None])
        asked.append(question.tolist())
    return asked


def every_question(n: int) -> np.ndarray:
    return np.array(
        [[h, a, b] for h in range(n) for a, b in combinations(set(range(n)) - {h}, 2)], dtype=np.int32
    )


# two clusters far apart, and one object half way between two of their members
CLUSTERS = np.array([[-10.0, 0.3], [-10.2, 0.0], [10.0, 0.1], [10.4, 0.0], [0.001, 0.0]])


def test_uncertainty_asks_the_ambiguous_question():
    on = board(CLUSTERS)
    (question,) = chosen(Uncertainty(), on)
    odds = np.abs(on.belief.log_odds(every_question(5)))
    assert keys_of(np.array([question]))[0] == keys_of(every_question(5))[np.argmin(odds)]


def test_uncertainty_spreads_a_batch_over_the_heads():
    asked = chosen(Uncertainty(), board(CLUSTERS), 5)
    assert sorted(head for head, _, _ in asked) == [0, 1, 2, 3, 4]


def test_adaptive_asks_about_the_object_whose_place_is_not_known():
    on = board(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.5, 0.4]]))
    on.belief.covariances[4] *= 100
    for question in chosen(Adaptive(), on, 3):
        assert 4 in question


def test_adaptive_does_not_ask_again_in_a_direction_it_knows():
    """A line: the head's place is unknown along it and across it; a second question looks the other way."""
    points = np.array([[0.0, 0.0], [-1.0, 0.0], [1.0, 0.0], [0.0, -1.0], [0.0, 1.0]])
    on = board(points, 1e-6)
    on.belief.covariances[0] = np.diag([4.0, 3.9])
    first, second = (sorted(question[1:]) for question in chosen(Adaptive(), on, 2))
    assert (first, second) == ([1, 2], [3, 4])


def test_adaptive_takes_the_best_of_all():
    rng = np.random.default_rng(1)
    on = board(rng.normal(size=(8, 2)), 0.3)
    gains = on.belief.gain(every_question(8))
    (question,) = chosen(Adaptive(), on)
    assert keys_of(np.array([question]))[0] == keys_of(every_question(8))[np.argmax(gains)]


@pytest.mark.parametrize("strategy", [AdaptiveRoundRobin(), InformationGain(), RoundRobin()])
def test_heads_come_in_turn(strategy):
    on = board(np.random.default_rng(1).normal(size=(7, 2)), 0.3)
    on.book.tell(np.array([[0, 1, 2], [3, 4, 5]], dtype=np.int32), None)
    heads = [head for head, _, _ in chosen(strategy, on, 21)]
    for start in (0, 7, 14):
        assert sorted(heads[start : start + 7]) == list(range(7))
    assert heads[:7] != heads[7:14]


def test_arr_takes_the_best_pair_of_its_head():
    on = board(np.random.default_rng(1).normal(size=(8, 2)), 0.3)
    questions = every_question(8)
    before = on.belief.gain(questions)
    ((head, a, b),) = chosen(AdaptiveRoundRobin(), on)
    of_head = questions[:, 0] == head
    best = questions[of_head][np.argmax(before[of_head])]
    assert sorted(best[1:].tolist()) == sorted([a, b])


def test_random_questions_are_uniform():
    counts = np.zeros(12)
    keys = np.sort(keys_of(every_question(4)))
    for seed in range(600):
        counts[
            np.searchsorted(keys, keys_of(np.array(chosen(Random(), board(np.zeros((4, 1))), seed=seed)))[0])
        ] += 1
    assert counts.min() > 25  # 50 expected
    assert counts.max() < 85


def test_information_gain_prefers_the_pair_that_splits_the_posterior():
    """One dimension: a head that is anywhere between -1 and 1 is best asked about -1 and 1, not about 5 and 6."""
    on = board(np.array([[0.0], [-1.0], [1.0], [5.0], [6.0]]), 0.5)
    for head, a, b in chosen(InformationGain(places=500), on, 5):
        if head == 0:
            assert sorted([a, b]) == [1, 2]


def test_active_questions_teach_more_than_random_ones():
    from nearer.active import PlantedOracle, play

    study = play(
        PlantedOracle(30, n_held_out=3000),
        ["random", "adaptive", "arr", "information-gain"],
        n_answers=400,
        checkpoints=[400],
        repeats=6,
        random_state=0,
    )
    random, *active = study.errors[:, :, 0].mean(axis=1)
    assert max(active) < 0.8 * random


def test_a_strategy_of_ones_own():
    from collections.abc import Iterator
    from dataclasses import dataclass

    from nearer.active import Strategy

    @dataclass(frozen=True)
    class AboutOne(Strategy):
        head: int = 0
        name = "about-one"
        uses_map = False

        def questions(self, board: Board, rng: np.random.Generator) -> Iterator[np.ndarray]:
            while board.supply.heads()[self.head]:
                yield board.supply.about(self.head, 1, rng)[0]

    asked = Selector(5, AboutOne(head=3)).next(100)
    assert (asked[:, 0] == 3).all()
    assert len(asked) == 6


def test_the_guide_names_every_strategy_and_the_codes_numbers():
    docs = Path(__file__).parents[2] / "docs"
    guide = " ".join((docs / "guide" / "active.md").read_text(encoding="utf-8").split())
    api = (docs / "api" / "active.md").read_text(encoding="utf-8")
    assert [name for name in STRATEGIES if f'| `"{name}"` |' not in guide] == []
    assert [name for name in STRATEGIES if f'`"{name}"`' not in api] == []
    assert "whenever there are 5% more answers" in guide
    assert "whenever there are 20% more" in guide
    assert (_belief._GROWTH, _belief._NEW_STARTS) == (1.05, 1.2)
