"""Solvers: a gradient estimator, a step rule and the run that stops them.

>>> sorted(SOLVERS)
['adam', 'auto', 'batch', 'lbfgs', 'sgd', 'svrg', 'svrg-sbb', 'svrg-sbb-restarts', 'svrg-sbb0']
>>> find("svrg-sbb") == SVRG(step="sbb")
True
"""

from __future__ import annotations

from nearer.errors import InputError
from nearer.solvers.accelerated import AcceleratedProximalGradient
from nearer.solvers.adam import Adam
from nearer.solvers.base import Solver, minimise
from nearer.solvers.gradient_descent import GradientDescent
from nearer.solvers.lbfgs import LBFGS
from nearer.solvers.phases import Phases
from nearer.solvers.proximal import ProximalGradient
from nearer.solvers.result import Progress, Result, State
from nearer.solvers.run import Budget, Run, Stop
from nearer.solvers.sgd import SGD
from nearer.solvers.steps import Constant, Decay, StabilizedBB, StepRule
from nearer.solvers.svrg import SVRG

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
}
#: those of kernels
KERNEL_SOLVERS: dict[str, Solver] = {
    "accelerated": AcceleratedProximalGradient(),
    "proximal": ProximalGradient(),
}

__all__ = [
    "KERNEL_SOLVERS",
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
    "minimise",
]


def find(solver: str | Solver, among: dict[str, Solver] = SOLVERS) -> Solver:
    """The solver for a name, or the object itself; the names are those of `SOLVERS` or of `KERNEL_SOLVERS`."""
    if isinstance(solver, Solver):
        return solver
    if isinstance(solver, str) and solver in among:
        return among[solver]
    raise InputError(
        f"must be one of {', '.join(among)} or a nearer.solvers.Solver object, not {solver!r}",
        parameter="solver",
    )
