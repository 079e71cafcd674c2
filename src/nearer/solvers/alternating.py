"""Alternating least squares: each side in turn, given the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nearer._utils.validation import whole
from nearer.objectives.base import WithLeastSquares, members
from nearer.solvers.base import Solver
from nearer.solvers.run import Run


@dataclass(frozen=True)
class AlternatingLeastSquares(Solver[WithLeastSquares]):
    """Solve for the vectors of one side, then for those of the other; an epoch is both.

    Parameters
    ----------
    products : int
        Steps of conjugate gradients per side. They start from the last solution, so few are enough.
    """

    products: int = 3
    name = "als"
    requires = members(WithLeastSquares)
    losses = frozenset({"square"})

    @property
    def default_epochs(self) -> int:
        return 50

    def __post_init__(self) -> None:
        whole("products", self.products)

    def solve(self, objective: WithLeastSquares, x: Any, rng: np.random.Generator, run: Run) -> Any:
        run.begin(x, objective.value(x), 0.0)
        while True:
            for side in (0, 1):
                x = objective.least_squares(x, side, self.products)
                run.count(2 * self.products * objective.n_terms)
            run.record(x, objective.value(x), 1.0)
