"""The estimator's own choice of loss, inputs, width, omega, l2 and epochs, by an exam within a time limit."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from nearer._utils.group import processes
from nearer._utils.validation import generator
from nearer.errors import InputError
from nearer.interactions import Interactions
from nearer.interactions.named import as_pairs
from nearer.towers.data import check_learnable
from nearer.towers.exams import Exam, exam

if TYPE_CHECKING:
    from nearer.towers.two_tower import TwoTower

Settings = dict[str, Any]

#: matrix factorisation by least squares: the quickest, and often hard to beat
_FACTORS = {"hidden": (), "loss": "square", "missing": 0.0, "omega": 0.4, "l2": 0.4, "frequency": 0.5}
#: a history that leads to the embedding directly
_PATH = {"hidden": (), "loss": "logistic"}
_DEEP = {"hidden": (256, 256), "loss": "logistic"}
#: the first trials, the quickest first; features join the inputs of each side that has some
_FIRST: tuple[Settings, ...] = (
    {"inputs": ("ids", "ids"), **_FACTORS},
    {"inputs": ("history", "ids"), **_PATH},
    {"inputs": ("history", "ids"), **_DEEP},
    {"inputs": ("ids+history", "ids"), **_PATH},
)
#: the same if features are all that is known of new entities: what the tower of that side sees besides
_BY_FEATURES: tuple[tuple[str, Settings], ...] = (
    ("ids", _FACTORS),
    ("", _FACTORS),
    ("", _DEEP),
    ("", _PATH),
    ("history", _PATH),
)
#: what to change in the settings of the best trial, in this order: a factor, or a value
_STEPS: tuple[tuple[str, str, float], ...] = (
    ("l2", "times", 2.0),
    ("l2", "times", 0.5),
    ("omega", "times", 2.0),
    ("omega", "times", 0.5),
    ("missing", "is", 0.0),
    ("n_components", "times", 2.0),
    ("dropout", "is", 0.7),
    ("n_components", "times", 0.5),
    ("dropout", "is", 0.3),
)
_MOST_COMPONENTS = 512
#: the last fit has more pairs than a trial
_LAST_FIT = 1.2


def chosen(
    model: TwoTower, R: Any, left: Any, right: Any, seconds: float, questions: dict[str, Any]
) -> TwoTower:
    """Set the parameters of the model to the best of some trials, and fit it."""
    if not processes().alone:
        raise InputError(
            "search runs in one process: search first, then fit in several with the settings found"
        )
    began = time.monotonic()
    pairs = as_pairs(R, left, right)
    check_learnable(pairs)
    rng = generator(model.random_state)
    search = _Search(
        model,
        exam(Interactions.from_sparse(pairs.matrix), (left, right), rng=rng, **questions),
        began + seconds,
    )
    search.run()
    best = search.best
    # a trial that was stopped while it started has no epochs
    model.set_params(**best["settings"], max_epochs=max(best["epochs"], 1)).fit(R, left, right)
    trials = [
        {**trial, "settings": {name: str(value) for name, value in trial["settings"].items()}}
        for trial in search.trials
    ]
    model.result_ = replace(model.result_, details={**model.result_.details, "trials": trials})
    return model


class _Search:
    """Trials of one exam."""

    def __init__(self, model: TwoTower, of: Exam, end: float):
        self._model, self._exam, self._end = model, of, end
        self.trials: list[dict[str, Any]] = []

    @property
    def best(self) -> dict[str, Any]:
        """The trial with the highest score; one that ran out of time counts only beside others that did."""
        return max(self.trials, key=lambda trial: (trial["complete"], trial["score"]))

    def run(self) -> None:
        """Try the first settings, then steps from the best ones until none is better or the time is over."""
        for settings in first_settings(self._exam):
            self._attempt(settings)
        improved = True
        while improved:
            # a list: a better step does not keep the others of the round from being tried
            improved = any([self._attempt(self._moved(*step)) for step in self._steps()])  # noqa: C419

    def _steps(self) -> Iterator[tuple[str, str, float]]:
        """Yield the steps that change something for the best settings so far."""
        for name, how, value in _STEPS:
            if name != "dropout" or "history" in "+".join(self.best["settings"]["inputs"]):
                yield name, how, value

    def _moved(self, name: str, how: str, value: float) -> Settings:
        """Return the settings of the best trial with one of them changed."""
        settings = dict(self.best["settings"])
        if how == "times":
            value = settings.get(name, getattr(self._model, name)) * value
        settings[name] = min(max(int(value), 2), _MOST_COMPONENTS) if name == "n_components" else value
        return settings

    def _attempt(self, settings: Settings) -> bool:
        """Fit with some settings, unless there is no time or they were tried; return whether they are the best."""
        if any(self._same(trial["settings"], settings) for trial in self.trials):
            return False
        began = time.monotonic()
        if self.trials and began + (1 + _LAST_FIT) * self._expected(settings) > self._end:
            return False
        before = self.best["score"] if self.trials else -np.inf
        trial = clone(self._model).set_params(**settings, verbose=False, checkpoint=None, validation=None)
        trial.set_params(max_seconds=max((self._end - began) / (1 + _LAST_FIT), 0.1))
        trial.fit(self._exam.train, *self._exam.features)
        reason = trial.result_.stop_reason
        if reason in ("interrupted", "callback"):
            self._end = -np.inf  # no more trials: the best so far is fitted
        self.trials.append(
            {
                "settings": settings,
                "score": self._exam.score(trial),
                "seconds": time.monotonic() - began,
                "epochs": trial.result_.n_epochs,
                "complete": reason not in ("seconds", "interrupted", "callback"),
            }
        )
        return self.best is self.trials[-1] and self.trials[-1]["score"] > before

    def _same(self, one: Settings, other: Settings) -> bool:
        """Return whether two settings mean the same, those that the model has by itself filled in."""
        own = self._model.get_params()
        return all(one.get(name, own[name]) == other.get(name, own[name]) for name in {**one, **other})

    def _expected(self, settings: Settings) -> float:
        """Return the longest time of trials of this kind; if there were none, of the quickest kind."""

        def kind(of: Settings) -> tuple[Any, ...]:
            return of["inputs"], of["hidden"], of["loss"]

        alike = [trial["seconds"] for trial in self.trials if kind(trial["settings"]) == kind(settings)]
        return max(alike) if alike else min(trial["seconds"] for trial in self.trials)


def first_settings(of: Exam) -> list[Settings]:
    """Return the settings to try first, with features among the inputs of the sides that have some."""
    if of.by_features:
        assert of.new is not None
        pairs = []
        for sees, rest in _BY_FEATURES:
            inputs = ["ids", "ids"]
            inputs[of.new] = sees
            pairs.append({"inputs": tuple(inputs), **rest})
    else:
        pairs = list(_FIRST)
    has = [X is not None for X in of.features]
    return [{**settings, "inputs": _with_features(settings["inputs"], has)} for settings in pairs]


def _with_features(inputs: tuple[str, str], has: list[bool]) -> tuple[str, ...]:
    """Return inputs that also have features, for the sides that have some.

    >>> _with_features(("ids", ""), [False, True])
    ('ids', 'features')
    """
    return tuple(
        "+".join(part for part in (side, "features" * has_some) if part)
        for side, has_some in zip(inputs, has, strict=True)
    )
