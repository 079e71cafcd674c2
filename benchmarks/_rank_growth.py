"""Runs that grow the rank of a matrix in different ways, timed in CPU seconds; boosting, which never descends."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from nearer.objectives.base import WithFactors
from nearer.solvers import ILA, Budget, Run, Solver, minimise
from nearer.solvers.certificate import _Complement, _leading, gap_bound, least_loss
from nearer.solvers.ila import _ACCURACY, principal
from nearer.solvers.plane_search import lowest_on

#: records of a run that are kept, at most
_MOST_RECORDS = 60
_MOST_ROUNDS = 10**6


@dataclass(frozen=True)
class Boosting(Solver[WithFactors]):
    """The leading eigenvector of minus the gradient per round, with the best weights of old and new; nothing else."""

    name = "boosting"
    requires = ILA.requires
    default_epochs = _MOST_ROUNDS

    def solve(self, objective: WithFactors, x: np.ndarray, rng: np.random.Generator, run: Run) -> np.ndarray:
        Q, bound, beta = principal(x), least_loss(objective), objective.trace_penalty
        value = objective.value(Q)
        while True:
            gradient = objective.gradient_at(Q)
            whole = _Complement(gradient, Q[:, :0], beta)
            eigenvalues, u, error = _leading(whole, 1, rng, _ACCURACY)
            slack = float(np.vdot(gradient(Q), Q)) if Q.shape[1] else 0.0
            gap = gap_bound(value - least_loss(objective), slack, float(eigenvalues[0]) + error, beta)
            bound = max(bound, value - gap)
            run.count(3 * objective.n_terms)
            run.record(Q if Q.shape[1] else x, value, 0.0, gap=value - bound, rank=Q.shape[1])
            traces = float(np.vdot(Q, Q)), 1.0
            a, b, lower = lowest_on(objective.plane(Q, u), traces, value / beta)
            if not lower < value:
                run.stop_reason = "precision"
                return Q
            Q, value = principal(np.hstack([a**0.5 * Q, b**0.5 * u])), lower


WAYS: dict[str, Solver] = {
    "exponential": ILA(),
    "linear": ILA(growth="linear"),
    "boosting": Boosting(),
}


def grown(objective: WithFactors, way: str, tol: float, most_seconds: float) -> dict[str, Any]:
    """Minimise from nothing; return CPU seconds, and what the run had reached by when."""
    times: list[float] = []
    began = time.process_time()

    def watch(progress: Any) -> bool:
        spent = time.process_time() - began
        if "gap" in progress.columns:
            times.append(spent)
        return spent > most_seconds

    Q, result = minimise(
        WAYS[way],
        objective,
        np.zeros((objective.shape[0], 1)),
        budget=Budget(max_epochs=_MOST_ROUNDS, tol=tol),
        callback=watch,
        rng=np.random.default_rng(0),
    )
    seconds = time.process_time() - began
    records = zip(times, *(result.history[name] for name in ("objective", "gap", "rank")), strict=False)
    return {
        "seconds": seconds,
        "stopped": result.stop_reason,
        "certified": bool(result.stop_reason == "tolerance"),
        "rounds": int(result.n_epochs),
        "evaluations": int(result.n_evaluations // objective.n_terms),
        "rank": int(np.linalg.matrix_rank(Q)) if Q.any() else 0,
        "objective": float(result.objective),
        "records": _thinned([[round(t, 4), float(f), float(g), int(r)] for t, f, g, r in records]),
    }


def _thinned(records: list[list[float]]) -> list[list[float]]:
    """Return at most some records, more of the early ones, the last among them.

    >>> len(_thinned([[float(i)] for i in range(1000)])) <= _MOST_RECORDS, _thinned([[1.0], [2.0]])
    (True, [[1.0], [2.0]])
    """
    if len(records) <= _MOST_RECORDS:
        return records
    places = np.unique(np.geomspace(1, len(records), _MOST_RECORDS).round().astype(int)) - 1
    return [records[place] for place in places]
