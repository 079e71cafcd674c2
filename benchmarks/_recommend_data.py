"""MovieLens 1M as recommendation problems: five protocols, five splits each, and a validation part of every split."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from scipy import sparse

from benchmarks._data import load
from nearer import Interactions

Array = np.ndarray
Csr = sparse.csr_matrix

#: least rating of an interaction, but in `ncf`, where every rating is one
LIKED = 4
#: movies that compete with the test movie of a user in `ncf`
NEGATIVES = 99
PROTOCOLS = ("warm", "history", "side", "items", "ncf")
_SEEDS = {"warm": 0, "history": 1, "side": 1, "items": 2, "ncf": 3}  # history and side: the same new users
_VALIDATION = 1000


@dataclass(frozen=True)
class Problem:
    """What a rival may learn from, whom it is asked about, and the right answers.

    `train` has a row for each known user and a column for each known movie. The `n` questions are the users themselves
    (`warm`, `items`, `ncf`) or users that are in no row of `train` (`history`, `side`).
    """

    protocol: str
    train: Csr
    test: Csr  # (n, candidates): what is to be found
    users: Array  # features of the rows of train
    movies: Array  # features of its columns
    history: Csr | None = None  # (n, movies): what is known of new users, and not to be recommended
    new_users: Array | None = None  # features of new users
    new_movies: Array | None = None  # features of new movies, the only candidates
    candidates: Array | None = None  # (n, 100): movies to choose from in ncf, the test movie last

    @property
    def seen(self) -> Csr | None:
        """What a ranking leaves out."""
        return self.train if self.protocol == "warm" else self.history


@dataclass(frozen=True)
class Movies:
    """Pairs of users and movies, and what is known of both."""

    pairs: Interactions
    users: Array
    movies: Array


def one_hot(codes: Array) -> Array:
    """Return one column per value.

    >>> one_hot(np.array([25, 1, 25])).astype(int).tolist()
    [[0, 1], [1, 0], [0, 1]]
    """
    return (codes[:, None] == np.unique(codes)).astype(float)


def years(titles: Array) -> Array:
    """Return the year in brackets at the end of a title.

    >>> years(np.array(["Toy Story (1995)", "2001: A Space Odyssey (1968)"])).tolist()
    [1995.0, 1968.0]
    """
    return np.array([float(re.findall(r"\((\d{4})\)", title)[-1]) for title in titles.tolist()])


@cache
def movies(least: int = LIKED) -> Movies:
    """Return the pairs with at least this rating; users and movies without any are left out."""
    arrays = load("ml_1m")
    liked = arrays["rating"] >= least
    users, left = np.unique(arrays["user"][liked], return_inverse=True)
    items, right = np.unique(arrays["item"][liked], return_inverse=True)
    who = np.searchsorted(arrays["user_ids"], users)
    what = np.searchsorted(arrays["movie_ids"], items)
    sides = [one_hot(arrays[f"user_{name}"][who]) for name in ("gender", "age", "occupation")]
    year = years(arrays["movie_titles"][what])
    tenth = np.searchsorted(np.quantile(year, np.arange(1, 10) / 10), year)
    about = [arrays["movie_genres"][what].astype(float), one_hot(tenth), (year - year.mean()) / year.std()]
    return Movies(Interactions(left, right), np.hstack(sides), np.column_stack(about))


def problem(protocol: str, split: int) -> Problem:
    """Return one of the splits."""
    if protocol == "ncf":
        return _published_split()
    return _split(protocol, movies(), np.random.default_rng([_SEEDS[protocol], split]))


def validation(of: Problem) -> Problem:
    """Return the same kind of problem made of the training part alone, to choose settings with."""
    random = np.random.default_rng([_SEEDS[of.protocol], _VALIDATION])
    data = Movies(Interactions.from_sparse(of.train), of.users, of.movies)
    if of.protocol == "ncf":
        return _leave_one_out(data, random)
    return _split(of.protocol, data, random)


def _split(protocol: str, data: Movies, random: np.random.Generator) -> Problem:
    if protocol == "warm":
        train, test = data.pairs.split(0.1, by="pairs", random_state=random)
        return Problem("warm", train.csr(), test.csr(), data.users, data.movies)
    if protocol == "items":
        return _new_movies(data, random)
    return _new_users(protocol, data, random)


def _new_users(protocol: str, data: Movies, random: np.random.Generator) -> Problem:
    known, held = data.pairs.split(0.1, by="left", random_state=random)
    rows, others = (np.unique(part.left) for part in (known, held))
    of = Problem(
        protocol,
        known.csr()[rows],
        held.csr()[others],
        data.users[rows],
        data.movies,
        new_users=data.users[others],
    )
    if protocol == "side":
        return of
    given, rest = held.split(0.2, by="each-left", random_state=random)
    return replace(of, test=rest.csr()[others], history=given.csr()[others])


def _new_movies(data: Movies, random: np.random.Generator) -> Problem:
    known, held = data.pairs.split(0.1, by="right", random_state=random)
    columns, others = (np.unique(part.right) for part in (known, held))
    return Problem(
        "items",
        known.csr()[:, columns],
        held.csr()[:, others],
        data.users,
        data.movies[columns],
        new_movies=data.movies[others],
    )


def _published_split() -> Problem:
    """Return the split of He et al. (2017): one movie per user among 99 that the user did not rate."""
    data, arrays, table = movies(1), load("ml_1m_ncf_split"), load("ml_1m")
    user_ids, movie_ids = (np.unique(table[name]) for name in ("user", "item"))
    rows = np.searchsorted(user_ids, arrays["test_user"])
    order = np.argsort(rows)
    test = np.searchsorted(movie_ids, arrays["test_item"])[order]
    negatives = np.searchsorted(movie_ids, arrays["test_negatives"])[order]
    return _among(data, test, negatives)


def _leave_one_out(data: Movies, random: np.random.Generator) -> Problem:
    """Hold out one movie per user, drawn at random (there are no times), and draw 99 that are not in the part."""
    train, held = data.pairs.split(by="last", random_state=random)
    unknown = 1.0 - data.pairs.csr().toarray()
    keys = random.random(unknown.shape) * unknown
    negatives = np.argpartition(-keys, NEGATIVES, axis=1)[:, :NEGATIVES]
    test = np.full(train.n_left, -1)
    test[held.left] = held.right
    if (test < 0).any():
        raise ValueError("every user needs two pairs at least")
    return _among(data, test, negatives)


def _among(data: Movies, test: Array, negatives: Array) -> Problem:
    rows = np.arange(len(test))
    answers = sparse.csr_matrix((np.ones(len(test)), (rows, test)), shape=data.pairs.shape)
    train = data.pairs.csr() - answers
    train.eliminate_zeros()
    candidates = np.column_stack([negatives, test])
    return Problem("ncf", train.tocsr(), answers, data.users, data.movies, candidates=candidates)
