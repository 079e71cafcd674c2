"""Cases of `AUCClassifier`, `PairwiseLearner` and the exact minimum over all pairs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

import nearer
from benchmarks._same.case import Case, Numbers, attributes, case, course, public
from benchmarks._same.data import rows_of, table

PAIRWISE_SOLVERS = ("adadsg", "dsgd", "olp", "opauc", "solam", "exact")
MARGIN_LOSSES = ("hinge", "logistic", "smooth-hinge", "square", "squared-hinge")
KINDS = ("dense", "sparse")
_SQUARE = ("opauc", "solam")
_GOING_ON = PAIRWISE_SOLVERS[:-1]
_THRESHOLDS = ("balanced", "f1", "accuracy", "prior", 0.3)
_SINGLE = "random features are made in float32, which rounds at 6e-8"
_TORCH = "torch works in float32, and its sums depend on its threads"


def _loss(solver: str) -> str:
    return "square" if solver in _SQUARE else "hinge"


def _classified(model: Any, X: Any, y: np.ndarray) -> Numbers:
    asked = {name: getattr(model, name)(X[:50]) for name in ("decision_function", "predict", "predict_proba")}
    on = {"calibrated_on": model.result_.details["calibrated_on"], "score": model.score(X, y)}
    return attributes(model, "coef_", "intercept_") | course(model) | asked | on


def _classifier(kind: str = "dense", loss: str = "hinge", solver: Any = "adadsg", **settings: Any) -> Numbers:
    X, y = rows_of(kind)
    return _classified(nearer.AUCClassifier(loss, solver, random_state=0, **settings).fit(X, y), X, y)


def _classifier_stream(kind: str, solver: str) -> Numbers:
    X, y = rows_of(kind)
    model = nearer.AUCClassifier(_loss(solver), solver, random_state=0)
    for start in range(0, 400, 100):
        model.partial_fit(X[start : start + 100], y[start : start + 100], classes=[0, 1])
    return _classified(model, X, y)


def _learner(kind: str = "dense", solver: Any = "adadsg", model: Any = "linear", **settings: Any) -> Numbers:
    X, y = rows_of(kind)
    learner = nearer.PairwiseLearner(solver=solver, model=model, random_state=0, **settings)
    return _scored(learner.fit(X, y), X, y)


def _scored(learner: Any, X: Any, y: np.ndarray, **groups: Any) -> Numbers:
    asked = {"decision_function": learner.decision_function(X[:50]), "score": learner.score(X, y, **groups)}
    weights = ("kernel_weights_",) if isinstance(learner.model, list) else ()
    return attributes(learner, "coef_", *weights) | course(learner) | asked


def _learner_stream(solver: str, model: str = "linear") -> Numbers:
    X, y = table()
    learner = nearer.PairwiseLearner(_loss(solver), solver=solver, model=model, random_state=0)
    for start in range(0, 400, 100):
        learner.partial_fit(X[start : start + 100], y[start : start + 100])
    return _scored(learner, X, y)


def _fourier(sizes: tuple[int, ...], learn: Callable[..., Numbers], **settings: Any) -> Numbers:
    kernels = [public("RandomFourier")(size, gamma=0.1 * size / sizes[0]) for size in sizes]
    return learn(model=kernels if len(kernels) > 1 else kernels[0], **settings)


def _ranking(stream: bool = False, **settings: Any) -> Numbers:
    X, _ = table()
    grades, groups = np.digitize(X[:, 0] + 0.1 * X[:, 2], [-0.5, 0.7]), np.repeat(np.arange(40), 10)
    learner = nearer.PairwiseLearner(pair="ranking", random_state=0, **settings)
    if not stream:
        return _scored(learner.fit(X, grades, groups=groups), X, grades, groups=groups)
    for start in range(0, 400, 100):
        part = slice(start, start + 100)
        learner.partial_fit(X[part], grades[part], groups=groups[part])
    return _scored(learner, X, grades, groups=groups)


def _own_pairs() -> Numbers:
    def drawn(y: np.ndarray, groups: Any, rng: np.random.Generator, count: int) -> np.ndarray:
        higher, lower = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
        return np.stack([rng.choice(higher, count), rng.choice(lower, count)], axis=1)

    return _learner(pair=drawn)


def _metric(stream: bool = False, **settings: Any) -> Numbers:
    X, _ = table()
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    learner = nearer.PairwiseLearner(pair="metric", random_state=0, **settings)
    for part in (slice(0, 200), slice(200, 400)) if stream else ():
        learner.partial_fit(X[part], y[part])
    if not stream:
        learner.fit(X, y)
    distances = {"transform": learner.transform(X[:50]), "pair": learner.pair_distance(X[:50], X[50:100])}
    score = {"score": learner.score(X, y)}
    return attributes(learner, "components_", "threshold_") | course(learner) | distances | score


def _solver_object(name: str, **settings: Any) -> Numbers:
    solver = public(name)(**settings)
    return _classifier(loss=_loss(name.lower()), solver=solver, held_out=0)


def _network() -> Numbers:
    import torch

    torch.manual_seed(0)
    layers = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    X, y = table()
    solver = public("DSGD")(passes=1)
    learner = nearer.PairwiseLearner(model=layers, solver=solver, random_state=0).fit(X, y)
    return course(learner) | {"decision_function": learner.decision_function(X)}


def _exact(loss: str, kind: str) -> Numbers:
    X, y = rows_of(kind)
    objective = public("AllPairs")(X, y, loss, 0.01)
    found = public("solve_exact")(objective)
    value, gradient = objective.value_and_gradient(np.linspace(-1, 1, X.shape[1]))
    solution = {name: getattr(found, name) for name in ("w", "value", "gap", "iterations", "stop_reason")}
    return solution | {"value elsewhere": value, "gradient": gradient}


CASES: dict[str, Case] = {
    **{
        f"auc {solver}, {kind}": case(_classifier, kind, _loss(solver), solver)
        for solver, kind in product(PAIRWISE_SOLVERS, KINDS)
    },
    **{
        f"auc {solver}, {kind}, partial_fit": case(_classifier_stream, kind, solver)
        for solver, kind in product(_GOING_ON, KINDS)
    },
    **{f"auc {loss}": case(_classifier, loss=loss) for loss in MARGIN_LOSSES},
    **{f"auc threshold={given}": case(_classifier, threshold=given) for given in _THRESHOLDS},
    "auc isotonic": case(_classifier, calibration="isotonic"),
    "auc held_out=0": case(_classifier, held_out=0),
    **{f"auc scale={given}": case(_classifier, scale=given) for given in (True, False)},
    "auc rff": replace(case(_classifier, model="rff", held_out=0), rtol=1e-5, reason=_SINGLE),
    "auc DSGD random walk": case(_solver_object, "DSGD", walk="random", average="last", passes=3),
    "auc AdaDSG step": case(_solver_object, "AdaDSG", step=0.1, stages=5),
    "auc OLP buffer": case(_solver_object, "OLP", buffer=20, pairs=None, passes=2),
    "auc OPAUC rank": case(_solver_object, "OPAUC", rank=3, passes=2),
    "auc SOLAM draws": case(_solver_object, "SOLAM", passes=3),
    **{f"learner {solver}": case(_learner, solver=solver, loss=_loss(solver)) for solver in PAIRWISE_SOLVERS},
    **{f"learner {solver}, partial_fit": case(_learner_stream, solver) for solver in _GOING_ON},
    **{
        f"learner rff, {solver}": replace(
            case(_fourier, (60,), _learner, solver=solver, loss=_loss(solver)), rtol=1e-5, reason=_SINGLE
        )
        for solver in PAIRWISE_SOLVERS
    },
    "learner rff, partial_fit": replace(
        case(_learner_stream, "adadsg", model="rff"), rtol=1e-5, reason=_SINGLE
    ),
    "learner two kernels": replace(case(_fourier, (60, 40), _learner), rtol=1e-5, reason=_SINGLE),
    "learner network": replace(case(_network), rtol=1e-4, reason=_TORCH),
    "learner own pairs": case(_own_pairs),
    **{f"ranking {solver}": case(_ranking, solver=solver) for solver in ("adadsg", "dsgd", "exact")},
    "ranking partial_fit": case(_ranking, stream=True),
    **{f"metric {solver}": case(_metric, solver=solver) for solver in ("adadsg", "dsgd")},
    "metric n_components=2": case(_metric, n_components=2, loss="logistic"),
    "metric partial_fit": case(_metric, stream=True),
    **{f"all pairs {loss}, {kind}": case(_exact, loss, kind) for loss, kind in product(MARGIN_LOSSES, KINDS)},
}
