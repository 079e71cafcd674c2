"""Ask questions and take answers: `next` returns questions, `tell` adds answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from nearer._fitting import as_comparisons
from nearer._utils.runtime import one_thread
from nearer._utils.text import counted
from nearer._utils.validation import RandomState, generator, whole
from nearer.active._belief import Belief
from nearer.active._book import Book
from nearer.active._candidates import MOST_OBJECTS, AllQuestions, ListedQuestions, QuestionSupply
from nearer.active._checks import checked_answers, checked_names, checked_questions, checked_strategy
from nearer.active._saved import SCHEMA, check_number, restore, to_save
from nearer.active.strategies import Board, Random, Strategy, least_seen
from nearer.comparisons import Comparisons
from nearer.datasets._sampling import checked_share
from nearer.errors import InputError


class Selector:
    """Choose the questions of a study one by one, learning from the answers.

    A question (head, a, b) asks whether the head is nearer to a or to b. No question is repeated, in either order, and
    questions that were answered without being asked are not asked. Pending questions count as asked.

    Strategies with a map start with questions about the least seen objects, until each was seen `n_components` + 1
    times. Objects added later start the same way.

    Parameters
    ----------
    n_objects : int, optional
        Number of objects. May be left out if `names` is given.
    strategy : {"adaptive", "arr", "information-gain", "uncertainty", "round-robin", "random"} or Strategy
        How to choose.
    n_components : int
        Dimension of the map that the strategy learns.
    random_share : float
        Fraction of random questions, whatever the strategy. They protect against a misleading map, and their answers
        can be used to judge it.
    questions : array of shape (m, 3), optional
        Ask only these questions.
    names : sequence of str, optional
        Names of the objects. Answers may then use names.
    random_state : int, Generator, RandomState or None
        The same seed and the same answers produce the same questions.

    Attributes
    ----------
    n_objects : int
        Current number of objects. `grow` adds more.
    names : tuple of str or None
        Names of the objects.
    strategy : Strategy
        The strategy that chooses.

    Examples
    --------
    >>> import nearer
    >>> selector = nearer.active.Selector(20, random_state=0)
    >>> questions = selector.next(3)
    >>> questions.shape
    (3, 3)
    >>> selector.tell(questions)  # the first of the two was nearer each time
    >>> selector.n_answers, len(selector.pending)
    (3, 0)
    """

    def __init__(
        self,
        n_objects: int | None = None,
        strategy: str | Strategy = "adaptive",
        *,
        n_components: int = 2,
        random_share: float = 0.0,
        questions: ArrayLike | None = None,
        names: Iterable[str] | None = None,
        random_state: RandomState = None,
    ):
        names = None if names is None else tuple(names)
        n_objects = _number_of(n_objects, names)
        whole("n_components", n_components)
        self.n_objects = n_objects
        self.strategy = checked_strategy(strategy)
        self.n_components = n_components
        self.random_share = checked_share("random_share", random_share, 1.0)
        self.names = None if names is None else checked_names(names, self.n_objects)
        # separate generators: when the map is fitted does not change which questions are drawn
        self._rng, self._map_rng = generator(random_state).spawn(2)
        supply: QuestionSupply = AllQuestions(self.n_objects)
        if questions is not None:
            supply = ListedQuestions(checked_questions(questions, self.n_objects), self.n_objects)
        self._board = Board(supply, Book(self.n_objects), Belief(n_components))

    # -- asking and answering -----------------------------------------------------------------------------------

    @one_thread()
    def next(self, k: int = 1) -> np.ndarray:
        """Return the next questions.

        If a new fit of the map is due, it runs first. Call `refit` to run it at a better time.

        Parameters
        ----------
        k : int
            Number of questions. They are chosen as a batch, for people who answer at the same time.

        Returns
        -------
        array of shape (k, 3)
            One question (head, a, b) per row. There are fewer rows if fewer than k questions are left.
        """
        whole("k", k)
        if self.strategy.uses_map and self._has_enough() and self._belief.is_due(self.n_answers):
            self.refit()
        chosen = []
        for question in self._chosen(k):
            self._ask(question)
            chosen.append(question)
        return np.array(chosen, dtype=np.int32).reshape(-1, 3)

    @one_thread()
    def tell(self, answers: Comparisons | ArrayLike, y: ArrayLike | None = None) -> None:
        """Add answers, to questions of this selector or to others.

        Parameters
        ----------
        answers : Comparisons or array of shape (q, 3)
            Rows (head, nearer, farther). Comparisons with names are matched by name, and their weights, annotators
            and groups are kept.
        y : array of shape (q,), optional
            Responses if `answers` contains the questions as asked: True or +1 if a is nearer.
        """
        given = checked_answers(as_comparisons(answers, y), self.n_objects, self.names)
        strange = self._book.tell(given.indices, given.weights, given.annotators, given.groups)
        self._board.supply.take(strange)
        if len(strange) and len(self._belief.points):
            self._belief.expect(strange)

    # -- questions, objects and the map -------------------------------------------------------------------------

    def forget(self, questions: ArrayLike | None = None) -> None:
        """Stop waiting for answers, so that the questions may be asked again; by default for all pending ones."""
        rows = self.pending if questions is None else checked_questions(questions, self.n_objects)
        self._board.supply.give_back(self._book.forget(rows))

    @one_thread()
    def grow(self, n_objects: int | None = None, *, names: Iterable[str] | None = None) -> None:
        """Add objects after the known ones.

        Parameters
        ----------
        n_objects : int, optional
            The new number of objects.
        names : sequence of str, optional
            Names of the new objects, if objects have names.

        Examples
        --------
        >>> import nearer
        >>> selector = nearer.active.Selector(3, names=["cat", "dog", "sun"])
        >>> selector.grow(names=["moon"])
        >>> selector.n_objects, selector.names
        (4, ('cat', 'dog', 'sun', 'moon'))
        """
        new = [] if names is None else list(names)
        total = self.n_objects + len(new) if n_objects is None else n_objects
        _check_number(total, at_least=self.n_objects)
        if (self.names is None) != (names is None) or (
            names is not None and total != self.n_objects + len(new)
        ):
            raise InputError(
                "grow needs the names of the new objects if objects have names, otherwise the new number of objects"
            )
        if self.names is not None:
            self.names = checked_names([*self.names, *new], total)
        self._board.supply.grow(int(total))
        self._book.grow(int(total))
        if len(self._belief.points):
            self._belief.grow(int(total), self._map_rng)
        self.n_objects = int(total)

    @one_thread()
    def refit(self) -> None:
        """Fit the map to all answers now instead of within `next`. This needs at least one answer."""
        if not self.n_answers:
            raise InputError("there are no answers to fit a map to: tell some first")
        self._belief.fit(self.answers, self.pending, self._map_rng)

    def named(self, questions: ArrayLike) -> list[tuple[str, str, str]]:
        """Return questions by the names of their objects.

        >>> import nearer
        >>> nearer.active.Selector(3, names=["cat", "dog", "sun"]).named([[0, 1, 2]])
        [('cat', 'dog', 'sun')]
        """
        if self.names is None:
            raise InputError("the objects have no names: give names= to the selector")
        rows = checked_questions(questions, self.n_objects)
        return [(self.names[head], self.names[a], self.names[b]) for head, a, b in rows.tolist()]

    @property
    def n_answers(self) -> int:
        """Return the number of answers so far."""
        return self._book.n_answers

    @property
    def answers(self) -> Comparisons:
        """Return all answers so far, with their weights, annotators and groups.

        If only some came with annotators, those of the others are "unknown". Groups get new numbers: trials from
        different calls of `tell` are different.
        """
        book = self._book
        return Comparisons(
            book.triplets.copy(),
            self.n_objects,
            weights=book.weights,
            annotators=book.origins.annotators,
            groups=book.origins.groups,
            names=self.names,
        )

    @property
    def pending(self) -> np.ndarray:
        """Return the questions without an answer, oldest first."""
        return self._book.pending

    @property
    def points(self) -> np.ndarray | None:
        """Return the map that chooses questions, or None before its first fit. `OrdinalEmbedding` fits better ones."""
        return self._belief.points.copy() if len(self._belief.points) else None

    def __repr__(self) -> str:
        about = f"{counted(self.n_objects, 'object')}, {counted(self.n_answers, 'answer')}"
        return f"Selector({about}, {len(self.pending):,} pending, {self.strategy!r})"

    # -- model files --------------------------------------------------------------------------------------------

    _schema = SCHEMA

    def _to_save(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return to_save(self)

    @classmethod
    def _from_saved(cls, params: dict[str, Any], fitted: dict[str, Any]) -> Selector:
        check_number(fitted["n_objects"])
        asks_about = {name: fitted[name] for name in ("n_objects", "names", "questions")}
        selector = cls(**asks_about, **params)
        restore(selector, fitted)
        return selector

    # -- inside -------------------------------------------------------------------------------------------------

    @property
    def _book(self) -> Book:
        return self._board.book

    @property
    def _belief(self) -> Belief:
        return self._board.belief

    @property
    def _least(self) -> int:
        """Return how often an object must have been seen before the strategy uses the map."""
        return self.n_components + 1

    def _has_enough(self) -> bool:
        return 3 * self.n_answers >= self._least * self.n_objects

    def _chosen(self, k: int) -> Iterator[np.ndarray]:
        """Yield up to k questions. Each must be marked as asked before the next is chosen."""
        board = self._board
        random = Random().questions(board, self._rng)
        by_strategy = self.strategy.questions(board, self._rng)
        start = least_seen(board, self._rng)
        for _ in range(k):
            if self.random_share and self._rng.random() < self.random_share:
                question = next(random, None)
            elif self.strategy.uses_map and self._starts():
                question = next(start, None)
            else:
                question = next(by_strategy, None)
            if question is None:
                return
            yield question

    def _starts(self) -> bool:
        """Return whether the next question is a starting one: no map yet, or an object that was hardly seen."""
        if not len(self._belief.points):
            return True
        return bool((self._book.seen[self._board.supply.heads()] < self._least).any())

    def _ask(self, question: np.ndarray) -> None:
        self._book.ask(question)
        self._board.supply.take(question[None])
        if len(self._belief.points):
            self._belief.expect(question[None])


def selector(strategy: str, n_objects: int | None = None, **settings: Any) -> Selector:
    """Return a selector by the name of its strategy.

    Parameters
    ----------
    strategy : str
        A name in `nearer.active.STRATEGIES`.
    n_objects : int, optional
        Number of objects. May be left out if `names` is given.
    **settings
        Settings of the strategy, such as `pool`, and of the selector, such as `n_components`.

    Examples
    --------
    >>> import nearer
    >>> nearer.active.selector("arr", 50, pool=200, n_components=3, random_state=0).strategy
    AdaptiveRoundRobin(pool=200)
    """
    kind = type(checked_strategy(strategy))
    own = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    chosen = kind(**{name: value for name, value in settings.items() if name in own})
    return Selector(n_objects, chosen, **{name: value for name, value in settings.items() if name not in own})


def _number_of(n_objects: int | None, names: tuple[str, ...] | None) -> int:
    """Return the number of objects."""
    if n_objects is None and names is None:
        raise InputError("give n_objects, or the names of the objects")
    number = len(names) if n_objects is None and names is not None else n_objects
    _check_number(number)
    return int(number)  # type: ignore[arg-type]


def _check_number(n_objects: Any, at_least: int = 3) -> None:
    whole("n_objects", n_objects, at_least=at_least)
    if n_objects > MOST_OBJECTS:
        raise InputError(f"n_objects must be at most {MOST_OBJECTS:,}, not {n_objects:,}")
