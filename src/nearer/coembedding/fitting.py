"""What the estimators of this folder share: choose the strength of the trace, minimise, and report."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from nearer._fitting import no_run, watched
from nearer._utils.runtime import polling
from nearer._utils.text import one_of, warn
from nearer._utils.validation import positive, whole
from nearer.coembedding.choosing import N_FOLDS, Steps, choose_beta
from nearer.coembedding.terms import Terms
from nearer.errors import InputError
from nearer.solvers import ILA, Budget, CentralPath, Result, Run, Solver, minimise
from nearer.solvers.certificate import strongest_penalty
from nearer.solvers.path import Choice
from nearer.solvers.run import Stop

#: names of solvers, for estimators that have a choice
SOLVER_NAMES = ("auto", "central-path", "ila")
#: by default, the central path is followed for up to this many labels, as a step takes time with their cube, and with
#: strengths below this share of the one that leaves nothing: growing factors hardly lower the gap there
_FEW_LABELS, _WEAK = 1000, 1e-5
#: reasons that may end a fit before it has learned anything
_CUT_SHORT = ("interrupted", "callback", "seconds", "evaluations")


def check_fit_settings(estimator: Any) -> None:
    """Refuse settings of the penalty, the solver and the budget that make no sense."""
    if isinstance(estimator.beta, str):
        if estimator.beta != "auto":
            raise InputError(f'must be "auto" or a number above 0, not {estimator.beta!r}', parameter="beta")
    else:
        positive("beta", estimator.beta)
    _ila(estimator)
    name = getattr(estimator, "solver", "ila")
    if name not in SOLVER_NAMES:
        raise InputError(f"must be {one_of(SOLVER_NAMES)}, not {name!r}", parameter="solver")
    if name == "central-path" and estimator.max_rank is not None:
        raise InputError(
            "limits the columns that 'ila' grows, but solver is 'central-path'",
            "leave one of them out",
            parameter="max_rank",
        )
    _budget(estimator)
    if estimator.callback is not None and not callable(estimator.callback):
        raise InputError(f"must be a function or None, not {estimator.callback!r}", parameter="callback")


def check_folds(estimator: Any) -> None:
    """Refuse a number of folds that holds nothing out where something must be."""
    whole("cv", estimator.cv, at_least=0)
    if estimator.cv == 1:
        raise InputError("must be 0, or at least 2 folds, not 1", parameter="cv")
    if estimator.cv == 0 and isinstance(estimator.beta, str):
        raise InputError("is 0, but beta='auto' needs held-out rows: set cv=5, or a beta", parameter="cv")


def fit_factor(
    estimator: Any,
    terms: Callable[[], Terms],
    loss: Any,
    rng: np.random.Generator,
    *,
    n_folds: int | None = None,
    steps: Steps = Steps(),  # noqa: B008 - it is frozen
    **facts: Any,
) -> tuple[np.ndarray, Choice, Result]:
    """Return the factor, the strength of the trace that was chosen, and the course of the fit.

    Parameters
    ----------
    estimator : estimator
        Its parameters `beta`, `max_rank`, `verbose`, `callback` and the budget are used.
    terms : callable
        Returns what the factor is fitted to; the time this takes counts.
    loss : MarginLoss, LabelSetLoss or LinkLoss
        Of the terms.
    rng : numpy Generator
        For all draws.
    n_folds : int, optional
        With a number, folds are held out even if `beta` is given: the choice then holds their fits.
    steps : Steps
        The path of strengths to choose from.
    **facts
        What else the details of the result should say.
    """
    with watched(estimator.verbose, estimator.callback, estimator.max_seconds) as (callback, finish):
        run = Run(_budget(estimator), callback)
        found = terms()
        choice = _choose(estimator, found, loss, run, rng, n_folds, steps)
        objective = found.objective(loss, choice.strength)
        Q, result = _minimise(estimator, objective, choice, run, rng)
        finish(result)
    details = {**facts, "loss": loss.name, "n_terms": len(found), **_details(result, choice, run)}
    if "stopped_while" in details and result.stop_reason in ("seconds", "evaluations"):
        warn(
            f"max_{result.stop_reason} ended the fit while {details['stopped_while']}, so nothing was learned: allow "
            "more"
        )
    return Q, choice, replace(result, details=details)


def _choose(
    estimator: Any,
    terms: Terms,
    loss: Any,
    run: Run,
    rng: np.random.Generator,
    n_folds: int | None,
    steps: Steps,
) -> Choice:
    beta = None if isinstance(estimator.beta, str) else float(estimator.beta)
    if beta is None or n_folds:
        folds = N_FOLDS if n_folds is None else n_folds
        # trials are many and short, each from its neighbour: factors that grow are quicker
        solver = CentralPath() if getattr(estimator, "solver", None) == "central-path" else _ila(estimator)
        return choose_beta(terms, loss, solver, run, rng, beta=beta, n_folds=folds, steps=steps)
    return Choice(loss, beta, np.zeros((terms.objective(loss, beta).shape[0], 1)))


def _minimise(
    estimator: Any, objective: Any, choice: Choice, run: Run, rng: np.random.Generator
) -> tuple[np.ndarray, Result]:
    if choice.stopped:
        # a value takes a pass over all terms, for a model that may have learned nothing
        value = None if choice.errors else math.nan
        return choice.points, no_run(run, objective, choice.points, choice.stopped, value)
    run.enter("fitting", 1)
    try:
        with polling(run.poll):
            solver = _solver(estimator, objective, rng)
        return minimise(solver, objective, choice.points, run=run, rng=rng)
    except Stop as reason:
        return choice.points, no_run(run, objective, choice.points, str(reason), math.nan)
    except KeyboardInterrupt:  # before anything was recorded
        return choice.points, no_run(run, objective, choice.points, "interrupted")


def _ila(estimator: Any) -> ILA:
    return ILA(max_rank=estimator.max_rank, memory=getattr(estimator, "_memory", ILA.memory))


def _solver(estimator: Any, objective: Any, rng: np.random.Generator) -> Solver:
    """Return the solver that the estimator asks for, if it has a choice, or the one that suits the objective."""
    name = getattr(estimator, "solver", "ila")
    if name == "central-path":
        return CentralPath()
    suits = name == "auto" and CentralPath.requires <= objective.provides and estimator.max_rank is None
    if not suits or objective.shape[0] - objective.n_features > _FEW_LABELS:
        return _ila(estimator)
    strongest = strongest_penalty(objective, objective.shape[0], rng)
    return CentralPath() if objective.trace_penalty < _WEAK * strongest else _ila(estimator)


def _budget(estimator: Any) -> Budget:
    return Budget(estimator.max_epochs, estimator.max_evaluations, estimator.max_seconds, estimator.tol)


def _details(result: Result, choice: Choice, run: Run) -> dict[str, Any]:
    details: dict[str, Any] = {"beta": float(choice.strength), **result.details}
    if "lower_bound" in details:
        details["gap"] = max(result.objective - details["lower_bound"], 0.0)
    if choice.stopped:
        details["stopped_while"] = run.stage
    elif result.stop_reason in _CUT_SHORT and not result.n_epochs:
        details["stopped_while"] = "looking for the first direction"
    if choice.errors:
        (errors,) = choice.errors.values()
        details["held_out_errors"] = {f"{beta:.4g}": error for beta, error in sorted(errors.items())}
    if choice.errors or choice.stopped:
        details["choice_seconds"] = choice.seconds
        details["choice_evaluations"] = choice.evaluations
    return details
