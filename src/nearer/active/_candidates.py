"""Keep track of which questions may still be asked: all about the objects, or those of a list.

A question (head, a, b) asks whether the head is nearer to a or to b. (head, b, a) is the same question.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import comb

import numpy as np

from nearer.datasets._sampling import draw_questions
from nearer.errors import InputError

_BITS = 21  # three indices fit into one int64
MOST_OBJECTS = 1 << _BITS


def keys_of(questions: np.ndarray) -> np.ndarray:
    """Return one number per question, the same for both orders of a and b.

    >>> one, same, other = keys_of(np.array([[4, 0, 1], [4, 1, 0], [0, 4, 1]]))
    >>> bool(one == same), bool(one == other)
    (True, False)
    """
    rows = np.asarray(questions, dtype=np.int64)
    low, high = np.minimum(rows[:, 1], rows[:, 2]), np.maximum(rows[:, 1], rows[:, 2])
    return (rows[:, 0] << 2 * _BITS) | (low << _BITS) | high


def distinct(questions: np.ndarray) -> np.ndarray:
    """Return the questions without repetitions, in their order."""
    return questions[np.sort(np.unique(keys_of(questions), return_index=True)[1])]


class QuestionSupply(ABC):
    """Supply questions, each of which can be taken once."""

    n_objects: int

    @property
    @abstractmethod
    def n_left(self) -> int:
        """Return how many questions have not been taken."""

    @abstractmethod
    def heads(self) -> np.ndarray:
        """Return for each object whether a question with it as head is left."""

    @abstractmethod
    def take(self, questions: np.ndarray) -> None:
        """Mark questions as asked. Those already taken, or unknown, are ignored."""

    @abstractmethod
    def give_back(self, questions: np.ndarray) -> None:
        """Allow questions to be asked again."""

    @abstractmethod
    def is_left(self, questions: np.ndarray) -> np.ndarray:
        """Return which of the questions may be asked."""

    @abstractmethod
    def draw(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Draw about `count` different questions at random: at least one, while any is left."""

    @abstractmethod
    def about(self, head: int, count: int, rng: np.random.Generator) -> np.ndarray:
        """Draw about `count` different questions with one head: at least one, while any is left."""

    @abstractmethod
    def grow(self, n_objects: int) -> None:
        """Make room for more objects."""


#: draws that find nothing new before all remaining questions are listed: one draw may be unlucky, and the list is long
_TRIES = 20


class AllQuestions(QuestionSupply):
    """Supply every question about distinct objects. Only those taken are stored."""

    def __init__(self, n_objects: int):
        self.n_objects = n_objects
        self._taken: set[int] = set()
        self._taken_of = np.zeros(n_objects, dtype=np.int64)  # by head

    @property
    def n_left(self) -> int:
        return self.n_objects * self._pairs - len(self._taken)

    @property
    def _pairs(self) -> int:
        return comb(self.n_objects - 1, 2)

    def heads(self) -> np.ndarray:
        return self._taken_of < self._pairs

    def take(self, questions: np.ndarray) -> None:
        for key, head in zip(keys_of(questions).tolist(), questions[:, 0].tolist(), strict=True):
            if key not in self._taken:
                self._taken.add(key)
                self._taken_of[head] += 1

    def give_back(self, questions: np.ndarray) -> None:
        for key, head in zip(keys_of(questions).tolist(), questions[:, 0].tolist(), strict=True):
            if key in self._taken:
                self._taken.remove(key)
                self._taken_of[head] -= 1

    def is_left(self, questions: np.ndarray) -> np.ndarray:
        return np.array([key not in self._taken for key in keys_of(questions).tolist()], dtype=bool)

    def draw(self, count: int, rng: np.random.Generator) -> np.ndarray:
        if self.n_left > count:
            for _ in range(_TRIES):
                found = self._fresh(draw_questions(self.n_objects, count, 3, rng))
                if len(found):
                    return found
        # few are left: listing them costs about as much as storing those taken
        rest = [self._rest(int(head)) for head in np.flatnonzero(self.heads())]
        found = np.concatenate([*rest, np.empty((0, 3), np.int32)])
        return found[rng.permutation(len(found))[:count]]

    def about(self, head: int, count: int, rng: np.random.Generator) -> np.ndarray:
        if self._pairs - self._taken_of[head] > count:
            for _ in range(_TRIES):
                pairs = draw_questions(self.n_objects - 1, count, 2, rng)
                found = self._fresh(_with_head(head, pairs))
                if len(found):
                    return found
        found = self._rest(head)
        return found[rng.permutation(len(found))[:count]]

    def grow(self, n_objects: int) -> None:
        self._taken_of = np.pad(self._taken_of, (0, n_objects - self.n_objects))
        self.n_objects = n_objects

    def _fresh(self, questions: np.ndarray) -> np.ndarray:
        questions = distinct(questions)
        return questions[self.is_left(questions)]

    def _rest(self, head: int) -> np.ndarray:
        """Return all remaining questions with one head."""
        pairs = np.stack(np.triu_indices(self.n_objects - 1, k=1), axis=1)
        questions = _with_head(head, pairs.astype(np.int32))
        return questions[self.is_left(questions)]


