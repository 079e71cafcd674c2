"""Solvers in sequence: a fast first phase, then an exact one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nearer._utils.schema import Fields, Items, Part
from nearer.errors import InputError
from nearer.objectives.base import Objective
from nearer.solvers.base import Solver
from nearer.solvers.run import Run


@dataclass(frozen=True)
class Phases(Solver[Objective]):
    """Run solvers in sequence, each from the end of the one before; all but the last must end by themselves."""

    solvers: tuple[Solver, ...]
    name = "phases"
    _schema = Fields(solvers=Items(Part(Solver)))

    @property
    def requires(self) -> frozenset[str]:  # type: ignore[override]
        return frozenset().union(*(solver.requires for solver in self.solvers))

    @property
    def default_epochs(self) -> int:
        return sum(solver.default_epochs or 0 for solver in self.solvers)

    def __post_init__(self) -> None:
        if not self.solvers or not all(isinstance(solver, Solver) for solver in self.solvers):
            raise InputError(
                "Phases needs at least one solver: pass a tuple such as (Adam(epochs=30), SVRG())"
            )
        endless = [solver.name for solver in self.solvers[:-1] if not solver.ends]
        if endless:
            raise InputError(f"the solver {endless[0]!r} never ends by itself: put it last")

    def solve(self, objective: Objective, x: np.ndarray, rng: np.random.Generator, run: Run) -> np.ndarray:
        for solver in self.solvers:
            x = solver.solve(objective, x, rng, run)
        return x
