"""Draw questions ("is i nearer to j or to k?") and answer them, with noise.

A question is a row of indices like a comparison, but its order has no meaning yet. `answered` puts the nearer object or
pair first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import comb
from numbers import Real
from typing import Any

import numpy as np

from nearer._utils.arrays import row_blocks
from nearer.comparisons import Comparisons
from nearer.comparisons.arrays import flipped
from nearer.errors import InputError
from nearer.losses import LOSSES, Loss, find

WIDTHS = {"triplets": 3, "quadruplets": 4}

#: above this fraction of all questions, random draws find the last ones too slowly: choose from a list of all instead
_MOST_BY_CHANCE = 0.9

Noise = float | Loss
NearFar = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def checked_share(name: str, value: Any, at_most: float) -> float:
    """Return `value` as a float, or refuse it unless it is between 0 and `at_most`."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not number or not 0 <= float(value) <= at_most:
        raise InputError(f"must be a number from 0 to {at_most:g}, not {value!r}", parameter=name)
    return float(value)


def n_questions(n_objects: int, width: int) -> int:
    """Return the number of different questions about distinct objects."""
    return n_objects * comb(n_objects - 1, 2) if width == 3 else 3 * comb(n_objects, 4)


def draw_questions(
    n_objects: int,
    n_rows: int,
    width: int,
    rng: np.random.Generator,
    *,
    available: int | None = None,
    keep: Callable[[np.ndarray], np.ndarray] | None = None,
) -> np.ndarray:
    """Draw questions about distinct objects uniformly. `keep` can reject some.

    If `available`, the number of different questions, is given, no question occurs twice. The caller makes sure that
    there are enough.
    """
    if available is not None and n_rows > _MOST_BY_CHANCE * available:
        return _chosen(n_objects, n_rows, width, rng, keep)
    questions = np.empty((0, width), dtype=np.int32)
    while (missing := n_rows - len(questions)) > 0:
        # finding the last different questions takes luck: small batches would sort everything too often
        fresh = _uniform_rows(n_objects, max(missing, n_rows // 4), width, rng)
        if keep is not None:
            fresh = fresh[keep(fresh)]
        questions = np.concatenate([questions, fresh]) if len(questions) else fresh
        if available is not None:
            questions = questions[_first_occurrences(questions, n_objects)]
    return questions[:n_rows]


def _uniform_rows(n_objects: int, n_rows: int, width: int, rng: np.random.Generator) -> np.ndarray:
    rows = np.empty((n_rows, width), dtype=np.int32)
    for block in row_blocks(n_rows):
        part = rows[block]
        for place in range(width):
            value = rng.integers(n_objects - place, size=len(part), dtype=np.int32)
            # stepping over the taken indices in ascending order keeps the remaining ones equally likely
            for taken in np.sort(part[:, :place], axis=1).T:
                value += value >= taken
            part[:, place] = value
    return rows


def _chosen(
    n_objects: int,
    n_rows: int,
    width: int,
    rng: np.random.Generator,
    keep: Callable[[np.ndarray], np.ndarray] | None,
) -> np.ndarray:
    """Return some of all questions, in random order and orientation."""
    parts = every_question(n_objects, width)
    everything = np.concatenate([part if keep is None else part[keep(part)] for part in parts])
    rows = everything[rng.permutation(len(everything))[:n_rows]]
    turned = rng.random(n_rows) < 0.5
    rows[turned] = flipped(rows[turned])
    if width == 4:
        for pair in (slice(0, 2), slice(2, 4)):
            turned = rng.random(n_rows) < 0.5
            rows[turned, pair] = rows[turned, pair][:, ::-1]
    return rows


def every_question(n_objects: int, width: int) -> Iterator[np.ndarray]:
    """Yield all different questions once, triplets by their anchors and quadruplets by their first pairs.

    >>> np.concatenate(list(every_question(4, 4))).tolist()
    [[0, 1, 2, 3], [0, 2, 1, 3], [0, 3, 1, 2]]
    """
    if width == 3:
        left, right = np.triu_indices(n_objects - 1, k=1)
        for anchor in range(n_objects):
            # pairs among the others: indices from the anchor on are shifted by one
            first, second = left + (left >= anchor), right + (right >= anchor)
            yield np.stack([np.full(len(left), anchor), first, second], axis=1).astype(np.int32)
        return
    pairs = np.stack(np.triu_indices(n_objects, k=1), axis=1).astype(np.int32)
    for place, (one, other) in enumerate(pairs):
        others = pairs[place + 1 :]  # each question once, by the pair that comes first
        others = others[~((others == one) | (others == other)).any(axis=1)]
        yield np.concatenate([np.broadcast_to((one, other), others.shape), others], axis=1)


def _first_occurrences(questions: np.ndarray, n_objects: int) -> np.ndarray:
    """Return the sorted positions of the first row of each question, in either order."""
    third = 0 if questions.shape[1] == 3 else 2
    first = _pair_keys(questions[:, 0], questions[:, 1], n_objects)
    second = _pair_keys(questions[:, third], questions[:, -1], n_objects)
    low, high = np.minimum(first, second), np.maximum(first, second)
    order = np.lexsort((high, low))  # stable: equal questions stay in the order of drawing
    new = np.ones(len(order), dtype=bool)
    new[1:] = (np.diff(low[order]) != 0) | (np.diff(high[order]) != 0)
    return np.sort(order[new])


def _pair_keys(one: np.ndarray, other: np.ndarray, n_objects: int) -> np.ndarray:
    """Return one number per unordered pair."""
    return np.minimum(one, other).astype(np.int64) * n_objects + np.maximum(one, other)


def answered(
    questions: np.ndarray,
    n_objects: int,
    near_far: NearFar,
    noise: Noise,
    rng: np.random.Generator,
    names: Sequence[str] | None = None,
) -> Comparisons:
    """Return the comparisons that answer the questions. `near_far` returns squared distances of some questions."""
    for block in row_blocks(len(questions)):
        rows = questions[block]
        near, far = near_far(rows)
        first = (
            near < far if isinstance(noise, float) else rng.random(len(rows)) < noise.probability(near, far)
        )
        rows[~first] = flipped(rows[~first])
    comparisons = Comparisons(questions, n_objects, names=names)
    return comparisons.with_noise(noise, rng) if isinstance(noise, float) and noise > 0 else comparisons


def checked_noise(noise: float | str | Loss) -> Noise:
    """Return the fraction of answers to flip, or the loss whose probabilities the answers follow."""
    if not isinstance(noise, str | Loss):
        return checked_share("noise", noise, 0.5)
    if isinstance(noise, str) and noise not in LOSSES:
        raise InputError(
            f"must be a number from 0 to 0.5 or the name of a loss such as 'ste', not {noise!r}",
            parameter="noise",
        )
    loss = find(noise)
    if not loss.has_probability:
        models = ", ".join(name for name, model in LOSSES.items() if model.has_probability)
        raise InputError(
            f"must be a number or a loss with a probability ({models}), not {noise!r}", parameter="noise"
        )
    return loss
