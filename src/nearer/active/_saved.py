"""Save and restore a selector: settings, questions and answers, map, and the state of its random generators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nearer._utils.random import RANDOM_SCHEMA, restored_generator, state_of
from nearer._utils.schema import (
    MOST,
    AnyOf,
    Array,
    Integer,
    Names,
    Number,
    Part,
    Saved,
    Size,
    Strings,
    need,
    optional,
)
from nearer.active._belief import VARIANCES
from nearer.active._candidates import MOST_OBJECTS, ListedQuestions, keys_of
from nearer.active.strategies import STRATEGIES, Strategy
from nearer.errors import InputError

if TYPE_CHECKING:
    from nearer.active.selector import Selector

#: largest coordinate on the logistic scale, whose prior has a variance of at most 20
_FARTHEST = 1e6


def _rows(name: str) -> Array:
    return Array(name, 3, kinds="i", below="n", dtype="int32", order="C")


SCHEMA = Saved(
    params={
        "strategy": Part(Strategy),
        "n_components": Integer(1, 1000),
        "random_share": Number(at_least=0, at_most=1),
    },
    fitted={
        "n_objects": Size("n"),
        "names": optional(Names("n")),
        "questions": optional(_rows("listed")),
        "answers": _rows("answers"),
        "weights": optional(Array("answers", above=0)),
        "annotators": optional(AnyOf(Array("answers", kinds="i"), Strings("answers"))),
        "groups": optional(Array("answers", kinds="i")),
        "pending": _rows("pending"),
        "turns": Array("n", kinds="i", at_least=0, at_most=MOST, dtype="int64"),
        "rng": RANDOM_SCHEMA,
        "map_rng": RANDOM_SCHEMA,
        "points": Array("placed", "p", at_least=-_FARTHEST, at_most=_FARTHEST, dtype="float64"),
        "covariances": Array("placed", "p", "p", at_least=-_FARTHEST, at_most=_FARTHEST, dtype="float64"),
        "variance": Number(*VARIANCES),
        "next_fit": Number(at_least=0, at_most=MOST),
        "next_starts": Number(at_least=0, at_most=MOST),
    },
)


def to_save(selector: Selector) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return settings and state. Custom strategies are refused."""
    if type(selector.strategy) not in STRATEGIES.values():
        raise InputError(
            f"the custom strategy {type(selector.strategy).__name__} cannot be saved, because a file contains no code: "
            "save selector.answers with write, and tell them to a new Selector with this strategy"
        )
    board = selector._board
    book, belief, supply = board.book, board.belief, board.supply
    params = {name: getattr(selector, name) for name in SCHEMA.params}
    fitted = {
        "n_objects": selector.n_objects,
        "names": selector.names,
        "questions": supply.rows if isinstance(supply, ListedQuestions) else None,
        "answers": book.triplets,
        "weights": book.weights,
        "annotators": book.origins.annotators,
        "groups": book.origins.groups,
        "pending": book.pending,
        "turns": book.turns,
        "rng": state_of(selector._rng),
        "map_rng": state_of(selector._map_rng),
        "points": belief.points,
        "covariances": belief.covariances,
        "variance": belief.variance,
        "next_fit": belief.next_fit,
        "next_starts": belief.next_starts,
    }
    return params, fitted


def restore(selector: Selector, fitted: dict[str, Any]) -> None:
    """Bring a new selector with the saved settings to the saved state."""
    _check(selector, fitted)
    board = selector._board
    book, belief, supply = board.book, board.belief, board.supply
    answers, pending = fitted["answers"], fitted["pending"]
    book.tell(answers, fitted["weights"], fitted["annotators"], fitted["groups"])
    for question in pending:
        book.ask(question)
    book.turns = fitted["turns"].copy()
    supply.take(answers)
    supply.take(pending)
    belief.points, belief.covariances = fitted["points"].copy(), fitted["covariances"].copy()
    belief.variance = float(fitted["variance"])
    belief.next_fit, belief.next_starts = float(fitted["next_fit"]), float(fitted["next_starts"])
    selector._rng = restored_generator(fitted["rng"])
    selector._map_rng = restored_generator(fitted["map_rng"])


def check_number(n_objects: int) -> None:
    """Refuse a number of objects that no selector can have."""
    need(3 <= n_objects <= MOST_OBJECTS, f"there are {n_objects} objects")


def _check(selector: Selector, fitted: dict[str, Any]) -> None:
    for name in ("answers", "pending"):
        head, a, b = fitted[name].T
        need(
            bool(((head != a) & (head != b) & (a != b)).all()),
            f"{name} are not about three different objects",
        )
    need(
        len(np.unique(keys_of(fitted["pending"]))) == len(fitted["pending"]),
        "a pending question occurs twice",
    )
    placed, p = fitted["points"].shape
    need(p == selector.n_components, f"points have {p} columns, not {selector.n_components}")
    need(placed in (0, selector.n_objects), f"{placed} of {selector.n_objects} objects have a position")
    covariances = fitted["covariances"]
    need(np.allclose(covariances, covariances.transpose(0, 2, 1)), "covariances are not symmetric")
    lowest = np.linalg.eigvalsh(covariances).min(initial=np.inf)
    need(lowest > 0, "covariances are not positive definite")
