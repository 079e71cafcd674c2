"""Cases of `OrdinalEmbedding`, `choose_dimension` and `FeatureMap`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import nearer
from benchmarks._same.case import Case, Numbers, attributes, case, course, public
from benchmarks._same.data import N_OBJECTS, answers, points

LOSSES = ("gnmds", "ckl", "ste", "tste", "soe", "robust-soe")
SOLVERS = (
    *("auto", "svrg-sbb", "svrg-sbb0", "svrg-sbb-restarts", "svrg", "sgd", "adam", "batch"),
    "lbfgs",
)
#: those that every loss is run with
_EVERY_LOSS = ("auto", "svrg-sbb", "lbfgs")
_SINGLE = "float32 rounds at 6e-8, and a fit takes thousands of steps"


def _model(**settings: Any) -> Any:
    return nearer.OrdinalEmbedding(**{"l2": 0.01, "random_state": 0, "max_epochs": 30} | settings)


def _numbers(model: Any) -> Numbers:
    return attributes(model, "embedding_", "l2_") | {"loss_": repr(model.loss_)} | course(model)


def _fit(given: dict[str, Any] | None = None, **settings: Any) -> Numbers:
    return _numbers(_model(**settings).fit(answers(**given or {})))


def _asked(loss: str) -> Numbers:
    train, test = answers(), answers(count=200)
    model = _model(loss=loss).fit(train)
    numbers = {"predict": model.predict(test), "score": model.score(test)}
    return numbers | ({"predict_proba": model.predict_proba(test)} if loss in ("ste", "tste", "ckl") else {})


def _stream(**settings: Any) -> Numbers:
    model, train = _model(**settings), answers()
    few = train.indices[(train.indices < N_OBJECTS - 3).all(axis=1)]
    for part in (few[:150], few[150:300], train):  # the last one speaks of three more objects
        model.partial_fit(part)
    return _numbers(model)


def _object(name: str, **settings: Any) -> Numbers:
    return _fit(solver=public(name)(**settings))


def _stopped() -> Numbers:
    return _fit(callback=lambda progress: progress.epoch >= 4, solver="adam")


def _given_start(kind: str) -> Numbers:
    return _fit(init=points() if kind == "array" else kind)


def _minimised(solver: str) -> Numbers:
    objective = public("PointObjective")(answers(), public("STE")(), 2, l2=0.01)
    found, result = public("minimise")(
        public("SOLVERS")[solver],
        objective,
        0.5 * points(),
        budget=public("Budget")(max_epochs=10),
        rng=np.random.default_rng(0),
    )
    return {"points": found, "objective": result.objective, "n_evaluations": result.n_evaluations}


def _dimension() -> Numbers:
    choice = nearer.choose_dimension(
        answers(count=300), (1, 2), n_splits=2, estimator=_model(max_epochs=10), random_state=0
    )
    return {name: getattr(choice, name) for name in ("errors", "best", "smallest_within_one_se")}


def _placed(**settings: Any) -> Numbers:
    X = np.random.default_rng(5).uniform(-1, 1, size=(80, 3))
    y = np.stack([X[:, 0] ** 2, X[:, 1]], axis=1)
    model = nearer.FeatureMap(**settings).fit(X[:60], y[:60])
    found = attributes(model, "gamma_", "alpha_", "loo_score_", "dual_coef_")
    return found | {"transform": model.transform(X[60:]), "score": model.score(X[60:], y[60:])}


CASES: dict[str, Case] = {
    **{
        f"embedding {loss}, {solver}": case(_fit, loss=loss, solver=solver)
        for loss in LOSSES
        for solver in _EVERY_LOSS
    },
    **{f"embedding soe, {solver}": case(_fit, solver=solver) for solver in SOLVERS},
    **{f"embedding asked, {loss}": case(_asked, loss) for loss in LOSSES},
    "embedding defaults": case(_fit, l2="auto", max_epochs=None),
    "embedding loss=auto": case(_fit, loss="auto", max_epochs=10),
    "embedding loss=auto, l2=auto, 4 dimensions": case(
        _fit, loss="auto", l2="auto", n_components=4, max_epochs=5
    ),
    "embedding l2=auto, lbfgs": case(_fit, l2="auto", solver="lbfgs"),
    "embedding float32": replace(case(_fit, dtype="float32"), rtol=1e-5, reason=_SINGLE),
    "embedding float32, lbfgs": replace(
        case(_fit, dtype="float32", solver="lbfgs"), rtol=1e-5, reason=_SINGLE
    ),
    **{
        f"embedding soe, {solver}, tight": case(_fit, solver=solver, tol=1e-8, max_epochs=100)
        for solver in ("auto", "svrg-sbb", "lbfgs", "batch")
    },
    "embedding weights": case(_fit, {"weights": True}),
    "embedding weights, sgd": case(_fit, {"weights": True}, solver="sgd"),
    "embedding quadruplets": case(_fit, {"width": 4}),
    "embedding quadruplets, tste, lbfgs": case(_fit, {"width": 4}, loss="tste", solver="lbfgs"),
    "embedding 40 comparisons": case(_fit, {"count": 40}),
    "embedding 40 comparisons, l2=auto": case(_fit, {"count": 40}, l2="auto"),
    "embedding n_init=3": case(_fit, n_init=3),
    "embedding n_jobs=2": case(_fit, {"count": 10_000}, n_jobs=2, max_epochs=3),
    "embedding max_evaluations": case(_fit, max_evaluations=5000),
    "embedding l2=auto, max_evaluations": case(_fit, l2="auto", max_evaluations=20_000),
    "embedding callback": case(_stopped),
    **{f"embedding init={kind}": case(_given_start, kind) for kind in ("spectral", "random", "array")},
    "embedding partial_fit": case(_stream),
    "embedding partial_fit, loss=auto": case(_stream, loss="auto", max_epochs=5),
    "solver SVRG decay": case(_object, "SVRG", step="decay"),
    "solver SVRG constant": case(_object, "SVRG", step=0.02, batch_size=1),
    "solver SVRG epsilon": case(_object, "SVRG", epsilon=0.05, epoch_length=300),
    "solver SGD batch_size=1": case(_object, "SGD", batch_size=1),
    **{f"minimise {solver}": case(_minimised, solver) for solver in SOLVERS},
    "choose_dimension": case(_dimension),
    "FeatureMap": case(_placed),
    "FeatureMap gamma=scale": case(_placed, gamma="scale", alpha=0.1, standardise=False),
}