def _with_head(head: int, pairs: np.ndarray) -> np.ndarray:
    """Return questions about pairs of the other objects, which are numbered without the head."""
    return np.column_stack([np.full(len(pairs), head, np.int32), pairs + (pairs >= head)])


class ListedQuestions(QuestionSupply):
    """Supply the questions of a list, such as those with recorded answers."""

    def __init__(self, questions: np.ndarray, n_objects: int):
        self.n_objects = n_objects
        rows = distinct(np.asarray(questions, dtype=np.int32))
        self.rows = rows[np.argsort(rows[:, 0], kind="stable")]
        self._starts = np.searchsorted(self.rows[:, 0], np.arange(n_objects + 1))
        self._keys = keys_of(self.rows)
        self._by_key = np.argsort(self._keys)
        self._left = np.ones(len(rows), dtype=bool)
        self._left_of = np.diff(self._starts)

    @property
    def n_left(self) -> int:
        return int(self._left.sum())

    def heads(self) -> np.ndarray:
        return self._left_of > 0

    def take(self, questions: np.ndarray) -> None:
        self._mark(questions, False)

    def give_back(self, questions: np.ndarray) -> None:
        self._mark(questions, True)

    def is_left(self, questions: np.ndarray) -> np.ndarray:
        at, known = self._places(questions)
        return known & self._left[at]

    def draw(self, count: int, rng: np.random.Generator) -> np.ndarray:
        return self._some(np.flatnonzero(self._left), count, rng)

    def about(self, head: int, count: int, rng: np.random.Generator) -> np.ndarray:
        first, end = self._starts[head], self._starts[head + 1]
        return self._some(first + np.flatnonzero(self._left[first:end]), count, rng)

    def grow(self, n_objects: int) -> None:
        raise InputError("a selector with a list of questions cannot grow: make a new selector")

    def _some(self, places: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
        chosen = rng.choice(len(places), size=min(count, len(places)), replace=False)
        return self.rows[places[chosen]]

    def _places(self, questions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the positions of the questions in the list, and which of them are in it."""
        keys = keys_of(questions)
        at = np.searchsorted(self._keys, keys, sorter=self._by_key)
        at = self._by_key[np.minimum(at, len(self._by_key) - 1)]
        return at, self._keys[at] == keys

    def _mark(self, questions: np.ndarray, left: bool) -> None:
        at, known = self._places(questions)
        at = np.unique(at[known])
        at = at[self._left[at] != left]
        self._left[at] = left
        np.add.at(self._left_of, self.rows[at, 0], 1 if left else -1)
