"""scipy's truncated Newton method as a solver of nearer, for `solver_map` alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from nearer.objectives.base import WithPrecision, members
from nearer.solvers import Run, Solver


@dataclass(frozen=True)
class TruncatedNewton(Solver[WithPrecision]):
    """`scipy.optimize.minimize(method="TNC")`; an epoch is one outer iteration.

    Products with the Hessian are differences of gradients, each of which counts as an evaluation. Its own tolerances
    are off: it stops by the rule of nearer, like all solvers.
    """

    name = "tnc"
    requires = members(WithPrecision)

    @property
    def default_epochs(self) -> int:
        return 500

    def solve(
        self, objective: WithPrecision, x: np.ndarray, rng: np.random.Generator, run: Run
    ) -> np.ndarray:
        def value_and_gradient(flat: np.ndarray) -> tuple[float, np.ndarray]:
            run.count(objective.n_terms)
            value, gradient = objective.value_and_gradient(flat.reshape(x.shape))
            return value, gradient.ravel()

        def value_of(
            points: np.ndarray,
        ) -> float:  # scipy does not pass it on; some ten gradients come with each
            run.count(objective.n_terms)
            return objective.value(points)

        before = x.copy()

        def record(flat: np.ndarray) -> None:
            points = flat.reshape(x.shape).copy()
            run.record(points, value_of(points), float(np.linalg.norm(points - before)))
            before[:] = points

        run.begin(x, value_of(x), 0.0)
        options = {"maxfun": 10**6, "ftol": 0, "xtol": 0, "gtol": 0}
        found = minimize(
            value_and_gradient, x.ravel(), jac=True, method="TNC", callback=record, options=options
        )
        run.stop_reason = "tolerance"  # no further descent
        return found.x.reshape(x.shape)
