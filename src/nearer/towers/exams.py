"""What settings are judged by: pairs, or whole entities, that a fit does not see, and questions about them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from nearer.errors import InputError
from nearer.interactions import Interactions
from nearer.metrics import ranking_scores
from nearer.towers.inputs import checked_features
from nearer.towers.ranking import top_k

if TYPE_CHECKING:
    from nearer.towers.two_tower import TwoTower

#: share of the pairs of a new entity that it is to be recommended
_ASKED = 0.2
_SIDES = ("left", "right")


@dataclass(frozen=True)
class Exam:
    """Pairs and features to learn from, and the score of a model that has.

    Attributes
    ----------
    train : Interactions
        The pairs to learn from.
    features : pair of arrays, or None
        Those of the entities in `train`.
    score : callable
        Of a model that was fitted to them; higher is better.
    new : int, optional
        The side of which new entities are asked about: 0, 1 or neither.
    by_features : bool
        Whether features are all that is known of these.
    """

    train: Interactions
    features: tuple[Any, Any]
    score: Callable[[TwoTower], float]
    new: int | None = None
    by_features: bool = False


def exam(
    R: Interactions,
    features: tuple[Any, Any],
    held_out: float | None,
    by: str,
    history: bool,
    measure: str,
    rng: np.random.Generator,
) -> Exam:
    """Return an exam on a part of the interactions; the parameters are those of `TwoTower.search`."""
    try:
        ranking_scores([[0]], sparse.csr_matrix([[1.0]]), [measure])
    except InputError as error:
        raise error.but(parameter="measure") from None
    known, held = R.split(held_out, by=by, random_state=rng)  # type: ignore[arg-type]  # it checks
    sides = [
        None if X is None else checked_features(X, count, name)
        for X, count, name in zip(features, R.shape, _SIDES, strict=True)
    ]
    if by not in _SIDES:
        return Exam(
            Interactions.from_sparse(known.csr()),
            (sides[0], sides[1]),
            _about_pairs(known.csr(), held.csr(), measure),
        )
    side = _SIDES.index(by)
    if sides[side] is None and not history:
        raise InputError(
            f"is False, but new {by} entities without a history need features: pass {by}=...",
            parameter="history",
        )
    return _about_new(known.csr(), held.csr(), sides, side, history, measure, rng)


def _about_pairs(
    train: sparse.csr_matrix, held: sparse.csr_matrix, measure: str
) -> Callable[[TwoTower], float]:
    rows = np.flatnonzero(np.diff(held.indptr))

    def score(model: TwoTower) -> float:
        return _scored(model.left_embedding_[rows], model.right_embedding_, held[rows], train[rows], measure)

    return score


def _about_new(
    known: sparse.csr_matrix,
    held: sparse.csr_matrix,
    features: list[Any],
    side: int,
    history: bool,
    measure: str,
    rng: np.random.Generator,
) -> Exam:
    """Return an exam about entities that training does not have; new right ones are ranked among themselves."""
    matrices = (known, held) if side == 0 else (known.T.tocsr(), held.T.tocsr())
    old, new = (np.flatnonzero(np.diff(matrix.indptr)) for matrix in matrices)
    train, asked = matrices[0][old], matrices[1][new]
    given = None
    if history:
        kept, rest = Interactions.from_sparse(asked).split(_ASKED, by="each-left", random_state=rng)
        given, asked = kept.csr(), rest.csr()
    X = features[side]
    of_new = None if X is None else X[new]
    known_features = tuple(
        table if k != side or table is None else table[old] for k, table in enumerate(features)
    )

    def score(model: TwoTower) -> float:
        embed = (model.embed_left, model.embed_right)[side]
        found = embed(features=of_new, history=given)
        if side == 0:
            return _scored(found, model.right_embedding_, asked, given, measure)
        seen = None if given is None else given.T.tocsr()
        return _scored(model.left_embedding_, found, asked.T.tocsr(), seen, measure)

    pairs = Interactions.from_sparse(train if side == 0 else train.T.tocsr())
    return Exam(pairs, (known_features[0], known_features[1]), score, side, not history)


def _scored(
    P: np.ndarray, Q: np.ndarray, wanted: sparse.csr_matrix, seen: sparse.csr_matrix | None, measure: str
) -> float:
    length = int(measure.rpartition("@")[2])
    return ranking_scores(top_k(P, Q, length, seen).items, wanted, [measure])[measure]
