"""Rivals of tag recommendation: how often tags occur, and factors of pairs of a tag with a user and with an item."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from benchmarks._recommend_search import Setting, Space, search
from benchmarks._tag_data import Split, held_out
from nearer import Posts
from nearer._compiled.decorators import exact_loop
from nearer.coembedding.post_terms import LIST, list_f1
from nearer.interactions.lists import best_of

#: weights of the user's tags that are tried, the rest is for the item's
_MIXES = np.linspace(0, 1, 21)
SPACE: Space = {
    "n_factors": ("whole", 16, 128),
    "rate": ("log", 0.005, 0.2),
    "l2": ("log", 1e-6, 1e-2),
}
_SPREAD = 0.1  # of the first factors
#: passes over the rows between two looks at the validation posts, and looks without a gain that end a trial
PASSES, _IDLE = 5, 4


def f1(scores: np.ndarray, posts: Posts) -> float:
    """Return the F1 of the five tags with the highest scores, of a row of scores per post."""
    return list_f1(best_of(scores, LIST).items, posts.csr())


# -- popularity -------------------------------------------------------------------------------------------------------


def shares(posts: Posts, side: int) -> np.ndarray:
    """Return how often each user (side 0) or item (side 1) has each tag, as a share of its posts.

    >>> shares(Posts([0, 0, 1], [0, 1, 0], [0, 0, 1]), 0)
    array([[1., 0.],
           [0., 1.]])
    """
    count = posts.shape[side]
    found = np.zeros((count, posts.shape[2]))
    np.add.at(found, ((posts.users, posts.items)[side], posts.tags), 1.0)
    return found / np.maximum(np.bincount(posts.pairs[:, side], minlength=count), 1)[:, None]


def popularity(split: Split, seed: int) -> dict[str, Any]:
    """Return the F1 of the commonest tags of the user, of the item, and of both with a validated weight."""
    began = time.process_time()
    inner = held_out(split.train, seed)
    mine, others = _both(inner)
    weight = max(_MIXES, key=lambda share: f1(share * mine + (1 - share) * others, inner.test))
    mine, others = _both(split)
    return {
        "user": f1(mine, split.test),
        "item": f1(others, split.test),
        "f1": f1(weight * mine + (1 - weight) * others, split.test),
        "weight": float(weight),
        "seconds": time.process_time() - began,
    }


def _both(split: Split) -> Iterator[np.ndarray]:
    """Yield the shares of all tags for the users of the test posts, and for their items."""
    return (shares(split.train, side)[split.test.pairs[:, side]] for side in range(2))


# -- factors ----------------------------------------------------------------------------------------------------------


class Factors(NamedTuple):
    """Users and items, and the tags in two roles: for users and for items."""

    users: np.ndarray
    items: np.ndarray
    of_users: np.ndarray
    of_items: np.ndarray

    @classmethod
    def drawn(cls, shape: tuple[int, int, int], n_factors: int, random: np.random.Generator) -> Factors:
        """Return small random factors."""
        sizes = (*shape[:2], shape[2], shape[2])
        return cls(*(random.normal(0, _SPREAD / n_factors**0.5, (size, n_factors)) for size in sizes))

    def scores(self, pairs: np.ndarray) -> np.ndarray:
        """Return the scores of all tags for pairs of a user and an item."""
        users, items = pairs.T
        return self.users[users] @ self.of_users.T + self.items[items] @ self.of_items.T


def tuned_factors(split: Split, seed: int, trials: int, most_passes: int) -> dict[str, Any]:
    """Return the F1 of pairwise interaction factors, chosen on one validation post per user.

    Every trial also chooses the number of passes. The chosen setting then learns from all training posts.
    """
    began = time.process_time()
    inner = held_out(split.train, seed)
    passes: dict[tuple, int] = {}

    def score(setting: Setting) -> tuple[float, float]:
        start, best, idle = time.process_time(), -1.0, 0
        for number, factors in enumerate(learned(inner.train, setting, seed, most_passes), 1):
            if number % PASSES:
                continue
            found = f1(factors.scores(inner.test.pairs), inner.test)
            idle = 0 if found > best else idle + 1
            if found > best:
                best, passes[tuple(setting.values())] = found, number
            if idle == _IDLE:
                break
        return best, time.process_time() - start

    setting, tried = search(SPACE, score, trials, seed)
    chosen = passes[tuple(setting.values())]
    start = time.process_time()
    *_, factors = learned(split.train, setting, seed, chosen)
    return {
        "f1": f1(factors.scores(split.test.pairs), split.test),
        "setting": {**setting, "passes": chosen},
        "validated": max(one["score"] for one in tried),
        "trials": len(tried),
        "fit_seconds": time.process_time() - start,
        "seconds": time.process_time() - began,
    }


def learned(posts: Posts, setting: Setting, seed: int, most_passes: int) -> Iterator[Factors]:
    """Yield the factors after each pass: as many random rows as there are, each against a random other tag.

    Stochastic gradient descent on the logistic loss of the difference of scores (Rendle and Schmidt-Thieme 2010).
    """
    random = np.random.default_rng(seed)
    factors = Factors.drawn(posts.shape, setting["n_factors"], random)
    labels = posts.csr()
    post = np.repeat(np.arange(posts.n_posts), np.diff(labels.indptr))
    pairs = posts.pairs.astype(np.int64)
    for _ in range(most_passes):
        rows = random.integers(len(post), size=len(post))
        others = random.integers(posts.shape[2], size=len(post))
        _descend(
            rows, others, post, pairs, labels.indptr, labels.indices, setting["rate"], setting["l2"], *factors
        )
        yield factors


@exact_loop
def _descend(rows, others, post, pairs, starts, tags, rate, l2, users, items, of_users, of_items):
    """Take one step per row, unless the other tag belongs to the post."""
    for k in range(len(rows)):
        at, y, other = post[rows[k]], tags[rows[k]], others[k]
        own = False
        for t in range(starts[at], starts[at + 1]):
            own = own or tags[t] == other
        if own:
            continue
        u, i = pairs[at]
        margin = 0.0
        for f in range(users.shape[1]):
            margin += users[u, f] * (of_users[y, f] - of_users[other, f])
            margin += items[i, f] * (of_items[y, f] - of_items[other, f])
        pull = 1.0 / (1.0 + np.exp(margin))
        for f in range(users.shape[1]):
            _step(users, u, of_users, y, other, f, pull, rate, l2)
            _step(items, i, of_items, y, other, f, pull, rate, l2)


@exact_loop
def _step(objects, at, of_tags, y, other, f, pull, rate, l2):
    """Step along one factor of a user or an item, of its tag and of the other tag."""
    x, tag, rest = objects[at, f], of_tags[y, f], of_tags[other, f]
    objects[at, f] += rate * (pull * (tag - rest) - l2 * x)
    of_tags[y, f] += rate * (pull * x - l2 * tag)
    of_tags[other, f] += rate * (-pull * x - l2 * rest)


#: what is measured besides ours
RIVALS: dict[str, Callable[[Split, int, dict[str, Any]], dict[str, Any]]] = {
    "popularity": lambda split, seed, settings: popularity(split, seed),
    "PITF": lambda split, seed, settings: tuned_factors(
        split, seed, settings["trials"], settings["most_passes"]
    ),
}
