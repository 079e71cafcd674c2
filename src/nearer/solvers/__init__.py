"""Solvers: a gradient estimator, a step rule and the run that stops them.

>>> from nearer.objectives import PointObjective
>>> fitting(PointObjective)
['auto', 'svrg-sbb', 'svrg-sbb0', 'svrg-sbb-restarts', 'svrg', 'sgd', 'adam', 'batch', 'lbfgs']
>>> find("svrg-sbb") == SVRG(step="sbb")
True
"""

from __future__ import annotations

from nearer.errors import InputError
from nearer.objectives.base import Objective
from nearer.solvers.accelerated import AcceleratedProximalGradient
from nearer.solvers.adam import Adam
from nearer.solvers.base import Solver, check_fit, minimise
from nearer.solvers.gradient_descent import GradientDescent
from nearer.solvers.lbfgs import LBFGS
from nearer.solvers.phases import Phases
from nearer.solvers.proximal import ProximalGradient
from nearer.solvers.result import Progress, Result, State
from nearer.solvers.run import Budget, Run, Stop
from nearer.solvers.sgd import SGD
from nearer.solvers.steps import Constant, Decay, StabilizedBB, StepRule
from nearer.solvers.svrg import SVRG

#: all solvers by name; `fitting` returns those for an objective
SOLVERS: dict[str, Solver] = {
    "auto": Phases((Adam(epochs=30), SVRG(step=StabilizedBB(first_step="careful")))),
    "svrg-sbb": SVRG(step="sbb"),
    "svrg-sbb0": SVRG(step="bb"),
    "svrg-sbb-restarts": SVRG(step="sbb", module_epochs=5),
    "svrg": SVRG(step="constant"),
    "sgd": SGD(),
    "adam": Adam(),
    "batch": GradientDescent(),
    "lbfgs": LBFGS(),
    "accelerated": AcceleratedProximalGradient(),
    "proximal": ProximalGradient(),
}

__all__ = [
    "LBFGS",
    "SGD",
    "SOLVERS",
    "SVRG",
    "AcceleratedProximalGradient",
    "Adam",
    "Budget",
    "Constant",
    "Decay",
    "GradientDescent",
    "Phases",
    "Progress",
    "ProximalGradient",
    "Result",
    "Run",
    "Solver",
    "StabilizedBB",
    "State",
    "StepRule",
    "Stop",
    "find",
    "fitting",
    "minimise",
]


def fitting(objective: Objective | type[Objective]) -> list[str]:
    """Return the names of the solvers that fit an objective: it provides what they require."""
    return [name for name, solver in SOLVERS.items() if solver.requires <= objective.provides]  # type: ignore[operator]


def find(solver: str | Solver, objective: Objective | type[Objective] | None = None) -> Solver:
    """Return the solver with a name, or the object itself, and check that it fits the objective.

    Parameters
    ----------
    solver : str or Solver
        A name in `SOLVERS`, or a solver.
    objective : Objective or its class, optional
        What the solver is to minimise; an InputError names the solvers that fit it.
    """
    found = SOLVERS.get(solver) if isinstance(solver, str) else solver
    if not isinstance(found, Solver):
        names = SOLVERS if objective is None else fitting(objective)
        raise InputError(
            f"solver must be one of {', '.join(names)} or a nearer.solvers.Solver object, not {solver!r}"
        )
    if objective is not None:
        check_fit(found, objective)
    return found
