"""`nearer.TwoTower` as a rival: with its defaults, as tuned linear towers, and with its own search."""

from __future__ import annotations

from typing import Any

import numpy as np

import nearer
from benchmarks._recommend_data import Problem
from benchmarks._recommend_metrics import LENGTH, top
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
#: settings of linear towers, tuned like those of the baselines: matrix factorisation with an L2 term by frequency
SPACES: dict[str, Space] = {
    LINEAR: {
        "n_components": ("whole", 64, 256),
        "omega": ("log", 0.1, 1.0),
        "l2": ("log", 0.05, 1.0),
        "frequency": ("linear", 0.5, 1.0),
        "max_epochs": ("whole", 6, 24),
    }
}
_LINEAR = {"hidden": (), "inputs": "ids", "loss": "square", "missing": 0.0, "tol": 0.0}
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
    """Return the settings that the estimator chooses on a training part by itself, and its trials."""
    left, right = features(of)
    model = nearer.TwoTower(random_state=0)
    model.search(of.train, left=left, right=right, seconds=seconds, **_QUESTIONS[of.protocol])
    setting = {name: getattr(model, name) for name in _CHOICES}
    trials = [
        {**trial["settings"], "score": round(trial["score"], 5), "seconds": round(trial["seconds"], 2)}
        for trial in model.result_.details["trials"]
    ]
    return setting, trials


def fit(rival: str, of: Problem, setting: Setting, seed: int) -> Any:
    """Return the fitted model."""
    left, right = features(of)
    fixed = _LINEAR if rival == LINEAR else {}
    setting = {name: tuple(value) if isinstance(value, list) else value for name, value in setting.items()}
    return nearer.TwoTower(random_state=seed, **fixed, **setting).fit(of.train, left=left, right=right)


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
