"""`nearer.TwoTower` as a rival: with its defaults, as tuned linear towers, and with its own search."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import nearer
from benchmarks._recommend_data import Csr, Problem
from benchmarks._recommend_metrics import LENGTH, top
from benchmarks._recommend_peers import IALS
from benchmarks._recommend_search import Setting, Space

Array = np.ndarray

DEFAULT, LINEAR, SEARCH = "TwoTower()", "linear towers", "search"
RIVALS: dict[str, tuple[str, ...]] = {
    "warm": (DEFAULT, LINEAR, SEARCH),
    "history": (DEFAULT, SEARCH),
    "side": (DEFAULT, SEARCH),
    "items": (DEFAULT, SEARCH),
    "ncf": (DEFAULT, SEARCH),
}
#: linear towers have the settings of iALS, in the same ranges
SPACES: dict[str, Space] = {LINEAR: IALS}
_LINEAR = {"hidden": (), "inputs": "ids", "loss": "square", "missing": 0.0, "tol": 0.0}
#: rounds of iALS that irspack makes without being asked
_ROUNDS = 16
#: what the search is asked: the questions of each protocol
_QUESTIONS: dict[str, dict[str, Any]] = {
    "warm": {},
    "history": {"by": "left", "measure": "recall@20"},
    "side": {"by": "left", "history": False, "measure": "recall@20"},
    "items": {"by": "right", "history": False, "measure": "recall@20"},
    "ncf": {"by": "last", "held_out": None, "measure": "ndcg@10"},
}
#: what a search chooses
_CHOICES = (
    "inputs",
    "hidden",
    "loss",
    "missing",
    "omega",
    "l2",
    "frequency",
    "n_components",
    "dropout",
    "max_epochs",
)


def available() -> bool:
    """Return whether this version of nearer has the estimator."""
    return hasattr(nearer, "TwoTower")


def search(of: Problem, seconds: float) -> tuple[Setting, list[dict[str, Any]]]:
    """Return the settings that the estimator chooses on a training part by itself, and its trials.

    On a busy machine it gets as many seconds more as its processor is with others.
    """
    left, right = features(of)
    model = nearer.TwoTower(random_state=0)
    seconds *= slowdown(of)
    model.search(of.train, left=left, right=right, seconds=seconds, **_QUESTIONS[of.protocol])
    setting = {name: getattr(model, name) for name in _CHOICES}
    trials = [
        {**trial["settings"], "score": round(trial["score"], 5), "seconds": round(trial["seconds"], 2)}
        for trial in model.result_.details["trials"]
    ]
    return setting, trials


def slowdown(of: Problem) -> float:
    """Return how many times as long as its CPU time a fit takes, or 1 if that is less."""
    cpu, wall = time.process_time(), time.perf_counter()
    nearer.TwoTower(random_state=0, max_epochs=4, **_LINEAR).fit(of.train)
    return max(1.0, (time.perf_counter() - wall) / max(time.process_time() - cpu, 1e-9))


def fit(rival: str, of: Problem, setting: Setting, seed: int) -> Any:
    """Return the fitted model."""
    left, right = features(of)
    if rival == LINEAR:
        pairs, setting = as_ials(of.train, setting)
        return nearer.TwoTower(random_state=seed, **_LINEAR, **setting).fit(pairs)
    setting = {name: tuple(value) if isinstance(value, list) else value for name, value in setting.items()}
    return nearer.TwoTower(random_state=seed, **setting).fit(of.train, left=left, right=right)


def as_ials(train: Csr, setting: Setting) -> tuple[Csr, Setting]:
    """Return weighted pairs and settings with which linear towers minimise the objective of irspack's iALS.

    irspack adds squared distances of observed scores from 1 and `alpha0` times the squares of all scores. For an
    observed pair that makes `1 + alpha0` times the squared distance from `1 / (1 + alpha0)`, and a constant. Ours has
    1 in its place: its scores are longer by the factor `1 + alpha0`, which ranks alike.
    """
    alpha, nu = setting["alpha0"], setting["nu"]
    reg = setting["reg"] * _total_scale(train, alpha, 1.0) / _total_scale(train, alpha, nu)
    settings = {"omega": alpha, "l2": (1 + alpha) * reg, "frequency": nu, "max_epochs": _ROUNDS}
    return train * ((1 + alpha) / 2), {"n_components": setting["n_components"], **settings}


def _total_scale(train: Csr, alpha: float, nu: float) -> float:
    """Return the sum of the factors on the L2 term, which irspack keeps the same whatever the power is."""
    pairs = train.tocsr(), train.T.tocsr()
    return sum(((np.diff(X.indptr) + alpha * X.shape[1]) ** nu).sum() for X in pairs)


def features(of: Problem) -> tuple[Array | None, Array | None]:
    """Return the features that the protocol is about."""
    return of.users if of.protocol == "side" else None, of.movies if of.protocol == "items" else None


def best(model: Any, of: Problem) -> Array:
    """Return the best candidates of every question."""
    return _BEST[of.protocol](model, of)


def _warm(model: Any, of: Problem) -> Array:
    columns, _ = model.recommend(rows=None, k=LENGTH, exclude_seen=True)
    return np.asarray(columns)


def _history(model: Any, of: Problem) -> Array:
    return _ranked(model.embed_left(history=of.history), model.embed_right(), of)


def _side(model: Any, of: Problem) -> Array:
    return _ranked(model.embed_left(features=of.new_users), model.embed_right(), of)


def _items(model: Any, of: Problem) -> Array:
    return _ranked(model.embed_left(), model.embed_right(features=of.new_movies), of)


def _ncf(model: Any, of: Problem) -> Array:
    return _ranked(model.embed_left(), model.embed_right(), of)


def _ranked(left: Array, right: Array, of: Problem) -> Array:
    P, Q = np.asarray(left), np.asarray(right)
    return top(lambda rows: P[rows] @ Q.T, of)


_BEST = {"warm": _warm, "history": _history, "side": _side, "items": _items, "ncf": _ncf}
