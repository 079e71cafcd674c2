"""Keep what has been asked and answered so far."""

from __future__ import annotations

import numpy as np

from nearer.active._candidates import keys_of
from nearer.active._origins import Origins


class Book:
    """Keep the answers in their order, the pending questions, and how often each object had its turn.

    Attributes
    ----------
    seen : array of shape (n_objects,)
        Number of questions, asked or answered, about each object.
    turns : array of shape (n_objects,)
        How often each object was chosen as head by a strategy that takes heads in turn.
    waiting : array of shape (n_objects,)
        Number of pending questions with each object as head.
    origins : Origins
        Who gave each answer, and which trial it comes from.
    """

    def __init__(self, n_objects: int):
        self.n_answers = 0
        self.seen = np.zeros(n_objects, dtype=np.int64)
        self.turns = np.zeros(n_objects, dtype=np.int64)
        self.waiting = np.zeros(n_objects, dtype=np.int64)
        self.origins = Origins()
        self._pending: dict[int, tuple[int, int, int]] = {}
        self._triplets = np.empty((256, 3), dtype=np.int32)
        self._weights = np.empty(256)

    @property
    def triplets(self) -> np.ndarray:
        """Return the answers, with the nearer object first."""
        return self._triplets[: self.n_answers]

    @property
    def weights(self) -> np.ndarray | None:
        """Return the weight of each answer, or None if all are equal."""
        weights = self._weights[: self.n_answers]
        return None if not len(weights) or (weights == 1).all() else weights

    @property
    def pending(self) -> np.ndarray:
        """Return the questions that were asked but not answered, oldest first."""
        return np.array(list(self._pending.values()), dtype=np.int32).reshape(-1, 3)

    def ask(self, question: np.ndarray) -> None:
        """Add a pending question."""
        head, a, b = (int(one) for one in question)
        self._pending[int(keys_of(question[None])[0])] = (head, a, b)
        self.seen[question] += 1
        self.waiting[head] += 1

    def tell(
        self,
        triplets: np.ndarray,
        weights: np.ndarray | None = None,
        annotators: np.ndarray | None = None,
        groups: np.ndarray | None = None,
    ) -> np.ndarray:
        """Add answers, and return those to questions that were not pending."""
        keys = keys_of(triplets).tolist()
        strange = np.array([self._pending.pop(key, None) is None for key in keys], dtype=bool)
        np.add.at(self.seen, triplets[strange].ravel(), 1)
        np.subtract.at(self.waiting, triplets[~strange, 0], 1)
        self._make_room(len(triplets))
        new = slice(self.n_answers, self.n_answers + len(triplets))
        self._triplets[new] = triplets
        self._weights[new] = 1 if weights is None else weights
        self.origins.add(len(triplets), annotators, groups)
        self.n_answers = new.stop
        return triplets[strange]

    def forget(self, questions: np.ndarray) -> np.ndarray:
        """Withdraw pending questions, and return those that were pending."""
        found = [
            self._pending.pop(key)
            for key in dict.fromkeys(keys_of(questions).tolist())
            if key in self._pending
        ]
        rows = np.array(found, dtype=np.int32).reshape(-1, 3)
        np.subtract.at(self.seen, rows.ravel(), 1)
        np.subtract.at(self.waiting, rows[:, 0], 1)
        return rows

    def grow(self, n_objects: int) -> None:
        """Make room for more objects. They start with as few turns as the object with the fewest."""
        new = n_objects - len(self.seen)
        self.seen = np.pad(self.seen, (0, new))
        self.waiting = np.pad(self.waiting, (0, new))
        self.turns = np.pad(self.turns, (0, new), constant_values=self.turns.min())

    def _make_room(self, new: int) -> None:
        if self.n_answers + new > len(self._triplets):
            size = max(2 * len(self._triplets), self.n_answers + new)
            # doubling: a stream of single answers costs no more than one long list
            self._triplets = np.resize(self._triplets, (size, 3))
            self._weights = np.resize(self._weights, size)
