"""Limited-memory BFGS, by scipy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nearer._validation import whole
from nearer.solvers.base import Solver
from nearer.solvers.monitor import Monitor


@dataclass(frozen=True)
class LBFGS(Solver):
    """L-BFGS with `memory` past steps; an epoch is one of its iterations."""

    memory: int = 10
    name = "lbfgs"
    requires = frozenset({"value", "value_and_gradient"})

    @property
    def default_epochs(self) -> int:
        return 500

    def __post_init__(self) -> None:
        whole("memory", self.memory)

    def run(self, objective: Any, x: np.ndarray, rng: np.random.Generator, monitor: Monitor) -> np.ndarray:
        from scipy.optimize import minimize

        shape = x.shape
        previous = x.ravel().astype(np.float64)

        def points(flat: np.ndarray) -> np.ndarray:
            return flat.reshape(shape).astype(objective.dtype, copy=False)

        def value_and_gradient(flat: np.ndarray) -> tuple[float, np.ndarray]:
            value, gradient = objective.value_and_gradient(points(flat))
            monitor.count(objective.n_terms)
            return value, gradient.ravel().astype(np.float64, copy=False)

        def record(intermediate_result: Any) -> None:
            nonlocal previous
            at = intermediate_result.x
            length = float(np.linalg.norm(at - previous))
            previous = at.copy()
            monitor.record(points(at), float(intermediate_result.fun), length)

        monitor.begin(x, objective.value(x), 0.0)
        options = {"maxcor": self.memory, "maxiter": 10**9, "maxfun": 10**9, "ftol": 0.0, "gtol": 0.0}
        found = minimize(
            value_and_gradient, previous, jac=True, method="L-BFGS-B", callback=record, options=options
        )
        # scipy saw no further descent
        monitor.reason = "tolerance" if np.isfinite(found.jac).all() else "diverged"
        return points(found.x)
