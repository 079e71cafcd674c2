"""Limited-memory BFGS, by scipy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from nearer._utils.validation import whole
from nearer.objectives.base import WithPrecision, members
from nearer.solvers.base import Solver
from nearer.solvers.run import Run


@dataclass(frozen=True)
class LBFGS(Solver[WithPrecision]):
    """L-BFGS with `memory` past steps; an epoch is one iteration."""

    memory: int = 10
    name = "lbfgs"
    requires = members(WithPrecision)

    @property
    def default_epochs(self) -> int:
        return 500

    def __post_init__(self) -> None:
        whole("memory", self.memory)

    def solve(
        self, objective: WithPrecision, x: np.ndarray, rng: np.random.Generator, run: Run
    ) -> np.ndarray:
        def value_and_gradient(points: np.ndarray) -> tuple[float, np.ndarray]:
            points = points.astype(objective.dtype, copy=False)
            value, gradient = objective.value_and_gradient(points)
            run.count(objective.n_terms)
            return value, gradient

        def record(points: np.ndarray, value: float, length: float) -> None:
            run.record(points.astype(objective.dtype, copy=False), value, length)

        run.begin(x, objective.value(x), 0.0)
        points, finite = descend(value_and_gradient, x, record, self.memory)
        run.stop_reason = "tolerance" if finite else "diverged"  # scipy found no further descent
        return points.astype(objective.dtype, copy=False)


def descend(
    value_and_gradient: Callable[[np.ndarray], tuple[float, np.ndarray]],
    x: np.ndarray,
    record: Callable[[np.ndarray, float, float], None],
    memory: int = 10,
    iterations: int = 10**9,
) -> tuple[np.ndarray, bool]:
    """Run L-BFGS from x until `record` raises, scipy finds no further descent, or the iterations are over.

    `record` gets the points, their value and the length of the step after each iteration. Return the last points, and
    whether their gradient is finite.
    """
    from scipy.optimize import minimize

    shape = x.shape
    previous = x.ravel().astype(np.float64)

    def flat(at: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = value_and_gradient(at.reshape(shape))
        return value, gradient.ravel().astype(np.float64, copy=False)

    def callback(intermediate_result: Any) -> None:
        nonlocal previous
        at = intermediate_result.x
        length = float(np.linalg.norm(at - previous))
        previous = at.copy()
        record(at.reshape(shape), float(intermediate_result.fun), length)

    options = {"maxcor": memory, "maxiter": iterations, "maxfun": 10**9, "ftol": 0.0, "gtol": 0.0}
    found = minimize(flat, previous, jac=True, method="L-BFGS-B", callback=callback, options=options)
    return found.x.reshape(shape), bool(np.isfinite(found.jac).all())
