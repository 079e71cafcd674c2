"""Check the input of a selector."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from nearer._fitting import that_count
from nearer.active.strategies import STRATEGIES, Strategy
from nearer.comparisons import Comparisons
from nearer.comparisons.joining import reindexed
from nearer.errors import InputError


def checked_strategy(strategy: str | Strategy) -> Strategy:
    """Return the strategy of a name, with its default settings, or the object itself."""
    if isinstance(strategy, Strategy):
        return strategy
    if isinstance(strategy, str) and strategy in STRATEGIES:
        return STRATEGIES[strategy]()
    raise InputError(
        f"must be one of {', '.join(STRATEGIES)} or a nearer.active.Strategy object, not {strategy!r}",
        parameter="strategy",
    )


def checked_names(names: Iterable[str], n_objects: int) -> tuple[str, ...]:
    """Return the names, one per object and all different."""
    found = tuple(str(name) for name in names)
    if len(found) != n_objects:
        raise InputError(f"there are {len(found)} names but {n_objects} objects: give one name per object")
    if len(set(found)) < n_objects:
        twice = next(name for at, name in enumerate(found) if name in found[:at])
        raise InputError(f"names contains {twice!r} twice: give every object a different name")
    return found


def checked_questions(questions: ArrayLike, n_objects: int) -> np.ndarray:
    """Return questions as rows of three different, known objects."""
    rows = np.asarray(questions)
    if rows.ndim != 2 or rows.shape[1] != 3 or rows.dtype.kind not in "iu":
        raise InputError(
            f"questions must be whole numbers of shape (m, 3), one question (head, a, b) per row, "
            f"not {rows.dtype} of shape {rows.shape}"
        )
    if not len(rows):
        raise InputError("questions is empty: give at least one")
    known = ((rows >= 0) & (rows < n_objects)).all(axis=1)
    head, a, b = rows.T
    bad = np.flatnonzero(~(known & (head != a) & (head != b) & (a != b)))
    if len(bad):
        raise InputError(
            f"questions, row {bad[0]} (counting from 0): {rows[bad[0]].tolist()} is not about three different "
            f"objects from 0 to {n_objects - 1}"
        )
    return rows.astype(np.int32)


def checked_answers(answers: Comparisons, n_objects: int, names: tuple[str, ...] | None) -> Comparisons:
    """Return the answers by the indices of a selector with these objects."""
    if answers.shape[1] != 3:
        raise InputError(
            "a selector asks about triplets: give answers (head, nearer, farther), not quadruplets"
        )
    answers = that_count(answers)
    if answers.names is None:
        if len(answers) and answers.indices.max() >= n_objects:
            raise InputError(
                f"an answer is about object {answers.indices.max()} but there are {n_objects}, counting from 0: "
                "add objects with grow first"
            )
        return answers
    if names is None:
        raise InputError(
            f"the answers name their objects, such as {answers.names[0]!r}, but the selector knows them by number: "
            "give names= to the selector, or indices to tell"
        )
    unknown = set(np.array(answers.names, dtype=object)[np.unique(answers.indices)].tolist()) - set(names)
    if unknown:
        raise InputError(
            f"an answer is about {min(unknown)!r}, which is unknown: add it with grow(names=...) first"
        )
    return reindexed(answers, names)
